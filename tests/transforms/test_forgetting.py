"""Nothing that a user let go of stays alive: functions, and the arrays they close over."""

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug, lax
from fungrad.ad_checkpoint import checkpoint, checkpoint_name
from fungrad.compile import keeping
from fungrad.core.cache import LRUCache
from fungrad.custom_batching import custom_vmap
from fungrad.experimental import io_callback
from fungrad.scipy import integrate, optimize
from fungrad.transforms.call import programs

SCALAR = fg.ShapeDtypeStruct((), np.float64)
X = np.linspace(0.5, 1.0, 3)


@pytest.fixture(autouse=True, scope="module")
def _after_a_thread():
    """From the first thread on, free-threaded Python 3.13 keeps for good what it takes for long-lived."""
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


@pytest.fixture(autouse=True, scope="module")
def _little_to_look_through(_after_a_thread):
    """What is there already is left out of garbage collections: they take a tenth of a second otherwise, each time."""
    gc.collect()
    gc.freeze()


def of_jvp(b, asks=False):
    @fg.custom_jvp
    def f(x):
        return x * b[0]

    @f.defjvp
    def rule(primals, tangents):
        scale = b[0] if not asks or float(primals[0]) > 0 else 0.0
        return f(*primals), tangents[0] * scale * f(primals[0])

    return f


def of_vjp(b, asks=False, symbolic=False):
    @fg.custom_vjp
    def f(x):
        return x * b[0]

    def bwd(x, g):
        return (g * b[0] * f(x) if not asks or float(g) > 0 else g,)

    f.defvjp(
        (lambda x: (f(x.value), x.value)) if symbolic else lambda x: (f(x), x),
        bwd,
        symbolic_zeros=symbolic,
    )
    return f


def of_vmap(b):
    @custom_vmap
    def f(x):
        return x * b[0]

    @f.def_vmap
    def rule(size, batched, x):
        return x * b[0], True

    return f


def with_policy(b):
    def policy(prim, *types, **params):
        return bool(b[0] > 0)

    return checkpoint(lambda x: fnp.sin(fnp.sin(x) * b[0]), policy=policy)


def with_root(b, asks):
    def solve(f, x):
        while asks and abs(f(x)) > 1e-12:
            x = x - f(x) / 2
        return x if asks else x - f(x) / 2

    return lambda x: lax.custom_root(
        lambda y: 2 * y - x * b[0], 0.5, solve, lambda g, y: y / g(1.0) if b[0] else y
    )


def static_argument(b):
    @fg.custom_jvp
    def f(h, x):
        return h(x)

    f.nondiff_argnums = frozenset([0])
    f.defjvp(lambda h, primals, tangents: (f(h, *primals), tangents[0] * b[0]))
    return lambda x: f(lambda y: y * b[0], x)


KINDS = {
    "function": lambda b: lambda x: x * b[0],
    "vector": lambda b: lambda x: (x * b).sum(),
    "jit": lambda b: fg.jit(lambda x: x * b[0]),
    "jit of an array": lambda b: fg.jit(lambda x: (x * b).sum()),
    "static argument": lambda b: (
        lambda x: fg.jit(lambda h, x: h(x), static_argnums=0)(lambda x: x * b[0], x)
    ),
    "vmap": lambda b: lambda x: fg.vmap(lambda y: y * b[0])(x[None])[0],
    "jvp": lambda b: lambda x: fg.jvp(lambda y: fnp.sin(y) * b[0], (x,), (x,))[1],
    "grad": lambda b: fg.grad(lambda x: x**2 * b[0]),
    "linearize": lambda b: lambda x: fg.linearize(lambda y: fnp.sin(y) * b[0], x)[1](x),
    "vjp": lambda b: lambda x: fg.vjp(lambda y: fnp.sin(y) * b[0], x)[1](x)[0],
    "custom_jvp": of_jvp,
    "custom_jvp that asks": lambda b: of_jvp(b, asks=True),
    "custom_jvp of a function": static_argument,
    "custom_vjp": of_vjp,
    "custom_vjp that asks": lambda b: of_vjp(b, asks=True),
    "custom_vjp with symbolic zeros": lambda b: of_vjp(b, symbolic=True),
    "custom_vmap": of_vmap,
    "checkpoint": lambda b: checkpoint(lambda x: fnp.sin(fnp.sin(x) * b[0])),
    "checkpoint with a policy": with_policy,
    "debug.callback": lambda b: lambda x: debug.callback(lambda y: b[0], x) or x * b[0],
    "debug.print": lambda b: lambda x: debug.print("{}", Shown(b)) or x * b[0],
    "io_callback": lambda b: (
        lambda x: io_callback(lambda y: b[0] * 1.0, SCALAR, lax.stop_gradient(x)) + x
    ),
    "pure_callback": lambda b: (
        lambda x: (
            fg.pure_callback(
                lambda y: b[0] * y, SCALAR, lax.stop_gradient(x), vmap_method="sequential"
            )
            * x
        )
    ),
    "callback in jit": lambda b: fg.jit(lambda x: debug.callback(lambda y: b[0], x) or x * b[0]),
    "callback in scan": lambda b: (
        lambda x: lax.scan(
            lambda c, _: (debug.callback(lambda y: b[0], c) or c * b[0], None), x, length=2
        )[0]
    ),
    "scan": lambda b: lambda x: lax.scan(lambda c, _: (c * b[0], None), x, length=2)[0],
    "while_loop": lambda b: lambda x: lax.while_loop(lambda c: c < b[0], lambda c: c * 2 * b[0], x),
    "fori_loop": lambda b: lambda x: lax.fori_loop(0, 3, lambda i, c: c * b[0], x),
    "cond": lambda b: lambda x: lax.cond(x > b[0], lambda x: x, lambda x: x * b[0], x),
    "map": lambda b: lambda x: lax.map(lambda y: y * b[0] * x, X).sum(),
    "associative_scan": lambda b: (
        lambda x: lax.associative_scan(lambda y, z: y * z * b[0], X * x).sum()
    ),
    "reduce": lambda b: lambda x: lax.reduce(X * x, 1.0, lambda y, z: y * z * b[0], (0,)),
    "custom_root": lambda b: with_root(b, asks=False),
    "custom_root that asks": lambda b: with_root(b, asks=True),
    "custom_linear_solve": lambda b: (
        lambda x: lax.custom_linear_solve(
            lambda y: y * b[0] * 2, x, lambda f, y: y / f(1.0), symmetric=True
        )
    ),
    "odeint": lambda b: lambda x: integrate.odeint(lambda y, t: -y * b[0], x, X)[-1].sum(),
    "solve_ivp": lambda b: (
        lambda x: integrate.solve_ivp(
            lambda t, y: -y * b[0], (0.0, 1.0), fnp.reshape(x, 1), t_eval=X
        ).y.sum()
    ),
    "quad": lambda b: lambda x: integrate.quad(lambda t: t * x * b[0], 0.0, 1.0)[0],
    "brentq": lambda b: lambda x: optimize.brentq(lambda y, x: y - x * b[0], -9.0, 9.0, (x,)),
    "root": lambda b: lambda x: optimize.root(lambda y, x: 2 * y - x * b[0], X, (x,)).x.sum(),
    "minimize": lambda b: (
        lambda x: optimize.minimize(lambda y: ((y - x * b[0]) ** 2).sum(), fnp.zeros(1)).x.sum()
    ),
    "vectorize": lambda b: lambda x: fnp.vectorize(lambda y: y * b[0])(x[None]).sum(),
    "apply_along_axis": lambda b: (
        lambda x: fnp.apply_along_axis(lambda y: y * b[0], 0, X * x).sum()
    ),
    "piecewise": lambda b: lambda x: fnp.piecewise(x, [x > 0], [lambda y: y * b[0], 0.0]),
    "linear_transpose": lambda b: lambda x: fg.linear_transpose(lambda y: y * b[0], x)(x)[0],
    "named": lambda b: lambda x: checkpoint_name(x * b[0], "x"),
}


class Shown:
    """Printed as the first element of an array; compared by identity."""

    def __init__(self, array):
        self.array = array

    def __format__(self, spec):
        return ""


WAYS = {
    "called": lambda f: f(np.float64(0.7)),
    "grad": lambda f: fg.grad(f)(0.7),
    "jit": lambda f: fg.jit(f)(0.7),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(0.7),
    "jit of grad": lambda f: fg.jit(fg.grad(f))(0.7),
    "vmap": lambda f: fg.vmap(f)(X),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f))(X),
    "grad of grad": lambda f: fg.grad(fg.grad(f))(0.7),
    "jvp": lambda f: fg.jvp(f, (0.7,), (1.0,)),
    "linearize": lambda f: fg.linearize(f, 0.7)[1](1.0),
    "scan": lambda f: fg.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0])(0.7),
    "make_expr": lambda f: fg.make_expr(f)(0.7),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_that_is_let_go_of_goes_with_its_arrays(kind, capsys, as_written):
    arrays = {}
    for way, use in WAYS.items():
        b = np.full(3, 1.25)
        arrays[way] = weakref.ref(b)
        f = KINDS[kind](b)
        for _ in range(3):  # what is used again is remembered
            with contextlib.suppress(TypeError, ValueError, NotImplementedError):
                use(f)  # or is not made for this
    del f, b
    gc.collect()
    assert [way for way, array in arrays.items() if array() is not None] == []


def test_what_belongs_to_a_function_that_stays_is_remembered():
    b = np.full(3, 1.25)
    f = of_vjp(b)
    made = lambda: (f.kept.info().misses, programs.info().misses)
    ways = [WAYS[way] for way in ("vmap", "vmap of grad", "scan", "grad")]
    for way in ways:
        way(f)
        way(f)
    before = made()
    for way in ways:
        way(f)
    assert made() == before


@pytest.mark.parametrize("kind", [of_jvp, of_vjp])
def test_whose_a_program_is_is_found_out_once(kind, monkeypatch):
    # It takes a look at all that the program consists of.
    f = kind(np.full(3, 1.25))
    ways = [WAYS[way] for way in ("vmap", "vmap of grad", "scan", "grad")]
    for way in ways:
        way(f)
        way(f)
    looked = []
    monkeypatch.setattr(keeping, "users", lambda parts: looked.append(parts) or ([], False))
    for way in ways:
        way(f)
    assert looked == []


def test_keys_of_one_hash_are_kept_apart():
    class Owner(keeping.Keeper):
        def __hash__(self):
            return 7

    everywhere = LRUCache(8)
    owners = [Owner(), Owner()]
    for _ in range(3):
        for owner in owners:
            found = keeping.keep(
                everywhere, (owner,), [owner], lambda owner=owner: [owner], lambda _: 1.0
            )
            assert found == [owner]
    assert [owner.kept.info().misses for owner in owners] == [1, 1]
    assert everywhere.info().currsize == 0
    gone = [weakref.ref(owner) for owner in owners]
    del owners, owner, found
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_callbacks_that_modules_define_are_remembered():
    def f(x):
        debug.callback(print, x)
        debug.print("")
        return x * x

    fg.grad(f)(1.0)
    before = programs.info().misses
    fg.grad(f)(2.0)
    assert programs.info().misses == before


def test_static_arguments_that_are_gone_take_their_programs_with_them():
    f = fg.jit(lambda h, x: h(x), static_argnums=0)
    gone = []
    for _ in range(3):
        b = np.full(3, 1.25)
        gone.append(weakref.ref(b))
        h = lambda x, b=b: (x * b).sum()
        assert f(h, 2.0) == f(h, 2.0) == 7.5
        assert f.lower(h, 2.0).compile()(2.0) == 7.5
    assert f.cache_info()[:2] == (6, 3)
    del h, b
    gc.collect()
    assert [x() for x in gone] == [None] * 3
    assert f.cache_info().currsize == 0
    model = KINDS["jit"](np.ones(1))
    again = weakref.ref(f)
    f(model, 1.0)
    del f
    gc.collect()
    assert again() is None


def test_arrays_of_jitted_functions_go_with_them():
    arrays = []
    for i in range(3):
        b = np.full(1 << 12, float(i))
        f = fg.jit(lambda x, b=b: (x * b).sum())
        for _ in range(2):
            fg.grad(lambda x, f=f: f(x) * 2)(1.0)
        (entry,) = f.programs.values()
        arrays += [weakref.ref(x) for x in entry.traced.constants.values() if np.ndim(x)]
    del f, entry
    gc.collect()
    assert len(arrays) == 3
    assert [x() for x in arrays] == [None] * 3

"""Interpreters of a library's own, with `jax` meaning fungrad; JAX 0.10.2 gives the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import core
from jax.extend import linear_util as lu

CLOSE = np.testing.assert_allclose
ONLY_HERE = pytest.mark.skipif(jax.__name__ == "jax", reason="JAX has it otherwise, or not at all")


class Counted(core.Tracer):
    """A value with the number of products it was made by."""

    __slots__ = ("count", "value")

    def __init__(self, trace, value, count):
        self._trace, self.value, self.count = trace, value, count

    @property
    def aval(self):
        return jax.typeof(self.value)


class Counting(core.Trace):
    """Computes as the functions around it do, and counts products; all primitives are in `seen`."""

    __slots__ = ("parent", "seen", "tag")

    def __init__(self, parent, tag):
        super().__init__()
        self.parent, self.tag, self.seen = parent, tag, []

    def parts(self, x):
        mine = isinstance(x, Counted) and x._trace.tag is self.tag
        return (x.value, x.count) if mine else (x, 0)

    def stage_value(self, value):
        return Counted(self, value, 0)

    def process_primitive(self, primitive, tracers, params):
        self.seen.append((primitive, params))
        parts = [self.parts(x) for x in tracers]
        values, counts = [x for x, _ in parts], [n for _, n in parts]
        count = max(counts, default=0) + (primitive is lax.mul_p)
        with core.set_current_trace(self.parent):
            if primitive.name in ("jit", "pjit"):
                results = [
                    *zip(*counted(core.jaxpr_as_fun(params["jaxpr"]), values, counts), strict=True)
                ]
                return [Counted(self, *pair) for pair in results]
            out = primitive.bind(*values, **params)
        wrap = lambda x: Counted(self, x, count)
        return [*map(wrap, out)] if primitive.multiple_results else wrap(out)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        self.seen.append((primitive, {}))
        values, counts = zip(*map(self.parts, tracers), strict=True)
        params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
        avals = tuple(map(jax.typeof, values))
        out = primitive.bind_with_trace(self.parent, values, avals, params)
        return [Counted(self, x, max(counts)) for x in out]


SEEN = []


def counted(f, values, counts=None):
    """Return the results of a function, and how many products are on the longest way to each."""
    counts = counts or [0] * len(values)
    with core.take_current_trace() as parent:
        trace = Counting(parent, core.TraceTag())
        tracers = [Counted(trace, *pair) for pair in zip(values, counts, strict=True)]
        with core.set_current_trace(trace):
            leaves, tree = jax.tree.flatten(f(*tracers))
        parts = [trace.parts(x) for x in leaves]
    SEEN[:] = [*SEEN, *trace.seen]
    return jax.tree.unflatten(tree, [x for x, _ in parts]), jax.tree.unflatten(
        tree, [n for _, n in parts]
    )


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


X = jnp.array([1.0, 2.0, 3.0])


def test_primitives_go_to_the_interpreter():
    value, count = counted(lambda x, y: jnp.sin(x * y) * x, (X, X + 1))
    CLOSE(value, np.sin(X * (X + 1)) * X, rtol=1e-6)
    assert count == 2
    seen = [p for p, _ in SEEN if p.name not in ("jit", "pjit")]
    assert seen == [lax.mul_p, lax.sin_p, lax.mul_p]
    assert isinstance(value, jax.Array)


def test_its_tracers_are_of_the_librarys_class():
    def f(x):
        assert isinstance(x, Counted)
        assert isinstance(x, core.Tracer)
        assert isinstance(x, jax.Array)
        assert not isinstance(x, np.ndarray)
        assert (x.shape, x.dtype, x.count, x._trace.main) == (
            (3,),
            jnp.float32,
            0,
            None,
        ) or x._trace.tag
        assert (x + 1).value.shape == (3,)
        with pytest.raises(AttributeError):
            x.no_such_attribute
        return x

    assert counted(f, (X,))[1] == 0
    assert issubclass(Counted, core.Tracer)


@pytest.mark.parametrize("around", [jax.jit, jax.grad, jax.vmap, lambda f: jax.jit(jax.grad(f))])
def test_within_transforms(around):
    f = lambda x: jnp.sin(x * x) * x
    x = X if around is jax.vmap else 2.0
    CLOSE(around(lambda x: counted(f, (x,))[0])(x), around(f)(x), rtol=1e-6)


@pytest.mark.parametrize("inner", [jax.jit, jax.grad, jax.vmap])
def test_around_transforms(inner):
    f = inner(lambda x: jnp.sin(x * x) * x)
    x = X if inner is jax.vmap else jnp.float32(2.0)
    value, count = counted(f, (x,))
    CLOSE(value, f(x), rtol=1e-5)
    assert count >= 2


def test_two_of_them():
    (value, inner), outer = counted(lambda x: counted(lambda y: x * y * y, (x,)), (X,))
    CLOSE(value, X**3, rtol=1e-6)
    assert (inner, outer[0]) == (2, 2)


def test_loops_and_branches_have_jaxs_parameters():
    def f(x):
        y, rows = lax.scan(lambda c, r: (c + r, c), x[0], x)
        y = lax.while_loop(lambda y: y < 100, lambda y: y + x[1], y)
        return lax.cond(y > 0, lambda y: y + 1, lambda y: y - x[2], y), rows

    (y, rows), _ = counted(f, (X,))
    want, expected = f(X)
    CLOSE(y, want)
    CLOSE(rows, expected)
    params = {p.name: {*params} for p, params in SEEN}
    assert params["scan"] >= {"jaxpr", "length", "reverse", "num_consts", "num_carry", "unroll"}
    assert params["while"] == {"cond_jaxpr", "cond_nconsts", "body_jaxpr", "body_nconsts"}
    assert params["cond"] >= {"branches"}


def test_binding_loops_by_jaxs_parameters():
    jaxpr = jax.make_jaxpr(lambda k, c, x: (c + k * x, c))(1.0, 1.0, 1.0)
    params = {
        "jaxpr": jaxpr,
        "length": 3,
        "reverse": False,
        "num_consts": 1,
        "num_carry": 1,
        "unroll": 1,
    }
    carry, rows = lax.scan_p.bind(2.0, 0.0, X, **params)
    assert carry == 12
    CLOSE(rows, [0, 2, 6])
    test = jax.make_jaxpr(lambda n, c: c < n)(1.0, 1.0)
    step = jax.make_jaxpr(lambda c: 2 * c)(1.0)
    params = {"cond_jaxpr": test, "body_jaxpr": step, "cond_nconsts": 1, "body_nconsts": 0}
    assert lax.while_p.bind(50.0, 1.0, **params) == [64.0]


def test_rules_of_the_users():
    @jax.custom_jvp
    def double(x):
        return 2 * x

    double.defjvp(lambda primals, tangents: (double(*primals), 20 * tangents[0]))
    value, _ = counted(double, (X,))
    CLOSE(value, 2 * X)
    assert [p.name for p, _ in SEEN] == ["custom_jvp_call"]
    CLOSE(jax.grad(lambda x: counted(double, (x,))[0])(1.0), 20)
    CLOSE(jax.jit(jax.grad(lambda x: counted(double, (x,))[0]))(1.0), 20)


def test_an_interpreter_without_the_rule():
    class Plain(core.Trace):
        def process_primitive(self, primitive, tracers, params):
            raise AssertionError(primitive)

    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    trace = Plain()
    with (
        core.set_current_trace(trace),
        pytest.raises(NotImplementedError, match="process_custom_jvp_call"),
    ):
        f(Counted(trace, 1.0, 0))


NAMES = """
isnan isinf log2 log10 logaddexp logaddexp2 hypot fmax fmin copysign signbit trunc deg2rad rad2deg heaviside floor_divide
remainder fmod positive logical_and logical_not argsort tril triu roll rint
"""
A, B = jnp.array([[-7.5, 2.0], [0.0, 3.25]]), jnp.array([[2.0, -3.0], [1.0, -0.5]])
CALLS = {
    "argsort": lambda x, y: jnp.argsort(x, axis=0),
    "roll": lambda x, y: jnp.roll(x, 1, 0),
    "top_k": lambda x, y: lax.top_k(x, 1),
    "take": lambda x, y: x[jnp.array([1, -1]), 0],
    "slice": lambda x, y: x[1],
    "dynamic_slice": lambda x, y: lax.dynamic_slice(x, (0, 1), (2, 1)),
    "dynamic_update_slice": lambda x, y: lax.dynamic_update_slice(x, y[:1], (1, 0)),
    "set": lambda x, y: x.at[0].set(y[1]),
    "norm": lambda x, y: jnp.linalg.norm(x),
    "cholesky": lambda x, y: jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(2)),
    "integers": lambda x, y: jnp.array([7, -7]) // (x[0].astype(int) * 0 + 2),
    "nanmedian": lambda x, y: jnp.nanmedian(x),
    "argmax": lambda x, y: jnp.argmax(x, 1),
    "stack": lambda x, y: jnp.stack([x, y], 1),
}
ONE = {"isnan", "isinf", "log2", "log10", "signbit", "trunc", "deg2rad", "rad2deg", "positive", "logical_not", "rint", "tril", "triu"}  # fmt: skip


@pytest.mark.parametrize("name", dict.fromkeys([*NAMES.split(), *CALLS]))
def test_operations_are_spelled_by_jaxs_primitives(name):
    call = getattr(jnp, name, None)
    f = CALLS.get(name) or ((lambda x, y: call(x)) if name in ONE else call)
    results, _ = counted(f, (A, B))
    wanted = f(A, B)
    for found, expected in zip(jax.tree.leaves(results), jax.tree.leaves(wanted), strict=True):
        CLOSE(found, expected, rtol=1e-5, atol=1e-6)
        assert found.dtype == expected.dtype
    known = {"jit", "pjit", "custom_jvp_call", "remat", "sort", "while", "scan"}
    names = {p.name for p, _ in SEEN} - known
    assert names <= {n.removesuffix("_p") for n in dir(lax) if n.endswith("_p")} | LINEAR


LINEAR = {"cholesky"}


@ONLY_HERE
def test_what_interpreters_bind_are_arrays_of_jax():
    assert all(
        isinstance(x, jax.Array)
        for x in (lax.mul_p.bind(A, B), lax.reduce_sum_p.bind(A, axes=(0, 1)))
    )


def test_none_is_left_behind():
    with pytest.raises(ZeroDivisionError):
        counted(lambda x: 1 / 0, (X,))
    assert core.trace_state_clean()
    wrapped = lu.wrap_init(lambda x: [x]) if jax.__name__ != "jax" else None
    assert wrapped is None or wrapped.call_wrapped(1) == [1]

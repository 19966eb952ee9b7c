"""What rules of one's own and control flow mean: the same short programs under JAX and under fungrad.

A program takes the library. Its results have JAX's values, dtypes and shapes, and rules run where JAX's run.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402

A = np.array([0.3, -1.2, 2.0])
NARROW = np.ones(3, np.float32)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def by_jvp(lib, runs=None, **options):
    """Sine with twice its slope: where the rule is not used, it shows."""
    f = lib.custom_jvp(lambda x: lib.numpy.sin(x))

    def rule(primals, tangents):
        if runs is not None:
            runs.append("jvp")
        return f(*primals), 2 * lib.numpy.cos(primals[0]) * tangents[0]

    f.defjvp(rule, **options)
    return f


def by_vjp(lib, runs=None):
    """The same in reverse mode."""
    f = lib.custom_vjp(lambda x: lib.numpy.sin(x))

    def fwd(x):
        if runs is not None:
            runs.append("fwd")
        return f(x), lib.numpy.cos(x)

    f.defvjp(fwd, lambda c, g: (2 * c * g,))
    return f


WRAPPED = {
    "alone": lambda lib, f: f,
    "jit": lambda lib, f: lib.jit(f),
    "vmap": lambda lib, f: lambda x: lib.vmap(f)(lib.numpy.ones(2) * x).sum(),
    "checkpoint": lambda lib, f: lib.checkpoint(f),
    "scan": lambda lib, f: lambda x: lib.lax.scan(lambda c, r: (r * c, f(c)), x, A)[1].sum(),
    "cond": lambda lib, f: lambda x: lib.lax.cond(x > 0, f, lambda x: -x, x),
    "switch": lambda lib, f: lambda x: lib.lax.switch(1, [lambda x: x, f], x),
    "map": lambda lib, f: lambda x: lib.lax.map(f, lib.numpy.arange(3.0) * x).sum(),
    "stop_gradient": lambda lib, f: lambda x: f(lib.lax.stop_gradient(x)) * x,
    "gradient inside": lambda lib, f: lambda x: lib.grad(lambda y: f(x * y))(1.0),
}

DERIVATIVES = (
    lambda lib, f: f,
    lambda lib, f: lib.grad(f),
    lambda lib, f: lib.jit(lib.grad(f)),
    lambda lib, f: lib.grad(lib.jit(f)),
    lambda lib, f: lib.grad(lib.grad(f)),
    lambda lib, f: lib.jit(lib.grad(lib.grad(f))),
    lambda lib, f: lib.grad(lib.jit(lib.grad(f))),
    lambda lib, f: lambda x: lib.vmap(lib.grad(f))(lib.numpy.stack([x, x + 1])),
)


@pytest.mark.parametrize("kind", [by_jvp, by_vjp])
@pytest.mark.parametrize("name", WRAPPED)
def test_rules_are_used_as_jax_uses_them(name, kind):
    def program(lib):
        f = WRAPPED[name](lib, kind(lib))
        return [derivative(lib, f)(np.float64(0.7)) for derivative in DERIVATIVES]

    compare(program)


RUNS = {
    "jit": lambda lib, f: lib.jit(f)(1.0),
    "eval_shape": lambda lib, f: lib.eval_shape(f, 1.0).shape,
    "vmap": lambda lib, f: lib.vmap(f)(A),
    "jit of vmap": lambda lib, f: lib.jit(lib.vmap(f))(A),
    "grad": lambda lib, f: lib.grad(f)(1.0),
    "jit of grad": lambda lib, f: lib.jit(lib.grad(f))(1.0),
    "grad of jit": lambda lib, f: lib.grad(lib.jit(f))(1.0),
    "second": lambda lib, f: lib.grad(lib.grad(f))(1.0),
    "constants": lambda lib, f: lib.grad(lambda x: f(2.0) * x)(1.0),
    "constants of jit": lambda lib, f: lib.grad(lambda x: lib.jit(f)(2.0) * x)(1.0),
    "stopped": lambda lib, f: lib.grad(lambda x: f(lib.lax.stop_gradient(x)) * x)(1.0),
    "branches": lambda lib, f: lib.jit(lambda x: lib.lax.cond(x > 0, f, f, x))(1.0),
    "while": lambda lib, f: lib.jit(lambda x: lib.lax.while_loop(lambda c: c > 9, f, x))(1.0),
    "scan": lambda lib, f: lib.jit(
        lambda x: lib.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    )(1.0),
}


@pytest.mark.parametrize("kind", [by_jvp, by_vjp])
@pytest.mark.parametrize("name", RUNS)
def test_rules_run_where_jax_runs_them(name, kind):
    def program(lib):
        runs = []
        result = RUNS[name](lib, kind(lib, runs))
        return bool(runs), result

    compare(program)


def perturbed(lib, wrap):
    """Which arguments are differentiated, as the rules of both kinds are told."""
    told = []
    f = lib.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        zero = [type(t).__name__ == "SymbolicZero" for t in tangents]
        told.append([not z for z in zero])
        return f(*primals), sum(3 * t for t, z in zip(tangents, zero, strict=True) if not z)

    f.defjvp(rule, symbolic_zeros=True)
    g = lib.custom_vjp(lambda x, y: x * y)

    def fwd(x, y):
        told.append([x.perturbed, y.perturbed])
        return x.value * y.value, None

    g.defvjp(fwd, lambda _, ct: (2 * ct, 3 * ct), symbolic_zeros=True)
    return [wrap(lib, f), wrap(lib, g)], told


@pytest.mark.parametrize(
    "wrap",
    [
        lambda lib, f: lib.grad(f)(1.0, 2.0),
        lambda lib, f: lib.grad(f, 1)(1.0, 2.0),
        lambda lib, f: lib.jit(lib.grad(f))(1.0, 2.0),
        lambda lib, f: lib.grad(lib.jit(f))(1.0, 2.0),
        lambda lib, f: lib.grad(lib.jit(f), 1)(1.0, 2.0),
        lambda lib, f: lib.grad(lambda x: f(x, lib.lax.stop_gradient(x)))(2.0),
        lambda lib, f: lib.grad(lambda x: lib.vmap(f, (0, None))(A * x, 2.0).sum())(1.0),
    ],
)
def test_symbolic_zeros_are_where_jax_has_them(wrap):
    compare(lambda lib: perturbed(lib, wrap))


LOOPS = {
    "bools": lambda lax, np_: lax.while_loop(
        lambda c: ~c[1], lambda c: (c[0] + 1, c[0] > 3), (0, False)
    ),
    "bools of fori_loop": lambda lax, np_: lax.fori_loop(0, 3, lambda i, c: ~c, False),
    "bools of scan": lambda lax, np_: lax.scan(
        lambda c, r: (~c, (~r, c)), True, np_.asarray(A > 0)
    ),
    "bools of cond": lambda lax, np_: lax.cond(True, lambda c: ~np_.asarray(c), lambda c: c, True),
    "numbers": lambda lax, np_: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * np.float32(2)), (0, 1.0)
    ),
    "no step": lambda lax, np_: lax.while_loop(
        lambda c: c[0] < 0, lambda c: (c[0] + 1, c[1] * np.float32(2)), (0, 1.0)
    ),
    "numbers of scan": lambda lax, np_: lax.scan(lambda c, r: (c + r, c), 0.0, np_.asarray(NARROW)),
    "integers": lambda lax, np_: lax.scan(lambda c, r: (c + 1, c * r), 0, np_.asarray(NARROW)),
    "becoming floats": lambda lax, np_: lax.fori_loop(0, 3, lambda i, c: c + 0.5, 1),
    "index": lambda lax, np_: lax.fori_loop(0, 3, lambda i, c: c + i, np.float32(2)),
    "real bounds": lambda lax, np_: lax.fori_loop(0.0, 3.0, lambda i, c: c + i, 0.0),
    "downwards": lambda lax, np_: lax.fori_loop(5, 3, lambda i, c: c + i, 2.0),
    "division by zero": lambda lax, np_: lax.fori_loop(0, 3, lambda i, c: c / i, 1.0),
    "methods of numbers": lambda lax, np_: lax.while_loop(
        lambda c: c.sum() < 3, lambda c: c + 1, 0
    ),
    "mixed results": lambda lax, np_: lax.scan(
        lambda c, r: (c, (1, 2.0, True, r)), 0.0, np_.asarray(A)
    ),
    "batches of 0": lambda lax, np_: lax.map(lambda x: 2 * x, np_.asarray(A), batch_size=0),
    "batches of 2": lambda lax, np_: lax.map(lambda x: 2 * x, np_.asarray(A), batch_size=2),
    "clamped": lambda lax, np_: [
        lax.switch(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0]) for i in (-5, 0, 2, 9)
    ],
    "split transpose": lambda lax, np_: lax.scan(
        lambda c, r: (c * r, c), 1.0, np_.asarray(A), _split_transpose=True
    ),
    "platform": lambda lax, np_: lax.platform_dependent(
        np_.asarray(A), cpu=lambda x: x + 1, default=lambda x: x
    ),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_loops_and_branches_give_what_jax_gives(name, jitted):
    def program(lib):
        f = lambda: LOOPS[name](lib.lax, lib.numpy)
        return lib.jit(f)() if jitted else f()

    compare(program)


@pytest.mark.parametrize("taken", [False, True])
def test_callbacks_of_constants_are_called_where_jax_calls_them(taken):
    def program(lib):
        calls = []

        def called(x):
            calls.append(1)
            return np.asarray(x)

        def branch(x):
            shape = lib.ShapeDtypeStruct((), np.float64)
            return x + lib.pure_callback(called, shape, np.float64(2.0))

        f = lib.jit(lambda p, x: lib.lax.cond(p, branch, lambda x: x, x))
        result = np.asarray(f(taken, 1.0))
        return bool(calls), result

    compare(program)


def compare(program):
    """Check that a program has the results under fungrad that it has under JAX."""
    theirs, ours = [jax.tree.leaves(program(lib)) for lib in (jax, fg)]
    assert len(ours) == len(theirs)
    for a, b in zip(ours, map(np.asarray, theirs), strict=True):
        assert np.asarray(a).dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-12)

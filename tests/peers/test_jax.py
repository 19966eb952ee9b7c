"""The same programs under fungrad and under JAX: values, derivatives, batches, dtypes, nesting."""

import collections
import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from tests.peers.programs import PROGRAMS  # noqa: E402


def scalar(np_, f):
    """The sum of the results of `f` with weights that are not all equal."""

    def loss(*args):
        y = f(np_, *args)
        weights = np.cos(np.arange(np.prod(np.shape(y), dtype=int))).reshape(np.shape(y)) + 0.5
        return np_.sum(y * weights.astype(y.dtype))

    return loss


def derivatives(lib, np_, program):
    """Everything that is compared, as one function of arguments, directions and batches."""
    f = functools.partial(program.f, np_)
    loss = scalar(np_, program.f)
    every = tuple(range(len(program.shapes)))

    def run(args, directions, batches):
        value, g = lib.value_and_grad(loss, every)(*args)
        return {
            "result": f(*args),
            "value": value,
            "grad": g,
            "jvp": lib.jvp(f, args, directions)[1],
            "hvp": lib.jvp(lib.grad(loss, every), args, directions)[1],
            "hessian": lib.hessian(loss)(*args),
            "jacobian": lib.jacrev(f)(*args),
            "vmap": lib.vmap(f)(*batches),
            "vmap one": lib.vmap(f, (0, *[None] * (len(every) - 1)))(batches[0], *args[1:]),
            "vmap grad": lib.vmap(lib.grad(loss, every))(*batches),
        }

    return run


def compare(ours, theirs, rtol=1e-9):
    assert ours.keys() == theirs.keys()
    for what in ours:
        a, b = fg.tree.leaves(ours[what]), jax.tree.leaves(theirs[what])
        assert len(a) == len(b), what
        for x, y in zip(a, b):
            y = np.asarray(y)
            assert np.shape(x) == y.shape, what
            assert x.dtype == y.dtype, what
            scale = max(1.0, np.max(np.abs(y), initial=0))
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale, err_msg=what)


def operands(program, rng, dtype=np.float64):
    args = tuple(program.arguments(rng, dtype))
    directions = tuple([rng.normal(size=s).astype(dtype) for s in program.shapes])
    return args, directions, tuple(program.arguments(rng, dtype, (3,)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, rng):
    program = PROGRAMS[name]
    data = operands(program, rng)
    theirs = jax.jit(derivatives(jax, jnp, program))(*data)
    run = derivatives(fg, fnp, program)
    compare(run(*data), theirs)
    compare(run(*data), theirs)  # programs of the second run are compiled
    compare(fg.jit(run)(*data), theirs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_with_numpy_s_own_functions(name, rng):
    # The functions of NumPy, called on tracers, are those of fungrad.numpy.
    program = PROGRAMS[name]
    args = tuple(program.arguments(rng))
    ours = fg.value_and_grad(scalar(np, program.f))(*args)
    wanted = fg.value_and_grad(scalar(fnp, program.f))(*args)
    np.testing.assert_array_equal(ours[0], wanted[0])
    np.testing.assert_array_equal(ours[1], wanted[1])


MIXED = ("sorting", "not_all_inputs_matter")  # with float64 arrays of their own


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in MIXED])
def test_float32_stays(name, rng):
    program, dtype = PROGRAMS[name], np.float32
    args = tuple(program.arguments(rng, dtype))
    run = lambda lib, np_: (
        lambda *a: (
            program.f(np_, *a),
            lib.grad(scalar(np_, program.f))(*a),
            lib.vmap(lambda *b: lib.jvp(functools.partial(program.f, np_), b, b)[1])(
                *[np_.stack([x, x]) for x in a]
            ),
        )
    )
    theirs = jax.eval_shape(run(jax, jnp), *args)
    ours = run(fg, fnp)(*args)
    shapes = fg.eval_shape(run(fg, fnp), *args)
    for x, s, y in zip(fg.tree.leaves(ours), fg.tree.leaves(shapes), jax.tree.leaves(theirs)):
        assert (np.shape(x), x.dtype) == (s.shape, s.dtype) == (y.shape, y.dtype)


# Complex numbers: the same conventions

Z = np.array([0.5 - 1.25j, -0.75 + 0.3j, 1.1 + 0.2j])
COMPLEX = {
    "abs2": lambda np_, z: np_.sum(np_.abs(z) ** 2),
    "real": lambda np_, z: np_.sum(np_.real(z * z)),
    "imag": lambda np_, z: np_.sum(np_.imag(z * np_.conj(z[::-1]) ** 2)),
    "exp": lambda np_, z: np_.sum(np_.real(np_.exp(z * (1 + 2j)))),
    "angle": lambda np_, z: np_.sum(np_.angle(z) * np_.abs(z)),
    "product": lambda np_, z: np_.real(z[0] * z[1] / z[2]),
    "log": lambda np_, z: np_.imag(np_.sum(np_.log(z) * np_.sqrt(z))),
    "matmul": lambda np_, z: np_.real(np_.conj(z) @ (np.arange(9).reshape(3, 3) * 1j) @ z),
    "power": lambda np_, z: np_.sum(np_.abs(z**3 + z**0.5)),
    "tanh": lambda np_, z: np_.sum(np_.real(np_.tanh(z) * np_.cos(z))),
    "mixed": lambda np_, z: np_.sum(np_.real(z) * np_.imag(z) + np_.abs(z)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients(name):
    f = COMPLEX[name]
    run = lambda lib, np_: (
        lambda z, t: {
            "grad": lib.value_and_grad(functools.partial(f, np_))(z),
            "jvp": lib.jvp(functools.partial(f, np_), (z,), (t,)),
            "vjp": lib.vjp(functools.partial(f, np_), z)[1](f(np_, z))[0],
            "vmap": lib.vmap(lib.grad(functools.partial(f, np_)))(np_.stack([z, t])),
            "second": lib.grad(
                lambda z: np_.sum(np_.abs(lib.grad(functools.partial(f, np_))(z)) ** 2)
            )(z),
        }
    )
    t = Z[::-1] * 1j + 0.5
    compare(run(fg, fnp)(Z, t), jax.jit(run(jax, jnp))(Z, t))
    compare(fg.jit(run(fg, fnp))(Z, t), jax.jit(run(jax, jnp))(Z, t))


HOLOMORPHIC = {
    "cube": lambda np_, z: z**3,
    "exp": lambda np_, z: np_.exp(z) * z,
    "sin": lambda np_, z: np_.sin(z) / z,
    "sqrt": lambda np_, z: np_.sqrt(z) * np_.log(z),
    "tanh": lambda np_, z: np_.tanh(z) + np_.cosh(z),
    "constant": lambda np_, z: z * (2 - 1j) + 3j,
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic(name):
    f = HOLOMORPHIC[name]
    run = lambda lib, np_: (
        lambda z: {
            "jacfwd": lib.jacfwd(functools.partial(f, np_), holomorphic=True)(z),
            "jacrev": lib.jacrev(functools.partial(f, np_), holomorphic=True)(z),
            "grad": lib.grad(lambda z: np_.sum(f(np_, z)), holomorphic=True)(z),
            "hessian": lib.hessian(lambda z: np_.sum(f(np_, z)), holomorphic=True)(z),
        }
    )
    compare(run(fg, fnp)(Z), jax.jit(run(jax, jnp))(Z))


# Trees

Pair = collections.namedtuple("Pair", "w b")


def tree_loss(np_):
    def loss(params, x, *, scale=1.0):
        for layer in params["layers"]:
            x = np_.tanh(x @ layer.w + layer.b)
        return np_.sum(x * params["out"]) * scale, {"x": x, "n": None}

    return loss


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1,)])
def test_trees(argnums, rng):
    layers = [Pair(rng.normal(size=(3, 4)), rng.normal(size=4)), Pair(rng.normal(size=(4, 2)), 0.5)]
    params = {"layers": layers, "out": rng.normal(size=2), "unused": (1.0, None)}
    x = rng.normal(size=3)
    run = lambda lib, np_: (
        lambda params, x: {
            "grad": lib.value_and_grad(tree_loss(np_), argnums, has_aux=True)(params, x, scale=2.0),
            "jacfwd": lib.jacfwd(lambda p, x: tree_loss(np_)(p, x)[1], argnums)(params, x),
            "jacrev": lib.jacrev(lambda p, x: tree_loss(np_)(p, x)[1], argnums)(params, x),
            "hessian": lib.hessian(lambda p, x: tree_loss(np_)(p, x)[0], argnums)(params, x),
            "linearize": lib.linearize(lambda p: tree_loss(np_)(p, x), params)[1](params),
        }
    )
    theirs = jax.jit(run(jax, jnp))(params, x)
    ours = run(fg, fnp)(params, x)
    compare(ours, theirs)
    compare(fg.jit(run(fg, fnp))(params, x), theirs)
    assert str(jax.tree.structure(ours)) == str(jax.tree.structure(theirs))


# Nesting and closures


NESTED = {
    "confusion": lambda lib, np_: lib.grad(lambda x: x * lib.grad(lambda y: x + y)(1.0)),
    "closure": lambda lib, np_: lib.grad(
        lambda x: lib.grad(lambda y: np_.sin(x * y) * x)(x) * lib.jvp(np_.cos, (x,), (x * x,))[1]
    ),
    "three": lambda lib, np_: lib.grad(lib.grad(lib.grad(lambda x: np_.exp(np_.sin(x) * x)))),
    "jit in vmap": lambda lib, np_: (
        lambda x: lib.vmap(
            lambda a: lib.jit(lambda b: lib.grad(lambda c: a * b * np_.sin(c * x))(b))(a) * a
        )(x * np_.arange(1.0, 4.0)).sum()
    ),
    "vjp of vmap": lambda lib, np_: (
        lambda x: lib.vjp(lambda y: lib.vmap(lambda a: a * y * x)(np_.arange(3.0)), x)[1](
            np_.ones(3)
        )[0]
    ),
    "linearize": lambda lib, np_: lib.grad(
        lambda x: lib.linearize(lambda y: y * y * x, x)[1](x * 3)
    ),
    "transpose": lambda lib, np_: lib.grad(
        lambda x: lib.linear_transpose(lambda y: y * x * x, x)(x)[0]
    ),
    "hessian in grad": lambda lib, np_: lib.grad(
        lambda x: np_.sum(lib.hessian(lambda y: np_.sum(y**3) * x)(x * np_.arange(1.0, 3.0)))
    ),
    "jacfwd of jacrev": lambda lib, np_: (
        lambda x: lib.jacfwd(lib.jacrev(lambda y: y * np_.array([1.0, 2.0]) * np_.sin(y)))(x).sum()
    ),
    "stop": lambda lib, np_: lib.grad(
        lambda x: x * (jax.lax.stop_gradient if lib is jax else fg.stop_gradient)(x * x)
    ),
    "vmap axes": lambda lib, np_: (
        lambda x: lib.vmap(lib.vmap(lambda a, b: a * b + x, (None, 0), 0), (0, None), 1)(
            np_.arange(2.0), np_.arange(3.0)
        )[2, 1]
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_nesting(name):
    ours, theirs = NESTED[name](fg, fnp), NESTED[name](jax, jnp)
    for x in (0.7, -1.3):
        expected = np.asarray(jax.jit(theirs)(x))
        np.testing.assert_allclose(ours(x), expected, rtol=1e-11)
        np.testing.assert_allclose(fg.jit(ours)(x), expected, rtol=1e-11)
        np.testing.assert_allclose(
            fg.vmap(ours)(np.array([x, 2 * x])),
            jax.jit(jax.vmap(theirs))(np.array([x, 2 * x])),
            rtol=1e-11,
        )
        np.testing.assert_allclose(
            fg.grad(ours)(x), np.asarray(jax.jit(jax.grad(theirs))(x)), rtol=1e-10, atol=1e-12
        )


# Signatures: what JAX has, we have, under the same names


@pytest.mark.parametrize(
    "name",
    [
        *("grad", "value_and_grad", "vjp", "jvp", "linearize", "linear_transpose", "jacfwd"),
        *("jacrev", "jacobian", "hessian", "vmap", "jit", "eval_shape", "make_jaxpr"),
        *("ShapeDtypeStruct", "float0"),
    ],
)
def test_names(name):
    assert hasattr(fg, name)
    assert name == "float0" or hasattr(jax, name)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda lib, np_: lib.grad(lambda x: x)(np.ones(3)), TypeError),
        (lambda lib, np_: lib.grad(lambda x: x * 1j)(1.0), TypeError),
        (lambda lib, np_: lib.grad(lambda x: x)(1), TypeError),
        (lambda lib, np_: lib.grad(lambda x: x, argnums=1)(1.0), (ValueError, TypeError)),
        (lambda lib, np_: lib.grad(lambda x: x, holomorphic=True)(1.0), TypeError),
        (lambda lib, np_: lib.jvp(np_.sin, (np.ones(3),), (np.ones(2),)), (TypeError, ValueError)),
        (lambda lib, np_: lib.jvp(np_.sin, (1.0,), 1.0), TypeError),
        (lambda lib, np_: lib.vmap(lambda x, y: x)(np.ones(2), np.ones(3)), ValueError),
        (lambda lib, np_: lib.vmap(lambda x: x, in_axes=None)(1.0), ValueError),
        (lambda lib, np_: lib.vmap(lambda x: x, out_axes=None)(np.ones(2)), ValueError),
        (lambda lib, np_: lib.jit(lambda x: x if x > 0 else -x)(1.0), TypeError),
        (lambda lib, np_: lib.jit(lambda x: float(x))(1.0), TypeError),
        (lambda lib, np_: lib.jit(lambda x: "text")(1.0), TypeError),
        (
            lambda lib, np_: lib.jit(lambda x, n: x, static_argnums=1)(1.0, [1]),
            (TypeError, ValueError),
        ),
        (lambda lib, np_: lib.jacrev(lambda x: x)(np.arange(3)), TypeError),
        (lambda lib, np_: np_.asarray(1.0) and lib.jit(lambda x: np.asarray(x))(1.0), TypeError),
    ],
)
def test_kinds_of_errors(call, kind, as_written):  # read functions branch and convert
    with pytest.raises(kind):
        call(jax, jnp)
    with pytest.raises(kind):
        call(fg, fnp)

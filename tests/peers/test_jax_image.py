"""Images in other sizes under fungrad and under JAX: values, derivatives, batches, dtypes."""

import itertools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

METHODS = ["linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch", "area"]
IMAGE = np.random.default_rng(0).normal(size=(7, 6, 2)).round(2)
SHAPES = [(7, 6, 2), (14, 9, 2), (3, 4, 2), (1, 13, 2), (0, 1, 2)]


def close(found, expected):
    for x, y in zip(fg.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, 1e-10, 1e-11)


def results(lib, np_, f, *args):
    """Return a value, its derivatives in both modes, of both orders, and a batch of values."""
    every = tuple(range(len(args)))
    gradient = lib.grad(lambda *xs: np_.sum(np_.sin(f(*xs))), every)
    along = tuple(np_.cos(x + 1) for x in args)
    return {
        "value": f(*args),
        "jvp": lib.jvp(f, args, along)[1],
        "grad": gradient(*args),
        "hvp": lib.jvp(gradient, args, along)[1],
        "vmap": lib.vmap(f)(*[np_.stack([x, 0.9 * x]) for x in args]),
    }


def both(program):
    """Return what fungrad and JAX make of a program of (library, its numpy); JAX compiles it as quickly as it can.

    But not without the fusion emitters, as `make test-peers` asks for: its sines lose half of their digits then.
    """
    quickly = {
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
        "xla_cpu_use_fusion_emitters": True,
    }
    return program(fg, fnp), jax.jit(lambda: program(jax, jnp), compiler_options=quickly)()


@pytest.mark.parametrize(("method", "antialias"), list(itertools.product(METHODS, [True, False])))
def test_resize(method, antialias):
    def program(lib, np_):
        resized = lambda shape: lambda x: lib.image.resize(x, shape, method, antialias)
        return [results(lib, np_, resized(shape), IMAGE) for shape in SHAPES]

    close(*both(program))


@pytest.mark.parametrize("method", ["nearest", *METHODS])
def test_sizes(method):
    rows = [np.random.default_rng(1).normal(size=n) for n in (1, 2, 3, 5, 8)]
    cases = list(itertools.product(rows, (1, 2, 4, 7, 17), [True, False]))
    close(*both(lambda lib, _: [lib.image.resize(x, (n,), method, a) for x, n, a in cases]))


@pytest.mark.parametrize(("method", "antialias"), list(itertools.product(METHODS, [True, False])))
def test_scale_and_translate(method, antialias):
    cases = [((0.53, 1.7), (0.31, -1.23)), ((2.6, 0.41), (-8.2, 3.3))]

    def program(lib, np_):
        move = lambda x, *how: lib.image.scale_and_translate(
            x, (5, 11, 2), (0, 1), *how, method, antialias
        )
        return [results(lib, np_, move, IMAGE, *map(np.array, how)) for how in cases]

    close(*both(program))


def test_names_of_methods_and_axes():
    names = ("bilinear", "trilinear", "triangle", "bicubic", "tricubic", "bicubic-pytorch")
    for ours, theirs in zip(fg.image.ResizeMethod, jax.image.ResizeMethod, strict=True):
        assert (ours.name, ours.value) == (theirs.name, theirs.value)

    def program(lib, np_):
        move = lib.image.scale_and_translate(
            IMAGE, (7, 4, 3), (-1, 1), np.array([1.3, 0.6]), np.array([0.2, 0.1]), "cubic"
        )
        methods = [*names, *lib.image.ResizeMethod]
        return [move, *[lib.image.resize(IMAGE, (4, 9, 2), m) for m in methods]]

    close(*both(program))


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_dtypes(dtype):
    image = IMAGE.astype(dtype)
    for method in ("nearest", "linear", "lanczos3"):
        found = fg.image.resize(image, (4, 9, 2), method)
        expected = jax.image.resize(image, (4, 9, 2), method)
        assert found.dtype == expected.dtype
        limit = 4 * np.finfo(dtype).eps
        np.testing.assert_allclose(found, expected, limit, limit * 4)

"""The table of plain NumPy programs: each under every transform, as it is and after changing an import.

The programs are in `tests/programs`, one module for each topic, and know nothing of fungrad. Each module
says at its end what arguments the programs take and what is not possible with them:

- NOT_OVERRIDABLE: programs that assign to elements of what `np.zeros` and its like make, or make arrays of
  lists by `np.array`. Plain NumPy cannot be told that such an array is to take tracers. They raise an
  error that says so, and work once ``import numpy as np`` is changed to ``import fungrad.numpy as np``.
- LOOKS_AT_VALUES: programs whose course depends on values, with the reason. They have derivatives, and
  under `jit` and `vmap` they raise an error that says where the value is asked for.
"""

import functools
import importlib
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fungrad as fg
from fungrad.core import tree

FOLDER = Path(__file__).parent / "programs"
IMPORTS = {
    "import numpy as np\n": "import fungrad.numpy as np\n",
    "from scipy import special\n": "from fungrad.scipy import special\n",
}
BATCH = 2
STEP = 1e-6


class Program(NamedTuple):
    """A program of the table: plain, and as it is run under transforms."""

    plain: Any
    traced: Any
    args: tuple[Any, ...]

    def differentiable(self):
        """Return which arguments have derivatives: all but integers."""
        return tuple([i for i, x in enumerate(self.args) if x.dtype.kind in "fc"])


@functools.cache
def module(topic, changed):
    """Return the module of a topic; with `changed` imports, those of fungrad in place of NumPy and SciPy."""
    if not changed:
        return importlib.import_module(f"tests.programs.{topic}")
    path = FOLDER / f"{topic}.py"
    source = path.read_text()
    for ours, theirs in IMPORTS.items():
        source = source.replace(ours, theirs)
    loaded = types.ModuleType(f"{topic}_with_fungrad")
    exec(compile(source, str(path), "exec"), vars(loaded))
    return loaded


TOPICS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__")
NAMES = {name: topic for topic in TOPICS for name in module(topic, False).inputs(np.random.default_rng(0))}
WRITES = {name for topic in TOPICS for name in module(topic, False).NOT_OVERRIDABLE}
LOOKS = {name: why for topic in TOPICS for name, why in module(topic, False).LOOKS_AT_VALUES.items()}

WAYS = [
    pytest.param(name, changed, id=f"{name}-{'import changed' if changed else 'as it is'}")
    for name in NAMES
    for changed in ([True] if name in WRITES else [False, True])
]
BLIND = [p for p in WAYS if p.values[0] not in LOOKS]


@functools.cache
def program(name, changed):
    topic = NAMES[name]
    args = module(topic, False).inputs(np.random.default_rng(0))[name]
    plain = getattr(module(topic, False), name)
    return Program(plain, getattr(module(topic, changed), name), args)


def moved(args, directions, step):
    return [x if t is None else x + step * t for x, t in zip(args, directions, strict=True)]


def direction(x, rng):
    t = rng.normal(size=x.shape)
    return (t + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else t)[()]


def loss(f):
    """Return a real number made of all results of `f`."""

    def total(*args):
        results = 0.0
        for k, y in enumerate(tree.leaves(f(*args))):
            if y.dtype.kind not in "fc":
                continue
            w = np.cos(np.arange(y.size) + k).reshape(y.shape)
            squares = np.sum(np.real(y) ** 2 + np.imag(y) ** 2)
            results = results + np.sum(np.real(y) * w + np.imag(y) * w[::-1] if y.ndim else np.real(y)) + squares / 3
        return results

    return total


def assert_close(actual, expected, rtol, what):
    xs, ys = tree.leaves(actual), tree.leaves(expected)
    assert len(xs) == len(ys), what
    for x, y in zip(xs, ys, strict=True):
        assert np.shape(x) == np.shape(y), (what, np.shape(x), np.shape(y))
        assert x.dtype == np.asarray(y).dtype, (what, x.dtype)
        scale = max(1.0, np.max(np.abs(y), initial=0))
        np.testing.assert_allclose(x, y, rtol, rtol * scale, err_msg=what)


# Values


@pytest.mark.parametrize(("name", "changed"), WAYS)
def test_value(name, changed):
    plain, traced, args = program(name, changed)
    given = [x.copy() for x in args]
    expected = plain(*args)
    with_values, _ = fg.vjp(traced, *args)
    assert_close(with_values, expected, 1e-12, "vjp")
    if changed:
        assert_close(traced(*args), expected, 0, "plain arrays")
    for x, y in zip(args, given, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    plain, traced, args = program(name, True)
    single = [x.astype({"f": "f4", "c": "c8"}.get(x.dtype.kind, x.dtype)) for x in args]
    value, _ = fg.vjp(traced, *single)
    for x, y in zip(tree.leaves(value), tree.leaves(plain(*single)), strict=True):
        assert (x.shape, x.dtype) == (np.shape(y), y.dtype)


@pytest.mark.parametrize(("name", "changed"), BLIND)
def test_jit(name, changed):
    plain, traced, args = program(name, changed)
    assert_close(fg.jit(traced)(*args), plain(*args), 1e-12, "jit")


@pytest.mark.parametrize(("name", "changed"), BLIND)
def test_vmap(name, changed):
    p = program(name, changed)
    rng = np.random.default_rng(1)
    directions = [direction(x, rng) if x.dtype.kind in "fc" else np.zeros_like(x) for x in p.args]
    calls = [moved(p.args, directions, 1e-3 * k) for k in range(BATCH)]
    batch = [np.stack(xs) for xs in zip(*calls, strict=True)]
    expected = tree.map(lambda *ys: np.stack(ys), *[p.plain(*call) for call in calls])
    assert_close(fg.vmap(p.traced)(*batch), expected, 1e-12, "vmap")
    gradient = fg.grad(loss(p.traced), p.differentiable())
    looped = tree.map(lambda *gs: np.stack(gs), *[gradient(*call) for call in calls])
    assert_close(fg.vmap(gradient)(*batch), looped, 1e-10, "vmap of grad")


# Derivatives


@pytest.mark.parametrize(("name", "changed"), WAYS)
def test_derivatives(name, changed):
    p = program(name, changed)
    rng = np.random.default_rng(2)
    directions = [direction(x, rng) if x.dtype.kind in "fc" else None for x in p.args]
    scalar, argnums = loss(p.traced), p.differentiable()
    ahead, behind = (loss(p.plain)(*moved(p.args, directions, s)) for s in (STEP, -STEP))
    numeric = (ahead - behind) / (2 * STEP)
    rtol = 1e-6

    def of_differentiable(f):
        def g(*xs):
            args = list(p.args)
            for i, x in zip(argnums, xs, strict=True):
                args[i] = x
            return f(*args)

        return g

    primals = [p.args[i] for i in argnums]
    tangents = [directions[i] for i in argnums]
    g = of_differentiable(scalar)
    assert_close(fg.jvp(g, primals, tangents)[1], np.float64(numeric), rtol, "jvp")
    gradient = fg.grad(g, tuple(range(len(primals))))
    first = gradient(*primals)
    along = sum(np.sum(d * t).real for d, t in zip(first, tangents, strict=True))
    assert_close(along, np.float64(numeric), rtol, "grad")
    assert_close(gradient(*primals), first, 1e-12, "grad, compiled")
    if name not in LOOKS:
        assert_close(fg.jit(gradient)(*primals), first, 1e-10, "jit of grad")

    _, second = fg.jvp(gradient, primals, tangents)
    ahead, behind = (gradient(*moved(primals, tangents, s)) for s in (STEP, -STEP))
    differences = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]
    assert_close(second, differences, 1e-5, "jvp of grad")


# What cannot be


@pytest.mark.parametrize("name", sorted(WRITES))
def test_plain_numpy_says_what_to_change(name):
    plain, _, args = program(name, False)
    with pytest.raises(fg.LostDerivativeError, match=r"fungrad\.numpy"):
        fg.vjp(plain, *args)


@pytest.mark.parametrize("name", sorted(LOOKS))
def test_what_looks_at_values_cannot_be_traced_without(name):
    _, traced, args = program(name, True)
    with pytest.raises(fg.ConcretizationError):
        fg.jit(traced)(*args)
    with pytest.raises(fg.ConcretizationError):
        fg.vmap(traced)(*[np.stack([x, x]) for x in args])

"""The table of plain NumPy programs: each under every transform, as it is and after changing an import.

The programs are in `tests/programs`, one module for each topic, and know nothing of fungrad. At the end of each module
is what there is to know about them:

- `inputs`: arguments for each program.
- NOT_OVERRIDABLE: programs with a call that NumPy lets no other type of arrays take over (NEP 13, NEP 18),
  and which call: an assignment to what `np.zeros` made, `np.array` of a list, ... As they are they raise an error that
  says so. Once ``import numpy as np`` is ``import fungrad.numpy as np`` they work.
- LOOKS_AT_VALUES: programs whose course depends on values, and where. They have derivatives; `jit` and `vmap`
  raise an error that says where the value is asked for.

Everything else works for every program.
"""

import importlib
import types
from collections.abc import Callable
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
STEP = 1e-6


class Program(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    plain
        The program as it is written.
    changed
        The same with the imports changed.
    args
        Arguments for it: arrays and NumPy's numbers, of float64 or complex128.
    """

    plain: Callable[..., Any]
    changed: Callable[..., Any]
    args: tuple[Any, ...]


def with_changed_imports(topic):
    """Return the module of a topic with fungrad in place of NumPy and SciPy."""
    path = FOLDER / f"{topic}.py"
    source = path.read_text()
    for numpys, ours in IMPORTS.items():
        source = source.replace(numpys, ours)
    module = types.ModuleType(f"{topic}_with_changed_imports")
    exec(compile(source, str(path), "exec"), vars(module))
    return module


PROGRAMS: dict[str, Program] = {}
NOT_OVERRIDABLE: dict[str, str] = {}
LOOKS_AT_VALUES: dict[str, str] = {}
for _topic in sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__"):
    _plain, _changed = (
        importlib.import_module(f"tests.programs.{_topic}"),
        with_changed_imports(_topic),
    )
    for _name, _args in _plain.inputs(np.random.default_rng(0)).items():
        if _name in PROGRAMS:
            raise ValueError(f"two programs have the name {_name!r}")
        PROGRAMS[_name] = Program(getattr(_plain, _name), getattr(_changed, _name), _args)
    NOT_OVERRIDABLE |= _plain.NOT_OVERRIDABLE
    LOOKS_AT_VALUES |= _plain.LOOKS_AT_VALUES

ANY_COURSE = [name for name in PROGRAMS if name not in LOOKS_AT_VALUES]


def moved(args, directions, step):
    return [x + step * t for x, t in zip(args, directions, strict=True)]


def directions_of(args):
    rng = np.random.default_rng(1)
    normal = lambda x: rng.normal(size=x.shape)
    return [(normal(x) + 1j * normal(x) if x.dtype.kind == "c" else normal(x))[()] for x in args]


def weighted(f):
    """Return a real number made of all numbers that `f` returns."""

    def total(*args):
        result = 0.0
        for k, y in enumerate(tree.leaves(f(*args))):
            weights = np.cos(np.arange(y.size) + k).reshape(y.shape)
            result = result + np.sum(np.real(y) * weights + np.imag(y) * weights.T.reshape(y.shape))
            result = result + np.sum(np.real(y) ** 2 + np.imag(y) ** 2) / 3
        return result

    return total


def gradient_of(f, args):
    return fg.grad(weighted(f), tuple(range(len(args))))


def assert_close(actual, expected, rtol, what):
    xs, ys = tree.leaves(actual), tree.leaves(expected)
    assert len(xs) == len(ys), what
    for x, y in zip(xs, ys, strict=True):
        assert np.shape(x) == np.shape(y), what
        assert x.dtype == np.asarray(y).dtype, what
        scale = max(1.0, np.max(np.abs(y), initial=0))
        np.testing.assert_allclose(x, y, rtol, rtol * scale, err_msg=what)


# After changing an import


@pytest.mark.parametrize("name", PROGRAMS)
def test_value(name):
    plain, changed, args = PROGRAMS[name]
    given = [x.copy() for x in args]
    expected = plain(*args)
    assert_close(changed(*args), expected, 0, "plain arrays")
    assert_close(fg.vjp(changed, *args)[0], expected, 1e-12, "vjp")
    if name in ANY_COURSE:
        assert_close(fg.jit(changed)(*args), expected, 1e-12, "jit")
    for x, y in zip(args, given, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", PROGRAMS)
def test_single_precision(name):
    plain, changed, args = PROGRAMS[name]
    single = [x.astype({"f": np.float32, "c": np.complex64}[x.dtype.kind]) for x in args]
    value, _ = fg.vjp(changed, *single)
    for x, y in zip(tree.leaves(value), tree.leaves(plain(*single)), strict=True):
        assert (x.shape, x.dtype) == (np.shape(y), y.dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    plain, changed, args = PROGRAMS[name]
    tangents = directions_of(args)
    ahead, behind = (weighted(plain)(*moved(args, tangents, s)) for s in (STEP, -STEP))
    difference = (ahead - behind) / (2 * STEP)
    gradient = gradient_of(changed, args)
    first = gradient(*args)
    along = sum(np.sum(g * t).real for g, t in zip(first, tangents, strict=True))
    assert_close(along, difference, 1e-6, "grad")
    assert_close(fg.jvp(weighted(changed), args, tangents)[1], difference, 1e-6, "jvp")
    assert_close(gradient(*args), first, 1e-12, "grad, compiled")
    if name in ANY_COURSE:
        assert_close(fg.jit(gradient)(*args), first, 1e-10, "jit of grad")


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name):
    _, changed, args = PROGRAMS[name]
    tangents = directions_of(args)
    gradient = gradient_of(changed, args)
    ahead, behind = (gradient(*moved(args, tangents, s)) for s in (STEP, -STEP))
    differences = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]
    assert_close(fg.jvp(gradient, args, tangents)[1], differences, 1e-5, "jvp of grad")


@pytest.mark.parametrize("name", ANY_COURSE)
def test_vmap(name):
    plain, changed, args = PROGRAMS[name]
    calls = [moved(args, directions_of(args), 1e-3 * k) for k in range(2)]
    batch = [np.stack(xs) for xs in zip(*calls, strict=True)]
    looped = lambda f: tree.map(lambda *ys: np.stack(ys), *[f(*call) for call in calls])
    assert_close(fg.vmap(changed)(*batch), looped(plain), 1e-12, "vmap")
    gradient = gradient_of(changed, args)
    assert_close(fg.vmap(gradient)(*batch), looped(gradient), 1e-10, "vmap of grad")


# As they are


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NOT_OVERRIDABLE])
def test_as_it_is(name):
    plain, changed, args = PROGRAMS[name]
    assert_close(fg.vjp(plain, *args)[0], plain(*args), 1e-12, "vjp")
    ours, gradient = gradient_of(changed, args), gradient_of(plain, args)
    expected = ours(*args)
    assert_close(gradient(*args), expected, 1e-12, "grad")
    if name in ANY_COURSE:
        assert_close(fg.jit(gradient)(*args), expected, 1e-10, "jit of grad")
        batch = [np.stack([x, x]) for x in args]
        pairs = tuple([np.stack([g, g]) for g in expected])
        assert_close(fg.vmap(gradient)(*batch), pairs, 1e-10, "vmap of grad")


# What cannot be


@pytest.mark.parametrize("name", NOT_OVERRIDABLE)
def test_the_error_says_what_to_change(name):
    plain, _, args = PROGRAMS[name]
    assigns = NOT_OVERRIDABLE[name].startswith("assigns")
    advice = r"fungrad\.numpy\.zeros" if assigns else r"fungrad\.numpy"
    with pytest.raises(fg.LostDerivativeError, match=advice):
        fg.vjp(plain, *args)


@pytest.mark.parametrize("name", LOOKS_AT_VALUES)
def test_the_error_says_where_a_value_is_asked_for(name):
    _, changed, args = PROGRAMS[name]
    with pytest.raises(fg.ConcretizationError, match=rf"\(in {changed.__name__}\)"):
        fg.jit(changed)(*args)
    with pytest.raises(fg.ConcretizationError, match=rf"\(in {changed.__name__}\)"):
        fg.vmap(changed)(*[np.stack([x, x]) for x in args])

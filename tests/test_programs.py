"""The table of plain NumPy programs under every transform, as they are and after changing an import."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.core import tree
from fungrad.core.config import setting
from tests.programs import LOOKS_AT_VALUES, NOT_OVERRIDABLE, PROGRAMS, assert_close, weighted

ANY_COURSE = [name for name in PROGRAMS if name not in LOOKS_AT_VALUES]
STEP = 1e-6


def moved(args, directions, step):
    return [x + step * t for x, t in zip(args, directions, strict=True)]


def directions_of(args):
    rng = np.random.default_rng(1)
    normal = lambda x: rng.normal(size=x.shape)
    return [(normal(x) + 1j * normal(x) if x.dtype.kind == "c" else normal(x))[()] for x in args]


def gradient_of(f, args):
    return fg.grad(weighted(f), tuple(range(len(args))))


# After changing an import


@pytest.mark.parametrize("name", PROGRAMS)
def test_value(name):
    _, plain, changed, args = PROGRAMS[name]
    given = [x.copy() for x in args]
    expected = plain(*args)
    assert_close(changed(*args), expected, 0, "plain arrays")
    assert_close(fg.vjp(changed, *args)[0], expected, 1e-12, "vjp")
    assert_close(fg.jit(changed)(*args), expected, 1e-12, "jit")
    for x, y in zip(args, given, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", PROGRAMS)
def test_single_precision(name):
    _, plain, changed, args = PROGRAMS[name]
    single = [x.astype({"f": np.float32, "c": np.complex64}[x.dtype.kind]) for x in args]
    value, _ = fg.vjp(changed, *single)
    for x, y in zip(tree.leaves(value), tree.leaves(plain(*single)), strict=True):
        assert (x.shape, x.dtype) == (np.shape(y), y.dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    _, plain, changed, args = PROGRAMS[name]
    tangents = directions_of(args)
    ahead, behind = (weighted(plain)(*moved(args, tangents, s)) for s in (STEP, -STEP))
    difference = (ahead - behind) / (2 * STEP)
    gradient = gradient_of(changed, args)
    first = gradient(*args)
    along = sum(np.sum(g * t).real for g, t in zip(first, tangents, strict=True))
    assert_close(along, difference, 1e-6, "grad")
    assert_close(fg.jvp(weighted(changed), args, tangents)[1], difference, 1e-6, "jvp")
    assert_close(gradient(*args), first, 1e-12, "grad, compiled")
    assert_close(fg.jit(gradient)(*args), first, 1e-10, "jit of grad")


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name):
    _, _, changed, args = PROGRAMS[name]
    tangents = directions_of(args)
    gradient = gradient_of(changed, args)
    ahead, behind = (gradient(*moved(args, tangents, s)) for s in (STEP, -STEP))
    differences = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]
    assert_close(fg.jvp(gradient, args, tangents)[1], differences, 1e-5, "jvp of grad")


@pytest.mark.parametrize("name", PROGRAMS)
def test_vmap(name):
    _, plain, changed, args = PROGRAMS[name]
    calls = [moved(args, directions_of(args), 1e-3 * k) for k in range(2)]
    batch = [np.stack(xs) for xs in zip(*calls, strict=True)]
    looped = lambda f: tree.map(lambda *ys: np.stack(ys), *[f(*call) for call in calls])
    assert_close(fg.vmap(changed)(*batch), looped(plain), 1e-12, "vmap")
    gradient = gradient_of(changed, args)
    assert_close(fg.vmap(gradient)(*batch), looped(gradient), 1e-10, "vmap of grad")


# As they are


AS_THEY_ARE = [(name, True) for name in PROGRAMS]
AS_THEY_ARE += [(name, False) for name in PROGRAMS if name not in NOT_OVERRIDABLE]


@pytest.mark.parametrize(("name", "reading"), AS_THEY_ARE)
def test_as_it_is(name, reading):
    with setting(reading=reading):
        check_as_it_is(name, name in ANY_COURSE or reading)


def check_as_it_is(name, any_course):
    _, plain, changed, args = PROGRAMS[name]
    assert_close(fg.vjp(plain, *args)[0], plain(*args), 1e-12, "vjp")
    ours, gradient = gradient_of(changed, args), gradient_of(plain, args)
    expected = ours(*args)
    assert_close(gradient(*args), expected, 1e-12, "grad")
    if any_course:
        batch = [np.stack([x, x]) for x in args]
        pairs = tuple([np.stack([g, g]) for g in expected])
        assert_close(fg.vmap(gradient)(*batch), pairs, 1e-10, "vmap of grad")


# What cannot be where functions are not read


@pytest.mark.parametrize("name", NOT_OVERRIDABLE)
def test_the_error_says_what_to_change(name, as_written):
    _, plain, _, args = PROGRAMS[name]
    assigns = NOT_OVERRIDABLE[name].startswith("assigns")
    advice = r"fungrad\.numpy\.zeros" if assigns else r"fungrad\.(numpy|scipy)"
    with pytest.raises(fg.LostDerivativeError, match=advice):
        fg.vjp(plain, *args)


@pytest.mark.parametrize("name", LOOKS_AT_VALUES)
def test_the_error_says_where_a_value_is_asked_for(name, as_written):
    topic, _, changed, args = PROGRAMS[name]
    with pytest.raises(fg.ConcretizationError, match=rf"{topic}\.py:\d+ "):
        fg.jit(changed)(*args)
    with pytest.raises(fg.ConcretizationError, match=rf"{topic}\.py:\d+ "):
        fg.vmap(changed)(*[np.stack([x, x]) for x in args])

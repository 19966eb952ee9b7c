"""Programs of which kernels and NumPy's functions once made different things, and what rounding may do to a function."""

import numpy as np
import pytest

from fungrad.compile.targets import host
from tests.fuzz import native, rounding
from tests.fuzz.language import Program
from tests.fuzz.native_programs import Call, Native

FOUND = {
    "erfc, far out, is not what SciPy makes of it": (
        ("x0 = laid(272, (8, 9), 'f4')",),
        ("v1 = sp.erfc(np.abs(x0) + np.arange(x0.shape[-1]))",),
        "plain",
        ("strided", "C"),
    ),
    "remainders of what is rounded to a multiple": (
        ("x0 = laid(318, (8, 40), 'f8')", "x1 = laid(319, (40,), 'i8')"),
        ("v1 = np.exp(x0)", "v2 = np.mod(v1 * x1, v1)"),
        "plain",
        ("C", "read-only"),
    ),
    "a deviation of columns, of which many elements are equal": (
        ("x0 = laid(436, (59581, 4), 'f8')",),
        ("v1 = np.where(np.abs(x0) > 0.7, 0.3, 0.0)", "v2 = np.std(v1, axis=0)"),
        "plain",
        ("Fortran", "C"),
    ),
    "jit of constants, while it is traced": (
        ("x0 = laid(318, (8, 40), 'f8')", "c0 = draw(829, (8, 40), 'f8')"),
        ("v1 = jit(lambda u: np.sin(u) * (u * 0.5 + u))(c0)", "v2 = np.sin(x0) * v1 + v1"),
        "plain",
        ("C", "strided"),
    ),
    "the lines of an error, of a program of two files": (
        ("x0 = laid(453, (11, 29), 'f8')",),
        ("v1 = np.log(x0 * x0 + 0.1)[..., [0, 0]]", "v2 = v1[np.argmax(v1)]"),
        "vmap",
        ("reversed", "C"),
    ),
}


@pytest.mark.skipif(not host.available(), reason="nothing compiles kernels")
@pytest.mark.parametrize("name", FOUND)
def test_what_the_campaign_has_found_before(name):
    arguments, lines, way, layouts = FOUND[name]
    last = lines[-1].partition(" = ")[0]
    captured = tuple([x for x in arguments if x[0] == "c"])
    arguments = tuple([x for x in arguments if x[0] == "x"])
    calls = [
        Call(tuple([f"{x[:-1]}, {layout!r}, 'tame')" for x in arguments])) for layout in layouts
    ]
    results = ("v1", last) if captured else (last,)
    program = Native(Program(arguments, captured, lines, results), way, tuple(calls), 1, False)
    native.tally.clear()
    found = native.check(program)
    assert found is None, found
    assert native.tally["programs with either"] == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_erfc_is_known_precisely(dtype):
    mpmath = pytest.importorskip("mpmath")
    x = np.linspace(-6, 9 if dtype == "f4" else 26, 500).astype(dtype)
    with mpmath.workdps(60):
        right = [mpmath.erfc(mpmath.mpf(float(a))) for a in x]
        apart = [abs(mpmath.mpf(float(y)) - r) for y, r in zip(rounding.PRECISE["erfc"](x), right)]
        units = [mpmath.mpf(float(np.spacing(x.dtype.type(float(r))))) for r in right]
    assert max(a / u for a, u in zip(apart, units)) < 8

"""Libraries built on JAX, and on autograd, give the same numbers on fungrad: `make test-ecosystem`."""

import pytest

from tests.ecosystem.compare import (
    GAPS,
    HERE,
    LIBRARIES,
    OF_AUTOGRAD,
    differences,
    is_installed,
    outcome,
    tolerance,
)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("library", LIBRARIES)
def test_programs_agree(library, bits, tmp_path):
    if not is_installed(library):
        pytest.skip(f"{LIBRARIES[library]} and JAX are not both installed")
    path = HERE / "programs" / f"{library}.py"
    jax, fungrad = (outcome(path, by, tmp_path, bits) for by in ("jax", "fungrad"))
    assert [row for row in jax.report.values() if "error" in row] == []
    found = differences(fungrad, jax)
    wrong = {
        p: d for p, d in found.items() if isinstance(d, str) or d > tolerance(library, p, jax, bits)
    }
    gaps = {p for p in found if f"{library}.{p}" in GAPS[bits]}
    assert {p: d for p, d in wrong.items() if p not in gaps} == {}
    assert gaps <= {*wrong}  # what works is no gap


@pytest.mark.parametrize("library", OF_AUTOGRAD)
def test_programs_of_autograd_agree(library, tmp_path):
    if not is_installed(library):
        pytest.skip(f"{OF_AUTOGRAD[library]} and autograd are not both installed")
    path = HERE / "programs" / "of_autograd" / f"{library}.py"
    autograd, fungrad = (outcome(path, by, tmp_path) for by in ("autograd", "fungrad_for_autograd"))
    assert [row for row in autograd.report.values() if "error" in row] == []
    found = differences(fungrad, autograd)
    assert {
        p: d for p, d in found.items() if isinstance(d, str) or d > tolerance(library, p, autograd)
    } == {}

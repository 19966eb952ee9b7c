"""Libraries built on JAX give the same numbers on fungrad: `make test-ecosystem`."""

import pytest

from tests.ecosystem.compare import HERE, LIBRARIES, differences, is_installed, outcome

TOLERANCE = {64: 1e-9, 32: 1e-3}


@pytest.mark.parametrize("bits", TOLERANCE)
@pytest.mark.parametrize("library", LIBRARIES)
def test_programs_agree(library, bits, tmp_path):
    if not is_installed(library):
        pytest.skip(f"{LIBRARIES[library]} and JAX are not both installed")
    path = HERE / "programs" / f"{library}.py"
    jax, fungrad = (outcome(path, by, tmp_path, bits) for by in ("jax", "fungrad"))
    assert [row for row in jax.report.values() if "error" in row] == []
    found = differences(fungrad, jax)
    assert {p: d for p, d in found.items() if isinstance(d, str) or d > TOLERANCE[bits]} == {}

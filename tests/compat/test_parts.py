"""Parts of `fungrad.compat` that are no names of another library, in this process: nothing is installed."""

import numpy as np
import pytest

import fungrad.compat.jax
from fungrad import settings
from fungrad.compat.autograd.vectors import vspace
from fungrad.compat.jax import crossing, decompositions, methods

Z = np.array([1 + 2j, -3j])


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (np.ones(2), "f4"),
        (np.arange(2), "i4"),
        (Z, "c8"),
        (np.float64(1), "f4"),
        (np.int8([1]), "i1"),
    ],
)
def test_what_leaves_is_of_32_bits_where_there_are_no_others(x, dtype):
    assert not fungrad.compat.jax.is_installed()
    with settings.enable_x64(False):
        for found in (
            crossing.leave(x),
            crossing.leave((x,))[0],
            crossing.leave_tree({"x": x})["x"],
        ):
            assert found.dtype == dtype
    with settings.enable_x64(True):
        assert crossing.leave(x).dtype == x.dtype


def test_the_upper_factor_is_the_adjoint_of_the_lower():
    a = np.array([[2, 1j], [-1j, 3]])
    lower, upper = (np.asarray(decompositions.cholesky(a, upper=u)) for u in (False, True))
    np.testing.assert_allclose(lower @ lower.conj().T, a, atol=1e-12)
    np.testing.assert_allclose(upper.conj().T @ upper, a, atol=1e-12)


@pytest.mark.parametrize("name", methods.COMPARISONS)
def test_comparisons_seen_from_the_other_side(name):
    x, y = np.array([1, 2, 3]), np.array([3, 2, 1])
    compare, mirrored = (
        getattr(np, methods.COMPARISONS[n]) for n in (name, methods.MIRRORED.get(name, name))
    )
    np.testing.assert_array_equal(compare(x, y), mirrored(y, x))


def test_covectors_and_bases_of_autograd():
    np.testing.assert_array_equal(vspace(Z).covector(Z), Z.conj())
    np.testing.assert_array_equal(vspace(Z.real).covector(Z.real), Z.real)
    basis = [[float(x) for x in (a, *b)] for a, b in vspace([1.0, np.ones(2)]).standard_basis()]
    np.testing.assert_array_equal(basis, np.eye(3))
    assert len([*vspace(Z).standard_basis()]) == vspace(Z).size == 4

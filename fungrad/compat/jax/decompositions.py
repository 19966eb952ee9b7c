"""Functions of `jax.numpy.linalg` and `jax.scipy.linalg` whose results are complex, also where all are real."""

from __future__ import annotations

from typing import Any

from fungrad.compat.jax.crossing import enter
from fungrad.compat.jax.jnp import as_complex
from fungrad.numpy import linalg
from fungrad.scipy import linalg as scipys


def eig(a: Any) -> Any:
    """Return the eigenvalues and eigenvectors of a square matrix."""
    found = linalg.eig(enter(a))
    return type(found)(*map(as_complex, found))


def eigvals(a: Any) -> Any:
    """Return the eigenvalues of a square matrix."""
    return as_complex(linalg.eigvals(enter(a)))


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """Return the square root of a matrix."""
    return as_complex(scipys.sqrtm(enter(A)))

"""`jax.scipy.linalg`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.decompositions import dft, expm, solve_sylvester, sqrtm
from fungrad.compat.jax.decompositions import eigh_of_scipy as eigh

__all__ = ["dft", "eigh", "expm", "solve_sylvester", "sqrtm"]
__getattr__ = _namespace("jax.scipy.linalg", globals(), ["fungrad.scipy.linalg"])

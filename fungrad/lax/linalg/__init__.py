"""Linear algebra by the names of `jax.lax.linalg`: stacks of matrices, as LAPACK decomposes them.

Unlike JAX's functions these raise `numpy.linalg.LinAlgError` for matrices that have no decomposition, as NumPy's
do, and do not return NaN.
"""

from typing import TYPE_CHECKING, Any

from fungrad.lax.linalg import decompositions, reflections, systems
from fungrad.lax.linalg.decompositions import *
from fungrad.lax.linalg.reflections import *
from fungrad.lax.linalg.systems import *
from fungrad.numpy.elsewhere import unknown_name

_NAMES = [*decompositions.__all__, *reflections.__all__, *systems.__all__]
__dir__ = _NAMES.copy
if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__ = _NAMES


_EXCLUDED = {
    "qdwh": "use fungrad.scipy.linalg.polar, which gives both factors",
    "EigImplementation": "LAPACK is what there is; leave `implementation` out",
    "EighImplementation": "LAPACK is what there is; leave `implementation` out",
    "SvdAlgorithm": "LAPACK is what there is; leave `algorithm` out",
}


def __getattr__(name: str) -> Any:
    if name.endswith("_p") and not name.startswith("_"):
        raise AttributeError(
            f"fungrad.lax.linalg has no {name!r}, a primitive of JAX's own: call {name[:-2]}"
        )
    raise unknown_name("fungrad.lax.linalg", name, _NAMES, _EXCLUDED)

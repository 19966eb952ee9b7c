"""`jax.core`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_tree as _leave_tree
from fungrad.compat.jax.private import max_dim, min_dim

__all__ = ["max_dim", "min_dim"]
Atom = Any
_SOURCES = [
    "fungrad.compat.jax.results",
    "fungrad.compat.jax.interpreting",
    "fungrad.compat.jax.private",
    "fungrad.extend.core",
    "fungrad",
]
__getattr__ = _namespace("jax.core", globals(), _SOURCES, "", "*", {"eval_jaxpr": _leave_tree})

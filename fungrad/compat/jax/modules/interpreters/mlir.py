"""`jax.interpreters.mlir`."""

from types import SimpleNamespace as _SimpleNamespace

from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.names import names_of as _names_of

_CLASSES = [name for name, kind in _names_of("jax.interpreters.mlir").items() if kind == ":class"]
_WHY = "it is part of XLA, and programs here become NumPy's calls"
_named = _importable("jax.interpreters.mlir", _CLASSES, {}, _WHY)
_SOURCES = ["fungrad.extend.mlir", _SimpleNamespace(**{name: _named(name) for name in _CLASSES})]
__getattr__ = _namespace("jax.interpreters.mlir", globals(), _SOURCES, "", "*")

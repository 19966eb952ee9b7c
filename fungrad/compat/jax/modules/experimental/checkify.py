"""`jax.experimental.checkify`."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import Crossed as _Crossed
from fungrad.experimental import checkify as _checkify

ErrorCategory: Any = type(next(iter(_checkify.user_checks)))
JaxException = _checkify.CheckError if hasattr(_checkify, "CheckError") else RuntimeError
__getattr__ = _namespace(
    "jax.experimental.checkify",
    globals(),
    ["fungrad.experimental.checkify"],
    "",
    "*",
    {"checkify": _Crossed},
)

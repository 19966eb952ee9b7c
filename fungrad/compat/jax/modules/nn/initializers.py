"""`jax.nn.initializers`: functions that return functions."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_functions as _leave_functions

__getattr__ = _namespace(
    "jax.nn.initializers", globals(), ["fungrad.nn.initializers"], finish={"*": _leave_functions}
)

"""`jax.example_libraries.stax`: functions that return functions."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_functions as _leave_functions

__getattr__ = _namespace(
    "jax.example_libraries.stax",
    globals(),
    ["fungrad.example_libraries.stax"],
    finish={"*": _leave_functions},
)

"""`jax.example_libraries.optimizers`: functions that return functions."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import leave_functions as _leave_functions

__getattr__ = _namespace(
    "jax.example_libraries.optimizers",
    globals(),
    ["fungrad.example_libraries.optimizers"],
    finish={"*": _leave_functions},
)

"""`jax.stages`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.private import CompilerOptions
from fungrad.compat.jax.results import ArgInfo, Compiled, Lowered, Traced
from fungrad.compat.jax.transforms import Jitted as Wrapped

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
__getattr__ = _namespace("jax.stages", globals(), [])

"""`jax.ffi`: packages that register calls to XLA can be imported; their calls are errors."""

from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.inert import itself as pycapsule
from fungrad.compat.jax.inert import no_effect as register_ffi_target

register_ffi_target_as_batch_partitionable = register_ffi_target
register_ffi_type = register_ffi_type_id = register_ffi_target

__all__ = ["pycapsule", "register_ffi_target"]
_NAMES = "build_ffi_lowering_function ffi_call ffi_lowering include_dir"
_WHY = "there is no XLA that could call foreign code. Call it by jax.pure_callback, as through ctypes or an extension module"
__getattr__ = _importable("jax.ffi", _NAMES.split(), globals(), _WHY)

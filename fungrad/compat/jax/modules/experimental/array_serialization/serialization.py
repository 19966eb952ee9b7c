"""`jax.experimental.array_serialization.serialization`: its names can be imported."""

from fungrad.compat.jax.accelerators import importable as _importable

_NAMES = """
AsyncManager BarrierTimeoutError GlobalAsyncCheckpointManager GlobalAsyncCheckpointManagerBase async_deserialize
async_serialize get_tensorstore_spec run_deserialization run_serialization
"""
_WHY = "arrays are NumPy's: save them by numpy.savez, or by what orbax.checkpoint has for NumPy's arrays"
_HERE = "jax.experimental.array_serialization.serialization"
__getattr__ = _importable(_HERE, _NAMES.split(), globals(), _WHY)

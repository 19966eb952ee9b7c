"""`jax`."""

from fungrad.compat.jax import inert, transforms
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.array import Array as Array
from fungrad.compat.jax.config import config as config
from fungrad.compat.jax.crossing import Crossed as _Crossed
from fungrad.compat.jax.crossing import leave_tree as _leave_tree
from fungrad.compat.jax.elements import ds as ds
from fungrad.compat.jax.inert import NamedSharding as NamedSharding
from fungrad.compat.jax.inert import Shard as Shard
from fungrad.compat.jax.names import VERSION, VERSION_INFO
from fungrad.compat.jax.refs import Ref as Ref
from fungrad.compat.jax.refs import empty_ref as empty_ref
from fungrad.compat.jax.refs import free_ref as free_ref
from fungrad.compat.jax.refs import freeze as freeze
from fungrad.compat.jax.refs import new_ref as new_ref
from fungrad.compat.jax.results import converted as _converted
from fungrad.compat.jax.x64 import enable_x64 as enable_x64
from fungrad.compat.standing_in import refuse_strays as _refuse_strays

_refuse_strays("jax", "fungrad.compat.jax")
__version__, __version_info__ = VERSION, VERSION_INFO
P = inert.PartitionSpec

Device = inert.Device
devices, local_devices = inert.devices, inert.local_devices
device_count = local_device_count = inert.device_count
process_count = host_count = inert.device_count
process_index = host_id = inert.zero
process_indices = host_ids = inert.process_indices
default_backend = inert.default_backend
make_mesh = inert.make_mesh
named_scope = inert.named_scope

_MODULES = """
ad_checkpoint api_util core custom_batching custom_derivatives debug distributed dlpack dtypes errors
example_libraries experimental export extend ffi flatten_util image interpreters lax monitoring nn numpy ops profiler
random ref scipy sharding stages test_util tree tree_util typing util version _src
"""
_FINISH = {
    **dict.fromkeys(transforms.TRANSFORMS, _Crossed),
    "jvp": _leave_tree,
    "closure_convert": _converted,
}
_SAME = "checkpoint_policies float0 ShapeDtypeStruct " + transforms.AS_IT_IS
_OURS = [f"fungrad.compat.jax.{name}" for name in ("transforms", "callbacks", "sharded")]
_SOURCES = [*_OURS, "fungrad"]
__getattr__ = _namespace("jax", globals(), _SOURCES, _MODULES, _SAME, _FINISH)

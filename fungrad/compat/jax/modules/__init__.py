"""`jax`."""

from typing import Any

from fungrad.compat.jax import inert, sharded, transforms
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.adapting import returning as _returning
from fungrad.compat.jax.adapting import transforming as _transforming
from fungrad.compat.jax.array import Array as Array
from fungrad.compat.jax.config import config as config
from fungrad.compat.jax.inert import NamedSharding as NamedSharding
from fungrad.compat.jax.inert import Shard as Shard
from fungrad.compat.jax.names import VERSION, VERSION_INFO
from fungrad.compat.jax.x64 import enable_x64 as enable_x64

__version__, __version_info__ = VERSION, VERSION_INFO
P = inert.PartitionSpec

Device = inert.Device
devices = local_devices = inert.devices
device_count = local_device_count = inert.device_count
process_count = host_count = inert.device_count
process_index = host_id = inert.zero
process_indices = host_ids = inert.process_indices
default_backend = inert.default_backend
make_mesh = inert.make_mesh
copy_to_host_async = effects_barrier = inert.no_effect
jit = transforms.jit
pmap, shard_map = sharded.pmap, sharded.shard_map
clear_caches = inert.no_effect
default_matmul_precision = default_prng_impl = numpy_rank_promotion = inert.nothing
transfer_guard = transfer_guard_host_to_device = inert.nothing
transfer_guard_device_to_host = transfer_guard_device_to_device = inert.nothing
legacy_prng_key = enable_custom_prng = softmax_custom_jvp = inert.nothing
allow_f16_reductions = enable_checks = check_tracer_leaks = inert.nothing
array_garbage_collection_guard = auto_pcast = no_execution = no_tracing = inert.nothing
named_scope = inert.named_scope
block_until_ready = inert.itself
reshard = inert.itself
set_mesh = use_mesh = inert.nothing

_MODULES = """
ad_checkpoint api_util core custom_batching custom_derivatives debug distributed dlpack dtypes errors
example_libraries experimental extend flatten_util image interpreters lax monitoring nn numpy ops profiler
random ref scipy sharding stages test_util tree tree_util typing util version _src
"""
_get = _namespace(
    "jax", globals(), ["fungrad"], _MODULES, "checkpoint_policies float0 ShapeDtypeStruct"
)


def __getattr__(name: str) -> Any:
    import fungrad

    if name in transforms.TRANSFORMS:
        made = _transforming(transforms.home(name))
    elif name in transforms.CALLS:
        made = _returning(transforms.home(name))
    elif name in transforms.OWN:
        made = getattr(transforms, name)
    elif name in transforms.AS_IT_IS:
        made = getattr(fungrad, name)
    else:
        return _get(name)
    globals()[name] = made
    return made

"""`jax.experimental.pallas`."""

from typing import Any, NamedTuple

from fungrad.compat.jax.accelerators import Options
from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.elements import Slice as Slice
from fungrad.compat.jax.elements import ds as ds
from fungrad.compat.jax.inert import no_effect as _no_effect
from fungrad.compat.jax.inert import nothing as _nothing
from fungrad.compat.jax.pallas import align_to as align_to
from fungrad.compat.jax.pallas import broadcast_to as broadcast_to
from fungrad.compat.jax.pallas import cdiv as cdiv
from fungrad.compat.jax.pallas import debug_print as debug_print
from fungrad.compat.jax.pallas import empty as empty
from fungrad.compat.jax.pallas import empty_like as empty_like
from fungrad.compat.jax.pallas import loop as loop
from fungrad.compat.jax.pallas import multiple_of as multiple_of
from fungrad.compat.jax.pallas import next_power_of_2 as next_power_of_2
from fungrad.compat.jax.pallas import num_programs as num_programs
from fungrad.compat.jax.pallas import pallas_call as pallas_call
from fungrad.compat.jax.pallas import program_id as program_id
from fungrad.compat.jax.pallas import reciprocal as reciprocal
from fungrad.compat.jax.pallas import run_scoped as run_scoped
from fungrad.compat.jax.pallas import strides_from_shape as strides_from_shape
from fungrad.compat.jax.pallas import when as when
from fungrad.compat.jax.pallas import with_scoped as with_scoped
from fungrad.compat.jax.pallas_specs import Blocked as Blocked
from fungrad.compat.jax.pallas_specs import BlockSpec as BlockSpec
from fungrad.compat.jax.pallas_specs import Element as Element
from fungrad.compat.jax.pallas_specs import GridSpec as GridSpec
from fungrad.compat.jax.pallas_specs import MemoryRef as MemoryRef
from fungrad.compat.jax.pallas_specs import MemorySpace as MemorySpace
from fungrad.compat.jax.pallas_specs import Squeezed as Squeezed
from fungrad.compat.jax.pallas_specs import squeezed as squeezed


class Buffered(NamedTuple):
    """How many blocks are held at once; it has no effect."""

    buffer_count: int = 2
    use_lookahead: bool = False
    revisit: Any = None


dslice = ds
ANY, HOST = MemorySpace.ANY, MemorySpace.HOST
CompilerParams = CostEstimate = Options
no_block_spec = None
delay = debug_check = _no_effect
enable_debug_checks = enable_poison_buffers = _nothing

_NAMES = """
BoundedSlice DeviceIdType Indirect RevisitMode core_map empty_ref_like estimate_cost get_global kernel lower_as_mlir
pallas_export_experimental run_state select_ref semaphore semaphore_read semaphore_signal semaphore_wait
"""
__getattr__ = _importable("jax.experimental.pallas", _NAMES.split(), globals())

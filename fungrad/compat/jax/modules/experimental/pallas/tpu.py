"""`jax.experimental.pallas.tpu`: names for interpreted kernels, and names for TPUs."""

from fungrad.compat.jax.accelerators import Options
from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.accelerators import load as load
from fungrad.compat.jax.accelerators import store as store
from fungrad.compat.jax.pallas_specs import MemorySpace as MemorySpace

VMEM, SMEM, CMEM = MemorySpace.VMEM, MemorySpace.SMEM, MemorySpace.CMEM
HBM = MemorySpace.ANY
PARALLEL, ARBITRARY = "parallel", "arbitrary"
CORE_PARALLEL, SUBCORE_PARALLEL = "core_parallel", "subcore_parallel"
CompilerParams = InterpretParams = Options

_NAMES = """
BufferType BufferedRef BufferedRefBase ChipVersion CoreType GridDimensionSemantics LoweringException PrefetchScalarGridSpec
SEMAPHORE SemaphoreType SideEffectType Tiling TpuInfo VMEM_SHARED async_copy async_remote_copy bitcast core core_barrier
create_tensorcore_mesh dma_semaphore einshape emit_pipeline emit_pipeline_with_allocations force_tpu_interpret_mode
get_barrier_semaphore get_tpu_info get_tpu_info_for_chip is_tpu_device make_async_copy make_async_remote_copy matmul_acc_lhs
matmul_pop matmul_push_rhs pack_elementwise prng_random_bits prng_seed reset_tpu_interpret_mode_state roll run_on_first_core
sample_block set_tpu_interpret_mode stateful_bernoulli stateful_bits stateful_normal stateful_uniform stochastic_round
sync_copy to_pallas_key touch trace_value unpack_elementwise with_memory_space_constraint
"""
__getattr__ = _importable("jax.experimental.pallas.tpu", _NAMES.split(), globals())

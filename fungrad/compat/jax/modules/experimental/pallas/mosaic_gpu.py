"""`jax.experimental.pallas.mosaic_gpu`: names for GPUs."""

from fungrad.compat.jax.accelerators import Options
from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.pallas_specs import BlockSpec as BlockSpec

CompilerParams = Options

_NAMES = """
ACC Barrier ClusterBarrier GMEM Layout LoweringSemantics MemorySpace Mesh REGS RefUnion Replicated SMEM SemaphoreType
SwizzleTransform TMEM TMEMLayout TilingTransform TransposeTransform WGMMAAccumulatorRef WarpMesh as_torch_kernel
async_prefetch atomic_add barrier_arrive barrier_wait broadcasted_iota commit_smem copy_gmem_to_smem copy_smem_to_gmem
dynamic_scheduling_loop emit_pipeline emit_pipeline_warp_specialized kernel layout_cast load nd_loop planar_snake
print_layout remote_ref set_max_registers tcgen05_mma transform_ref transpose_ref wait_smem_to_gmem wgmma wgmma_wait
"""
__getattr__ = _importable("jax.experimental.pallas.mosaic_gpu", _NAMES.split(), globals())

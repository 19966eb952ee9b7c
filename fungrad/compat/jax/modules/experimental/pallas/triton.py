"""`jax.experimental.pallas.triton`: names for interpreted kernels, and names for GPUs."""

from fungrad.compat.jax.accelerators import Options
from fungrad.compat.jax.accelerators import importable as _importable
from fungrad.compat.jax.accelerators import load as load
from fungrad.compat.jax.accelerators import store as store

CompilerParams = Options

_NAMES = """
approx_tanh atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor debug_barrier dot
elementwise_inline_asm max_contiguous
"""
__getattr__ = _importable("jax.experimental.pallas.triton", _NAMES.split(), globals())

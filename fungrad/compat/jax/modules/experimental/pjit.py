"""`jax.experimental.pjit`."""

from fungrad.compat.jax.transforms import jit

pjit = jit

"""The names of `jax.nn` that `fungrad.nn` does not have, and why.

What is asked for in vain gets the reason as its error message; a test holds that every public name of `jax.nn`
is either here or implemented.
"""

from __future__ import annotations

_BLOCKS = (
    "it multiplies numbers of four and eight bits with one scale for each block, which is a format of some GPUs; "
    "scale the blocks and use fungrad.numpy.matmul or lax.dot_general"
)

EXCLUDED: dict[str, str] = {
    "get_scaled_dot_general_config": _BLOCKS,
    "scaled_dot_general": _BLOCKS,
    "scaled_matmul": _BLOCKS,
}
"""For each excluded name, why it is."""

"""Programs written for JAX in cells, which run with JAX and with `fungrad.compat.jax`: ``python -m tests.peers.jax_cells FILE``."""

"""`jax.experimental.shard_map`."""

from fungrad.compat.jax.sharded import shard_map as shard_map

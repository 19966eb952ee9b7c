"""`jax.experimental.xla_metadata`: notes for XLA, which nothing reads here."""

from fungrad.compat.jax.inert import nothing as set_xla_metadata

__all__ = ["set_xla_metadata"]

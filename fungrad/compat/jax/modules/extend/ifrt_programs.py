"""`jax.extend.ifrt_programs`: it can be imported."""

from types import SimpleNamespace as _SimpleNamespace

ifrt_programs = _SimpleNamespace()

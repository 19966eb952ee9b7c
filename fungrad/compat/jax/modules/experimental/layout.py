"""`jax.experimental.layout`: arrays lie as NumPy lays them out."""

from typing import Any, NamedTuple

from fungrad.compat.jax.adapting import namespace


class Layout(NamedTuple):
    """The order of the axes in memory; it has no effect."""

    major_to_minor: Any = None


class Format(NamedTuple):
    """A layout and where the array is; it has no effect."""

    layout: Any = None
    sharding: Any = None


__getattr__ = namespace("jax.experimental.layout", globals(), [])

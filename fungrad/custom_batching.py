"""Functions with rules of their own for `vmap`: `custom_vmap`, `sequential_vmap`."""

from fungrad.numpy.names import tell_missing
from fungrad.programs.rules.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
__dir__ = __all__.copy
tell_missing(globals())

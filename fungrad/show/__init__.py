"""Programs for people: graphs of functions, tables of costs, and NumPy source.

>>> import numpy as np
>>> import fungrad as fg
>>> text = fg.to_source(fg.grad(lambda x: np.sum(np.sin(x))))(np.ones(3))
>>> "np.cos(x)" in text
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fungrad.show.costs import table as table
    from fungrad.show.drawing import Graph as Graph
    from fungrad.show.drawing import graph as graph
    from fungrad.show.living import memory as memory
    from fungrad.show.matrices import Sparsity as Sparsity
    from fungrad.show.matrices import sparsity as sparsity
    from fungrad.show.origins import nans as nans
    from fungrad.show.source import to_source as to_source
    from fungrad.show.staging import stages as stages

_HOME = {
    "Graph": "drawing",
    "Sparsity": "matrices",
    "graph": "drawing",
    "memory": "living",
    "nans": "origins",
    "sparsity": "matrices",
    "stages": "staging",
    "table": "costs",
    "to_source": "source",
}
"""Where each name is: the module is imported when one of them is asked for."""

__all__ = sorted(_HOME)
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from fungrad.extend.packages import unknown_name

        raise unknown_name("fungrad.show", name, __all__)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

"""Array libraries: the one a primitive runs on, facts about its arrays, conversions between them.

Code asks for a fact by its name (`Target`), and never which library it is.

Design: docs/design/37-numpy-and-cupy.md.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Target:
    """A library of arrays.

    Attributes
    ----------
    on_host
        Whether its arrays lie in the memory of the host, where NumPy's and SciPy's compiled functions, and Python, read them.
    scalars
        Whether an element, and what has no axes, is a scalar. Else it is an array, and an element a view.
    warns
        Whether it warns of floating-point errors, and calls back where it would.
    takes_scalars
        Whether indices and operands may be numbers of the host.
    all_reduce
        Whether every ufunc has `reduce` and `accumulate`, and not those of sums and products alone.
    sorts_stably
        Whether equal elements stay in their order without being asked to; then there is no asking.
    """

    on_host: bool
    scalars: bool
    warns: bool
    takes_scalars: bool
    all_reduce: bool
    sorts_stably: bool

    def scipys(self, package: str) -> Any:
        """Return the counterpart of SciPy's package of that name for its arrays."""
        if self.on_host:
            return importlib.import_module(f"scipy.{package}")
        return importlib.import_module(f"cupyx.scipy.{package}")


NUMPY = Target(
    on_host=True,
    scalars=True,
    warns=True,
    takes_scalars=True,
    all_reduce=True,
    sorts_stably=False,
)
CUPY = Target(
    on_host=False,
    scalars=False,
    warns=False,
    takes_scalars=False,
    all_reduce=False,
    sorts_stably=True,
)


def target_of(xp: ModuleType) -> Target:
    """Return the facts about the arrays of a library; a namespace that is no library states its own.

    Examples
    --------
    >>> import numpy as np
    >>> target_of(np).on_host
    True
    """
    return NUMPY if xp is np else getattr(xp, "target", CUPY)


def namespace(operands: Sequence[Any]) -> ModuleType:
    """Return `cupy` if any operand is a CuPy array, else `numpy`.

    Examples
    --------
    >>> import numpy as np
    >>> namespace([np.ones(2), 1.0]).__name__
    'numpy'
    """
    if not _NUMPYS.issuperset(map(type, operands)):
        for x in operands:
            if type(x).__module__.partition(".")[0] == "cupy":
                return sys.modules["cupy"]
    return np


def with_library(operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the library of operands, then the operands; NumPy arrays beside a device's are moved there."""
    xp = namespace(operands)
    return (xp, *operands) if xp is np else (xp, *to_device(xp, operands))


def on_host(operands: Sequence[Any]) -> bool:
    """Whether no operand is an array of CuPy.

    Examples
    --------
    >>> import numpy as np
    >>> on_host([np.ones(2), 1.0])
    True
    """
    return target_of(namespace(operands)).on_host


def device_library(operands: Sequence[Any]) -> ModuleType | None:
    """Return the library of a device that all operands, one or more, are arrays of; None if they are not."""
    cupy = sys.modules.get("cupy")
    return cupy if {getattr(cupy, "ndarray", None)} == set(map(type, operands)) else None


_NUMPYS = frozenset([np.ndarray, np.float64, np.float32, np.int64, np.bool_, float, int, bool])
"""The commonest classes of arrays and numbers that are not CuPy's."""


def to_host(x: Any) -> np.ndarray[Any, Any]:
    """Return an array as one of NumPy: copied, if it is one of CuPy.

    Examples
    --------
    >>> import numpy as np
    >>> to_host(np.float32(2))
    array(2., dtype=float32)
    """
    return np.asarray(x) if on_host((x,)) else x.get()


def to_device(xp: ModuleType, arrays: Sequence[Any]) -> list[Any]:
    """Return arrays, some of them perhaps NumPy's, as arrays of the library `xp`."""
    if target_of(xp).on_host:
        return list(arrays)
    return [xp.asarray(x) if isinstance(x, (np.ndarray, np.number, np.bool)) else x for x in arrays]


def as_result(x: Any) -> Any:
    """Return a 0-d NumPy array as a NumPy scalar, anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> as_result(np.array(2.0)), as_result(np.ones(2))
    (np.float64(2.0), array([1., 1.]))
    """
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x

"""`a += x` of a plain array and a traced one, as in JAX: `a` becomes the sum, and the array stays.

Their traced arrays have no `__array_ufunc__`, so NumPy leaves the operator to them. fungrad's own are refused instead: other
names of the array would not see the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer

__all__ = ["set_up"]


def set_up() -> None:
    """Do so in this process."""
    of_tracer: Any = Tracer
    present = of_tracer.__array_ufunc__

    def array_ufunc(self: Any, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out: Any = kwargs.get("out")
        alone = out is not None and len(kwargs) == len(out) == 1 and method == "__call__"
        if alone and out[0] is inputs[0] and type(out[0]) is np.ndarray:
            kwargs = {}
        return present(self, function, method, *inputs, **kwargs)

    of_tracer.__array_ufunc__ = array_ufunc

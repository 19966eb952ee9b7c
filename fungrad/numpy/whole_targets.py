"""Ufuncs that write traced truth values and integers to plain arrays: ``mask &= x > 0``."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer, asked


def written(function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a ufunc on its operands' values; NotImplemented without them, or if a derivative would be lost."""
    others = {name: x for name, x in kwargs.items() if name != "out"}
    traced = [x for x in (*inputs, *others.values()) if type(x) is Tracer]
    if function not in _COMPARISONS and any(x.dtype.kind not in "biu" for x in traced):
        return NotImplemented
    values = {id(x): asked(x) for x in traced}
    if any(type(x) is Tracer for x in values.values()):
        return NotImplemented
    plain = [values.get(id(x), x) for x in inputs]
    for name, x in others.items():
        kwargs[name] = values.get(id(x), x)
    return getattr(function, method)(*plain, **kwargs)


_COMPARISONS = frozenset(
    [np.equal, np.greater, np.greater_equal, np.isfinite, np.isinf, np.isnan, np.less]  # noqa: RUF005
    + [np.less_equal, np.logical_and, np.logical_not, np.logical_or, np.logical_xor, np.not_equal]
    + [np.signbit]
)
"""Functions whose results are truth values: none has a derivative."""

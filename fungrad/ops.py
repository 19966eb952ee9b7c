"""Reductions over segments of an array: the names of `jax.ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.errors import ConcretizationError, here
from fungrad.core.glossary import Glossary
from fungrad.core.tracer import needed_value
from fungrad.core.types import kind_of
from fungrad.numpy.at import at
from fungrad.numpy.names import tell_missing
from fungrad.typing import Array, ArrayLike

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
__dir__ = __all__.copy
tell_missing(globals())

_GLOSSARY = Glossary(
    {
        "data": "An array.",
        "segment_ids": "Integers: the segment of each element along the first axis of `data`.",
        "num_segments": "How many segments there are; by default one more than the largest of `segment_ids`. The length of the\n"
        "    result depends on it, so it is needed under `jit` and `vmap`.",
        **dict.fromkeys(["indices_are_sorted", "unique_indices"], "Promises, not made use of."),
        "bucket_size": "So many elements at a time are combined, and then what has come of them: less is rounded off.",
        "mode": "What becomes of ids that are negative or too large. By default they are left out; with ``clip`` they\n"
        "    stand for the nearest segment.",
        "out_sharding": "Accepted for JAX's sake; must be None.",
    },
    imports={"np": "import numpy as np"},
)

_DOC = """Return the {what} of the elements of `data`, along its first axis, that are of the same segment.

    Returns
    -------
    array
        Of shape ``(num_segments, *data.shape[1:])`` and the dtype of `data`; of a segment without elements, {empty}.

    Raises
    ------
    TypeError
        If `segment_ids` are no integers.
    ValueError
        If `num_segments` is negative.
    ConcretizationError
        If the number of segments is not known while a function is traced.

    Examples
    --------
    >>> segment_{name}(np.array([3, 2, 4]), np.array([0, 1, 0]))
    array({example})
    """


def _number_of_segments(name: str, ids: Any, count: Any) -> int:
    known = needed_value(ids if count is None else count)
    if known is None:
        raise ConcretizationError(
            f"at {here()}\n{name}: the number of segments is the length of the result, so it must be known while a "
            "function is traced. Pass num_segments as a Python integer; under jit, name it in static_argnames"
        )
    number = int(np.max(known, initial=-1)) + 1 if count is None else int(known)
    if number < 0:
        raise ValueError(f"{name}: num_segments is {number}, and cannot be negative")
    return number


def _identity(kind: str, dtype: np.dtype[Any]) -> Any:
    """Return the identity of a kind of combination."""
    if kind in ("add", "mul"):
        return kind == "mul"
    if kind_of(dtype) == "b":
        return kind == "min"
    if kind_of(dtype) in "iu":
        limits = np.iinfo(dtype)
        return limits.max if kind == "min" else limits.min
    return np.inf if kind == "min" else -np.inf


class Segments(Protocol):
    """Combination of the elements of each segment."""

    def __call__(
        self,
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: None = None,
    ) -> Array: ...


def _over_segments(
    name: str, what: str, kind: str, reduction: Callable[..., Any], empty: str, example: str
) -> Segments:
    """Return the function that combines elements by the method `kind` of ``at(x)[i]``."""
    name = f"segment_{name}"

    def function(
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: None = None,
    ) -> Array:
        if out_sharding is not None:
            raise ValueError(f"{name}: arrays are on one device here; leave out_sharding out")
        data, ids = fnp.asarray(data), fnp.asarray(segment_ids)
        if kind_of(ids.dtype) not in "iu":
            raise TypeError(f"{name}: segment_ids are integers, got dtype {ids.dtype}")
        count = _number_of_segments(name, ids, num_segments)
        if str(getattr(mode, "name", mode)).lower() == "clip":
            ids = fnp.clip(ids, 0, max(count - 1, 0))
        else:  # what is out of bounds goes to a segment more
            ids = fnp.where((ids < 0) | (ids >= count), count, ids)
        shape: tuple[int, ...] = (count + 1, *data.shape[1:])
        start = _identity(kind, data.dtype)
        if bucket_size is None:
            sums: Array = getattr(at(fnp.full(shape, start, data.dtype))[ids], kind)(data)
        else:
            shape = (-(-ids.size // bucket_size), *shape)
            rows = np.arange(ids.size) // bucket_size
            each = getattr(at(fnp.full(shape, start, data.dtype))[rows, ids], kind)(data)
            sums = reduction(each, axis=0).astype(data.dtype)
        return sums[:count]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(
        name=name.removeprefix("segment_"), what=what, empty=empty, example=example
    )
    return _GLOSSARY.public(function)


segment_sum = _over_segments("sum", "sums", "add", fnp.sum, "0", "[7, 2]")
segment_prod = _over_segments("prod", "products", "mul", fnp.prod, "1", "[12, 2]")
segment_max = _over_segments(
    "max", "largest", "max", fnp.max, "the least number of the dtype", "[4, 2]"
)
segment_min = _over_segments(
    "min", "smallest", "min", fnp.min, "the greatest number of the dtype", "[3, 2]"
)

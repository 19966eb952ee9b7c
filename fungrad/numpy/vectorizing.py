"""Functions of single elements or rows, applied to whole arrays: `vectorize` and its kin.

For plain arrays these are NumPy's own Python loops. Traced, the function is traced once and mapped, by
`vmap`: what it is called with stands for all elements and has no value of its own. If the function
looks at a value and the arrays have values, it is called for each element, as NumPy calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.errors import ConcretizationError, api_boundary
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import Shape, type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.joining import stack
from fungrad.numpy.memory import settle
from fungrad.numpy.promotion import as_tracer, broadcast_to, cast, has_tracer, strong
from fungrad.numpy.shaping import expand_dims, is_sequence, moveaxis, reshaped
from fungrad.numpy.views import created, same_array
from fungrad.transforms.vmap import vmap

Names = tuple[str, ...]


def _mapped(function: Callable[..., Any], axes: int, arrays: Sequence[Any]) -> Any:
    """Map a function over the first `axes` axes, shared by all arrays. The first call decides on dtypes."""
    mapped = _like_the_first(function)
    for _ in range(axes):
        mapped = vmap(mapped)
    try:
        return mapped(*arrays)
    except ConcretizationError:
        if any(known_value(x) is None for x in arrays):
            raise
    return _looped(function, arrays[0].shape[:axes], arrays)


def _like_the_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results have the dtypes of its first call: parted calls may differ."""
    first: list[np.dtype[Any]] = []

    def converted(*args: Any) -> Any:
        result = function(*args)
        parts = list(result) if isinstance(result, tuple) else [result]
        dtypes = [type_of(part).dtype for part in parts]
        if not first:
            first[:] = dtypes
        if dtypes == first or len(dtypes) != len(first):
            return result
        parts = [
            part if dtype == wanted else cast(as_tracer(strong(part)), wanted)
            for part, dtype, wanted in zip(parts, dtypes, first, strict=True)
        ]
        return tuple(parts) if isinstance(result, tuple) else parts[0]

    return converted


def _looped(function: Callable[..., Any], lengths: Shape, arrays: Sequence[Any]) -> Any:
    """Call a function for each element, and join the results. The first call decides on dtypes."""
    calls = [function(*[x[i] for x in arrays]) for i in np.ndindex(lengths)]
    several = isinstance(calls[0], tuple)
    results = []
    for parts in zip(*calls, strict=True) if several else [calls]:
        elements: list[Any] = [as_tracer(strong(part)) for part in parts]
        first = elements[0]
        joined: Any = stack([cast(x, first.dtype) for x in elements])
        results.append(reshaped(joined, lengths + first.shape))
    return tuple(results) if several else results[0]


# vectorize


def _parsed(signature: str) -> tuple[list[Names], list[Names]]:
    """Read a signature such as ``(m,n),(n)->(m)`` of generalised ufuncs (NEP 20)."""
    text = re.sub(r"\s+", "", signature)
    argument = r"\((?:\w+(?:,\w+)*)?\)"
    if not re.fullmatch(rf"(?:{argument}(?:,{argument})*)?->{argument}(?:,{argument})*", text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    return tuple(  # type: ignore[return-value]
        [
            [
                tuple(name for name in group.split(",") if name)
                for group in re.findall(r"\((.*?)\)", half)
            ]
            for half in text.split("->")
        ]
    )


class vectorize:
    """A function of single elements (or, with a signature, of rows) that takes arrays of them.

    This is `numpy.vectorize`, for tracers too: with plain arrays it is NumPy's own loop in Python,
    with tracers among the arguments the function is mapped over the broadcast arguments by `vmap`. A function
    that looks at a value, as in ``if x > 0``, is called for each element where the values are known; elsewhere,
    under `jit` and `vmap`, that is an error.

    Parameters
    ----------
    pyfunc : callable
        The function. Left out, a decorator is returned.
    otypes : str or list of dtypes, optional
        The dtypes of the results; by default those the function gives.
    doc : str, optional
        Documentation; by default that of the function.
    excluded : set of int and str, optional
        Positions and names of arguments that are passed on as they are.
    cache : bool, optional
        Whether NumPy's loop keeps the result of its first call, which finds the dtypes.
    signature : str, optional
        Shapes of what the function takes and gives, such as ``"(m,n),(n)->(m)"``.

    Raises
    ------
    ValueError
        If the signature is malformed, or arguments do not fit it or each other.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> scaled = fnp.vectorize(lambda m, x: m @ x, signature="(k,n),(n)->(k)")
    >>> fg.jit(scaled)(np.eye(2), np.arange(6.0).reshape(3, 2))
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """

    def __init__(
        self,
        pyfunc: Any = np._NoValue,
        otypes: Any = None,
        doc: Any = None,
        excluded: Any = None,
        cache: bool = False,
        signature: Any = None,
    ) -> None:
        self._numpys = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)
        self._options = otypes, doc, excluded, cache, signature
        self.pyfunc = pyfunc
        self.excluded = set(excluded or ())
        self.signature = signature
        self.otypes = None if otypes is None else [np.dtype(t) for t in otypes]
        self._shapes = None if signature is None else _parsed(signature)
        self.__doc__ = self._numpys.__doc__
        self.__name__ = getattr(pyfunc, "__name__", "vectorize")

    def __repr__(self) -> str:
        signature = "" if self.signature is None else f", signature={self.signature!r}"
        return f"vectorize({self.__name__}{signature})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function of all elements."""
        if self.pyfunc is np._NoValue:
            otypes, doc, excluded, cache, signature = self._options
            return vectorize(args[0], otypes, doc, excluded, cache, signature)
        if not has_tracer(args) and not has_tracer(kwargs.values()):
            return self._numpys(*args, **kwargs)
        return self._traced(args, kwargs)

    @api_boundary
    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs: dict[int | str, Any] = dict(enumerate(args))
        inputs.update(kwargs)
        varying = [key for key in inputs if key not in self.excluded]
        arrays = [as_tracer(inputs[key]) for key in varying]

        def of_elements(*elements: Any) -> Any:
            given = dict(inputs)
            given.update(zip(varying, elements, strict=True))
            named = {key: x for key, x in given.items() if isinstance(key, str)}
            return self.pyfunc(*[given[i] for i in range(len(args))], **named)

        cores, results = self._shapes or ([()] * len(arrays), None)
        if len(cores) != len(arrays):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(cores)}, got {len(arrays)}"
            )
        lengths = _core_lengths(arrays, cores, self.signature)
        loops = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores, strict=True)]
        loop = np.broadcast_shapes(*loops)
        spread = [
            broadcast_to(x, loop + x.shape[len(own) :])
            for x, own in zip(arrays, loops, strict=True)
        ]
        returned = _mapped(of_elements, len(loop), spread)
        several = isinstance(returned, tuple)
        outputs = [as_tracer(y) for y in (returned if several else (returned,))]
        if results is not None:
            if len(outputs) != len(results):
                raise ValueError(
                    f"wrong number of outputs from pyfunc: expected {len(results)}, got {len(outputs)}"
                )
            _core_lengths(outputs, results, self.signature, lengths)
        if self.otypes is not None:
            outputs = [cast(y, t) for y, t in zip(outputs, self.otypes, strict=True)]
        outputs = [created(same_array(y)) for y in outputs]
        settle("vectorize", outputs, (*args, *kwargs.values()))
        return tuple(outputs) if several else outputs[0]


def _core_lengths(
    arrays: list[Tracer], cores: list[Names], signature: Any, known: dict[str, int] | None = None
) -> dict[str, int]:
    """Return the length each name of a signature stands for; raise if arrays do not agree on it."""
    lengths = dict(known or {})
    for i, (x, names) in enumerate(zip(arrays, cores, strict=True)):
        if x.ndim < len(names):
            raise ValueError(
                f"{x.ndim}-dimensional argument {i} does not have enough dimensions for all core "
                f"dimensions {names}"
            )
        for name, n in zip(names, x.shape[x.ndim - len(names) :], strict=True):
            if lengths.setdefault(name, n) != n:
                raise ValueError(
                    f"inconsistent size for core dimension {name!r} of {signature}: {n} vs "
                    f"{lengths[name]}"
                )
    return lengths


# Along and over axes


@implements(np.apply_along_axis, zero_d=True)
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The function is mapped by `vmap` over the other axes."""
    x: Any = as_tracer(arr)
    axis = normalize_axis_index(axis, x.ndim)
    if 0 in (x.shape[:axis] + x.shape[axis + 1 :]):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = moveaxis(x, axis, -1)
    mapped = as_tracer(_mapped(lambda row: func1d(row, *args, **kwargs), x.ndim - 1, (rows,)))
    # The axes of a result stand where that of the row was.
    others = x.ndim - 1
    added = mapped.ndim - others
    return (
        moveaxis(mapped, range(others, mapped.ndim), range(axis, axis + added)) if added else mapped
    )


@implements(np.apply_over_axes, view=True)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    x: Any = as_tracer(a)
    for axis in axes if is_sequence(axes) else (axes,):
        axis = normalize_axis_index(axis, x.ndim)
        reduced = as_tracer(func(x, axis))
        if reduced.ndim != x.ndim:
            if reduced.ndim != x.ndim - 1:
                raise ValueError("function is not returning an array of the correct shape")
            reduced = expand_dims(reduced, axis)
        x = reduced
    return x

"""Repeated updates of elements that an index names repeatedly, as of `numpy.ufunc.at`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.numpy.indexing import getitem, setitem_functional
from fungrad.numpy.promotion import as_tracer


def may_repeat(indices: Any) -> bool:
    """Whether an index may name an element twice."""
    for item in indices if isinstance(indices, tuple) else (indices,):
        if isinstance(item, (slice, int, np.integer, type(None), type(Ellipsis))):
            continue
        value = known_value(item) if type(item) is Tracer else np.asarray(item)
        if value is None or (value.dtype != bool and len(np.unique(value)) != value.size):
            return True
    return False


def places_of(x: Any, indices: Any) -> Any:
    """Return where in the raveled array the elements are that an index names."""
    shape = type_of(x).shape
    return getitem(as_tracer(np.arange(int(np.prod(shape))).reshape(shape)), indices)


def one_after_another(x: Any, places: Any, function: Callable[..., Any], *values: Any) -> Any:
    """Return an array with a function applied to elements, one after the other.

    Parameters
    ----------
    x
        The array.
    places
        Where in the raveled array the elements are.
    function
        Takes an element, and one of each of `values`. What it returns is cast to the dtype of `x`.
    values
        Arrays that broadcast to the shape of `places`.
    """
    from fungrad.programs.loops.loops import scan  # few programs need it

    shape = type_of(places).shape
    rows = [np.ravel(np.broadcast_to(y, shape)) for y in (places, *values)]

    def step(flat: Any, row: Any) -> tuple[Any, None]:
        place, *given = row
        changed = function(getitem(as_tracer(flat), place), *given)
        return setitem_functional(as_tracer(flat), place, changed), None

    return np.reshape(scan(step, np.ravel(x), tuple(rows))[0], type_of(x).shape)

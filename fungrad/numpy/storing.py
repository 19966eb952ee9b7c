"""Results written into the argument `out` of a function."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.errors import LostDerivativeError, here
from fungrad.core.tracer import Tracer
from fungrad.numpy.assignment import assign, check_writable
from fungrad.numpy.promotion import as_tracer_of, broadcast_to, cast
from fungrad.numpy.views import same_array
from fungrad.primitives.elementwise import select


def writable_out(name: str, out: Any) -> Tracer:
    """Return the argument `out` of a function, if its result can be assigned to it."""
    if type(out) is tuple and len(out) == 1:  # as ufuncs may be given it
        (out,) = out
    if type(out) is not Tracer:
        raise LostDerivativeError(
            f"at {here()}\n{name}: a traced result cannot be written into `out`, "
            f"{'a NumPy array' if isinstance(out, np.ndarray) else f'a {type(out).__name__}'}: its derivative "
            "would be lost. Make the array inside of the traced function with fungrad.numpy.zeros, or copy "
            "it there with fungrad.numpy.array(a); then `out=` and a += x work. Or use the result: a = a + x."
        )
    check_writable(out)
    return out


def store(
    out: Tracer, result: Any, casting: Any = "same_kind", mask: Any = True, exactly: bool = False
) -> Tracer:
    """Assign a result to `out`, where `mask` holds, as ufuncs do; return `out`.

    `exactly` is for functions that do not broadcast their result to `out`.
    """
    assign(out, as_stored(out, result, casting, mask, exactly))
    return out


def as_stored(
    out: Tracer, result: Any, casting: Any = "same_kind", mask: Any = True, exactly: bool = False
) -> Tracer:
    """Return the result of `store` into `out`; raise NumPy's error where that is impossible."""
    new = as_tracer_of(out._owner, result)
    if not np.can_cast(new.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast output from {new.dtype!r} to {out.dtype!r} with casting rule '{casting}': make the "
            "array of the wider dtype, or write a = a + x in place of a += x"
        )
    if new.shape != out.shape and (
        exactly or np.broadcast_shapes(new.shape, out.shape) != out.shape
    ):
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {new.shape}"
        )
    new = broadcast_to(cast(new, out.dtype, out._type.weak), out.shape)
    if mask is not True:
        keep = broadcast_to(as_tracer_of(out._owner, mask), out.shape)
        new = select(keep, new, same_array(out))
    return new  # type: ignore[no-any-return]

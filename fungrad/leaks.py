"""Tracers that outlive the function that was traced: `checking_leaks` looks for them."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from fungrad.core.errors import LeakedTracerError
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer

__all__ = ["checking_leaks"]
__dir__ = __all__.copy


@contextlib.contextmanager
def checking_leaks() -> Iterator[None]:
    """Raise `LeakedTracerError` at the end of the block if a tracer outlives its traced function.

    Such a tracer holds on to the memory of its trace, and can only be an error when used. Slow: all objects of
    the process are looked through.

    Examples
    --------
    >>> import fungrad as fg
    >>> kept = []
    >>> try:
    ...     with checking_leaks():
    ...         _ = fg.jit(lambda x: kept.append(x) or x)(1.0)
    ... except fg.LeakedTracerError as error:
    ...     print(str(error).split(" is still")[0])
    a tracer of type float64[] of `jit(<lambda>)`, which has returned,
    """
    start = Trace("start").level
    yield
    gc.collect()
    leaked = [
        x
        for x in gc.get_objects()
        if type(x) is Tracer and not x._owner.open and x._owner.level > start
    ]
    if leaked:
        first = min(leaked, key=lambda x: (x._owner.level, x._variable))
        more = f" {len(leaked) - 1} more are, too." if len(leaked) > 1 else ""
        raise LeakedTracerError(
            f"a tracer of type {first._type} of `{first._owner.label}`, which has returned, is still referenced from "
            f"somewhere; {first._owner.origin(first._variable)}. Look for a global, an attribute or a list that "
            f"it was stored in, and return the value from the function instead.{more}"
        )

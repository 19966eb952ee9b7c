"""Calls that begin again, as operands have become arrays (`core/kept.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fungrad.core.errors import Again
from fungrad.core.tracer import Tracer


def begins_again(error: BaseException, args: Iterable[Any], kwargs: Any = None) -> bool:
    """Whether a call failed for constants of closed traces, which are arrays from now on."""
    given = [*args, *(kwargs or {}).values()]
    leaves = [y for x in given for y in (x if type(x) in (list, tuple) else [x])]
    closed = [x for x in leaves if type(x) is Tracer and not x._owner.open]
    return sum([x._owner.keeps(x) for x in closed]) > 0 or type(error) is Again

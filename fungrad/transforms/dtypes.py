"""Dtypes by other rules than NumPy's: without numbers of 64 bits, and by JAX's promotion.

Few programs need it: callers ask for the setting first, or `weakly_typed` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import Cast


def narrowed_types(types: Sequence[ArrayType], leaves: Sequence[Any]) -> list[ArrayType]:
    """Return the types that leaves have where there are no numbers of 64 bits."""
    from fungrad.core.lattice import narrow_type  # few programs need it

    pairs = zip(types, leaves, strict=True)
    given = (Tracer, ArrayType)
    return [t if t is None or type(x) in given else narrow_type(t) for t, x in pairs]


def narrow_constant(x: Any) -> Any:
    """Return a constant result of a function as it is where there are no numbers of 64 bits."""
    if type(x) is bool:
        return np.bool_(x)
    from fungrad.core.lattice import narrow_array  # few programs need it

    return narrow_array(x)  # weak where it was


def weakly_typed(results: Sequence[Any], types: Sequence[ArrayType]) -> Sequence[Any]:
    """Return results, by JAX's rules those of weak `types` as weak ones, and no others."""
    if not settings.get().jax_types:
        return results
    from fungrad.core.lattice import WeakArray, weak_array  # few programs need it

    def typed(x: Any, weak: bool) -> Any:
        if type(x) is Tracer:
            return x if x._type.weak is weak else Cast(x.dtype, weak)(x)
        if weak:
            return weak_array(x)
        return np.asarray(x) if type(x) is WeakArray else x

    return [typed(x, t.weak) for x, t in zip(results, types, strict=True)]


def as_traced(trace: Trace, variables: Sequence[int], computed: Sequence[Any]) -> list[Any]:
    """Return the computed values of `variables`, which come first, weak where they are."""
    types = [trace.types[v] for v in variables]
    return list(weakly_typed(computed[: len(types)], types))

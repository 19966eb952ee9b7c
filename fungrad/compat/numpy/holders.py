"""Objects of SciPy's classes with traced contents, which hand everything to fungrad's objects."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fungrad.core.tracer import Tracer, current_trace

__all__ = ["any_holder", "handed", "operators", "unwrapped"]


class Holder:
    """Base of the classes of such objects."""

    __slots__ = ()


SPECIAL = (
    *("__abs__", "__add__", "__bool__", "__call__", "__getitem__", "__iter__", "__len__"),
    *("__matmul__", "__mul__", "__neg__", "__pow__", "__radd__", "__repr__", "__rmatmul__"),
    *("__rmul__", "__rsub__", "__sub__", "__truediv__"),
)
"""Methods that Python looks up in the class."""


def handed(kind: Any) -> Any:
    """Return the class of objects of a class of SciPy's that hold something traced."""

    def through(self: Any, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_traced"), name)

    def special(name: str) -> Callable[..., Any]:
        return lambda self, *args, **kwargs: through(self, name)(*map(unwrapped, args), **kwargs)

    methods = {name: special(name) for name in SPECIAL if hasattr(kind, name)}
    return type(kind.__name__, (kind, Holder), {"__getattribute__": through, **methods})


def unwrapped(x: Any) -> Any:
    """Return fungrad's object for one that holds it, also in lists and tuples."""
    if isinstance(x, Holder):
        return object.__getattribute__(x, "_traced")
    if type(x) in (list, tuple) and any_holder(x):
        return type(x)([unwrapped(y) for y in x])
    return x


def any_holder(values: Iterable[Any]) -> bool:
    """Whether an object that holds something traced is among values, or in the lists and tuples there."""
    kinds: tuple[type, ...] = (Holder,)
    if (sparse := sys.modules.get("fungrad.scipy.sparse")) is not None:  # else there is none
        kinds = (Holder, sparse.SparseArray)
    return any(isinstance(x, kinds) or (type(x) in (list, tuple) and any_holder(x)) for x in values)


OPERATORS = {
    "__matmul__": operator.matmul,
    "__rmatmul__": lambda a, x: x @ a,
    "__mul__": operator.mul,
    "__rmul__": lambda a, x: x * a,
    "__truediv__": operator.truediv,
    "dot": operator.matmul,
    "multiply": lambda a, x: a.multiply(x),
}


def operators() -> Iterator[tuple[Any, str, Any]]:
    """Yield stand-ins for operators of SciPy's sparse matrices: with traced values they are fungrad's."""
    import scipy.sparse

    kinds = (scipy.sparse.sparray, scipy.sparse.spmatrix, *_formats())
    seen = set()
    for kind in [base for made in kinds for base in made.__mro__]:
        for name, function in OPERATORS.items():
            if name in vars(kind) and (kind, name) not in seen:
                seen.add((kind, name))
                yield kind, name, _operator(vars(kind)[name], function)


def _formats() -> Iterator[Any]:
    import scipy.sparse

    for name in ("coo", "csr", "csc", "dia", "bsr", "lil", "dok"):
        yield from (getattr(scipy.sparse, f"{name}_{kind}") for kind in ("array", "matrix"))


def _operator(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is None or isinstance(self, Holder):
            return original(self, other, *args, **kwargs)
        if type(other) is not Tracer and not any_holder((other,)):
            return original(self, other, *args, **kwargs)
        from fungrad.scipy.sparse.arrays import as_sparse

        return ours(as_sparse(self), unwrapped(other))

    return method

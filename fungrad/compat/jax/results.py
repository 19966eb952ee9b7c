"""Functions returned by fungrad, whose results become arrays as JAX's."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from fungrad.compat.jax.crossing import Crossed, leave_tree
from fungrad.transforms import jaxprs


class Holder:
    """Holds an object of fungrad, and has its attributes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "inner" or name[:2] == "__":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __repr__(self) -> str:
        return repr(self.inner)


class Compiled(Holder):
    """A function compiled for arguments of one type."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return leave_tree(self.inner(*args, **kwargs))


class Lowered(Holder):
    """A function traced for arguments of one type, to be compiled."""

    def compile(self, compiler_options: Any = None) -> Compiled:
        """Compile it; there are no options."""
        return Compiled(self.inner.compile())


class Traced(Holder):
    """A function traced for arguments of one type."""

    def lower(self, **_: Any) -> Lowered:
        """Return the same, to be compiled; there is one platform."""
        return Lowered(self.inner)


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """The type of an argument; libraries ask whether a leaf is one."""

    _aval: Any
    donated: bool

    shape = property(lambda self: self._aval.shape)
    dtype = property(lambda self: self._aval.dtype)


def jaxpr_as_fun(closed_jaxpr: Any, *args: Any) -> Callable[..., Any]:
    """Return a program as a function of arrays; the first ones may be given here."""
    function = Crossed(jaxprs.jaxpr_as_fun(closed_jaxpr))
    return functools.partial(function, *args) if args else function


def converted(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the result of `closure_convert`: a function, and arrays."""
    function, arrays = pair
    return Crossed(function), leave_tree(arrays)

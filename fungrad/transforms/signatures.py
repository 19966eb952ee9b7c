"""Types of transforms for type checkers: the results keep a function's arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypedDict, TypeVar, overload

from fungrad.core.cache import CacheInfo
from fungrad.transforms.lowered import Lowered

A = TypeVar("A", bound=Any)
"""The argument that a function is differentiated by."""
X = TypeVar("X")
"""Auxiliary data that it returns beside its value."""
P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
Q = ParamSpec("Q")


class JittedFunction(Protocol[P, R_co]):
    """Result of `jit`: the function, and its programs."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> JittedFunction[P, R_co]: ...
    @overload
    def __get__(
        self: JittedFunction[Concatenate[S, Q], R_co], instance: S, owner: type | None = None
    ) -> Callable[Q, R_co]: ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered: ...
    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Lowered: ...
    def source(self, *args: P.args, **kwargs: P.kwargs) -> str: ...
    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def cache_info(self) -> CacheInfo: ...
    def clear_cache(self) -> None: ...


class GradOptions(TypedDict, total=False):
    """The keyword arguments of `grad` and `value_and_grad` that change no type."""

    holomorphic: bool
    allow_int: bool
    reduce_axes: Sequence[Any]


class MoreJitOptions(TypedDict, total=False):
    """The keyword arguments of `jit` beside `static_argnums`, which signatures in an editor show."""

    in_shardings: Any
    out_shardings: Any
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Iterable[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    device: Any
    backend: Any
    inline: bool
    compiler_options: Any


class JitOptions(MoreJitOptions, total=False):
    """The keyword arguments of `jit`."""

    static_argnums: int | Iterable[int] | None

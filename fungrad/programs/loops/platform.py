"""Choices by where a program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import namespace, target_of
from fungrad.core.glossary import COMMON
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType
from fungrad.programs.loops.cond import switch
from fungrad.programs.watching import look_at
from fungrad.transforms.arguments import check_callable, name_of

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")

R = TypeVar("R")


@primitive
class PlatformIndex(Primitive):
    """Index into `platforms` of the array's; for others their number, or an error if `required`."""

    platforms: tuple[str, ...]
    required: bool

    differentiable = False

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return ArrayType((), np.dtype(np.int64))

    def impl(self, xp: Any, x: Any) -> Any:
        return np.int64(index_of(platform_of(xp), self.platforms, self.required))

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> tuple[bool, ...]:
        return (False,)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(x)


def platform_of(xp: Any) -> str:
    """Return JAX's name for the machine that the arrays of a library lie on."""
    if target_of(xp).on_host:
        return "cpu"
    return "rocm" if xp.cuda.runtime.is_hip else "cuda"


def index_of(platform: str, platforms: tuple[str, ...], required: bool) -> int:
    """Return the position of a platform; the number of platforms if it is not among them."""
    if required and platform not in platforms:
        raise NotImplementedError(
            f"platform_dependent: the arrays are on {platform!r}, and there are functions for {', '.join(platforms)} "
            "alone; give default="
        )
    return platforms.index(platform) if platform in platforms else len(platforms)


@COMMON.public
def platform_dependent(
    *args: Any, default: Callable[..., R] | None = None, **per_platform: Callable[..., R]
) -> R:
    """Call the function for the machine that the arrays are on.

    Parameters
    ----------
    *args
        What the function is called with. NumPy's arrays are on ``cpu``, CuPy's on ``cuda`` or ``rocm``; without
        arrays the machine is ``cpu``.
    default
        The function for all other machines.
    **per_platform
        For ``cpu``, ``cuda``, ``rocm`` and ``tpu`` the function to call there. All return the same
        structure, shapes and dtypes.

    Returns
    -------
    pytree
        What the function returns.

    Raises
    ------
    ValueError
        If a name is that of no machine, or there is no function at all.
    NotImplementedError
        If there is none for the machine at hand.

    Examples
    --------
    >>> lax.platform_dependent(3.0, cpu=lambda x: x + 1, default=lambda x: x)
    4.0
    """
    unknown = sorted({*per_platform} - {*PLATFORMS})
    if unknown:
        raise ValueError(
            f"platform_dependent: there are functions for {unknown}, but machines are called {list(PLATFORMS)}"
        )
    if default is None and not per_platform:
        raise ValueError("platform_dependent: give at least one function, such as default=")
    for name, function in (*per_platform.items(), ("default", default)):
        if function is not None:
            check_callable(function, f"platform_dependent: {name}")
    platforms, required = tuple(per_platform), default is None
    branches: list[Callable[..., R]] = list(per_platform.values())
    branches.append(
        branches[0] if default is None else default
    )  # so that there is a choice to make
    leaves = tree.leaves(args)
    traced = [x for x in leaves if type(x) is Tracer]
    if traced:  # where they are may be known when the program runs, not before
        return switch(PlatformIndex(platforms, required)(traced[0]), branches, *args)
    chosen = branches[index_of(platform_of(namespace(leaves)), platforms, required)]
    result = chosen(*args)
    look_at(f"platform_dependent({name_of(chosen)})", chosen, args, result)
    return result

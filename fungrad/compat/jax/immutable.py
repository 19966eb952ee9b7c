"""Arrays that do not change, as JAX's, under FUNGRAD_COMPAT_IMMUTABLE=1.

Arrays of JAX's class are read-only, and so is what NumPy takes of them without a copy. Traced arrays refuse what programs assign
to them; functions of fungrad may still fill what they have made themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from fungrad.compat.jax.array import Array
from fungrad.core.frames import outwards
from fungrad.numpy import assignment, methods, storing

CHANGES = "byteswap fill itemset partition put resize setfield setflags"
"""Methods of NumPy's arrays that change them, and that JAX's have not."""
ATTRIBUTES = frozenset(["data", "dtype", "flat", "imag", "real", "shape", "strides"])


def refuse(*_: Any, **__: Any) -> NoReturn:
    """Raise the error for a change of an array."""
    raise TypeError(
        "JAX arrays are immutable, and FUNGRAD_COMPAT_IMMUTABLE=1 asks for it: write x = x.at[index].set(y) in place of "
        "x[index] = y, and x = jax.numpy.copy(x) or numpy.array(x) for one that may be changed"
    )


def _setattr(self: Any, name: str, value: Any) -> None:
    if name in ATTRIBUTES:
        refuse()
    np.ndarray.__setattr__(self, name, value)


def _setstate(self: Any, state: Any) -> None:
    np.ndarray.__setstate__(self, state)
    np.ndarray.setflags(self, write=False)


def _made(self: Any, given: Any) -> None:
    if given is not None:  # else it is being unpickled, and filled later on
        np.ndarray.setflags(self, write=False)


def _asked_by_program(skipped: tuple[str, ...]) -> bool:
    """Return whether the innermost caller outside of these modules is none of fungrad's."""
    names = (str(frame.f_globals.get("__name__")) for frame in outwards())
    name = next((name for name in names if not name.startswith((__name__, *skipped))), "")
    return not name.startswith("fungrad.")


def _checked(skipped: tuple[str, ...]) -> Callable[[Any], None]:
    """Return the check before a traced array changes."""

    def check(x: Any) -> None:
        if _asked_by_program(skipped):
            refuse()
        assignment.check_writable(x)

    return check


def set_up() -> None:
    """From here on arrays do not change."""
    of_array: Any = Array
    of_array.__array_finalize__ = _made
    for name in ("__setitem__", "__delitem__", *CHANGES.split()):
        setattr(Array, name, refuse)
    of_array.__setattr__, of_array.__setstate__ = _setattr, _setstate
    of_methods: Any = methods
    of_storing: Any = storing
    of_methods.check_writable = _checked(("fungrad.numpy.methods", "fungrad.core.errors"))
    between = ("fungrad.numpy.", "fungrad.core.", "fungrad.compat.in_place", "numpy", "functools")
    of_storing.check_writable = _checked(between)

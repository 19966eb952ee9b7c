"""Treating values as constants."""

from __future__ import annotations

from typing import Any

from fungrad.core import tree
from fungrad.core.tracer import Tracer
from fungrad.primitives import elementwise as e
from fungrad.transforms.signatures import A


def stop_gradient(x: A) -> A:
    """Return `x` as it is; to `grad` and the other derivatives it is a constant.

    Parameters
    ----------
    x
        An array, a number, or a pytree of them.

    Returns
    -------
    pytree
        Equal to `x`.

    Examples
    --------
    >>> import fungrad as fg
    >>> print(fg.grad(lambda x: x * fg.stop_gradient(x))(3.0))
    3.0
    """
    stopped: A = tree.map(_stopped, x)
    return stopped


def _stopped(x: Any) -> Any:
    return e.stop_gradient(x) if type(x) is Tracer and x.type.inexact else x

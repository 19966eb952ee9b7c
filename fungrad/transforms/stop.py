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

    def stopped(leaf: Any) -> Any:
        return e.stop_gradient(leaf) if type(leaf) is Tracer and leaf._type.inexact else leaf

    return tree.map(stopped, x)  # type: ignore[no-any-return]

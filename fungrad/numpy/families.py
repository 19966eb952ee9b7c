"""Functions of NumPy's and SciPy's that differ in one thing: one rule is made for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad.numpy.dispatch import implements


def implemented(rule: Callable[..., Any], function: Any, *aliases: Any, **options: Any) -> Any:
    """Return the public function that `implements` makes of a rule, which gets the function's name."""
    rule.__name__ = rule.__qualname__ = function.__name__
    return implements(function, *aliases, **options)(rule)

"""Public functions with arguments that NumPy's do not have, such as `size`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fungrad.core.errors import api_boundary


def extended(numpys: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a public function that has more arguments than NumPy's.

    Parameters
    ----------
    numpys
        The function with NumPy's arguments, made by `implements`. Its documentation is put in front.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        public = api_boundary(function)
        public.__doc__ = f"{numpys.__doc__}\n{inspect.cleandoc(function.__doc__ or '')}\n"
        public.__name__ = public.__qualname__ = numpys.__name__
        return public

    return decorate

"""Advice of modules for names that they lack."""

from __future__ import annotations

from typing import Any, NoReturn


def tell_missing(module: dict[str, Any]) -> None:
    """Give a module with these globals advice for names that its `__all__` lacks.

    Type checkers, which would take any name to be there for a `__getattr__`, do not see this one.

    Examples
    --------
    >>> module = {"__name__": "fungrad.tree", "__all__": ["map", "flatten"]}
    >>> tell_missing(module)
    >>> module["__getattr__"]("flaten")
    Traceback (most recent call last):
    AttributeError: module 'fungrad.tree' has no attribute 'flaten'; did you mean 'flatten'?
    """

    def missing(name: str) -> NoReturn:
        from fungrad.numpy.elsewhere import unknown_name  # read where a name is missing

        raise unknown_name(module["__name__"], name, module["__all__"])

    module["__getattr__"] = missing

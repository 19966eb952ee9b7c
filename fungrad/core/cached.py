"""Attributes computed at their first use, and parts of packages above that are loaded then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """As `functools.cached_property` is from Python 3.12 on.

        Before, it held one lock for all instances of a class while it computed: programs were compiled one after
        the other, and a process that forked meanwhile found the lock held for ever. Threads that read at the
        same time may compute the attribute each; the first that is done sets it for all.
        """

        def __init__(self, compute):
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.compute(instance))


class Provided:
    """A function or module of a package above this one, which provides it.

    Lower layers know the package by this alone, so imports go down.

    Examples
    --------
    >>> upper = Provided()
    >>> upper.provide(lambda: str.upper)
    >>> upper.get()("abc")
    'ABC'
    """

    def __init__(self) -> None:
        self._load: Callable[[], Any] = lambda: None

    def provide(self, load: Callable[[], Any]) -> None:
        """Say how it is loaded, each time it is asked for."""
        self._load = load

    def get(self) -> Any:
        """Return it; None if nobody has provided it."""
        return self._load()


as_html = Provided()
"""A function from a program, a tracer or a jitted function to how a notebook shows it."""
in_steps = Provided()
"""`lax.map`: a function of each row of a tree, or of chunks of rows, as a loop of the program."""
methods_of_ufuncs = Provided()
"""The module that declares the methods of ufuncs."""
numpy_names = Provided()
"""The namespace of traced arrays, `fungrad.numpy`."""
public_names = Provided()
"""The package of public names, in which messages look for a replacement."""

__all__ = [
    "Provided",
    "as_html",
    "cached_property",
    "in_steps",
    "methods_of_ufuncs",
    "numpy_names",
    "public_names",
]

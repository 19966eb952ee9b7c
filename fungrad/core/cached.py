"""Attributes that are computed when they are first read."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


__all__ = ["cached_property"]

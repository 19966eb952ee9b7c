"""The variables of a loop or branch: which of them it changes, as arrays that go in and come out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.trace import Trace
from fungrad.core.tracer import ARGUMENT, Tracer, innermost_trace, new_tracer
from fungrad.core.types import is_array
from fungrad.numpy.memory import View
from fungrad.numpy.views import is_scalar
from fungrad.reading.sites import NotRecorded, Site, WritesTo
from fungrad.reading.strict import body_level

__all__ = ["Filled", "is_dynamic", "own_copy", "without_hidden"]


def without_hidden(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of the user's function."""
    return {name: x for name, x in variables.items() if name[:1] != "."}


def is_dynamic(x: Any) -> bool:
    """Whether a value is an array or a number, or a container of these."""
    if is_array(x):
        return True
    if x is None or isinstance(x, str | bytes) or callable(x):
        return False
    leaves = tree.leaves(x)
    return bool(leaves) and all(map(is_array, leaves))


def own_copy(x: Tracer) -> Tracer:
    """Return another tracer of the same value, which may be assigned to without the first changing."""
    copy = new_tracer(x._owner, x._variable, x._type)
    if not is_scalar(x):
        from fungrad.numpy.views import created

        created(copy)
    return copy


class Filled:
    """Arrays from outside that a loop or branch writes to.

    Parameters
    ----------
    site
        The loop or branch.
    variables
        The variables of the function, as they are before it.
    """

    def __init__(self, site: Site, variables: Mapping[str, Any]) -> None:
        names = [name for name in site.names if name in site.filled and name in variables]
        found: dict[int, Tracer] = {}
        self.names: dict[str, int] = {}
        for name in names:
            x = variables[name]
            if type(x) is np.ndarray:
                raise NotRecorded(
                    f"it writes to {name}, an array that was made outside of what is traced"
                )
            if type(x) is not Tracer or is_scalar(x):
                continue
            if x._owner.level < body_level.get():
                raise WritesTo(f"it writes to {name}, an array from outside of it", x)
            found.setdefault(id(x), x)
            self.names[name] = [*found].index(id(x))
        self.arrays = [*found.values()]
        self._written = set[int]()
        self._check_apart(site, variables)

    def _check_apart(self, site: Site, variables: Mapping[str, Any]) -> None:
        """Raise if another variable shows the memory of an array that is written to."""
        roots = [root_of(x) for x in self.arrays]
        if len({id(x) for x in roots}) < len(roots):
            raise NotRecorded("it writes to two views of one array")
        for name in site.names:
            if name in self.names or name not in variables:
                continue
            for x in _tracers_in(variables[name]):
                if any(root_of(x) is root for root in roots):
                    raise NotRecorded(f"{name} shows the memory of an array that it writes to")
        outer = innermost_trace()
        if (
            any(type(x._memory) is View and not x._memory.writable for x in self.arrays)
            or outer is None
        ):
            raise NotRecorded("it writes to a view that is read-only")

    def check_unseen(self, arrays: Iterable[Any]) -> None:
        """Raise `NotRecorded` if arrays that a loop goes over show what it writes to."""
        roots = [root_of(x) for x in self.arrays]
        for each in arrays:
            if any(root_of(x) is root for x in _tracers_in(each) for root in roots):
                raise NotRecorded("it writes to an array that it goes over")

    def given(self, variables: dict[str, Any], arrays: Sequence[Any]) -> dict[str, Any]:
        """Return variables with other arrays in their places."""
        return {**variables, **{name: arrays[i] for name, i in self.names.items()}}

    def begun(self, arrays: Sequence[Any]) -> list[Any]:
        """Return arrays that a body is given as such that it may write to."""
        return [own_copy(x) for x in arrays]

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Context in which a body is traced: reading its arrays by other ways would give their old values.

        That may be a function that the body calls, by a closure, a global or an attribute. It ends the attempt.
        """
        hidden = {id(x): x for y in self.arrays for x in (y, root_of(y))}.values()
        owners = [x._owner for x in hidden]
        try:
            for x in hidden:
                x._owner = _HIDDEN
            yield
        finally:
            for x, owner in zip(hidden, owners, strict=True):
                x._owner = owner

    def ended(self, given: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays that a body was given, as it leaves them; note which it has written to."""
        pairs = enumerate(zip(given, arrays, strict=True))
        self._written |= {i for i, (x, y) in pairs if x._variable != y._variable}
        return list(arrays)

    def assign(self, results: Sequence[Any]) -> None:
        """Give the arrays that were written to their new elements: all of them, or none and `NotRecorded`."""
        chosen = [(self.arrays[i], results[i]) for i in sorted(self._written)]
        if any(root_of(x)._memory is ARGUMENT for x, _ in chosen):
            raise NotRecorded("it writes to an argument of the transformed function")
        for x, new in chosen:
            x[...] = new  # type: ignore[index]

    def rebound(self, name: str, x: Any, arrays: Sequence[Any]) -> bool:
        """Whether a variable of an array that is written to stands for another object after the body."""
        i = self.names.get(name)
        return i is None or x is not arrays[i]


class _Hidden:
    """The trace of an array that is not to be read."""

    def __getattr__(self, name: str) -> Any:
        if hasattr(Trace, name) and not name.startswith("__"):
            raise NotRecorded("a function that it calls reads an array that it writes to")
        raise AttributeError(name)  # inspectors of modules ask for some


_HIDDEN: Any = _Hidden()


def root_of(x: Tracer) -> Any:
    """Return the array that a view shows, or the array itself."""
    memory = x._memory
    return memory.root if type(memory) is View else x


def _tracers_in(x: Any) -> Iterable[Tracer]:
    if type(x) is Tracer:
        return (x,)
    if type(x) in (list, tuple, dict):
        return [y for y in tree.leaves(x) if type(y) is Tracer]
    kept = getattr(x, "__dict__", None)
    return [y for y in kept.values() if type(y) is Tracer] if type(kept) is dict else ()

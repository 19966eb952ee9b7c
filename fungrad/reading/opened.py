"""Objects of the user's classes as pytrees of their attributes, as a body hands them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fungrad.core import tree
from fungrad.core.nodes import register_node
from fungrad.core.types import is_array
from fungrad.reading.outside import open_body
from fungrad.reading.sites import NotRecorded
from fungrad.reading.slots import content_of, is_frozen, keeps_attributes

__all__ = ["closed", "made_now", "note_made", "opened"]


class Form(NamedTuple):
    """A class, the names of the attributes of an object, and those that are no arrays."""

    kind: type
    names: tuple[str, ...]
    dynamic: tuple[str, ...]
    static: tuple[Any, ...]


class Opened:
    """An object, as its attributes that are arrays or hold some."""

    def __init__(self, form: Form, values: tuple[Any, ...]) -> None:
        self.form = form
        self.values = values


register_node(Opened, lambda x: (x.values, x.form), Opened)


def opened(x: Any, made: Callable[[Any], bool] | None = None) -> Any:
    """Return a tree in which objects have become their attributes.

    With `made`, only those of which it is true: that are made anew and that nothing else holds.

    Raises
    ------
    NotRecorded
        If an object is in it twice.
    """
    seen = dict[int, Any]()

    def of(y: Any) -> Any:
        if is_array(y) or type(y) in (str, bytes) or isinstance(y, type):
            return y
        kind = type(y)
        content = content_of(y)
        if (
            not content
            or not (keeps_attributes(kind) or is_frozen(kind))
            or not (made is None or made(y))
        ):
            return y
        if id(y) in seen:
            raise NotRecorded(f"it hands on one {kind.__name__} under two names")
        seen[id(y)] = y
        parts = {name: tree.map(of, value) for name, value in content.items()}
        dynamic = [name for name, value in parts.items() if _is_dynamic(value)]
        if not dynamic:
            return y
        static = [(name, _Same(value)) for name, value in content.items() if name not in dynamic]
        form = Form(kind, tuple(content), tuple(dynamic), tuple(static))
        return Opened(form, tuple([parts[name] for name in dynamic]))

    return tree.map(of, x)


def _is_dynamic(x: Any) -> bool:
    leaves = tree.leaves(x)
    return bool(leaves) and all(map(is_array, leaves))


def closed(x: Any, note: Callable[[Any], Any] = lambda made: made) -> Any:
    """Return a tree with objects again, each told to `note`."""

    def of(y: Any) -> Any:
        if type(y) is not Opened:
            return y
        form = y.form
        values = dict(zip(form.dynamic, [closed(z, note) for z in y.values], strict=True))
        values |= {name: same.value for name, same in form.static}
        made: Any = object.__new__(form.kind)
        for name in form.names:
            object.__setattr__(made, name, values[name])
        note(made)
        return made

    return tree.map(of, x, is_leaf=lambda y: type(y) is Opened)


def made_now(x: Any) -> bool:
    """Whether the body that is being traced has made an object, or nothing can change that."""
    body = open_body.get()
    return is_frozen(type(x)) or (body is not None and body.is_made(x))


def note_made(x: Any) -> Any:
    """Note an object that a loop or branch has made, for the body around it."""
    body = open_body.get()
    return x if body is None else body.make(x)


class _Same:
    """A value that is compared as an object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Same:
            return False
        x, y = self.value, other.value
        return x is y or (type(x) is type(y) and type(x) in (str, bool) and x == y)

    def __hash__(self) -> int:
        return hash(type(self.value))

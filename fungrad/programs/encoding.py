"""Programs as plain data: trees of lists, tuples, dicts, strings, numbers and arrays.

Programs, primitives, types and rules are tables; whatever refers to one is its number there. A primitive is its name and its
parameters. A parameter is itself if it is plain, a tuple of parameters, or a list that begins with its kind. `decoding.py` reads it.

Design: docs/design/41-saved-programs.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import ConcretizationError, FungradError, Source, describe_source
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, name_of_dtype
from fungrad.primitives.callback import DebugCallback, IoCallback, PureCallback
from fungrad.primitives.ufunc import Function
from fungrad.programs.rules.backward import Backward, SparseBackward
from fungrad.programs.rules.custom_vmap import CustomVmap
from fungrad.programs.rules.rule_tracing import Lazy
from fungrad.transforms.arguments import name_of
from fungrad.transforms.foreign import Foreign
from fungrad.transforms.guard import Guard

OWN = "fungrad."
"""Beginning of the names of modules whose primitives need not be given to be found again."""

FOREIGN = ""
"""Stands for the module of others."""

FUNCTIONS = ("fungrad.scipy.", "fungrad.programs.rules.policies")
"""Modules whose functions are parameters: solvers and policies."""

RECORDS = ("fungrad.programs.", "fungrad.scipy.")
"""Modules whose named tuples and dataclasses are parameters: rules, solvers, options."""

PLAIN = (type(None), bool, int, float, complex, str, bytes)


class ExportError(FungradError, ValueError):
    """A function cannot be saved, or a file is none that `fungrad.load` reads.

    Examples
    --------
    >>> import fungrad as fg
    >>> f = fg.jit(lambda x: fg.pure_callback(abs, x, x))
    >>> try:
    ...     fg.export(f)(1.0)
    ... except fg.ExportError as error:
    ...     print(str(error).splitlines()[1].partition(",")[0])
    export: `<lambda>` calls Python code through `pure_callback`
    """


_WRITE = "Write it with functions that fungrad traces."
_REASONS: tuple[tuple[type[Primitive], str, str], ...] = (
    (DebugCallback, "prints or calls Python", "Leave it out of the function that is exported."),
    (
        PureCallback,
        "calls Python code through `pure_callback`",
        "Compute that before or after the exported function, or write it with functions that fungrad traces.",
    ),
    (
        IoCallback,
        "calls Python code through `io_callback`",
        "Compute that before or after the exported function.",
    ),
    (
        Guard,
        "needs the value of an array, and a saved program would hold for that value only",
        "Choose with fungrad.numpy.where or fungrad.lax.cond, or make the value a static argument.",
    ),
    (
        CustomVmap,
        "has a rule of custom_vmap, which is Python code",
        "Export vmap of the function, or leave the rule out.",
    ),
    (
        Foreign,
        "uses a primitive of another package, of which the rules are Python code",
        "Declare it with fungrad.extend.primitive, and give it to fungrad.load in types=.",
    ),
)
"""For each kind of primitive that cannot be saved: the reason, and the fix."""


def file_name(thing: Any) -> str | None:
    """Return the name that a primitive, or a class of primitives, has in files; None for other things."""
    if isinstance(thing, Function):
        return thing.name
    return thing.__name__ if isinstance(thing, type) and issubclass(thing, Primitive) else None


class Encoder:
    """Tables of a saved program, filled while it is encoded.

    Parameters
    ----------
    label
        The function's name in messages.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.tables: dict[str, list[Any]] = {
            "programs": [],
            "primitives": [],
            "types": [],
            "rules": [],
        }
        self._known: dict[Any, int] = {}
        self._held: list[Any] = []  # so that no id is that of another object later
        self._source: Source | None = None

    def _number(self, table: str, key: Any, held: Any, make: Callable[[], Any]) -> int:
        """Return the number of an entry, which is made the first time; it may refer to itself."""
        if (number := self._known.get(key)) is None:
            self._held.append(held)
            number = self._known[key] = len(self.tables[table])
            self.tables[table].append(None)
            self.tables[table][number] = make()
        return number

    def type(self, t: ArrayType) -> int:
        """Return the number of a type."""
        entry = [list(t.shape), name_of_dtype(t.dtype), t.weak]
        return self._number("types", t, t, lambda: entry)

    def expr(self, expr: Expr) -> int:
        """Return the number of a program."""
        return self._number("programs", id(expr), expr, lambda: self._program(expr))

    def _program(self, expr: Expr) -> dict[str, Any]:
        equations = []
        outer = self._source
        for (primitive, inputs, outputs), source in expr.located():
            self._source = source or outer
            equations.append([self.primitive(primitive), list(inputs), list(outputs)])
        self._source = outer
        return {
            "inputs": list(expr.inputs),
            "captured": expr.captured,
            "constants": dict(expr.constants),
            "equations": equations,
            "outputs": list(expr.outputs),
            "types": [self.type(t) for t in expr.types],
        }

    def primitive(self, primitive: Primitive) -> int:
        """Return the number of a primitive."""
        return self._number("primitives", id(primitive), primitive, lambda: self._entry(primitive))

    def _entry(self, primitive: Primitive) -> list[Any]:
        for kind, reason, fix in _REASONS:
            if isinstance(primitive, kind):
                raise self._refused(reason, fix)
        if primitive.axis_names:
            raise self._refused(
                f"computes `{primitive}` across processes or mapped calls",
                "Export the function of one process.",
            )
        if isinstance(primitive, Function):
            return [primitive.name, self._home_of(primitive), []]
        of = type(primitive)
        fields = [
            [
                f.name,
                self.value(
                    getattr(primitive, f.name), f"the parameter {f.name} of `{primitive.name}`"
                ),
            ]
            for f in dataclasses.fields(primitive)  # type: ignore[arg-type]
        ]
        return [file_name(of), of.__module__ if of.__module__.startswith(OWN) else FOREIGN, fields]

    def _home_of(self, entry: Function) -> str:
        """Return `OWN` for an entry of fungrad's tables, `FOREIGN` for one that `load` is to be given."""
        make, parts = entry.__reduce__()[:2]
        if make is type(entry):
            raise self._refused(
                f"computes `{entry.name}`, an elementwise primitive that is in no module under a name",
                "Assign it to a name of a module.",
            )
        return OWN if parts[0].startswith(OWN) else FOREIGN

    def value(self, x: Any, role: str) -> Any:
        """Return a parameter as plain data; `role` names it in messages."""
        if type(x) in PLAIN or isinstance(x, np.generic):
            return x
        if type(x) is tuple:
            return tuple([self.value(item, role) for item in x])
        if isinstance(x, np.dtype):
            return ["dtype", name_of_dtype(x)]
        if type(x) is ArrayType:
            return ["type", self.type(x)]
        if isinstance(x, Program):
            return ["program", self.expr(x.given), x.donated, x.borrowed]
        if isinstance(x, Primitive):
            return ["primitive", self.primitive(x)]
        if isinstance(x, tree.TreeDef):
            return ["structure", template(x)]
        if isinstance(x, frozenset):
            return ["set", *[self.value(item, role) for item in sorted(x, key=repr)]]
        if isinstance(x, Lazy):
            return self._rule(x)
        if isinstance(x, SparseBackward):
            return None  # zeros do as well as cotangents that are known to be zero
        return self._object(x, role)

    def _object(self, x: Any, role: str) -> Any:
        """Return a record, or a function, of fungrad's own."""
        cls, module = type(x), getattr(x, "__module__", None) or ""
        if cls.__module__.startswith(RECORDS) and not isinstance(x, Backward):
            names: Sequence[str] | None = getattr(cls, "_fields", None)
            if names is None and dataclasses.is_dataclass(cls):
                names = [f.name for f in dataclasses.fields(cls)]
            if names is not None:
                fields = [[n, self.value(getattr(x, n), role)] for n in names]
                return ["record", cls.__module__, cls.__qualname__, fields]
        name = getattr(x, "__qualname__", "<none>")
        if callable(x) and module.startswith(FUNCTIONS) and "<" not in name:
            return ["function", module, name]
        shown = (
            f"Python's function `{name_of(x)}`"
            if callable(x)
            else f"a {cls.__name__}, {str(x)[:60]}"
        )
        raise self._refused(f"holds Python code or an object: {role} is {shown}", _WRITE)

    def _rule(self, lazy: Lazy) -> list[Any]:
        """Return the rule of a custom derivative, traced; one that calls its own function refers to itself."""
        base = dataclasses.replace(lazy, maps=(), trace=0)
        count = len(base.site.at)

        def made() -> dict[str, Any]:
            try:
                rule, captured = base.rule_for([True] * count)
            except ConcretizationError as error:
                raise self._refused(
                    f"has a derivative rule, that of `{name_of(lazy.owner.fun)}`, which needs values: {error}",
                    "Write the rule so that it needs none.",
                ) from error
            name = name_of(lazy.owner.fun)
            return {
                "name": name,
                "rule": self.value(rule, f"the rule of `{name}`"),
                "captured": [*captured],
            }

        key: Any = (base.owner, base.site, base.function)
        try:
            hash(key)
        except TypeError:
            key = id(lazy)
        return ["rule", self._number("rules", ("rule", key), lazy, made), count, lazy.maps]

    def _refused(self, reason: str, fix: str) -> ExportError:
        place = "" if self._source is None else f"at {describe_source(self._source)}\n"
        return ExportError(f"{place}export: `{self.label}` {reason}, so it cannot be saved. {fix}")


def template(structure: tree.TreeDef) -> Any:
    """Return the tree of a structure that has the numbers of its leaves as leaves."""
    return tree.unflatten(structure, range(structure.num_leaves))

"""Writing a program as a Python function of straight-line NumPy calls.

What the function saves over evaluating equation by equation: no dispatch, arrays are freed where they
are read last, large temporaries are written into others that are free, and no array is made of a scalar
or a row that NumPy broadcasts by itself.
"""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.pieces import Definition, Line, Listing, Origin, lay_out
from fungrad.core.errors import Source
from fungrad.core.evaluate import last_uses
from fungrad.core.expr import Expr, variable_names
from fungrad.core.primitive import Primitive
from fungrad.primitives.dynamic import DynamicSlice
from fungrad.primitives.elementwise import Cast, add, mul, sub
from fungrad.primitives.shaping import Broadcast, Slice
from fungrad.primitives.ufunc import Function

REUSE_FROM = 0
"""Bytes from which a free array is reused for a result. NumPy runs `np.add(a, b, a)` faster than
`np.add(a, b)` at every size."""


SLICES = Slice, DynamicSlice

OPERATORS: dict[Primitive, str] = {add: "+", sub: "-", mul: "*"}


class PythonSource(NamedTuple):
    """A program as Python source.

    Attributes
    ----------
    functions
        The definition of a function ``program``, and before it of those that it calls.
    bindings
        The constants and primitives that they refer to, by name.
    """

    functions: tuple[Definition, ...]
    bindings: dict[str, Any]

    @property
    def text(self) -> str:
        """The source of all functions."""
        return "\n\n".join([f.text for f in self.functions])


def python_source(
    expr: Expr,
    donated: Sequence[int] = (),
    borrowed: Sequence[int] = (),
    length: int | None = None,
    scalars: bool = True,
) -> PythonSource:
    """Return `expr` as Python source, in pieces of `length` lines (`lay_out`).

    `donated` are positions of inputs whose memory the program may overwrite, `borrowed` those of outputs
    that may share memory with anything. `scalars` tells whether elements of arrays are scalars, as NumPy's, or
    views without axes, as CuPy's.
    """
    listing = python_lines(expr, donated, borrowed, scalars)
    return PythonSource(lay_out(listing, length), listing.bindings)


def python_lines(
    expr: Expr, donated: Sequence[int] = (), borrowed: Sequence[int] = (), scalars: bool = True
) -> Listing:
    """Return `expr` as straight-line Python; parameters are those of `python_source`."""
    return _Writer(expr, donated, borrowed, scalars).write()


class _Writer:
    def __init__(
        self, expr: Expr, donated: Sequence[int], borrowed: Sequence[int], scalars: bool
    ) -> None:
        self.expr = expr
        self.scalars = scalars
        self.types = expr.types
        self.bindings: dict[str, Any] = {}
        self.body: list[Line] = []
        self.names: dict[int, str] = {}
        self.fixed: set[str] = set()  # what stands in `names` for constants: no local variables
        self.fresh = _safe_names()
        self.lazy: dict[int, tuple[int, Broadcast]] = {}  # broadcasts not computed so far
        self.primitives: dict[Primitive, str] = {}
        self.donated = frozenset(donated)
        self.borrowed = frozenset(borrowed)
        self.root = list(range(len(expr.types)))  # the variable whose memory a view shows
        self.owned = {expr.inputs[i] for i in donated}  # roots that may be overwritten
        self.repeated: set[int] = set()  # views in which one element has several places
        self.uses = Counter(v for e in expr.equations for v in e.inputs)
        self.uses.update(expr.outputs)
        self.copied: set[int] = set()  # slices copied so that what they are of can be overwritten
        self.last = last_uses(expr)
        self.root_last: list[int] = []
        self.dying: dict[int, list[int]] = {}  # by equation: what no later one reads
        self.returned: set[int] = set()  # roots of the results written so far
        self.given: set[str] = set()  # names of inputs, which are not ours to delete

    def write(self) -> Listing:
        expr = self.expr
        self._find_roots()
        parameters = [self._name(v) for v in expr.inputs]
        self.given = {n for i, n in enumerate(parameters) if i not in self.donated}
        for v, value in expr.constants.items():
            self.names[v] = self._constant(value)
        for equation in expr.equations:
            for v in equation.outputs:
                self.dying.setdefault(self.root_last[self.root[v]], []).append(v)
        for number, ((primitive, inputs, outputs), source) in enumerate(expr.located()):
            if not outputs:  # there is but its effect
                operands = self._operands(primitive, inputs, outputs, source)
                text = self._call_of_impl(primitive, operands)
                self._line(text, (primitive, source), self._locals(inputs))
                self._free(number, outputs)
                continue
            if isinstance(primitive, Broadcast):
                self.lazy[outputs[0]] = (inputs[0], primitive)
                continue
            if self._keeps_dtype(primitive, inputs):  # strong or weak: arrays know no difference
                if inputs[0] in self.lazy:
                    self.lazy[outputs[0]] = self.lazy[inputs[0]]
                else:
                    self.names[outputs[0]] = self._name(inputs[0])
                continue
            if not self._assign(number, primitive, inputs, outputs, source):
                operands = self._operands(primitive, inputs, outputs, source)
                self._call(number, primitive, operands, inputs, outputs, source)
            self._free(number, outputs)
        results = [self._result(i, v) for i, v in enumerate(expr.outputs)]
        read = self._locals(expr.outputs)
        return Listing(tuple(parameters), self.body, tuple(results), read, self.bindings)

    def _free(self, number: int, outputs: tuple[int, ...]) -> None:
        """Delete the names of arrays that no later equation reads."""
        ending = [v for v in self.dying.get(number, ()) if v in self.names and v not in self.lazy]
        reused = {self.names.get(v) for v in outputs if self.root_last[self.root[v]] > number}
        dead = dict.fromkeys([n for v in ending if (n := self.names[v]) not in reused])
        if names := [n for n in dead if n not in self.given and n not in self.fixed]:
            self._line(f"del {', '.join(names)}", None, tuple(names))

    def _find_copied(self) -> None:
        """Find the small slices whose copies spare the copy of the whole.

        An element assignment overwrites its operand if nobody reads that later, not even through
        a view. In the gradient of a loop that fills an array, the slice taken before is read later.
        """
        equations = self.expr.equations
        overwritten = {
            inputs[0]: number
            for number, (primitive, inputs, _) in enumerate(equations)
            if _assigns(primitive) and self.last[inputs[0]] == number
        }
        read_until = list(self.last)  # through views too
        for primitive, inputs, outputs in reversed(equations):
            if self._is_view(primitive, inputs, outputs):
                v, view = inputs[0], outputs[0]
                end = overwritten.get(v, len(equations))
                small = 4 * self.types[view].size <= self.types[v].size
                if isinstance(primitive, SLICES) and small and read_until[view] > end:
                    self.copied.add(view)
                else:
                    read_until[v] = max(read_until[v], read_until[view])

    def _is_view(
        self, primitive: Primitive, inputs: tuple[int, ...], outputs: tuple[int, ...]
    ) -> bool:
        if not primitive.view or not inputs:
            return False
        element = isinstance(primitive, SLICES) and primitive.dropped
        return not (self.scalars and element) or bool(self.types[outputs[0]].shape)

    def _find_roots(self) -> None:
        self._find_copied()
        for primitive, inputs, outputs in self.expr.equations:
            if (primitive.view and not inputs) or not outputs:
                continue  # of something of its own, which is not to be written into
            if outputs[0] in self.copied:
                self.owned.update(outputs)
            elif self._is_view(primitive, inputs, outputs) or self._keeps_dtype(primitive, inputs):
                self.root[outputs[0]] = self.root[inputs[0]]
                if isinstance(primitive, Broadcast) or inputs[0] in self.repeated:
                    self.repeated.add(outputs[0])
            else:
                self.owned.update(outputs)
        self.root_last = list(self.last)
        for v, root in enumerate(self.root):
            self.root_last[root] = max(self.root_last[root], self.last[v])

    def _keeps_dtype(self, primitive: Primitive, inputs: tuple[int, ...]) -> bool:
        return isinstance(primitive, Cast) and self.types[inputs[0]].dtype == primitive.dtype

    def _name(self, v: int) -> str:
        if v not in self.names:
            self.names[v] = next(self.fresh)
        return self.names[v]

    def _line(
        self,
        text: str,
        origin: Origin | None,
        reads: tuple[str, ...],
        writes: tuple[str, ...] = (),
    ) -> None:
        self.body.append(Line(text, origin, reads, writes))

    def _locals(self, variables: Iterable[int]) -> tuple[str, ...]:
        """Return the names that a line mentions that reads `variables`."""
        at_hand = [self.lazy[v][0] if v in self.lazy else v for v in variables]
        return tuple([n for v in at_hand if (n := self.names[v]) not in self.fixed])

    def _constant(self, value: Any) -> str:
        if isinstance(value, np.generic) and value.dtype.char in "?ld" and np.isfinite(value):
            name = repr(value.item())
        else:
            name = f"constant{len(self.bindings)}"
            self.bindings[name] = value
        self.fixed.add(name)
        return name

    def _operands(
        self,
        primitive: Primitive,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        source: Source | None,
    ) -> list[str]:
        """Return the operands as source; broadcasts are left to NumPy where it does them itself."""
        lazy = [v for v in dict.fromkeys(inputs) if v in self.lazy]
        of_numpy = isinstance(primitive, Function) and isinstance(primitive.function, str)
        if lazy and of_numpy:
            shapes = [self._shape_at_hand(v) for v in inputs]
            if np.broadcast_shapes(*shapes) == self.types[outputs[0]].shape:
                return [self._unbroadcast(v) if v in self.lazy else self._name(v) for v in inputs]
        for v in lazy:
            if v in self.lazy:  # not computed along with another
                self._materialize(v, source)
        return [
            self._bound(v) if v in self.expr.constants and not of_numpy else self._name(v)
            for v in inputs
        ]

    def _shape_at_hand(self, v: int) -> tuple[int, ...]:
        """Return the shape of what stands for variable `v` in a call that broadcasts."""
        if v not in self.lazy:
            return self.types[v].shape
        operand, broadcast = self.lazy[v]
        return self.types[operand].shape if broadcast.leading else broadcast.with_unit_axes()

    def _unbroadcast(self, v: int) -> str:
        operand, broadcast = self.lazy[v]
        if operand in self.lazy:
            self._materialize(operand, None)
        name = self._name(operand)
        return name if broadcast.leading else f"{name}.reshape({broadcast.with_unit_axes()})"

    def _bound(self, v: int) -> str:
        """Return the name of a constant that may be written as a literal elsewhere."""
        name = self.names[v]
        if name not in self.bindings:
            name = f"scalar{v}"
            self.bindings[name] = self.expr.constants[v]
        return name

    def _materialize(self, v: int, source: Source | None) -> None:
        pending = [v]
        while self.lazy.get(pending[-1], (None,))[0] in self.lazy:
            pending.append(self.lazy[pending[-1]][0])
        for w in reversed(pending):
            operand, broadcast = self.lazy.pop(w)
            constant = operand in self.expr.constants
            text = broadcast.expression(self._bound(operand) if constant else self._name(operand))
            name = self._name(w)
            self._line(f"{name} = {text}", (broadcast, source), self._locals([operand]), (name,))

    def _call(
        self,
        number: int,
        primitive: Primitive,
        operands: list[str],
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        source: Source | None,
    ) -> None:
        text = None
        reads = self._locals(inputs)
        if len(outputs) == 1:
            free = self._reusable(number, inputs, outputs[0])
            if free is not None:
                text = primitive.call_into(self.names[free], *operands)
                if text is not None:
                    self.names[outputs[0]] = self.names.pop(free)
        if isinstance(primitive, Cast) and (
            self.types[inputs[0]].dtype.kind != "c" or primitive.dtype.kind in "bc"
        ):
            text = f"{operands[0]}.astype({primitive.dtype.name!r})"
        text = text or self._on_scalars(primitive, operands, inputs, outputs)
        text = text or primitive.expression(*operands)
        if text is not None and outputs[0] in self.copied:
            text += ".copy()"
        if text is None:
            text = self._call_of_impl(primitive, operands)
        writes = tuple([self._name(v) for v in outputs])
        comma = "," if primitive.multiple_results and len(outputs) == 1 else ""
        self._line(f"{', '.join(writes)}{comma} = {text}", (primitive, source), reads, writes)

    def _call_of_impl(self, primitive: Primitive, operands: list[str]) -> str:
        name = self.primitives.get(primitive)
        if name is None:
            name = self.primitives[primitive] = f"{primitive.name}{len(self.bindings)}"
            self.bindings[name] = primitive.impl
        return f"{name}({', '.join(['np', *operands])})"

    def _on_scalars(
        self,
        primitive: Primitive,
        operands: list[str],
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
    ) -> str | None:
        """Return an operation on scalars as Python's, which NumPy runs ten times faster than a ufunc.

        Of real numbers only: for integers, scalars warn of an overflow and arrays do not.
        """
        type_ = self.types[outputs[0]]
        if type_.shape or type_.dtype.kind != "f" or primitive not in OPERATORS:
            return None
        if all(v in self.expr.constants for v in inputs):
            return None  # of literals it would be no NumPy scalar
        return f" {OPERATORS[primitive]} ".join(operands)

    def _assign(
        self,
        number: int,
        primitive: Primitive,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        source: Source | None,
    ) -> bool:
        """Write an update of elements as an assignment, if the array updated is not read any more."""
        if not _assigns(primitive):
            return False
        v = inputs[1]
        if self._reusable(number, inputs, outputs[0]) != inputs[0]:
            return False
        if v in self.lazy and self.lazy[v][1].leading:
            v = self.lazy[v][0]  # NumPy broadcasts what it assigns
        for w in (v, *inputs[2:]):
            if w in self.lazy:
                self._materialize(w, source)
        x, updates, *indices = [self._name(w) for w in (inputs[0], v, *inputs[2:])]
        statement = primitive.assignment(x, updates, *indices)
        if statement is None:
            return False
        reads = self._locals((inputs[0], v, *inputs[2:]))
        self._line(statement, (primitive, source), reads)
        self.names[outputs[0]] = self.names.pop(inputs[0])
        return True

    def _reusable(self, number: int, inputs: tuple[int, ...], out: int) -> int | None:
        """Return an operand whose memory can hold the result `out`, if one is free."""
        type_ = self.types[out]
        if not type_.shape or type_.nbytes < REUSE_FROM:
            return None  # 0-d results are scalars, which cannot be written into
        for v in inputs:
            if (
                v in self.owned
                and self.root[v] == v
                and v not in self.lazy
                and self.root_last[v] == number
                and not any(w != v and self.root[w] == v for w in inputs)  # no view of it is read
                and (self.types[v].shape, self.types[v].dtype) == (type_.shape, type_.dtype)
            ):
                return v
        return None

    def _result(self, position: int, v: int) -> str:
        """Return output `v` as an array of its own; 0-d NumPy arrays as scalars."""
        if v in self.lazy:
            self._materialize(v, None)
        name = self._bound(v) if v in self.expr.constants else self._name(v)
        root = self.root[v]
        shared = root in self.returned
        if position not in self.borrowed:
            self.returned.add(root)
        if not self.types[v].shape and self.scalars:
            return f"{name}[()]"
        if position in self.borrowed:
            return name
        if root not in self.owned or v in self.repeated or shared:
            return f"{name}.copy()"
        return name


def _assigns(primitive: Primitive) -> bool:
    """Whether the primitive has a statement that turns its first operand into the result."""
    return type(primitive).assignment is not Primitive.assignment


def _safe_names() -> Iterator[str]:
    for name in variable_names():
        if not keyword.iskeyword(name) and name != "np":
            yield name

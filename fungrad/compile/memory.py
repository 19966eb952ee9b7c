"""Shared memory of a program's variables, and its lifetime, which decide where to overwrite.

Design: docs/design/19-schedules.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fungrad.core.backend import NUMPY, Target
from fungrad.core.config import check_exprs
from fungrad.core.errors import ExprError
from fungrad.core.evaluate import last_uses
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.dynamic import SLICES
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexed import IndexedSlice
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import Slice

APART = 1 << 20
"""Bytes from which results on a device have memory of their own, since they would keep neighbours."""


@dataclass(frozen=True, repr=False)
class Memory:
    """Memory of a program's variables.

    Attributes
    ----------
    root
        Of each variable the one whose memory it shows: itself, unless it is a view.
    owned
        The roots that may be overwritten: results, and inputs that are donated.
    repeated
        Views in which one element has several places.
    copied
        Slices that are copied, so that what they are of can be overwritten.
    needed
        Of each variable the number of the equation that reads its memory last, a view of it too; the number of equations
        for outputs, -1 for what nobody reads.
    """

    root: tuple[int, ...]
    owned: frozenset[int]
    repeated: frozenset[int]
    copied: frozenset[int]
    needed: tuple[int, ...]

    def check(self) -> Memory:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a variable shows the memory of what shows that of another, or of what is needed for less long; or if what may
            be overwritten, or is copied, is a view of something else.
        """
        root = self.root
        if len(self.needed) != len(root):
            raise ExprError("memory: variables differ in number from when they are needed")
        for v, r in enumerate(root):
            if not 0 <= r < len(root) or root[r] != r:
                raise ExprError(f"memory: v{v} shows that of v{r}, which has none of its own")
            if self.needed[r] < self.needed[v]:
                raise ExprError(f"memory: v{r} is needed for less long than v{v}, a view of it")
        for name in ("owned", "copied"):
            if views := [v for v in sorted(getattr(self, name)) if root[v] != v]:
                raise ExprError(f"memory: {_listed(views)} is {name}, and a view")
        if wrong := [v for v in sorted(self.repeated) if root[v] == v]:
            raise ExprError(f"memory: {_listed(wrong)} repeats elements, and is no view")
        return self

    def __str__(self) -> str:
        """Show the variables with memory, one per line: overwritable or not, views of it, last reader."""
        lines = ["{ memory ."]
        for v, r in enumerate(self.root):
            if v != r:
                continue
            views = [w for w in range(len(self.root)) if self.root[w] == v and w != v]
            facts = [
                "owned" if v in self.owned else "",
                "copied" if v in self.copied else "",
                f"shown by {_listed(views)}" if views else "",
                f"needed until {self.needed[v]}" if self.needed[v] >= 0 else "never read",
            ]
            lines.append(f"  v{v}: {', '.join(filter(None, facts))}")
        if self.repeated:
            lines.append(f"  repeated: {_listed(sorted(self.repeated))}")
        return "\n".join([*lines, "}"])

    __repr__ = __str__


def _listed(variables: Iterable[int]) -> str:
    return ", ".join([f"v{v}" for v in variables])


def memory_of(expr: Expr, donated: Sequence[int] = (), target: Target = NUMPY) -> Memory:
    """Return the memory of the variables of `expr`, which owns its inputs at the positions `donated`.

    `target` tells whether elements of arrays are scalars, as NumPy's, or views without axes, as CuPy's.
    """
    scalars = target.scalars
    last = last_uses(expr)
    copied = _copied(expr, last, scalars)
    root = list(range(len(expr.types)))
    owned = {expr.inputs[i] for i in donated}
    repeated: set[int] = set()
    for equation in expr.equations:
        primitive, inputs, outputs = equation
        if (primitive.view and not inputs) or not outputs:
            continue  # of something of its own, which is not to be written into
        view = is_view(equation, expr.types, scalars) or is_same(equation, expr.types)
        if view and outputs[0] not in copied:
            root[outputs[0]] = root[inputs[0]]
            if isinstance(primitive, Broadcast) or inputs[0] in repeated:
                repeated.add(outputs[0])
        else:
            owned.update(outputs)
    needed = list(last)
    for v, r in enumerate(root):
        needed[r] = max(needed[r], last[v])
    memory = Memory(
        tuple(root), frozenset(owned), frozenset(repeated), frozenset(copied), tuple(needed)
    )
    return memory.check() if check_exprs.get() else memory


def is_view(equation: Equation, types: Sequence[ArrayType], scalars: bool) -> bool:
    """Whether the result may share memory with the first operand."""
    primitive, inputs, outputs = equation
    if not primitive.view or not inputs:
        return False
    element = isinstance(primitive, SLICES) and primitive.dropped
    return not (scalars and element) or bool(types[outputs[0]].shape)


def is_same(equation: Equation, types: Sequence[ArrayType]) -> bool:
    """Whether the result is the operand: a conversion between weak and strong."""
    primitive, inputs, _ = equation
    return isinstance(primitive, Cast) and types[inputs[0]].dtype == primitive.dtype


def rows_of(expr: Expr) -> dict[int, int]:
    """Return the variables that are a row of a small array, and which one it is.

    On a device small results share memory, so such rows need no copies, which are a launch each.
    """
    types = expr.types
    made = {v for e in expr.equations if not e.primitive.view for v in e.outputs}
    rows = {}
    for primitive, inputs, outputs in expr.equations:
        if isinstance(primitive, Slice) and inputs[0] in made and types[inputs[0]].nbytes < APART:
            first, *rest = zip(primitive.start, primitive.stop, primitive.step, strict=True)
            whole = all(
                given == (0, n, 1)
                for given, n in zip(rest, types[inputs[0]].shape[1:], strict=True)
            )
            if whole and first[1] - first[0] == 1:
                rows[outputs[0]] = first[0]
    return rows


def assigns(primitive: Primitive) -> bool:
    """Whether the primitive has a statement that turns its first operand into the result."""
    return type(primitive).assignment is not Primitive.assignment


def updated_inputs(expr: Expr, position: int) -> list[int]:
    """Return the inputs that an output may be an update of, by assignments, loops and branches."""
    made = {v: e for e in expr.equations for v in e.outputs}
    found, seen, pending = [], set(), [expr.outputs[position]]
    while pending:
        v = pending.pop()
        if v in seen:
            continue
        seen.add(v)
        if v in expr.inputs:
            found.append(expr.inputs.index(v))
        elif (equation := made.get(v)) is not None:
            if assigns(equation.primitive):
                pending.append(equation.inputs[0])
            elif equation.primitive.holds_programs:
                pending += [w for w in equation.inputs if _alike(expr.types[w], expr.types[v])]
    return found


def _alike(x: ArrayType, y: ArrayType) -> bool:
    return bool(x.shape) and (x.shape, x.dtype) == (y.shape, y.dtype)


def _copied(expr: Expr, last: Sequence[int], scalars: bool) -> set[int]:
    """Return the small slices whose copies spare the copy of the whole.

    An element assignment overwrites its operand if nobody reads that later, not even through a view. In the
    gradient of a loop that fills an array, the slice taken before is read later.
    """
    types, equations = expr.types, expr.equations
    overwritten = {
        inputs[0]: number
        for number, (primitive, inputs, _) in enumerate(equations)
        if assigns(primitive) and last[inputs[0]] == number
    }
    copied = set()
    read_until = list(last)  # through views too
    for equation in reversed(equations):
        primitive, inputs, outputs = equation
        if is_view(equation, types, scalars):
            v, view = inputs[0], outputs[0]
            end = overwritten.get(v, len(equations))
            small = 4 * types[view].size <= types[v].size
            if isinstance(primitive, (*SLICES, IndexedSlice)) and small and read_until[view] > end:
                copied.add(view)
            else:
                read_until[v] = max(read_until[v], read_until[view])
    return copied

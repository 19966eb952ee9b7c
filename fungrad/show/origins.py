"""The way of a NaN, or an infinity, from the equation that made it to a result: `show.nans`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.extend import Primitive
from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import InDerivative, Source, check_callable, describe_source
from fungrad.extend.trees import leaves_with_paths
from fungrad.extend.types import type_of
from fungrad.show.labels import called
from fungrad.show.running import Path, Run, prepare
from fungrad.show.tables import Column, Table, counted

Index = tuple[int, ...]


class Step(NamedTuple):
    """An equation on the way, or the argument or constant that it begins with."""

    operation: str
    """The name of the primitive; "argument" or "constant"."""
    made: str
    """The number that it gave: "nan", "inf" or "-inf", with its parts if it is complex."""
    place: Index
    """The index in the result."""
    operands: str
    """The numbers it was made of, if it is of each element; else the types, with how many are not finite."""
    type: str
    way: str
    """"forward", "derivative" (in forward mode) or "backward"; "" of an argument."""
    within: str
    """The loop or branch it is in, "" if in none."""
    line: str
    """The line of the function."""


_COLUMNS = (
    Column("operation", "operation", right=False, style="op"),
    Column("made", "made", right=False, style="bad"),
    Column("operands", "of", right=False, style="num"),
    Column("place", "at", lambda i: str(i) if i else "", right=False),
    Column("type", "result", right=False, style="type"),
    Column("way", "way", right=False),
    Column("within", "within", right=False, style="dim"),
    Column("line", "line", right=False, style="dim"),
)


class Origins(Table[Step]):
    """The ways of the first NaN or infinity of each result, made by `nans`; empty if all are finite."""

    @property
    def origin(self) -> Step | None:
        """The first step of the first way: the operation that made the NaN, or the argument that held it."""
        return self.rows[0] if self.rows else None


class _Made(NamedTuple):
    """An equation that has run."""

    path: Path
    primitive: Primitive
    operands: Sequence[Any]
    source: Source | None


class _Recording(Run):
    """A run that keeps, of each array, the equation that made it last."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[_Made, Sequence[Any]]] = []

    def keep(
        self,
        path: Path,
        primitive: Primitive,
        operands: Sequence[Any],
        results: Sequence[Any],
        source: Source | None,
    ) -> None:
        self.made.append((_Made(path, primitive, operands, source), results))


def _fault(x: Any) -> tuple[int, Index] | None:
    """Return 0 for NaN or 1 for infinity, and the first index of one; None if all are finite."""
    if not type_of(x).inexact or np.isfinite(x).all():
        return None
    for kind, found in enumerate((np.isnan(x), np.isinf(x))):
        if found.any():
            return kind, tuple(map(int, np.unravel_index(int(np.argmax(found)), np.shape(x))))
    return None


def _at(x: Any, index: Index) -> Any:
    return x[index] if np.shape(x) else x


def _kind(x: Any) -> int | None:
    return 0 if np.isnan(x) else 1 if np.isinf(x) else None


class _Ways:
    """Ways back through the equations that have run."""

    def __init__(self, run: _Recording, inputs: dict[int, str]) -> None:
        self.run, self.inputs = run, inputs
        self.maker: dict[int, _Made] = {}
        for made, results in run.made:  # some hand on the very array that they are given
            for x in results:
                self.maker.setdefault(id(x), made)

    def back(self, x: Any, index: Index) -> Iterator[Step]:
        """Yield the steps from a result to the origin."""
        while True:
            made = self.maker.get(id(x))
            if made is None:
                name = self.inputs.get(id(x), "constant")
                what, _, which = name.partition(" ")
                yield Step(what, _text(_at(x, index)), index, which, str(type_of(x)), "", "", "")
                return
            follow = _followed(made, np.shape(x), index)
            yield _step(made, x, index)
            if follow is None:
                yield from self._inside(made, x)
                return
            x, index = follow

    def _inside(self, made: _Made, x: Any) -> Iterator[Step]:
        """Yield the first equation in a loop or branch that gave a number that is not finite."""
        depth = len(made.path)
        place = next((n for n, (m, r) in enumerate(self.run.made) if m is made), 0)
        inner = None
        for m, results in reversed(self.run.made[:place]):
            if len(m.path) <= depth:
                break
            for y in results:
                if (fault := _fault(y)) is not None:
                    inner = m, y, fault[1]
        if inner is not None:
            yield _step(*inner)


def _is_elementwise(primitive: Primitive) -> bool:
    """Whether a rule for dtypes is all that it has for types, as primitives of each element do."""
    return hasattr(primitive, "result_dtype")


def _followed(made: _Made, shape: tuple[int, ...], index: Index) -> tuple[Any, Index] | None:
    """Return the operand that the number came from, and its place there; None if it was made here."""
    operands = made.operands
    found: list[tuple[int, Any, Index]] = []
    if _is_elementwise(made.primitive):
        if made.primitive.name in ("select", "void", "kept"):
            operands = [operands[1 if _at(operands[0], index) else 2]]
        for x in operands:
            kind = _kind(_at(x, index)) if type_of(x).inexact else None
            if kind is not None:
                found.append((kind, x, index if np.shape(x) else ()))
    else:
        for x in operands:
            fault = _fault(x)
            if fault is not None:
                found.append((fault[0], x, fault[1]))
    if not found:
        return None
    _, x, place = min(found, key=lambda f: f[0])
    return x, place


def _argument(path: str) -> str:
    """Return the name of a leaf of the arguments, given its path in those by position and by name."""
    return ("args", "kwargs")[int(path[1])] + path[3:]


def _text(x: Any) -> str:
    return f"{x:.4g}" if type_of(x).inexact else str(x)


def _step(made: _Made, x: Any, index: Index) -> Step:
    primitive, source = made.primitive, made.source
    if _is_elementwise(primitive):
        operands = ", ".join(_text(_at(y, index)) for y in made.operands)
    else:
        operands = ", ".join(map(_described, made.operands))
    way = "forward"
    if isinstance(source, InDerivative):
        way = "backward" if source.backward else "derivative"
    return Step(
        primitive.name, _text(_at(x, index)), index, operands, str(type_of(x)), way, " ".join(made.path),
        describe_source(source),
    )  # fmt: skip


def _described(x: Any) -> str:
    """Return the type of an operand, and how many of its elements are not finite."""
    type_ = type_of(x)
    bad = int((~np.isfinite(x)).sum()) if type_.inexact else 0
    return f"{type_}" + (f" ({bad} not finite)" if bad else "")


def nans(fun: Callable[..., Any]) -> Callable[..., Origins]:
    """Return the function that runs `fun` and lists how NaN and infinities came into its results.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them, jitted or not: a gradient, say, to see the way back too.

    Returns
    -------
    Callable
        Takes what `fun` takes. Returns an `Origins`: a table with, for each result that has NaN or else an infinity, the steps from the
        equation that made the first one to the result. It prints as text, in a notebook as HTML. `origin` is the first step, `rows` has all.

    Raises
    ------
    TypeError
        If it is called with what another function traces.

    Notes
    -----
    A step of an elementwise function has the numbers that it was made of. Others, such as sums, have types; the way goes on with
    the first of their elements that is not finite. NaN that reaches no result is not listed: what `where` leaves out does no harm.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def length(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> ways = fg.show.nans(fg.grad(length))(np.zeros(3))
    >>> for step in ways:
    ...     print(f"{step.way}: {step.operation}({step.operands}) = {step.made}")
    backward: divide(1, 0) = inf
    backward: broadcast(float64[] (1 not finite)) = inf
    backward: multiply(0, inf) = nan
    backward: add(nan, nan) = nan
    """
    check_callable(fun, "show.nans")

    @api_boundary
    def listed(*args: Any, **kwargs: Any) -> Origins:
        _, lowered, leaves = prepare("nans", fun, args, kwargs)
        run = _Recording()
        with np.errstate(all="ignore"):
            results = run(lowered.simplified, leaves)
        names = [_argument(path) for path, _ in leaves_with_paths(lowered.in_avals)]
        inputs = {id(x): f"argument {name}" for x, name in zip(leaves, names, strict=False)}
        paths = [path for path, _ in leaves_with_paths(lowered.out_info)]
        ways = _Ways(run, inputs)
        rows: list[Step] = []
        notes: list[str] = []
        for path, result in zip(paths, results, strict=True):
            fault = _fault(result)
            if fault is None:
                continue
            bad = [int(f(result).sum()) for f in (np.isnan, np.isinf)]
            notes.append(f"result{path}, {type_of(result)}: {bad[0]} nan, {bad[1]} inf")
            rows += [*ways.back(result, fault[1])][::-1]
        title = f"{called(fun)}: " + (
            counted(len(notes), "result") + " not finite" if rows else "all results are finite"
        )
        return Origins(title, _COLUMNS, rows, notes=notes)

    return listed

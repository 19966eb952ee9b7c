"""Costs, operands and results of each equation of a program: `show.table`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import check_callable, describe_source
from fungrad.show.labels import called
from fungrad.show.running import Run, Seen, prepare
from fungrad.show.tables import Column, Table, counted, duration, in_bytes, quantity


class EquationRow(NamedTuple):
    """An equation in all of its runs."""

    operation: str
    """The name of the primitive."""
    within: str
    """The loop or branch it is in, "" if in none."""
    type: str
    """Shapes and dtypes of the results."""
    shape: tuple[int, ...] | None
    """Of the first result."""
    dtype: np.dtype[Any] | None
    runs: int
    """How often it was run."""
    flops: float
    """About how many operations on numbers, in all runs."""
    read: int
    """Bytes of the operands."""
    written: int
    """Bytes of the results."""
    seconds: float
    minimum: float | None
    """The least number among the results, NaN left out; None if they are complex."""
    maximum: float | None
    nans: int
    infs: int
    line: str
    """The line of the function that it was recorded at."""


class Sum(NamedTuple):
    """Costs of several equations together."""

    operation: str
    equations: int
    runs: int
    flops: float
    read: int
    written: int
    seconds: float
    nans: int
    infs: int


def _value(x: float) -> str:
    return f"{x:.4g}"


def _flagged(n: int) -> str:
    return f"{n:,}" if n else ""


def shortened(text: str) -> str:
    """Return a text of at most 60 characters."""
    return text if len(text) <= 60 else text[:59] + "…"


_COSTS = (
    Column("runs", "runs", "{:,}".format),
    Column("flops", "flops", lambda x: quantity(x) if x else "", style="num"),
    Column("read", "read", in_bytes),
    Column("written", "written", in_bytes),
    Column("seconds", "time", lambda x: duration(x) if x else "", style="num"),
)
_FLAGS = (
    Column("nans", "nan", _flagged, style="bad"),
    Column("infs", "inf", _flagged, style="bad"),
)
_COLUMNS = (
    Column("operation", "operation", right=False, style="op"),
    Column("type", "result", right=False, style="type"),
    *_COSTS,
    Column("minimum", "min", _value),
    Column("maximum", "max", _value),
    *_FLAGS,
    Column("within", "within", right=False, style="dim"),
    Column("line", "line", shortened, right=False, style="dim"),
)
_OF_SUMS = (
    Column("operation", "operation", right=False, style="op"),
    Column("equations", "equations", "{:,}".format),
    *_COSTS,
    *_FLAGS,
)


class CostTable(Table[Any]):
    """The equations of a program with their costs, made by `table`."""

    def by(self, field: str = "operation") -> Table[Sum]:
        """Return the costs of equations summed by a `field`, the most time first.

        Examples
        --------
        >>> import fungrad as fg, numpy as np
        >>> table = fg.show.table(lambda x: np.sum(np.sin(x) + np.sin(x * x)))(np.ones(10))
        >>> sorted((row.operation, row.equations) for row in table.by("operation").rows)
        [('add', 1), ('multiply', 1), ('reduce_sum', 1), ('sin', 2)]
        """
        groups: dict[str, list[EquationRow]] = {}
        self.sort(field)  # which says what fields there are
        for row in self.rows:
            groups.setdefault(str(getattr(row, field)), []).append(row)
        rows = [_sum(name, group) for name, group in groups.items()]
        rows.sort(key=operator.attrgetter("seconds"), reverse=True)
        return Table(f"{self.title}, by {field}", _OF_SUMS, rows, self.total, self.notes)


def _sum(name: str, rows: Iterable[EquationRow]) -> Sum:
    rows = list(rows)
    sums = [sum(getattr(row, field) for row in rows) for field in Sum._fields[2:]]
    return Sum(name, len(rows), *sums)


def _row(seen: Seen, seconds: float) -> EquationRow:
    first = seen.types[0] if seen.types else None
    known = seen.least <= seen.most
    return EquationRow(
        seen.primitive.name,
        " ".join(seen.path),
        ", ".join(map(str, seen.types)),
        first.shape if first is not None else None,
        first.dtype if first is not None else None,
        seen.count,
        *seen.cost,
        seconds,
        seen.least if known else None,
        seen.most if known else None,
        seen.nans,
        seen.infs,
        describe_source(seen.source),
    )


def table(fun: Callable[..., Any], *, repeat: int = 3) -> Callable[..., CostTable]:
    """Return the function that runs `fun` equation by equation, and lists costs and results.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them, jitted or not: a gradient, say.
    repeat
        How often it is run; of the times of an equation the least is shown. What has an effect, such as printing, is run once.

    Returns
    -------
    Callable
        Takes what `fun` takes, arrays and not what stands for them. Returns a `CostTable`: it prints as text, in a notebook as
        HTML, and in colour by its method `print` where rich is installed. `rows` is a list of named tuples, which
        ``pandas.DataFrame`` takes; ``sort("seconds")`` sorts it, and ``by("operation")`` adds up what is of one kind.

    Notes
    -----
    The equations are those of the simplified program, ``jit(fun).lower(*args).simplified``, each run by a call of NumPy's functions; those of loops and
    branches are listed below them, with the sums of all rounds. Kernels are faster, as they do several at once.

    Numbers of operations are estimates, by shape: one for each element that an elementwise function gives or a reduction takes.
    A product of matrices takes 2 m n k, a convolution 2 for each element of a kernel, channel and result, a Fourier transform 5 n log2 n, and a
    sort n log2 n. Factorizations take the leading terms of textbooks, such as n³/3 for Cholesky's. Views take nothing. What
    solvers do inside, and rules of one's own that are called back, is timed and not counted.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> with np.errstate(divide="ignore"):
    ...     costs = fg.show.table(lambda A, x: np.log(A @ x))(np.eye(3), np.array([1.0, 0.0, 2.0]))
    >>> [(row.operation, row.type, row.flops, row.infs) for row in costs]
    [('dot_general', 'float64[3]', 18.0, 0), ('log', 'float64[3]', 3.0, 1)]
    >>> costs.total.flops
    21.0
    """
    check_callable(fun, "show.table")
    if repeat < 1:
        raise ValueError(f"show.table: repeat is 1 or more, not {repeat}")

    @api_boundary
    def listed(*args: Any, **kwargs: Any) -> CostTable:
        _, lowered, leaves = prepare("table", fun, args, kwargs)
        expr = lowered.simplified
        effect = any(e.primitive.effect for e in expr.equations)
        runs = []
        for _ in range(1 if effect else repeat):
            runs.append(Run())
            with np.errstate(all="ignore" if len(runs) > 1 else None):  # warn once
                runs[-1](expr, leaves)
        first = runs[0].seen
        rows = [_row(x, min(run.seen[key].seconds for run in runs)) for key, x in first.items()]
        title = f"{called(fun)}: {counted(len(rows), 'equation')}"
        return CostTable(title, _COLUMNS, rows, _sum("total", rows))

    return listed

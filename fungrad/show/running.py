"""Running a program equation by equation, loops and branches too, with notes on each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad import ArrayType, Expr, Tracer, jit
from fungrad.compile.flow import Choice, ControlFlow, Repeat, Until, handed_on
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.primitive import run
from fungrad.extend import Primitive
from fungrad.extend.backend import as_result, namespace, on_host
from fungrad.extend.programs import Jitted, Lowered, Source
from fungrad.extend.types import type_of
from fungrad.primitives.cost import Cost, cost

Path = tuple[str, ...]
"""Place of an equation: () in the program itself, ("scan 3", "body") in the body of equation 3."""


class Prepared(NamedTuple):
    """A jitted function, its program for some arguments, and these."""

    jitted: Jitted
    lowered: Lowered
    leaves: list[Any]


def prepare(name: str, fun: Callable[..., Any], args: Any, kwargs: Any) -> Prepared:
    """Return the program of `fun` for these arguments; `name` is the function of `fungrad.show` that asks."""
    jitted: Any = fun if isinstance(fun, Jitted) else jit(fun)
    entry, leaves = jitted._entry(args, kwargs)
    if entry.captured or any(type(x) is Tracer for x in leaves):
        raise TypeError(
            f"show.{name}({jitted.name}) runs the function, and has been called with, or within, what another function "
            "traces: call it from outside, with arrays"
        )
    return Prepared(jitted, Lowered(jitted, entry), list(leaves))


class Seen:
    """Notes on one equation from all of its runs."""

    def __init__(
        self, path: Path, primitive: Primitive, types: Sequence[ArrayType], source: Source | None
    ) -> None:
        self.path = path
        self.primitive = primitive
        self.types = tuple(types)
        self.source = source
        self.count = 0
        self.seconds = 0.0
        self.cost = Cost(0.0, 0, 0)
        self.least = math.inf
        self.most = -math.inf
        self.nans = self.infs = 0

    def look_at(self, result: Any) -> None:
        """Take note of the values of a result."""
        type_ = type_of(result)
        if type_.dtype.kind not in "biuf" or not type_.size:
            if type_.dtype.kind == "c" and type_.size:
                xp = namespace((result,))
                self.nans += int(xp.isnan(result).sum())
                self.infs += int(xp.isinf(result).sum())
            return
        xp = namespace((result,))
        if type_.dtype.kind == "f":
            bad = xp.isnan(result)
            if nans := int(bad.sum()):
                self.nans += nans
                result = result[~bad]
                if not result.size:
                    return
            self.infs += int(xp.isinf(result).sum())
        self.least = min(self.least, float(xp.min(result)))
        self.most = max(self.most, float(xp.max(result)))


class Run:
    """One run of a program, with notes on each equation."""

    def __init__(self) -> None:
        self.seen: dict[tuple[Path, int], Seen] = {}
        self._flows: dict[tuple[Path, int], ControlFlow | None] = {}

    def __call__(self, expr: Expr, arguments: Sequence[Any], path: Path = ()) -> list[Any]:
        """Run `expr` on arrays; `path` says where it belongs."""
        values = {**expr.constants, **dict(zip(expr.inputs, arguments, strict=True))}
        last: dict[int, int] = {}
        for number, (_, inputs, outputs) in enumerate(expr.equations):
            last |= dict.fromkeys((*inputs, *outputs), number)
        last |= dict.fromkeys(expr.outputs, -1)
        for number, ((primitive, inputs, outputs), source) in enumerate(expr.located()):
            seen = self.seen.get((path, number))
            if seen is None:
                types = [expr.types[v] for v in outputs]
                seen = self.seen[path, number] = Seen(path, primitive, types, source)
            operands = [values[v] for v in inputs]
            flow = self._flow(primitive, (path, number))
            start = time.perf_counter()
            if flow is None:
                with at_users_lines():
                    results = primitive.as_sequence(run(primitive, operands, source))
            else:
                where = (*path, f"{primitive.name} {number}")
                results = self._controlled(flow, seen.types, operands, where)
            if not on_host(results):  # which only has been told what to compute
                namespace(results).cuda.get_current_stream().synchronize()
            seconds = time.perf_counter() - start
            seen.count += 1
            values |= dict(zip(outputs, results, strict=True))
            if flow is None:  # of what runs programs, these are counted themselves
                seen.seconds += seconds
                given = cost(primitive, [expr.types[v] for v in inputs], seen.types)
                seen.cost = seen.cost.plus(given)
            for result in results:
                seen.look_at(result)
            self.keep(path, primitive, operands, results, source)
            for v in {*inputs, *outputs}:
                if last[v] == number:
                    del values[v]
        return [values[v] for v in expr.outputs]

    def keep(
        self,
        path: Path,
        primitive: Primitive,
        operands: Sequence[Any],
        results: Sequence[Any],
        source: Source | None,
    ) -> None:
        """Take note of an equation that has run; a subclass may."""

    def _flow(self, primitive: Primitive, key: tuple[Path, int]) -> ControlFlow | None:
        """Return the control flow of the equation `key`, equal each time; None if it decides itself."""
        if primitive.holds_programs and key not in self._flows:
            self._flows[key] = primitive.uncut.control_flow
        return self._flows.get(key)

    def _controlled(
        self, flow: ControlFlow, types: Sequence[ArrayType], operands: Sequence[Any], path: Path
    ) -> Sequence[Any]:
        match flow:
            case Choice():
                which = int(operands[0])
                return self(flow.branches[which], operands[1:], (*path, f"branches[{which}]"))
            case Repeat():
                return self._repeated(flow, types, operands, path)
            case Until():
                return self._until(flow, operands, path)

    def _repeated(
        self, flow: Repeat, types: Sequence[ArrayType], operands: Sequence[Any], path: Path
    ) -> Sequence[Any]:
        xp = namespace(operands)
        c, k = flow.counts
        constants, taken = [*operands[:c]], operands[c + k :]
        carries = [as_result(xp.array(x)) for x in operands[c : c + k]]
        if flow.before is not None:
            constants += self(flow.before, constants, (*path, "before"))
        filled = [xp.empty(t.shape, t.dtype) for t in types[k:]]
        for rows, body in flow.spans:
            given, made = [[rows.of(x) for x in arrays] for arrays in (taken, filled)]
            for i in range(rows.rounds):
                outputs = self(
                    body, [*constants, *carries, *[x[i] for x in given]], (*path, "body")
                )
                carries = outputs[:k]
                for array, y in zip(made, outputs[k:], strict=True):
                    array[i] = y
        return [*handed_on(xp, carries), *filled]

    def _until(self, flow: Until, operands: Sequence[Any], path: Path) -> Sequence[Any]:
        xp = namespace(operands)
        a, b = flow.counts
        tested, constants = operands[:a], operands[a : a + b]
        carries = [as_result(xp.array(x)) for x in operands[a + b :]]
        while self(flow.condition, [*tested, *carries], (*path, "cond"))[0]:
            carries = self(flow.body, [*constants, *carries], (*path, "body"))
        return handed_on(xp, carries)

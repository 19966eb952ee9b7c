"""Which equations of a program are one kernel, or one routine, where it is compiled."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from fungrad import Expr
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.pipeline import Way, after_each_pass


class Group(NamedTuple):
    """Equations computed together: the kernel in the schedule, and the numbers of the equations."""

    title: str
    members: tuple[int, ...]


def groups_of(expr: Expr) -> list[Group]:
    """Return the kernels of the schedule of a program, with its equations that are in each.

    The compiler keeps where each equation was recorded. Here that is its number, so what it makes of them tells what is where. An
    equation of which it makes several is where the last of these is.
    """
    numbered = dataclasses.replace(expr, sources=tuple(range(len(expr.equations))))
    after = dict(after_each_pass(numbered, Way.KERNELS))
    before, with_kernels = after["take apart"], after["fuse"]
    maker = {v: i for i, e in enumerate(before.equations) for v in e.outputs}
    sources = before.sources
    within: dict[int, int] = {}  # the kernel of each equation of `before`
    kernels: list[Fused] = []
    for primitive, inputs, outputs in with_kernels.equations:
        if not isinstance(primitive, Fused):
            continue
        pending, given = [*outputs], {*inputs}
        while pending:
            v = pending.pop()
            number = maker.get(v)
            if v not in given and number is not None and number not in within:
                within[number] = len(kernels)
                pending += before.equations[number].inputs
        kernels.append(primitive)
    members: list[dict[int, None]] = [{} for _ in kernels]
    last = {source: i for i, source in enumerate(sources) if isinstance(source, int)}
    for source, i in last.items():
        if i in within:
            members[within[i]][source] = None
    # What has vanished, as a broadcast that is read in place, is in the kernel that all its readers are in.
    group = {number: k for k, numbers in enumerate(members) for number in numbers}
    readers: dict[int, set[int | None]] = {}
    for number, (_, inputs, outputs) in reversed([*enumerate(expr.equations)]):
        ends = set().union(*[readers.get(v, set()) for v in outputs])
        if number not in last and len(ends) == 1 and None not in ends:
            group[number] = k = next(x for x in ends if x is not None)
            members[k][number] = None
        for v in inputs:
            readers.setdefault(v, set()).add(group.get(number))
    return [
        Group(repr(fused), tuple(sorted(numbers)))
        for fused, numbers in zip(kernels, members, strict=True)
        if numbers
    ]

"""LLVM functions for elementary functions (sin, exp, ...) that kernels call instead of inlining."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from fungrad.compile.emit.assembly import Assembly
from fungrad.compile.emit.types import mangled, vector_type
from fungrad.compile.kernels.called import Body
from fungrad.compile.kernels.operations import DType


class Definition(NamedTuple):
    """The definition of a function that kernels call.

    Attributes
    ----------
    name
        The name of the function. It takes vectors, and the address of a flag that is set to 1 if a requirement failed.
    result
        The type of its result: a vector, or a structure of several.
    declarations
        Its definition, and the declarations that it needs.
    """

    name: str
    result: str
    declarations: frozenset[str]


@functools.lru_cache(maxsize=1 << 8)
def definition(names: tuple[str, ...], dtype: DType, count: int, lanes: int) -> Definition:
    """Return the LLVM function that computes elementary functions of `count` vectors of `lanes` elements.

    Several `names`, such as sine and cosine, share their operands and their work.
    """
    body, lines = Body(names, dtype, count), _Lines()
    registers = lines.all_of(body.nodes, [f"%x{k}" for k in range(count)], lanes)
    for number in body.safe:
        lines.require(registers[number], lanes, "%unsafe")
    vector = vector_type(dtype, lanes)
    results = [registers[k] for k in body.results]
    name = f"@elementary.{'.'.join(names)}.{mangled(vector)}"
    result = vector if len(results) == 1 else f"{{ {', '.join([vector] * len(results))} }}"
    lines.do(f"ret {result} {lines.joined(results, vector, result)}")
    parameters = ", ".join([*[f"{vector} %x{k}" for k in range(count)], "ptr %unsafe"])
    head = f"define internal fastcc {result} {name}({parameters}) noinline strictfp {{"
    text = "\n".join([head, *lines.lines, "}"])
    return Definition(name, result, frozenset([text, *lines.declarations]))


class _Lines(Assembly):
    """Builder of the lines of one such function."""

    def joined(self, values: Sequence[str], vector: str, result: str) -> str:
        """Return vectors as one value, a structure if there are several."""
        if len(values) == 1:
            return values[0]
        whole = "poison"
        for k, value in enumerate(values):
            whole = self.emit(f"insertvalue {result} {whole}, {vector} {value}, {k}")
        return whole

"""Primitives that LLVM's functions can hold, and their writers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import ModuleType

from fungrad.compile.background import importing
from fungrad.compile.emit import convolution, running
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.moves import RULES, UPDATES, view
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.compile.emit.products import dot_general
from fungrad.compile.emit.types import combining, identity
from fungrad.compile.kernels.build import REDUCERS, is_reduced
from fungrad.compile.kernels.kernel import over_all
from fungrad.compile.kernels.meaning import is_of_elements, work_of
from fungrad.compile.kernels.operations import DTYPES, Node, NotScalar, computed_in
from fungrad.compile.kernels.products import is_small
from fungrad.compile.kernels.spelled import Factorize, SolveFactored
from fungrad.compile.kernels.stored import Stored
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.shaping import Iota
from fungrad.primitives.stacks import OfMatrices

SYSTEMS = (OfMatrices, Factorize, SolveFactored)
"""Primitives of linear algebra."""
OF_TRUTHS = {
    "reduce_max": "reduce_or",
    "reduce_min": "reduce_and",
    "reduce_sum": "reduce_or",
    "reduce_prod": "reduce_and",
}
"""Reductions of booleans, by those of numbers."""
WIDE = 4
"""Elements from which rows are added up one after the other."""


def has_form(primitive: Primitive, operands: Sequence[ArrayType], out: ArrayType) -> bool:
    """Whether an equation that holds no programs has a form in LLVM's assembly."""
    kind = type(primitive)
    if is_of_elements(primitive):
        return work_of(primitive, tuple(operands), out).operations > 0
    if computed_in(out.dtype) is None:
        return False
    if isinstance(primitive, DotGeneral):
        return is_small(primitive, operands[0], out)
    if isinstance(primitive, Iota):
        return out.dtype in DTYPES
    if isinstance(primitive, SYSTEMS) and kind not in RULES:
        return bool(_systems().has_form(primitive, operands[0]))
    if isinstance(primitive, running.RUNNING):
        return running.has_form(primitive, operands[0])
    if isinstance(primitive, Convolution):
        return convolution.has_form(primitive, *operands)
    return primitive.rearranges or any(
        kind in known for known in (REDUCERS, RULES, UPDATES, {Iota})
    )


def _systems() -> ModuleType:
    with importing:  # of SciPy, which few programs need
        from fungrad.compile.emit import systems
    return systems


def computed(
    to: Function, primitive: Primitive, operands: list[Place], targets: Targets
) -> list[Place]:
    """Write the results of a primitive that is no kernel.

    Raises
    ------
    Unsupported
        If it has no form there.
    """
    if type(primitive) in REDUCERS:
        return reduced(to, primitive, operands[0], targets)
    if isinstance(primitive, Iota) and primitive.dtype in DTYPES:
        node = Node("iota", primitive.dtype, value=primitive.axis)
        return to.kernel(over_all([node], primitive.shape, ()), [], targets)
    if primitive.rearranges:
        return [view(to, primitive, operands)]
    if type(primitive) in UPDATES:
        to.move(targets[0], operands[0])
        updated(to, primitive, targets[0], operands[1:])
        return [targets[0]]
    if isinstance(primitive, DotGeneral):
        return [dot_general(to, primitive, operands, targets)]
    if (rule := RULES.get(type(primitive))) is not None:
        return [rule(to, primitive, operands, targets)]
    if isinstance(primitive, running.RUNNING):
        return running.computed(to, primitive, operands, targets)
    if isinstance(primitive, Convolution):
        return [convolution.convolution(to, primitive, operands, targets)]
    if isinstance(primitive, SYSTEMS):
        return _systems().computed(to, primitive, operands, targets)  # type: ignore[no-any-return]
    raise Unsupported(f"{primitive} has no form in LLVM's assembly")


def updated(to: Function, primitive: Primitive, target: Place, operands: Sequence[Place]) -> None:
    """Write the update of an array that dies into the result."""
    if (update := UPDATES.get(type(primitive))) is None:
        raise Unsupported(f"{primitive} in place")
    update(to, primitive, target, operands)


def reduced(to: Function, primitive: Primitive, x: Place, targets: Targets) -> list[Place]:
    """Reduce an array along some axes: as a kernel, or, if the first ones, row by row."""
    operation, kinds = REDUCERS[type(primitive)]
    axes, dtype = primitive.axes, x.type.dtype  # type: ignore[attr-defined]
    if dtype.kind == "b":
        operation, kinds = OF_TRUTHS.get(operation, operation), "b"
    if not is_reduced(operation, kinds, dtype):
        raise Unsupported(f"{primitive} of {dtype}")
    kept = [a for a in range(x.type.ndim) if a not in axes]
    turned = to.turned(x, (*kept, *axes))
    wide = kept and x.strides[kept[-1]] == 1 and x.type.shape[kept[-1]] >= WIDE
    if wide and computed_in(dtype) == dtype:
        target, node = targets[0], Node(operation, dtype)
        to.fill(target, to.number(identity(operation, dtype), dtype))
        rows = to.turned(x, (*axes, *kept))
        with contextlib.ExitStack() as stack:
            for _ in axes:
                rows = to.row(rows, stack.enter_context(to.loop(rows.type.shape[0])))
            to.move(target, rows, combining(node))
        return [target]
    scalars = Stored()
    try:
        scalars.reduce(operation, scalars.node("load", dtype, value=0))
    except NotScalar as error:
        raise Unsupported(f"{primitive} of {dtype}") from error
    kernel = over_all(scalars.nodes, turned.type.shape, (turned.type,), len(kept))
    return to.kernel(kernel, [turned], targets)

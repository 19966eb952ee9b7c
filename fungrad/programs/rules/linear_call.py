"""Linear functions with a transpose of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.glossary import COMMON
from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType, tangent_type, type_list, type_of
from fungrad.primitives.elementwise import add
from fungrad.primitives.shaping import expand
from fungrad.programs.analysis import placed
from fungrad.programs.closing import (
    OfPrograms,
    Values,
    batched_program,
    close,
    record,
    shared,
    tangent,
)
from fungrad.rewrite.linearize import or_zeros
from fungrad.transforms.arguments import as_operand, name_of


@primitive
class LinearCall(OfPrograms):
    """A call of `function`, linear in its last operands, whose transpose is `transposed`.

    The operands are what both close over, as many as `counts` says, then the residuals, then what it is linear in.
    Each program takes what it closes over, the residuals, and its linear arguments.
    """

    function: Program
    transposed: Program
    counts: tuple[int, int, int]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, self.function.expr.output_types))

    def _by_program(self, operands: Values) -> tuple[Values, Values, Values]:
        """Return the leading operands of the function, those of its transpose, and the linear ones."""
        of_function, of_transpose, residuals, linear = self.split(operands)
        return (*of_function, *residuals), (*of_transpose, *residuals), linear

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        consts, _, linear = self._by_program(operands)
        return tuple(self.function(*consts, *linear))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        n = sum(self.counts)
        consts, _, linear = self._by_program(operands)
        moved, _, t_linear = self._by_program(tangents)
        types = self.abstract_eval()
        t_outs: list[Any] = [None] * len(out)
        moving = [i for i, t in enumerate(moved) if t is not None]
        if moving:
            pushed = tangent(self.function, moving)(*consts, *linear, *[moved[i] for i in moving])
            t_outs = placed(pushed, [i for i, t in enumerate(types) if t.inexact], len(out))
        if any(t is not None for t in t_linear):
            given = [or_zeros(t, tangent_type(type_of(x))) for t, x in zip(t_linear, linear)]
            for i, t in enumerate(self(*operands[:n], *given)):
                t_outs[i] = t if t_outs[i] is None else add(t_outs[i], t)
        return tuple(t_outs)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        n = sum(self.counts)
        if any(isinstance(x, Linear) for x in operands[:n]):
            raise self.missing("transpose")
        of_function, of_transpose, residuals, _ = self.split(operands)
        counts = (len(of_transpose), len(of_function), len(residuals))
        backward = shared(LinearCall, self.transposed, self.function, counts)
        cts = map(or_zeros, ct, self.abstract_eval())
        pulled = backward(*of_transpose, *of_function, *residuals, *cts)
        back = [x if isinstance(o, Linear) else None for x, o in zip(pulled, operands[n:])]
        return (*[None] * n, *back)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        n = sum(self.counts)
        consts, back_consts, _ = self._by_program(batched)
        # All linear operands and results get a batch axis, so that each program is the other's transpose.
        linear = [expand(size, x, b) for x, b in zip(operands[n:], batched[n:], strict=True)]
        function = batched_program(self.function, size, (*consts, *(True,) * len(linear)))
        count = len(self.function.expr.outputs)
        transposed = batched_program(self.transposed, size, (*back_consts, *(True,) * count))
        call = self.replaced(function=function, transposed=transposed)
        return call(*operands[:n], *linear)  # type: ignore[no-any-return]


@COMMON.public
def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Call a linear function that has a transpose of its own.

    Parameters
    ----------
    fun
        ``fun(residual_args, linear_args)``, linear in the second argument.
    fun_transpose
        ``fun_transpose(residual_args, cotangent)``, from a cotangent of the result to one of `linear_args`. Its own
        transpose is `fun`.
    residual_args
        Whatever else the function needs: a pytree of arrays.
    linear_args
        A pytree of floating-point or complex arrays.

    Returns
    -------
    pytree
        ``fun(residual_args, linear_args)``.

    Raises
    ------
    TypeError
        If `fun_transpose` does not return the structure, shapes and dtypes of `linear_args`.

    Examples
    --------
    >>> from fungrad.custom_derivatives import linear_call
    >>> def f(x):
    ...     return linear_call(lambda r, x: x / r, lambda r, ct: 100 * ct / r, 2.0, x)
    >>> print(f(8.0), *fg.linear_transpose(f, 8.0)(1.0))
    4.0 50.0
    """
    label = f"linear_call({name_of(fun)})"
    function = close(label, fun, residual_args, linear_args)
    linear, structure = tree.flatten(linear_args)
    example = tree.unflatten(function.structure, function.types)
    backward = close(f"fun_transpose of {label}", fun_transpose, residual_args, example)
    types = [tangent_type(type_of(x)) for x in linear]
    if (backward.structure, *backward.types) != (structure, *types):
        raise TypeError(
            f"fun_transpose of {label} must return a tree of structure {structure} of types {type_list(types)}, as the linear "
            f"arguments are; got {backward.structure} of types {type_list(backward.types)}"
        )
    residuals = [as_operand(x) for x in tree.leaves(residual_args)]
    counts = (len(function.captured), len(backward.captured), len(residuals))
    call = shared(LinearCall, function.program, backward.program, counts)
    operands = [as_operand(x) for x in linear]
    outs = record(call, [*function.captured, *backward.captured, *residuals, *operands])
    return tree.unflatten(function.structure, outs)

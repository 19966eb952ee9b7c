"""Dependence of results on the differentiated arguments: a check, and a warning about constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fungrad.core.errors import LostDerivativeError
from fungrad.core.recording import Recording
from fungrad.core.strict import cut, warn_of_line


def parts_of(trace: Recording, variables: Iterable[int]) -> set[int]:
    """Return the variables on which some variables of a trace depend through differentiable equations."""
    needed = set(variables)
    for primitive, inputs, outputs in reversed(trace.equations):
        if primitive.differentiable and not needed.isdisjoint(outputs):
            needed.update(inputs)
    return needed


def check_dependence(
    trace: Recording,
    outputs: Sequence[int],
    inputs: Iterable[int],
    label: str,
    place: Callable[[int], str],
) -> None:
    """Raise unless each of the `inputs`, positions among those of the trace, has a part in an output.

    `place` tells how to speak of one.
    """
    parts = parts_of(trace, outputs)
    without = [place(i) for i in inputs if trace.inputs[i] not in parts]
    if without:
        raise LostDerivativeError(
            f"{label}: the result does not depend on {', '.join(without)}, so its derivative is zero whatever the values "
            "are. Look for float(x), x.item(), x.tolist() and for branches of Python that give a constant "
            "(fungrad.strict_conversions() reports such lines), or leave out of argnums what the function does not use."
        )


def warn_of_cuts(trace: Recording, outputs: Sequence[int], inputs: Iterable[int]) -> None:
    """Warn of lines that made constants of `inputs` which no output depends on.

    `inputs` are positions among the inputs of the trace.
    """
    parts = parts_of(trace, outputs)
    without = {trace.inputs[i] for i in inputs} - parts
    for (code, line), (variable, what, scope) in trace.facts.cuts.items() if without else ():
        if not without.isdisjoint(parts_of(trace, [variable])):
            type_ = trace.types[variable]
            happens = f"makes a constant of a traced array of type {type_}, and nothing else depends on the argument: the derivative is 0"
            warn_of_line(cut(happens, what), code, line, scope)

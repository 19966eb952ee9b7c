"""The check that one can switch on: a result must depend on what it is differentiated by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fungrad.core.errors import LostDerivativeError
from fungrad.core.recording import Recording


def _parts(trace: Recording, variables: Iterable[int]) -> set[int]:
    """Return the variables of a trace that have a part in some of them, other than through what has no derivative."""
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
    parts = _parts(trace, outputs)
    without = [place(i) for i in inputs if trace.inputs[i] not in parts]
    if without:
        raise LostDerivativeError(
            f"{label}: the result does not depend on {', '.join(without)}, so its derivative is zero whatever the values "
            "are. Look for float(x), x.item(), x.tolist() and for branches of Python that give a constant "
            "(fungrad.strict_conversions() reports such lines), or leave out of argnums what the function does not use."
        )

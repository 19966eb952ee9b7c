"""Notes on values that jitted functions ask for: in the log, and where there are too many."""

from __future__ import annotations

import logging
import warnings
from typing import Any, Protocol

from fungrad.core.config import settings
from fungrad.core.errors import InDerivative, RetraceWarning, describe_source, line_of
from fungrad.core.float_warnings import module_of, registry_of
from fungrad.transforms.guard import Failed, shown
from fungrad.transforms.retraces import is_ours

SHOWN = 4
"""How many values are written out."""


class OfVariants(Protocol):
    """Attributes of a jitted function's variants that notes read."""

    making: Any
    variants: list[Any]
    warned: set[Any]


def note_variant(of: OfVariants, variant: Any) -> None:
    """Write to the log which values a function has been traced for, as far as the settings ask for it."""
    chosen = settings.get()
    if not (chosen.misses_explained or chosen.compiles_logged):
        return
    pairs = zip(variant.answers, variant.keys, strict=True)
    asked = [f"{shown(key)} at {describe_source(source)}" for (source, _), key in pairs]
    more = f", and {len(asked) - SHOWN} more" if len(asked) > SHOWN else ""
    text = ", ".join(asked[:SHOWN]) or "no values"
    logging.getLogger("fungrad").warning(
        "traced %s for %s%s: Python needs these values, and each has a program",
        of.making.label,
        text,
        more,
    )


def warn_of_many(of: OfVariants, failed: Failed) -> None:
    """Warn, once per line, that Python needs more values there than programs are made for."""
    source = failed.variant.answers[failed.number][0]
    if source in of.warned or is_ours():
        return
    of.warned.add(source)
    seen = {
        shown(key): None
        for other in of.variants
        for (place, _), key in zip(other.answers, other.keys, strict=True)
        if place == source
    }
    values = ", ".join([*seen][:SHOWN]) + (", ..." if len(seen) > SHOWN else "")
    message = (
        f"{of.making.label} needs a value at {describe_source(source)}. It has {len(of.variants)} programs for different values "
        f"({values} there), the most that are made, and this call has {shown(failed.found)}. Calls without a program run as plain "
        "Python: right, but slow. For a branch write numpy.where or fungrad.lax.cond; for a loop fungrad.lax.while_loop, or under grad "
        "a for with an upper bound and a break; or name an argument that is a setting in static_argnums of jit."
    )
    place = source.source if isinstance(source, InDerivative) else source
    if not isinstance(place, tuple):
        warnings.warn(message, RetraceWarning, stacklevel=2)
        return
    file = place[0].co_filename
    warnings.warn_explicit(
        message, RetraceWarning, file, line_of(place), module_of(file), registry_of(file)
    )

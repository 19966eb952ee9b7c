"""Functions that no rule is declared for: they run on constants, and refuse all else that is traced."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, NoReturn

from fungrad.core.errors import here
from fungrad.core.reading import as_read
from fungrad.core.tracer import Tracer, needed_value
from fungrad.numpy.rules import full_name, traced_functions


def of_constants(arguments: Any) -> Any:
    """Return arguments, also within lists and tuples, with constants in place of tracers.

    Raises `NotConstant` if some tracer is none: it has no value, or may have a derivative.
    """
    if type(arguments) is Tracer:
        value = None if arguments._has_derivative else needed_value(arguments)
        if value is None:
            raise NotConstant
        return value.copy()  # never the trace's own
    if type(arguments) in (list, tuple):
        return type(arguments)([of_constants(x) for x in arguments])
    if type(arguments) is dict:
        return {key: of_constants(x) for key, x in arguments.items()}
    return arguments


_OF_MEMORY = frozenset(["as_strided", "may_share_memory", "shares_memory"])
"""Functions that ask where arrays lie, which copies of constants would answer wrongly."""


class NotConstant(Exception):
    """Some argument is a traced array that is no constant."""


def without_rule(
    function: Any, args: Any, kwargs: Any, name: str, others: Sequence[str] = ()
) -> Any:
    """Run a function that no rule is declared for: on constants, or if its own Python can be read."""
    try:
        if kwargs.get("out") is not None or getattr(function, "__name__", "") in _OF_MEMORY:
            raise NotConstant
        args, kwargs = of_constants(args), of_constants(kwargs)
    except NotConstant:
        if name.startswith("numpy.polynomial."):  # Python throughout
            return as_read(function._implementation)(*args, **kwargs)
        no_rule(name, others)
    return function(*args, **kwargs)


def no_rule(name: str, others: Sequence[str] = ()) -> NoReturn:
    """Raise for a function, or a method of a ufunc that `others` have, that no rule is declared for."""
    instead = f" That method works for {', '.join(sorted(others))}." if others else ""
    home = "fungrad.numpy"
    if name.startswith("scipy."):
        home = f"fungrad.numpy and fungrad.{name.rpartition('.')[0]}"
        known = [full_name(f) for f in [*traced_functions]]
        near = difflib.get_close_matches(
            name, [k for k in known if k.startswith("scipy.")], 1, 0.85
        )
        instead += f" There is one for {near[0]}." if near else ""
    raise TypeError(
        f"at {here()}\n{name} has no rule for traced arrays.{instead} Write it with functions of {home}, "
        "or keep it outside of the transformed function."
    )

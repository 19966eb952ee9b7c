"""How a NumPy function gets a meaning for tracers.

`implements(np.f)` declares what `np.f` does when an argument is a tracer. From the one declaration follow
`fungrad.numpy.f` (NumPy's own function when no argument is a tracer) and what `np.f` itself does with
tracers, through NumPy's protocols `__array_ufunc__` and `__array_function__`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fungrad.core.tracer import Tracer, current_trace
from fungrad.numpy.memory import settle
from fungrad.numpy.parameters import (
    as_numpy_takes_them,
    lenient_parameters,
    parameter,
    place_of_out,
)
from fungrad.numpy.promotion import has_tracer
from fungrad.numpy.rules import (
    Function,
    describe_failure,
    documented,
    full_name,
    no_rule,
    rule_of,
    traced_functions,
)
from fungrad.numpy.staging import in_trace, on_stage
from fungrad.numpy.storing import store, writable_out
from fungrad.numpy.ufuncs import array_ufunc
from fungrad.numpy.views import array_of, each, own, scalar_of, views_of


def implements(
    numpy_function: Any,
    *aliases: Any,
    view: bool = False,
    writable: bool = True,
    contiguous: bool = False,
    creates: bool = False,
    zero_d: bool | None = None,
) -> Callable[[Function], Function]:
    """Decorate what a NumPy function does when some argument is a tracer.

    An argument `out` is dealt with here: the result is assigned to it.

    Parameters
    ----------
    numpy_function
        The function of NumPy; called as it is when no argument is a tracer.
    *aliases
        Other functions of NumPy that do the same.
    view
        Whether the result shows the elements of the first argument, as NumPy's does; otherwise, and with an
        argument ``copy=True``, it is an array of its own.
    writable
        Whether one may write through the view.
    contiguous
        Whether it is a view only where its elements lie without gaps, and a copy elsewhere.
    creates
        Whether the function makes a new array of numbers. Such an array is a traced one while a function is
        traced, so that traced values can be assigned to elements of it.
    zero_d
        Whether a result without axes is always an array, as of functions that create arrays, or always a
        scalar. By default what shows elements of an array is an array, and all else a scalar.

    Returns
    -------
    Callable
        A decorator that returns the public function.
    """

    def decorate(rule: Function) -> Function:
        place = place_of_out(rule)
        first = inspect.unwrap(rule).__code__.co_varnames[:1]
        copy_place, copies = parameter(rule, "copy")
        output_place, _ = parameter(rule, "output")  # what functions of scipy.ndimage call `out`
        lenient = lenient_parameters(rule)
        kind = array_of if creates or zero_d else scalar_of if zero_d is False else None

        @functools.wraps(rule)
        def traced(*args: Any, **kwargs: Any) -> Any:
            out = None
            if lenient and (len(args) > 1 or kwargs):
                args = as_numpy_takes_them(lenient, args, kwargs)
            if place is not None:
                if "out" in kwargs:
                    out = kwargs.pop("out")
                elif len(args) > place:
                    out, args = args[place], (*args[:place], None, *args[place + 1 :])
                if out is not None:
                    out = writable_out(rule.__name__, out)
                    if not (has_tracer(args) or has_tracer(kwargs.values())):
                        return store(out, numpy_function(*args, **kwargs), exactly=True)
            result = rule(*args, **kwargs)
            if out is not None:
                return store(out, result, exactly=True)
            copy = kwargs.get("copy", args[copy_place] if len(args) > copy_place else copies)
            operands = (*args, *kwargs.values()) if kwargs else args
            if view and not copy:
                x = args[0] if args else kwargs.get(*first)
                result = views_of(x, result, writable, contiguous)
            else:
                output = args[output_place] if len(args) > output_place else kwargs.get("output")
                if output is None or result is not output:
                    result = own(result, operands)
            settle(rule.__name__, result, operands, view or creates)
            return result if kind is None else each(kind, result)

        def function(*args: Any, **kwargs: Any) -> Any:
            if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
                try:
                    return traced(*args, **kwargs)
                except Exception as error:
                    describe_failure(error, numpy_function, args, kwargs)
                    raise
            if not (view or creates) and current_trace.get() is not None:
                lifted = on_stage(args, kwargs)
                if lifted is not args:
                    return function(*lifted, **kwargs)
            if lenient and (len(args) > 1 or kwargs):
                args = as_numpy_takes_them(lenient, args, kwargs)
            result = numpy_function(*args, **kwargs)
            return in_trace(result, args) if creates else result

        for f in (numpy_function, *aliases):
            traced_functions[f] = traced
        return documented(function, numpy_function, traced)

    return decorate


def not_for_tracers(name: str, arguments: dict[str, Any]) -> None:
    """Raise for arguments of a NumPy function that mean nothing for tracers, where they are given."""
    given = [k for k, x in arguments.items() if x is not None]
    if given:
        raise TypeError(
            f"{name}: the arguments {given} cannot be used on traced arrays; leave them out"
        )


def array_function(self: Tracer, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function of which some argument is a tracer (NEP 18)."""
    try:
        traced = rule_of(function)
        if traced is None:
            no_rule(full_name(function))
        return traced(*args, **kwargs)
    except Exception as error:
        describe_failure(error, function, args, kwargs)
        raise


def install() -> None:
    """Give tracers NumPy's protocols."""
    Tracer.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Tracer.__array_function__ = array_function  # type: ignore[attr-defined]

"""How a NumPy function gets a meaning for tracers.

`implements(np.f)` declares what `np.f` does when an argument is a tracer. From the one declaration follow
`fungrad.numpy.f` (NumPy's own function when no argument is a tracer) and what `np.f` itself does with
tracers, through NumPy's protocols `__array_ufunc__` and `__array_function__`.

Design: docs/design/24-numpys-face.md.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.again import begins_again
from fungrad.core.backend import on_host
from fungrad.core.config import settings
from fungrad.core.foreign import has_own_rules
from fungrad.core.tracer import Tracer, current_trace
from fungrad.numpy.memory import Views, settle
from fungrad.numpy.parameters import (
    OF_FLOATS,
    as_numpy_takes_them,
    lenient_parameters,
    option,
    place_of_out,
    taken_out,
)
from fungrad.numpy.promotion import has_tracer
from fungrad.numpy.rules import (
    Function,
    describe_failure,
    full_name,
    ready,
    rule_of,
    traced_functions,
)
from fungrad.numpy.staging import in_trace, on_stage
from fungrad.numpy.storing import store, writable_out
from fungrad.numpy.ufuncs import array_ufunc
from fungrad.numpy.views import array_of, copied, each, same_array, scalar_of, views_of


def implements(
    numpy_function: Any,
    *aliases: Any,
    view: bool = False,
    writable: bool = True,
    contiguous: bool = False,
    creates: bool = False,
    zero_d: bool | None = None,
    alone: Function | None = None,
) -> Callable[[Function], Function]:
    """Declare the rule of a NumPy function for tracers.

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
    alone
        What the function does with a tracer and no options, where that is a new scalar.

    Returns
    -------
    Callable
        A decorator that returns the public function.
    """

    def decorate(rule: Function) -> Function:
        if numpy_function.__name__ in OF_FLOATS:
            from fungrad.numpy.of_floats import of_floats  # few functions need it

            rule = of_floats(rule, numpy_function)
        traced = _of_tracers(
            rule, numpy_function, view, writable, contiguous, creates, zero_d, alone
        )
        lenient = lenient_parameters(rule)
        promotes = not (view or creates) or numpy_function in (np.einsum, np.linspace)

        def function(*args: Any, **kwargs: Any) -> Any:
            if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
                try:
                    return traced(*args, **kwargs)
                except Exception as error:
                    if begins_again(error, args, kwargs):
                        return function(*args, **kwargs)
                    describe_failure(error, numpy_function, args, kwargs)
                    raise
            if not (view or creates) and current_trace.get() is not None:
                lifted = on_stage(args, kwargs)
                if lifted is not args:
                    return function(*lifted, **kwargs)
            if lenient and (len(args) > 1 or kwargs):
                args = as_numpy_takes_them(lenient, args, kwargs)
            if settings.get().unlike_numpy:
                from fungrad.numpy import eager  # few programs need it

                result = eager.call(numpy_function, traced, args, kwargs, promotes)
            else:
                try:
                    result = numpy_function(*args, **kwargs)
                except (TypeError, AttributeError):
                    if on_host(args) or not (kwargs or numpy_function is np.where):
                        raise
                    from fungrad.numpy import eager

                    result = eager.by_rule(numpy_function, traced, args, kwargs)
            return in_trace(result, args) if creates else result

        for f in (numpy_function, *aliases):
            traced_functions[f] = traced
        from fungrad.numpy.documentation import documented  # which modules with rules need

        return documented(function, numpy_function, traced)

    return decorate


def _of_tracers(
    rule: Function,
    numpy_function: Any,
    view: bool,
    writable: bool,
    contiguous: bool,
    creates: bool,
    zero_d: bool | None,
    alone: Function | None,
) -> Function:
    """Return a function for tracers: its rule, with `out`, and with NumPy's layouts of results."""
    place = place_of_out(rule)
    first = inspect.unwrap(rule).__code__.co_varnames[:1]
    copy = option(rule, "copy")
    output = option(rule, "output")  # what functions of scipy.ndimage call `out`
    lenient = lenient_parameters(rule)
    kind = array_of if creates or zero_d else scalar_of if zero_d is False else None

    @functools.wraps(rule)
    def traced(*args: Any, **kwargs: Any) -> Any:
        if settings.get().narrow:
            from fungrad.numpy.narrow import call  # few programs need it

            return call(traced, args, kwargs)
        if alone is not None and not kwargs and len(args) == 1 and type(args[0]) is Tracer:
            return alone(args[0])
        if kwargs or len(args) > 1:  # options, after the array
            if lenient:
                args = as_numpy_takes_them(lenient, args, kwargs)
            args, out = taken_out(place, args, kwargs)
            if out is not None:
                out = writable_out(rule.__name__, out)
                traces = has_tracer(args) or has_tracer(kwargs.values())
                result = (rule if traces else numpy_function)(*args, **kwargs)
                return store(out, result, exactly=True)
        result = rule(*args, **kwargs)
        operands = (*args, *kwargs.values()) if kwargs else args
        if view and not (copy and copy(args, kwargs)):
            x = args[0] if args else kwargs.get(*first)
            result = views_of(x, result, writable, contiguous)
        elif output is None or result is not output(args, kwargs):
            result = own(result, operands)
        if type(result) is not Tracer or len(result._type.shape) > 1:
            settle(rule.__name__, result, operands, view or creates)
        return result if kind is None else each(kind, result)

    return traced


def implemented(rule: Function, numpy_function: Any, *aliases: Any, **options: Any) -> Any:
    """Return the result of `implements` for a rule that takes the function's name.

    For functions of NumPy's that differ in one thing: one rule is made for each of them.
    """
    rule.__name__ = rule.__qualname__ = numpy_function.__name__
    return implements(numpy_function, *aliases, **options)(rule)


_LISTS = frozenset([list, tuple])


def own(result: Any, operands: tuple[Any, ...]) -> Any:
    """Return the result of a function that makes new arrays: never one of its operands, or a view."""
    if type(result) is Tracer:
        memory = result._memory
        if memory is not None:
            asked = type(memory) is Views and not memory.references and result._type.shape
            if not asked:  # else it is new, and made to lie in an order
                return copied(result, same_array(result), "K")
        for x in operands:
            if x is result or (type(x) in _LISTS and any(y is result for y in x)):
                return copied(result, same_array(result), "K")
    elif type(result) is list or type(result) is tuple:
        return type(result)([own(x, operands) for x in result])
    return result


def not_for_tracers(name: str, arguments: dict[str, Any]) -> None:
    """Raise for arguments of a NumPy function that mean nothing for tracers, where they are given."""
    given = [k for k, x in arguments.items() if x is not None]
    if given:
        raise TypeError(
            f"{name}: the arguments {given} cannot be used on traced arrays; leave them out"
        )


def array_function(self: Tracer, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function that has a tracer among its arguments (NEP 18)."""
    if len(types) > 1 and any(has_own_rules(cls, "__array_function__") for cls in types):
        return NotImplemented
    try:
        rule = traced_functions.get(function) if function in ready else rule_of(function)
        if rule is None:
            from fungrad.numpy.unruled import without_rule

            return without_rule(function, args, kwargs, full_name(function))
        return rule(*args, **kwargs)
    except Exception as error:
        if begins_again(error, args, kwargs):
            return function(*args, **kwargs)
        describe_failure(error, function, args, kwargs)
        raise


def install() -> None:
    """Give tracers NumPy's protocols."""
    Tracer.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Tracer.__array_function__ = array_function  # type: ignore[attr-defined]

"""How a NumPy function gets a meaning for tracers.

`implements(np.f)` declares what `np.f` does when an argument is a tracer. From the one declaration follow
`fungrad.numpy.f` (NumPy's own function when no argument is a tracer) and what `np.f` itself does with
tracers, through NumPy's protocols `__array_ufunc__` and `__array_function__`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from fungrad.core.errors import (
    FungradError,
    LostDerivativeError,
    here,
    hide_internals,
    raised_inside,
)
from fungrad.core.nesting import stage
from fungrad.core.primitive import bind
from fungrad.core.tracer import Tracer, current_trace, innermost_trace
from fungrad.core.types import kind_of, type_of
from fungrad.numpy import promotion
from fungrad.numpy.assignment import assign, check_writable
from fungrad.numpy.masked import Selection
from fungrad.numpy.memory import View, Views, all_in_order, elementwise, like
from fungrad.numpy.parameters import (
    as_numpy_takes_them,
    lenient_parameters,
    parameter,
    place_of_out,
)
from fungrad.numpy.promotion import (
    apply,
    as_array,
    as_tracer_of,
    broadcast_to,
    cast,
    elementwise_plan,
    has_tracer,
    scalar_plan,
    strong,
    ufunc_operands,
)
from fungrad.numpy.views import (
    array_of,
    created,
    each,
    own,
    same_array,
    scalar_of,
    views_of,
)
from fungrad.primitives.elementwise import Function as ElementwiseFunction
from fungrad.primitives.elementwise import numpy_ufunc, select
from fungrad.primitives.shaping import Reshape

Function = Callable[..., Any]

traced_functions: dict[Any, Function] = {}
"""For each NumPy function, what it does with tracers."""


_providers: dict[str, dict[str, Collection[str]]] = {}


def provide(module: str, *, when: str, names: Collection[str] = ()) -> None:
    """Say that `module` holds rules for functions of `when`; it is imported when one is asked for.

    So rules that a program does not use cost nothing at import. Functions of these `names`, and all of the
    module of NumPy or SciPy that it mirrors, are looked for here first.
    """
    _providers.setdefault(when, {})[module] = names


extensions: dict[str, str] = {}
"""Modules that are found in `fungrad.numpy` though they stand elsewhere: extensions of the array API standard."""


def rule_of(function: Any) -> Function | None:
    """Return what a function of NumPy or SciPy does with tracers, None if nothing is declared."""
    if function not in _ready:
        _make_ready(function)
    return traced_functions.get(function)


_ready: set[Any] = set()
"""The functions whose rules are in modules that are imported to the end."""


def _make_ready(function: Any) -> None:
    for module in _homes(function):
        if function in traced_functions:
            break
        importlib.import_module(module)
    rule = traced_functions.get(function)
    if rule is not None:
        if rule.__module__ in sys.modules:
            importlib.import_module(rule.__module__)  # waits for a thread that is importing it
        _ready.add(function)


def _homes(function: Any) -> list[str]:
    """Return the modules that may have a rule for a function, the likeliest first."""
    name, mirror = _name_of(function), f"fungrad.{getattr(function, '__module__', None)}"
    found = [
        (name not in names and module != mirror, module)
        for when, modules in _providers.items()
        if when in sys.modules
        for module, names in modules.items()
    ]
    return [module for _, module in sorted(found, key=lambda pair: pair[0])]


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
        return _documented(function, numpy_function, traced)

    return decorate


ELEMENTWISE = frozenset(["astype", "clip", "fix", "isclose", "isneginf", "isposinf", "where"])
"""Functions whose results NumPy lays out as those of the elementwise functions that they are made of here."""

DENSE = frozenset(
    ["compress", "corrcoef", "cov", "dot", "inner", "outer", "repeat", "take", "tensordot"]
)
"""Functions whose results NumPy lays out in C order always."""

STACKED = frozenset(["matmul", "matvec", "vecmat"])
"""Functions whose results lie in C order but for their leading axes, if there are several."""

TURNING = frozenset(
    [
        *("apply_along_axis", "cross", "delete", "nanmedian", "nanpercentile", "nanquantile"),
        "unique",
    ]
)
"""Functions whose results NumPy may lay out in another order, though the operands lie in C order."""


def settle(name: str, result: Any, operands: tuple[Any, ...], lies: bool = False) -> None:
    """Say of arrays that a function has made how their elements lie, where NumPy does not lay them out in C order."""
    if isinstance(result, (list, tuple)):
        for part in result:
            settle(name, part, operands, lies)
        return
    name = name.lstrip("_")
    if type(result) is not Tracer or len(result.type.shape) < 2 or name in ELEMENTWISE:
        return
    memory = result.memory
    if type(memory) is View or (lies and memory is not None):
        return
    dense = name in DENSE or (name in STACKED and len(result.type.shape) < 4)
    if name in TURNING or not (dense or all_in_order(operands)):
        result.memory = Views(None)
    elif type(memory) is Views and not memory.references:
        result.memory = Views()


def on_stage(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], numbers: tuple[type, ...] = ()
) -> tuple[Any, ...]:
    """Return arguments with the first array, or one of `numbers`, as a tracer where constants are staged.

    Within branches what is computed of constants may never run; where it is written into an array of NumPy, it must now.
    """
    trace = stage()
    if trace is None or kwargs.get("out") is not None:
        return args
    for i, x in enumerate(args):
        if type(x) is list and not any(isinstance(row, np.ndarray) for row in x):
            try:
                x = np.asarray(x)
            except ValueError:  # rows of different lengths
                continue
        array = type(x) is np.ndarray or isinstance(x, np.generic)
        if type(x) in numbers or (array and kind_of(x.dtype) in "biufc"):
            return (*args[:i], trace.lift(x), *args[i + 1 :])
    return args


def describe_failure(error: Exception, function: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
    """Leave on an error of a rule a note with the types of the operands; hide frames of fungrad's own.

    Of functions that call each other, the outermost is named: it is the one that is written in the user's code.
    """
    notes = getattr(error, "__notes__", [])
    nested = bool(notes) and notes[-1].startswith(_FAILED)
    if nested or (isinstance(error, REFUSALS) and not isinstance(error, FungradError)):
        operands = [*args, *kwargs.values()]
        flat = [y for x in operands for y in (x if type(x) in (list, tuple) else [x])]
        types = [str(x.type if type(x) is Tracer else type_of(x)) for x in flat if _is_operand(x)]
        if nested:
            notes.pop()
        if nested or (raised_inside(error) and not all(t in str(error) for t in types)):
            error.add_note(f"{_FAILED}{_full_name(function)} of {' and '.join(types)}")
    hide_internals(error)


_FAILED = "in "
REFUSALS = (ValueError, IndexError, TypeError)


def _is_operand(x: Any) -> bool:
    return type(x) in (Tracer, np.ndarray) and (type(x) is Tracer or kind_of(x.dtype) in "biufc")


def in_trace(result: Any, args: tuple[Any, ...]) -> Any:
    """Return a new array as a tracer of the function that is being traced, if one is."""
    trace = innermost_trace()
    if trace is None or trace.rewriting:
        return result
    if type(result) is tuple:  # of linspace(retstep=True)
        return (in_trace(result[0], args), *result[1:])
    if type(result) is not np.ndarray or kind_of(result.dtype) not in "biufc":
        return result
    if args and result is args[0]:
        return result
    made = created(trace.lift(result))
    return like(made, (result,))


def writable_out(name: str, out: Any) -> Tracer:
    """Return the argument `out` of a function, if its result can be assigned to it."""
    if type(out) is tuple and len(out) == 1:  # as ufuncs may be given it
        (out,) = out
    if type(out) is not Tracer:
        raise LostDerivativeError(
            f"at {here()}\n{name}: a traced result cannot be written into `out`, "
            f"{'a NumPy array' if isinstance(out, np.ndarray) else f'a {type(out).__name__}'}: its derivative "
            "would be lost. Make the array inside of the traced function with fungrad.numpy.zeros, or copy "
            "it there with fungrad.numpy.array(a); then `out=` and a += x work. Or use the result: a = a + x."
        )
    check_writable(out)
    return out


def store(
    out: Tracer, result: Any, casting: Any = "same_kind", mask: Any = True, exactly: bool = False
) -> Tracer:
    """Assign a result to `out`, where `mask` holds, as ufuncs do; return `out`.

    `exactly` is for functions that do not broadcast their result to `out`.
    """
    assign(out, as_stored(out, result, casting, mask, exactly))
    return out


def as_stored(
    out: Tracer, result: Any, casting: Any = "same_kind", mask: Any = True, exactly: bool = False
) -> Tracer:
    """Return what `store` makes of `out`; raise NumPy's error where it cannot be."""
    new = as_tracer_of(out.owner, result)
    if not np.can_cast(new.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast output from {new.dtype!r} to {out.dtype!r} with casting rule '{casting}': make the "
            "array of the wider dtype, or write a = a + x in place of a += x"
        )
    if new.shape != out.shape and (
        exactly or np.broadcast_shapes(new.shape, out.shape) != out.shape
    ):
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {new.shape}"
        )
    new = broadcast_to(cast(new, out.dtype, out.type.weak), out.shape)
    if mask is not True:
        keep = broadcast_to(as_tracer_of(out.owner, mask), out.shape)
        new = select(keep, new, same_array(out))
    return new  # type: ignore[no-any-return]


def _documented(function: Function, numpy_function: Any, traced: Function) -> Function:
    name = _name_of(numpy_function)
    function.__name__ = function.__qualname__ = name
    function.__module__ = traced.__module__
    summary = summary_of(numpy_function)
    function.__doc__ = (
        f"{summary}\n\nThis is `{_full_name(numpy_function)}`, for tracers too.\n"
        + (f"\n{inspect.cleandoc(traced.__doc__)}\n" if traced.__doc__ else "")
    )
    function.__wrapped__ = traced  # type: ignore[attr-defined]
    return function


def _name_of(function: Any) -> str:
    """Return the name of a function; SciPy before 1.16 has some that do not know theirs."""
    return getattr(function, "__name__", "function")


def _full_name(function: Any) -> str:
    """Return the name of a function of NumPy or SciPy as users write it."""
    name = _name_of(function)
    if isinstance(function, np.ufunc):  # which do not tell their module
        homes = [m for m in ("numpy", "scipy.special") if m in sys.modules]
        found = [m for m in homes if getattr(sys.modules[m], name, None) is function]
        return ".".join([*found[:1], name])
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.partition('._')[0]}.{name}"


def summary_of(numpy_function: Any) -> str:
    """Return the first sentences of the documentation of a function of NumPy or SciPy."""
    text = (numpy_function.__doc__ or "").lstrip()
    if text.startswith(f"{_name_of(numpy_function)}("):  # a signature
        text = text.partition("\n\n")[2].lstrip()
    return " ".join(text.partition("\n\n")[0].split())


def not_for_tracers(name: str, arguments: dict[str, Any]) -> None:
    """Raise for arguments of a NumPy function that mean nothing for tracers, where they are given."""
    given = [k for k, x in arguments.items() if x is not None]
    if given:
        raise TypeError(
            f"{name}: the arguments {given} cannot be used on traced arrays; leave them out"
        )


def _application(primitive: ElementwiseFunction) -> Function:
    """Return `apply` of a primitive, with short cuts for the commonest operands."""

    def of_one(x: Any) -> Any:
        if type(x) is Tracer and elementwise_plan(primitive, (x.type,), False) is None:
            result = bind(primitive, (x,))
            return result if x.memory is None else like(result, (x,))
        return apply(primitive, (x,))

    def of_two(x: Any, y: Any) -> Any:
        if type(x) is Tracer:
            if type(y) is Tracer:
                if elementwise_plan(primitive, (x.type, y.type), False) is None:
                    return like(bind(primitive, (x, y)), (x, y))
            elif type(y) in (float, int) and x.owner.on_host:
                strides = scalar_plan(primitive, x.type, type(y))  # type: ignore[arg-type]
                if strides is not None:
                    value = np.array(y, x.type.dtype)
                    spread = x.owner.uniform(value, x.type, strides)
                    return like(bind(primitive, (x, spread)), (x,))
        return apply(primitive, (x, y))

    def of_any(*operands: Any) -> Any:
        return apply(primitive, operands)

    ufunc = numpy_ufunc(primitive.function)
    if ufunc is None:
        return of_any
    return of_one if ufunc.nin == 1 else of_two if ufunc.nin == 2 else of_any


def _targets(name: str, count: int, out: Any) -> list[Tracer | None]:
    """Return what the `count` results of a ufunc are to be written into."""
    given = list(out) if isinstance(out, tuple) else [out]
    if len(given) != count and out is not None:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    targets = [None if x is None else writable_out(name, x) for x in given]
    return targets + [None] * (count - len(targets))


def _ones_elsewhere(mask: Any, x: Any) -> Any:
    """Return an operand with ones where a mask does not hold.

    There the ufunc is not computed, so its warnings, and derivatives that are infinite or NaN, must not show.
    """
    x = as_array(x)
    type_ = type_of(x)
    if type_.weak or type_.dtype.kind == "b":
        return x
    one = np.ones((), type_.dtype)
    return promotion.where(mask, x, one) if has_tracer((mask, x)) else np.where(mask, x, one)


UFUNC_ATTRIBUTES = (
    "accumulate",
    "at",
    "identity",
    "nargs",
    "nin",
    "nout",
    "ntypes",
    "outer",
    "reduce",
    "reduceat",
    "signature",
    "types",
)


def ufunc(function: np.ufunc | ElementwiseFunction, rule: Function | None = None) -> Any:
    """Return the public function of a ufunc of NumPy or SciPy.

    For tracers it takes `dtype`, `casting` and ``where=True``; `out` cannot be written to, and
    `order` and `subok` mean nothing.

    Parameters
    ----------
    function
        The ufunc, or the primitive that it is.
    rule
        What it does with operands of which at least one is a tracer; by default, apply the primitive.
    """
    if isinstance(function, ElementwiseFunction):
        found = numpy_ufunc(function.function)
        rule = _application(function) if rule is None else elementwise(rule)
    else:
        found, rule = function, None if rule is None else elementwise(rule)
    if found is None or rule is None:
        raise TypeError(f"{function!r} is no ufunc, or has no rule")
    numpy_function, apply_rule = found, rule
    name, nin = numpy_function.__name__, numpy_function.nin

    def traced(
        *operands: Any,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: Any = None,
        subok: Any = None,
    ) -> Any:
        if len(operands) != nin:
            if len(operands) < nin or len(operands) > numpy_function.nargs:
                raise TypeError(
                    f"{name}() takes from {nin} to {numpy_function.nargs} positional arguments but "
                    f"{len(operands)} were given"
                )
            operands, out = operands[:nin], operands[nin:]
        where = True if where is None else where
        targets = _targets(name, numpy_function.nout, out)
        if where is not True and None in targets:
            raise TypeError(
                f"at {here()}\n{name}: with `where`, elements that are left out keep what `out` holds, so give "
                f"`out` too; or write fungrad.numpy.where(mask, fungrad.numpy.{name}(...), other)"
            )
        if dtype is not None or casting != "same_kind":
            operands = tuple(ufunc_operands(numpy_function, operands, dtype, casting))
        if where is not True:
            operands = tuple([_ones_elsewhere(where, x) for x in operands])
        result = apply_rule(*operands) if has_tracer(operands) else numpy_function(*operands)
        if out is None:
            return result
        results = result if numpy_function.nout > 1 else (result,)
        stored = [
            (target, as_stored(target, r, casting, where))
            for target, r in zip(targets, results, strict=True)
            if target is not None
        ]
        for target, new in stored:  # now that nothing can fail
            assign(target, new)
        whole = tuple([r if t is None else t for t, r in zip(targets, results, strict=True)])
        return whole if numpy_function.nout > 1 else whole[0]

    traced.__qualname__, traced.__module__ = name, rule.__module__

    def function_(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            cls = type(x)
            if cls is Tracer or ((cls is list or cls is tuple) and has_tracer(x)):
                try:
                    if kwargs or len(args) != nin:
                        return traced(*args, **kwargs)
                    return apply_rule(*args)
                except Exception as error:
                    describe_failure(error, numpy_function, args, kwargs)
                    raise
        if current_trace.get() is not None and len(args) == nin:
            lifted = on_stage(args, kwargs, (int, float, complex))
            if lifted is not args:
                return function_(*lifted, **kwargs)
        if kwargs and kwargs.get("where", True) is None:
            kwargs["where"] = True
        return numpy_function(*args, **kwargs)

    traced_functions[numpy_function] = traced
    result = _documented(function_, numpy_function, traced)
    of_numpy = getattr(np, name, None) is numpy_function
    result.__module__ = "fungrad.numpy.math" if of_numpy else "fungrad.scipy.special"
    # The methods are NumPy's own: with tracers they come back through __array_ufunc__.
    for attribute in UFUNC_ATTRIBUTES:
        setattr(result, attribute, getattr(numpy_function, attribute))
    return result


ufunc_methods: dict[str, dict[Any, Function]] = {
    "reduce": {},
    "accumulate": {},
    "reduceat": {},
    "at": {},
}
"""For each method of ufuncs, and for each ufunc, what the method does when an operand is a tracer."""


def array_ufunc(self: Tracer, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a NumPy ufunc, or a method of it, of which some operand is a tracer (NEP 13)."""
    for x in inputs:
        if type(x) is Selection:
            return NotImplemented  # it has a rule of its own
    try:
        rule = rule_of(function)
        if rule is None and function.__name__ == "clip":  # the ufunc that a.clip calls
            rule = rule_of(np.clip)
        if rule is not None and method == "__call__":
            return rule(*inputs, **kwargs)
        if rule is not None and method == "outer":
            x, y = [strong(operand) for operand in inputs]
            x = Reshape((*x.shape, *[1] * y.ndim))(x) if y.ndim else x
            return rule(x, y, **kwargs)
        importlib.import_module("fungrad.numpy.ufunc_methods")  # which declares them
        if function in ufunc_methods.get(method, ()):
            return _run_method(function, method, inputs, kwargs)
        name = _full_name(function) + ("" if method == "__call__" else f".{method}")
        _no_rule(name, [f.__name__ for f in ufunc_methods.get(method, ())])
    except Exception as error:
        describe_failure(error, function, inputs, {})
        raise


def _run_method(function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    rule = ufunc_methods[method][function]
    if method == "at":
        return rule(*inputs)
    out = kwargs.pop("out", None)
    target = None if out is None else writable_out(f"{function.__name__}.{method}", out[0])
    if target is None or has_tracer(inputs) or has_tracer(kwargs.values()):
        kwargs.setdefault("axis", 0)
        result = rule(*inputs, **kwargs)
    else:
        result = getattr(function, method)(*inputs, **kwargs)
    return result if target is None else store(target, result, exactly=True)


def array_function(self: Tracer, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function of which some argument is a tracer (NEP 18)."""
    try:
        traced = rule_of(function)
        if traced is None:
            _no_rule(_full_name(function))
        return traced(*args, **kwargs)
    except Exception as error:
        describe_failure(error, function, args, kwargs)
        raise


def _no_rule(name: str, others: Sequence[str] = ()) -> NoReturn:
    instead = f" That method works for {', '.join(sorted(others))}." if others else ""
    home = "fungrad.numpy"
    if name.startswith("scipy."):
        home = f"fungrad.numpy and fungrad.{name.rpartition('.')[0]}"
        known = [_full_name(f) for f in traced_functions]
        import difflib

        near = difflib.get_close_matches(
            name, [k for k in known if k.startswith("scipy.")], 1, 0.85
        )
        instead += f" There is one for {near[0]}." if near else ""
    raise TypeError(
        f"at {here()}\n{name} has no rule for traced arrays.{instead} Write it with functions of {home}, "
        "or keep it outside of the transformed function."
    )


def install() -> None:
    """Give tracers NumPy's protocols."""
    Tracer.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Tracer.__array_function__ = array_function  # type: ignore[attr-defined]

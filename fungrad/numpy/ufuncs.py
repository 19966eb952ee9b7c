"""NumPy's ufuncs, and SciPy's, for tracers: as public functions and through `__array_ufunc__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.again import begins_again
from fungrad.core.cached import methods_of_ufuncs
from fungrad.core.config import settings
from fungrad.core.errors import here
from fungrad.core.foreign import has_own_rules
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import type_of
from fungrad.numpy import promotion
from fungrad.numpy.assignment import assign
from fungrad.numpy.masked import Selection
from fungrad.numpy.memory import elementwise, like
from fungrad.numpy.plans import result_types
from fungrad.numpy.promotion import (
    CAPTURED,
    apply,
    as_array,
    captured,
    combined,
    has_tracer,
    strong,
    ufunc_operands,
)
from fungrad.numpy.rules import (
    Function,
    describe_failure,
    full_name,
    ready,
    rule_of,
    traced_functions,
)
from fungrad.numpy.staging import on_stage
from fungrad.numpy.storing import as_stored, store, writable_out
from fungrad.primitives.elementwise import Elementwise, numpy_ufunc
from fungrad.primitives.elementwise import Function as ElementwiseFunction
from fungrad.primitives.shaping import Reshape


def of_one(primitive: Elementwise, keep_weak: bool = False) -> Callable[[Any], Any]:
    """Return `apply` of a one-operand primitive, with a short path where nothing is converted."""

    def function(x: Any) -> Any:
        if type(x) is Tracer and (trace := x._owner).into is None:
            types = result_types(primitive, (x._type,), keep_weak)
            if types is not None:
                result = trace.extend(primitive, (x._variable,), types)
                in_order = x._memory is None or len(x._type.shape) < 2
                return result if in_order else like(result, (x,))
        return apply(primitive, (x,), keep_weak)

    return function


def _of_two(primitive: ElementwiseFunction) -> Function:
    """Return `apply` of a primitive of two operands, likewise."""

    def function(x: Any, y: Any) -> Any:
        u, v = x, y
        if type(x) is Tracer:
            v = captured(primitive, x, y) if type(y) in CAPTURED else y
        elif type(y) is Tracer and type(x) in CAPTURED:
            u = captured(primitive, y, x)
        if type(u) is type(v) is Tracer and u._owner is v._owner and u._owner.into is None:
            return combined(primitive, u, v, False, (x, y))
        return apply(primitive, (x, y))

    return function


def _application(primitive: ElementwiseFunction) -> Function:
    """Return `apply` of a primitive, with short cuts for the commonest operands."""

    def of_any(*operands: Any) -> Any:
        return apply(primitive, operands)

    ufunc = numpy_ufunc(primitive.function)
    if ufunc is None:
        return of_any
    return of_one(primitive) if ufunc.nin == 1 else _of_two(primitive) if ufunc.nin == 2 else of_any


def _targets(name: str, count: int, out: Any) -> list[Tracer | None]:
    """Return the targets of a ufunc's `count` results."""
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
    apply_rule = None if rule is None else elementwise(rule)
    if isinstance(function, ElementwiseFunction):
        numpys = numpy_ufunc(function.function)
        apply_rule = apply_rule or _application(function)
    else:
        numpys = function
    if numpys is None or apply_rule is None:
        raise TypeError(f"{function!r} is no ufunc, or has no rule")
    traced = _with_options(numpys, apply_rule)
    nin = numpys.nin

    def public(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            cls = type(x)
            if cls is Tracer or ((cls is list or cls is tuple) and has_tracer(x)):
                try:
                    if kwargs or len(args) != nin:
                        return traced(*args, **kwargs)
                    return apply_rule(*args)
                except Exception as error:
                    if begins_again(error, args, kwargs):
                        return public(*args, **kwargs)
                    describe_failure(error, numpys, args, kwargs)
                    raise
        if current_trace.get() is not None and len(args) == nin:
            lifted = on_stage(args, kwargs, (int, float, complex))
            if lifted is not args:
                return public(*lifted, **kwargs)
        if kwargs and kwargs.get("where", True) is None:
            kwargs["where"] = True
        try:
            if settings.get().dtypes and not kwargs and len(args) == nin:
                from fungrad.numpy import eager  # few programs need it

                return eager.ufunc(numpys, apply_rule, args)
            return numpys(*args, **kwargs)
        except TypeError:
            from fungrad.numpy import keys  # few programs need it

            if kwargs or (compare := keys.comparison(numpys, args)) is None:
                raise
            return compare(*args)

    traced_functions[numpys] = traced
    _plain_calls[numpys] = apply_rule
    from fungrad.numpy.documentation import documented  # which modules with rules need

    result = documented(public, numpys, traced)
    of_numpy = getattr(np, numpys.__name__, None) is numpys
    result.__module__ = "fungrad.numpy.math" if of_numpy else "fungrad.scipy.special"
    # The methods are NumPy's own: with tracers they come back through __array_ufunc__.
    for attribute in UFUNC_ATTRIBUTES:
        setattr(result, attribute, getattr(numpys, attribute))
    return result


def _with_options(ufunc: np.ufunc, rule: Function) -> Function:
    """Return a ufunc with its optional arguments, given its rule for operands alone."""
    name, nin, nout = ufunc.__name__, ufunc.nin, ufunc.nout

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
            if len(operands) < nin or len(operands) > ufunc.nargs:
                raise TypeError(
                    f"{name}() takes from {nin} to {ufunc.nargs} positional arguments but "
                    f"{len(operands)} were given"
                )
            operands, out = operands[:nin], operands[nin:]
        where = True if where is None else where
        targets = _targets(name, nout, out)
        if where is not True and any(target is None for target in targets):
            raise TypeError(
                f"at {here()}\n{name}: with `where`, elements that are left out keep what `out` holds, so give "
                f"`out` too; or write fungrad.numpy.where(mask, fungrad.numpy.{name}(...), other)"
            )
        if dtype is not None or casting != "same_kind":
            operands = tuple(ufunc_operands(ufunc, operands, dtype, casting))
        if where is not True:
            operands = tuple([_ones_elsewhere(where, x) for x in operands])
        result = rule(*operands) if has_tracer(operands) else ufunc(*operands)
        if out is None:
            return result
        results = list(result) if nout > 1 else [result]
        stored = [
            x if target is None else as_stored(target, x, casting, where)
            for target, x in zip(targets, results, strict=True)
        ]
        for i, target in enumerate(targets):
            if target is not None:  # now that nothing can fail
                assign(target, stored[i])
                stored[i] = target
        return tuple(stored) if nout > 1 else stored[0]

    traced.__qualname__, traced.__module__ = name, rule.__module__
    return traced


ufunc_methods: dict[str, dict[Any, Function]] = {
    "reduce": {},
    "accumulate": {},
    "reduceat": {},
    "at": {},
}
"""Rules of ufunc methods for tracers, by method and ufunc."""


_plain_calls: dict[Any, Function] = {}
"""Rules of ufuncs on operands alone, at least one of them a tracer."""


_PLAIN = CAPTURED | {Tracer, np.float64}


def array_ufunc(self: Tracer, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a NumPy ufunc, or its method, with a tracer among the operands (NEP 13)."""
    for x in inputs:
        if (cls := type(x)) is Selection or (cls not in _PLAIN and has_own_rules(cls)):
            return NotImplemented  # it has a rule of its own
    try:
        if not kwargs and method == "__call__" and function in ready and function in _plain_calls:
            return _plain_calls[function](*inputs)
        if (kwargs or method == "at") and _is_plain_target(inputs[0] if method == "at" else kwargs):
            from fungrad.numpy.whole_targets import written

            result = written(function, method, inputs, kwargs)
            if result is not NotImplemented:
                return result
        rule = rule_of(function)
        if rule is None and function.__name__ == "clip":  # the ufunc that a.clip calls
            rule = rule_of(np.clip)
        if rule is not None and method == "__call__":
            return rule(*inputs, **kwargs)
        if rule is not None and method == "outer":
            x, y = [strong(operand) for operand in inputs]
            x = Reshape((*x.shape, *[1] * y.ndim))(x) if y.ndim else x
            return rule(x, y, **kwargs)
        methods_of_ufuncs.get()  # which declares them
        if function in ufunc_methods.get(method, ()):
            return _run_method(function, method, inputs, kwargs)
        name = full_name(function) + ("" if method == "__call__" else f".{method}")
        others = [f.__name__ for f in ufunc_methods.get(method, ())]
        from fungrad.numpy.unruled import without_rule

        return without_rule(getattr(function, method), inputs, kwargs, name, others)
    except Exception as error:
        if begins_again(error, inputs, kwargs):
            return getattr(function, method)(*inputs, **kwargs)
        describe_failure(error, function, inputs, {})
        raise


def _is_plain_target(target: Any) -> bool:
    """Whether a ufunc writes to a plain array of integers or truth values, which have no derivatives."""
    if type(target) is dict:
        (target, *_) = target.get("out", (None,))
    return type(target) is np.ndarray and target.dtype.kind in "biu"


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

"""The operators of tracers: those of NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.again import begins_again
from fungrad.core.errors import hide_internals
from fungrad.core.foreign import has_own_rules, stand_in
from fungrad.core.tracer import Tracer
from fungrad.core.types import PYTHON_SCALARS, python_number
from fungrad.numpy.masked import Selection, operator_of
from fungrad.numpy.memory import like
from fungrad.numpy.plans import result_types
from fungrad.numpy.promotion import CAPTURED, apply, captured, combined, through
from fungrad.numpy.storing import store, writable_out
from fungrad.numpy.ufuncs import of_one
from fungrad.numpy.views import is_scalar
from fungrad.primitives import elementwise as e
from fungrad.primitives.elementwise import Elementwise

_UNKNOWN = object()


def is_operand(x: Any) -> bool:
    """Whether an operator of a tracer takes `x`; otherwise Python asks the other operand.

    As the operators of arrays, it leaves alone what has no ufuncs, a higher priority, or ufuncs of its own (NEP 13).
    """
    cls = type(x)
    if cls in PYTHON_SCALARS or cls is Tracer or cls is np.ndarray:
        return True
    if cls is Selection:
        return False
    if has_own_rules(cls):
        return False
    ufuncs = getattr(cls, "__array_ufunc__", _UNKNOWN)
    if ufuncs is None or (ufuncs is _UNKNOWN and getattr(x, "__array_priority__", 0) > 0):
        return False
    if isinstance(x, (np.ndarray, np.generic, list, tuple)) or hasattr(cls, "__array__"):
        return True
    if python_number(x) is not None:
        return True
    return all(hasattr(x, name) for name in ("dtype", "shape", "flags"))  # of another library


def otherwise(operate: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return an operator's result with no operand: fungrad's object in its place, or `NotImplemented`."""
    x, y = [z if type(z) is Tracer else stand_in(z) for z in (x, y)]
    return NotImplemented if x is None or y is None else operate(x, y)


def _binary(name: str, primitive: Elementwise) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``x + y`` for tracers `x`, and for tracers `y`.

    As by `ufuncs.of_two`, but weak operands stay weak.
    """
    operate = getattr(operator, f"__{name}__")

    def forward(self: Tracer, other: Any) -> Any:
        try:
            y = captured(primitive, self, other) if type(other) in CAPTURED else other
            if type(y) is Tracer and y._owner is (trace := self._owner) and trace.into is None:
                types = result_types(primitive, (self._type, y._type), True)
                if types is None:
                    return combined(primitive, self, y, True, (self, other))
                result = trace.extend(primitive, (self._variable, y._variable), types)
                in_order = len(self._type.shape) < 2 or self._memory is y._memory is None
                return result if in_order else like(result, (self, other))
            if is_operand(other):
                return apply(primitive, (self, other), True)
            return otherwise(operate, self, other)
        except Exception as error:
            if begins_again(error, (self, other)):
                return operate(self, other)
            hide_internals(error)
            raise

    def reflected(self: Tracer, other: Any) -> Any:
        try:
            x = captured(primitive, self, other) if type(other) in CAPTURED else other
            if x is not other and self._owner.into is None:
                return combined(primitive, x, self, True, (other, self))
            if is_operand(other):
                return apply(primitive, (other, self), True)
            return otherwise(operate, other, self)
        except Exception as error:
            if begins_again(error, (self, other)):
                return operate(other, self)
            hide_internals(error)
            raise

    return forward, reflected


def _in_place(forward: Callable[[Tracer, Any], Any]) -> Callable[[Tracer, Any], Any]:
    """Return ``x += y``, given ``x + y``.

    A scalar is not changed: the name gets the new one.
    """

    def method(self: Tracer, other: Any) -> Any:
        if is_scalar(self):
            return forward(self, other)
        try:
            writable_out("an in-place operator", self)
            result = forward(self, other)
            return result if result is NotImplemented else store(self, result)
        except Exception as error:
            hide_internals(error)
            raise

    return method


def _unary(name: str, primitive: Elementwise) -> Callable[..., Any]:
    function = of_one(primitive, True)
    operate = getattr(operator, f"__{name}__")

    def method(self: Tracer) -> Any:
        try:
            return function(self)
        except Exception as error:
            if begins_again(error, (self,)):
                return operate(self)
            hide_internals(error)
            raise

    return method


def power(x: Any, y: Any, keep_weak: bool = False) -> Any:
    """Return ``x ** y``; a Python integer as exponent is static, which has a simpler derivative."""
    if type(y) is int and type(x) is Tracer and x.dtype.kind in "fc" and -1000 < y < 1000:
        return like(through((e.IntegerPower(y),), x), (x,))
    return apply(e.power, (x, y), keep_weak)


def _pow(self: Tracer, other: Any, modulo: Any = None) -> Any:
    if modulo is not None or not is_operand(other):
        return NotImplemented
    if type(other) is int and other == 2 and self.dtype.kind == "b":
        return apply(e.square, (self,), True)  # NumPy's operator squares: the result is int8
    if type(other) is float and other == 0.5 and self.dtype.kind in "fc":
        return apply(e.sqrt, (self,), True)  # so does NumPy's
    try:
        return power(self, other, True)
    except Exception as error:
        if begins_again(error, (self, other)):
            return self**other
        raise


def _divmod(self: Tracer, other: Any) -> Any:
    return (self // other, self % other) if is_operand(other) else NotImplemented


def _rdivmod(self: Tracer, other: Any) -> Any:
    return (other // self, other % self) if is_operand(other) else NotImplemented


_BINARY = {
    "add": e.add,
    "sub": e.sub,
    "mul": e.mul,
    "truediv": e.div,
    "floordiv": e.floor_divide,
    "mod": e.remainder,
    "pow": e.power,
    "and": e.bitwise_and,
    "or": e.bitwise_or,
    "xor": e.bitwise_xor,
    "lshift": e.left_shift,
    "rshift": e.right_shift,
}
_COMPARISONS = {
    "eq": e.equal,
    "ne": e.not_equal,
    "lt": e.less,
    "le": e.less_equal,
    "gt": e.greater,
    "ge": e.greater_equal,
}
_UNARY = {"neg": e.neg, "pos": e.positive, "abs": e.absolute, "invert": e.invert}


def install() -> None:
    """Give tracers their operators, and masked selections theirs."""
    methods: dict[str, Callable[..., Any]] = {}
    for name, primitive in _BINARY.items():
        methods[name], methods[f"r{name}"] = _binary(name, primitive)
    for name, primitive in _COMPARISONS.items():
        methods[name] = _binary(name, primitive)[0]
    for name, primitive in _UNARY.items():
        methods[name] = _unary(name, primitive)
    methods |= {"pow": _pow, "divmod": _divmod, "rdivmod": _rdivmod}
    methods |= {f"i{name}": _in_place(methods[name]) for name in _BINARY}
    for name, method in methods.items():
        setattr(Tracer, f"__{name}__", method)
    for name, primitive in (_BINARY | _COMPARISONS | _UNARY).items():
        setattr(Selection, f"__{name}__", operator_of(primitive))
        if name in _BINARY:
            setattr(Selection, f"__r{name}__", operator_of(primitive, reflected=True))

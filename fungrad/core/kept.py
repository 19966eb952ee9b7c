"""Constants that outlive their traced function: arrays, from their first use on.

Recording is lazy, so what a traced function computes of constants alone is a tracer like everything else. Kept elsewhere, in
a closure, say, it depends on no argument, and has a value. When the first operation meets such a tracer, its class is changed
to `Kept`, which every place that holds it sees, and the operation begins again (`Again` in `core/errors.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.constants import Constants
from fungrad.core.recorder import Slots

__all__ = ["Kept", "keep", "plain"]


class Kept(Slots):
    """An array in the place of a tracer, with its attributes, methods and operators.

    It is read-only, as other kept constants may be views of it.
    """

    __slots__ = ()

    _memory: Any  # the array

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._memory)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._memory, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        given = {k: plain(x) for k, x in kwargs.items()}
        return getattr(ufunc, method)(*map(plain, inputs), **given)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(plain, args), **{k: plain(x) for k, x in kwargs.items()})

    def __getitem__(self, key: Any) -> Any:
        return self._memory[plain(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._memory[plain(key)] = value

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._memory.__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self._memory.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self._memory.copy()

    def __format__(self, spec: str) -> str:
        return format(self._memory, spec)

    def __hash__(self) -> int:
        return hash(self._memory)


def _of_array(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return getattr(self._memory, name)(*args)

    method.__name__ = name
    return method


_UNARY = "abs bool complex contains float index int invert iter len neg pos repr round str"
for _name in _UNARY.split():
    setattr(Kept, f"__{_name}__", _of_array(f"__{_name}__"))


def _operators() -> None:
    arithmetic = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
    operators: dict[str, Any] = {"divmod": divmod}
    for name in [*arithmetic.split(), "lt", "le", "eq", "ne", "gt", "ge"]:
        operators[name] = getattr(operator, f"__{name}__")
    for name, operate in operators.items():
        setattr(Kept, f"__{name}__", lambda x, y, f=operate: f(x._memory, plain(y)))
        setattr(Kept, f"__r{name}__", lambda x, y, f=operate: f(plain(y), x._memory))


def plain(x: Any) -> Any:
    """Return the array of a kept constant, also within lists, tuples and dicts; others unchanged."""
    cls = type(x)
    if cls is Kept:
        return x._memory
    if cls is list or cls is tuple:
        return cls([plain(y) for y in x])
    return {k: plain(y) for k, y in x.items()} if cls is dict else x


_operators()
_set_class: Callable[[Any, type], None] = vars(object)["__class__"].__set__


def finished(array: Any) -> Any:
    """Return an array as the user's functions return them: `compat.jax` has a class of its own."""
    return array


def keep(tracer: Any, value: Any) -> bool:
    """Make an array of a tracer of a closed trace, wherever it is referenced."""
    array = np.array(value)[()] if isinstance(value, (np.ndarray, np.generic)) else value
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    tracer._memory = finished(array)
    _set_class(tracer, Kept)
    tracer._owner = tracer._type = tracer._variable = None  # the memory of the trace
    return True


def keep_constant(trace: Any, x: Any) -> bool:
    """Make an array of a tracer of a closed trace, if it is a constant; whether it was one.

    It is none where it may depend on what Python was told of an input.
    """
    if trace.mode.staged or (trace.given.answers is not None and trace.given.answers.questions):
        return False
    variable = x._variable
    if trace.lookups.constants is None:
        trace.lookups.constants = Constants()
    if not trace.lookups.constants.has(trace, variable):
        return False
    value = trace.constant(variable)
    return value is not None and keep(x, value)

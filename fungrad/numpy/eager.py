"""Functions of plain arrays under JAX's promotion, run by their rules for tracers.

Most calls are of arrays of one floating-point dtype, perhaps with Python numbers and masks, which NumPy's functions give results of
that dtype for, as JAX's do. Others run as they do under `grad`: recorded in a trace that has values, and computed at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fungrad.core import lattice
from fungrad.core.backend import namespace, on_host
from fungrad.core.config import settings
from fungrad.core.mode import VALUES
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, resolve
from fungrad.core.types import is_key, kind_of, type_of
from fungrad.numpy.narrow import argument, narrowed
from fungrad.numpy.of_floats import SUMS, in_single
from fungrad.numpy.parameters import OF_FLOATS
from fungrad.numpy.plans import Rules, ufunc_dtypes
from fungrad.numpy.promotion import as_array, number

Function = Callable[..., Any]
Args = tuple[Any, ...]
Options = dict[str, Any]

_NUMBERS = frozenset([bool, int, float])
_OF_NUMBERS = frozenset([np.linspace, np.array, np.asarray])
"""Functions that make arrays of Python numbers alone, which are not weak."""

_WEAK = frozenset([int, float, complex])
_FILLS = _WEAK | {lattice.WeakArray}
_BY_RULE = frozenset([list, tuple, lattice.WeakArray])
"""Classes of first arguments whose results have the dtype of rules, or are weak."""
_HALF = np.dtype(np.float16)
_SHORT = frozenset([_HALF, np.dtype(np.float32)])
_FLOATS = _SHORT | {np.dtype(np.float64)}
_READ = frozenset([np.take, np.take_along_axis])
_OF_ANYTHING = frozenset([np.shape, np.ndim, np.size])
_CONVERT = frozenset([np.array, np.asarray, np.asanyarray])


def ufunc(function: np.ufunc, rule: Function, args: Args) -> Any:
    """Return a ufunc's result on operands; `rule` is its rule for tracers."""
    rules = _rules()
    dtypes: set[Any] = set()
    if (_are_plain(args, dtypes, rules) and len(dtypes) == 1) or function.nout > 1:
        return _finished(function(*args), rules)
    if function.__name__ == "float_power":
        return _by(function, rule, args, {}, rules)
    operands = [as_array(x) for x in args]
    types = [type_of(x).update(shape=()) for x in operands]
    if rules[1]:
        types = [*map(lattice.narrow_type, types)]
    if rules[0]:
        lattice.check_power(function.__name__, operands)
    wanted, weak = _operands_of(function, tuple(types), False, rules)
    result = function(*map(_converted, operands, wanted))
    result = lattice.weak_array(result) if weak and result.dtype.kind != "b" else result
    return _finished(result, rules)


_operands_of = functools.lru_cache(maxsize=1 << 12)(ufunc_dtypes)


def _rules() -> tuple[bool, bool]:
    chosen = settings.get()
    return chosen.jax_types, chosen.narrow


def _converted(x: Any, dtype: np.dtype[Any]) -> Any:
    return number(x, dtype) if type(x) in _NUMBERS else np.asarray(x).astype(dtype, copy=False)


def _finished(result: Any, rules: Rules) -> Any:
    return narrowed(result) if rules[1] else result


def call(function: Function, rule: Function, args: Args, kwargs: Options, promotes: bool) -> Any:
    """Return a NumPy function's result on plain arguments; `rule` is its rule for tracers.

    Where it does not promote, it makes an array, or shows the elements of one.
    """
    try:
        return _called(function, rule, args, kwargs, promotes)
    except np.linalg.LinAlgError:
        if not settings.get().soft:
            raise
        return _finished(_traced(function, rule, args, kwargs, _rules()), _rules())


def _called(function: Function, rule: Function, args: Args, kwargs: Options, promotes: bool) -> Any:
    if not (settings.get().dtypes or function in _READ) or function in _OF_ANYTHING:
        return function(*args, **kwargs)
    rules = _rules()
    first = args[0] if args else None
    of_number = function in _CONVERT and type(first) in _WEAK and len(args) == 1
    fills = function is np.full and len(args) == 2 and type(args[1]) in _FILLS
    weak = (of_number or fills) and not kwargs
    if not promotes and type(first) not in _BY_RULE:
        result = function(*args, **kwargs)
        result = lattice.weak_array(result) if weak and rules[0] else result
    elif kwargs.get("out") is not None:
        return function(*args, **kwargs)
    else:
        result = _by(function, rule, args, kwargs, rules)
    return _finished(result, rules)


def by_rule(function: Function, rule: Function, args: Args, kwargs: Options) -> Any:
    """Return a function's result by its rule, where CuPy's own lacks a parameter or takes no numbers."""
    xp = namespace(args)
    args = tuple([xp.asarray(x) if isinstance(x, (np.generic, bool)) else x for x in args])
    return _traced(function, rule, args, kwargs, (False, False))


def _by(function: Any, rule: Function, args: Args, kwargs: Options, rules: Rules) -> Any:
    dtypes: set[Any] = set()
    plain = _are_plain(args, dtypes, rules) and _are_plain(kwargs.values(), dtypes, rules)
    plain = plain and not (function in _READ and settings.get().clamps)
    if plain and (len(dtypes) == 1 or (not dtypes and function in _OF_NUMBERS)):
        if _HALF in dtypes and (function.__name__ in SUMS or in_single(function)):
            return _traced(function, rule, args, kwargs, rules)  # NumPy adds up in float16
        result = function(*args, **kwargs)
        return _narrowed(result, *dtypes) if function.__name__ in OF_FLOATS else result
    return _traced(function, rule, args, kwargs, rules)


def _traced(function: Any, rule: Function, args: Args, kwargs: Options, rules: Rules) -> Any:
    with Trace(getattr(function, "__name__", "function"), VALUES) as trace:
        lifted = [_lifted(trace, x, rules[1]) for x in args]
        options = {k: _lifted(trace, x, rules[1]) for k, x in kwargs.items()}
        if type(next(iter(lifted), None)) in _NUMBERS and all(
            x is None or type(x) in _NUMBERS for x in lifted
        ):
            lifted[0] = trace.lift(lifted[0])
        return _values(rule(*lifted, **options))


def _are_plain(arguments: Iterable[Any], dtypes: set[Any], rules: Rules) -> bool:
    """Whether NumPy's result has the one dtype that is put into `dtypes`, if there is one."""
    for x in arguments:
        cls = type(x)
        if cls is np.ndarray or isinstance(x, (np.ndarray, np.generic)):
            if x.dtype in (_SHORT if rules[1] else _FLOATS) and not getattr(x, "weak_type", False):
                dtypes.add(x.dtype)
            elif x.dtype.kind != "b":
                return False
        elif (cls is list or cls is tuple) and not _are_plain(x, dtypes, rules):
            return False
    return True


def _narrowed(result: Any, dtype: Any = None) -> Any:
    """Return an array of NumPy's floats that is no wider than a dtype."""
    wide = (
        dtype is not None
        and isinstance(result, (np.ndarray, np.generic))
        and result.dtype.kind in "fc"
    )
    if not wide:
        return result
    wanted = lattice.as_wide_as(result.dtype, dtype)
    return result if wanted == result.dtype else result.astype(wanted)


def _lifted(trace: Trace, x: Any, narrow: bool) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        x = argument(x) if narrow else x
        return trace.lift(x) if kind_of(x.dtype) in "biufc" or is_key(x.dtype) else x
    if not on_host((x,)):
        return trace.new_input(type_of(x), x)
    if type(x) is list or type(x) is tuple:
        lifted = [_lifted(trace, y, narrow) for y in x]
        return type(x)(lifted) if any(type(y) is Tracer for y in lifted) else x
    return x


def _values(result: Any) -> Any:
    if type(result) is Tracer:
        value = resolve(result)
        return lattice.weak_array(value) if result._type.weak else value
    if isinstance(result, tuple):
        values = map(_values, result)
        return type(result)(*values) if hasattr(result, "_fields") else tuple(values)
    return [*map(_values, result)] if type(result) is list else result

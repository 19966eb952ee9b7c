"""Weak results, whose dtype gives way to the other operand's, of the functions that have some in JAX.

A result is weak if weak operands, or Python numbers, have a higher kind of numbers than all others. NumPy has no weak arrays, and
fungrad's own functions follow operators alone; the tables name the functions of JAX that differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.compat.jax.array import Array, Weak
from fungrad.core import tree
from fungrad.core.lattice import WeakArray, weak_array
from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of
from fungrad.numpy.promotion import cast

_LAX = """
abs acos acosh add asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil cos cosh cumlogsumexp cummax cummin cumprod
cumsum digamma div dot erf erf_inv erfc exp exp2 expm1 floor igamma igammac integer_pow lgamma log log1p logistic max min mul neg
nextafter polygamma pow reciprocal reduce_max reduce_min reduce_prod reduce_sum rem rsqrt sign sin sinh sqrt square sub tan tanh
zeta complex
"""
_OF_LAX = frozenset(_LAX.split())
"""Functions of `jax.lax` that keep weak tracers weak, but not arrays."""

_NAMES = """
append cholesky clamp conj det diag divmod eigh factorial gradient i0 inner insert interp kron modf outer polyadd polymul qr
lax.round select select_n solve svd union1d unique vdot vecdot zeta
celu elu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus
sparse_plus squareplus swish
"""
_ALL = frozenset(_NAMES.split())
_BY_FIRST = "argpartition pad put_along_axis setdiff1d take take_along_axis top_k"
_FIRST = frozenset(_BY_FIRST.split())
"""Functions whose first argument alone counts."""
_STRONG = """
beta cross deg2rad diagonal dynamic_update_slice exp1 expi frexp gamma intersect1d kl_div log_ndtr logit ndtr ndtri norm polyval
random_gamma_grad rel_entr
"""
_NEVER = frozenset(_STRONG.split())
"""Functions whose results are not weak."""

_MOVING = """
atleast_1d atleast_2d atleast_3d broadcast broadcast_in_dim broadcast_to expand_dims full_like ones_like ravel reshape squeeze
transpose zeros_like
"""
MOVING = frozenset(_MOVING.split())
"""Functions that move elements, or make arrays like another: for Python numbers, results are weak."""

_RANKS = {"i": 1, "u": 1, "f": 2, "c": 3}
_NUMBERS = {int: 1, float: 2, complex: 3}


def keeping_weak(module: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, or a function around it whose results are weak where those of JAX's `name` are."""
    if name in _NEVER:
        return _after(function, lambda args: False)
    if name in MOVING:
        return _of_weak_number(function)
    if name in _FIRST:
        return _after(function, lambda args: _are_weak(args[:1]))
    if name in _ALL or f"{module.rpartition('.')[2]}.{name}" in _ALL:
        return _after(
            function, lambda args: _are_weak(args) and (name != "diag" or _ndim(args) < 2)
        )
    if module.endswith(".lax") and name in _OF_LAX:
        return _after(function, lambda args: None if _traced(args) else _are_weak(args))
    return function


def _of_weak_number(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function(weak_array(x) if type(x) in _NUMBERS else x, *args, **kwargs)

    return called


def _after(
    function: Callable[..., Any], asked: Callable[[tuple[Any, ...]], bool | None]
) -> Callable[..., Any]:
    """Return a function with weak or strong results, as `asked` says of the arguments; None leaves them."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        weak = asked((*args, *kwargs.values()))
        result = function(*args, **kwargs)
        if weak is None or (not weak and type(result) in (np.ndarray, Array)):
            return result
        return tree.map(functools.partial(_made, weak=weak), result)

    return called


def _traced(args: tuple[Any, ...]) -> bool:
    return Tracer in map(type, args)


def _ndim(args: tuple[Any, ...]) -> int:
    return getattr(args[0], "ndim", 0)


def _operands(args: tuple[Any, ...]) -> Iterator[Any]:
    for x in args:
        if type(x) in (list, tuple):
            yield from x
        else:
            yield x


def _are_weak(args: tuple[Any, ...]) -> bool:
    """Return whether weak operands have a higher kind of numbers than the others."""
    weak = strong = 0
    for x in _operands(args):
        cls = type(x)
        if cls in _NUMBERS:
            weak = max(weak, _NUMBERS[cls])
        elif isinstance(x, (np.ndarray, np.generic, Tracer)):
            rank = _RANKS.get(kind_of(x.dtype), 0)
            if cls in (Weak, WeakArray) or (isinstance(x, Tracer) and x._type.weak):
                weak = max(weak, rank)
            else:
                strong = max(strong, rank)
    return weak > strong


def _made(x: Any, weak: bool) -> Any:
    """Return an array of numbers, weak or not; anything else as it is."""
    if not isinstance(x, (np.ndarray, np.generic, Tracer)) or kind_of(x.dtype) not in _RANKS:
        return x
    if type(x) is Tracer:
        return cast(x, x.dtype, weak)
    if isinstance(x, Array):
        return np.asarray(x).view(Weak if weak else Array)
    return weak_array(np.asarray(x)) if weak else np.asarray(x)

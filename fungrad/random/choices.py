"""Choosing among things: one of several, some of them, all of them in another order."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, kind_of, type_of
from fungrad.lax.sorting import sort_key_val, top_k
from fungrad.random import generators
from fungrad.random.continuous import gumbels, mode_of
from fungrad.random.dtypes import FLOAT, check_shape, dtype_of, in_force, not_here, shape_of
from fungrad.random.generators import How
from fungrad.random.glossary import public
from fungrad.random.keys import words_of
from fungrad.random.programs import run
from fungrad.random.uniforms import integers, unit

_U32 = np.dtype(np.uint32)
_I64 = np.dtype(np.int64)


def shuffled(words: Any, x: Any, axis: int, how: How) -> Any:
    """Return an array with the vectors along an axis shuffled: sorted by random words, several times.

    Words may be equal, and equal ones keep their order; after as many rounds as there are here, few elements have been
    given equal words in all of them.
    """
    size = max(1, math.prod(x.shape))
    for _ in range(math.ceil(3 * math.log(size) / math.log(np.iinfo(_U32).max))):
        words, own = generators.split(words, (2,), how)
        _, x = sort_key_val(generators.bits(own, x.shape, _U32, how), x, axis)
    return x


def _permuted(words: Any, x: Any, axis: int, independent: bool, how: How) -> Any:
    if independent or x.ndim == 1:
        return shuffled(words, x, axis, how)
    order = shuffled(words, fnp.arange(x.shape[axis]), 0, how)
    return fnp.take(x, order, axis)


def _permuted_numbers(words: Any, length: int, how: How) -> Any:
    return shuffled(words, fnp.arange(length), 0, how)


def _length(name: str, argument: str, x: Any) -> int:
    """Return the number that stands for the integers below it."""
    type_ = type_of(x)
    if type_.dtype.kind not in "iu":
        raise TypeError(
            f"random.{name}: {argument} is an array with an axis or an integer, not {type_}"
        )
    return operator.index(x)


@public
def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """Return the elements of an array in a random order.

    Parameters
    ----------
    x
        The array, or an integer, which stands for the integers from 0 on below it.
    axis
        The axis along which they are moved.
    independent
        Whether each vector along the axis has an order of its own, or all the same.

    Returns
    -------
    array
        Of the shape and dtype of the array.

    Examples
    --------
    >>> random.permutation(random.key(0), 5)
    array([0, 1, 4, 3, 2])
    """
    words = words_of("permutation", key)
    not_here("permutation", out_sharding)
    ndim = type_of(x if type(x) is Tracer else fnp.asarray(x)).ndim
    if not ndim:
        normalize_axis_index(axis, 1)
        return run(_permuted_numbers, words, (), _length("permutation", "x", x))
    number = normalize_axis_index(axis, ndim)
    return run(_permuted, words, (fnp.asarray(x),), number, bool(independent))


@public
def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: Any = None,
) -> Any:
    """Return elements of an array, chosen at random.

    Parameters
    ----------
    a
        The array, or an integer, which stands for the integers from 0 on below it.
    shape
        How many are chosen, in what shape.
    replace
        Whether an element may be chosen several times.
    p
        The probabilities of the elements, by default equal ones. Without `replace`, as many as are chosen must not be 0.
    axis
        The axis along which is chosen.
    mode
        As of `gumbel`, where `p` is given and `replace` is false.

    Returns
    -------
    array
        Of the shape of `a`, with `shape` in place of the axis.

    Raises
    ------
    ValueError
        If there are not as many elements, or not as many probabilities as elements.

    Examples
    --------
    >>> random.choice(random.key(0), 10, (3,), replace=False)
    array([0, 1, 8])
    """
    words = words_of("choice", key)
    drawn_shape = shape_of("choice", shape)
    x = a if type(a) is Tracer else fnp.asarray(a)
    axis = normalize_axis_index(axis, x.ndim) if x.ndim else 0
    length = x.shape[axis] if x.ndim else _length("choice", "a", a)
    draws = math.prod(drawn_shape)
    chosen = mode_of("choice", mode)
    if draws and length <= 0:
        raise ValueError("random.choice: there is nothing to choose from")
    if not replace and draws > length:
        raise ValueError(
            f"random.choice: {draws} of {length} elements cannot be chosen with replace=False"
        )
    if p is not None:
        p = _probabilities(p, length)
    if not draws:
        return fnp.zeros((*x.shape[:axis], *drawn_shape, *x.shape[axis + 1 :]), x.dtype)
    if p is None and not replace:  # the first of a permutation, as JAX has it
        if not x.ndim:
            return run(_permuted_numbers, words, (), length)[:draws].reshape(drawn_shape)
        whole = run(_permuted, words, (x,), axis, False)
        taken = whole[(slice(None),) * axis + (slice(draws),)]
        return taken.reshape((*x.shape[:axis], *drawn_shape, *x.shape[axis + 1 :]))
    if p is None:
        bounds = (np.asarray(0), np.asarray(length))
        places = run(integers, words, (*bounds,), drawn_shape, in_force(int))
    elif replace:
        places = run(_by_quantiles, words, (p,), drawn_shape)
    else:
        places = run(_by_gumbels, words, (p,), drawn_shape, chosen)
    return fnp.take(x, places, axis) if x.ndim else places


def _probabilities(p: Any, length: int) -> Any:
    p = p if type(p) is Tracer else fnp.asarray(p)
    if p.shape != (length,):
        raise ValueError(
            f"random.choice: p has the probabilities of {length} elements, so its shape is ({length},), not {p.shape}"
        )
    if kind_of(p.dtype) not in "biuf":
        raise TypeError(f"random.choice: probabilities are real numbers, not {type_of(p)}")
    return p if kind_of(p.dtype) == "f" else p.astype(float)


_BLOCK = 16


def _cumulative(x: Any) -> Any:
    """Return cumulative sums rounded as JAX's on a CPU: within blocks, then of the blocks' sums."""
    size = x.shape[0]
    if size <= _BLOCK:
        return fnp.cumsum(x, dtype=x.dtype)
    rows = fnp.pad(x, (0, -size % _BLOCK)).reshape(-1, _BLOCK)
    within = fnp.cumsum(rows, 1, dtype=x.dtype)
    before = fnp.concatenate([np.zeros(1, x.dtype), _cumulative(within[:, -1])[:-1]])
    return (before[:, None] + within).reshape(-1)[:size]


def _by_quantiles(words: Any, p: Any, shape: Shape, how: How) -> Any:
    total = _cumulative(p)
    u = total[-1] * (total.dtype.type(1) - unit(words, shape, total.dtype, how))
    return fnp.searchsorted(total, u).astype(_I64)


def _by_gumbels(words: Any, p: Any, shape: Shape, mode: str, how: How) -> Any:
    impossible = p == 0
    logits = fnp.where(impossible, -np.inf, fnp.log(fnp.where(impossible, 1, p))).astype(p.dtype)
    scores = gumbels(words, p.shape, p.dtype, mode, how) + logits
    return top_k(scores, math.prod(shape))[1].astype(_I64).reshape(shape)


@public
def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return numbers of categories, whose probabilities are `softmax` of some logits.

    W. Kool, H. van Hoof and M. Welling, "Stochastic beams and where to find them: the Gumbel-top-k trick for sampling
    sequences without replacement", ICML 2019.

    Parameters
    ----------
    logits
        Logarithms of probabilities, up to a constant; floating-point numbers.
    axis
        The axis of the categories.
    shape
        The shape of the result: by default that of `logits` without the axis, which it has to end in.
    replace
        Whether a category may be drawn several times for the same logits.
    mode
        As of `gumbel`.

    Returns
    -------
    array
        Of int64.

    Examples
    --------
    >>> random.categorical(random.key(0), np.log([0.1, 0.2, 0.7]), shape=(5,))
    array([2, 2, 2, 1, 1])
    """
    words = words_of("categorical", key)
    not_here("categorical", out_sharding)
    x = logits if type(logits) is Tracer else fnp.asarray(logits)
    dtype_of("categorical", x.dtype, None, FLOAT)
    number = normalize_axis_index(axis, x.ndim)
    batch = x.shape[:number] + x.shape[number + 1 :]
    drawn_shape = batch if shape is None else shape_of("categorical", shape)
    check_shape("categorical", drawn_shape, [batch])
    chosen = mode_of("categorical", mode)
    if replace:
        return run(_with_replacement, words, (x,), drawn_shape, number - x.ndim, chosen)
    draws = math.prod(drawn_shape[: len(drawn_shape) - len(batch)])
    if draws > x.shape[number]:
        raise ValueError(
            f"random.categorical: {draws} of {x.shape[number]} categories cannot be drawn with replace=False"
        )
    return run(_without_replacement, words, (x,), drawn_shape, number, draws, chosen)


def _with_replacement(words: Any, logits: Any, shape: Shape, axis: int, mode: str, how: How) -> Any:
    inner = list(shape[len(shape) - logits.ndim + 1 :])
    inner.insert(axis % logits.ndim, logits.shape[axis])
    whole = (*shape[: len(shape) - logits.ndim + 1], *inner)
    return fnp.argmax(gumbels(words, whole, logits.dtype, mode, how) + logits, axis)


def _without_replacement(
    words: Any, logits: Any, shape: Shape, axis: int, draws: int, mode: str, how: How
) -> Any:
    scores = logits + gumbels(words, logits.shape, logits.dtype, mode, how)
    places = top_k(fnp.moveaxis(scores, axis, -1), draws)[1]
    return fnp.moveaxis(places, -1, 0).reshape(shape)

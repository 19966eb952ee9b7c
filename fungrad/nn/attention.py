"""Attention: `dot_product_attention`, as `jax.nn` has it.

Shapes are spelled in letters: B batches, T queries and S keys (with their values), N heads of the queries and K of
the keys. H is the length of each vector, and G = N / K the number of query heads for each key head.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend.precision import array, computing_dtype, converted
from fungrad.extend.types import Shape, type_of
from fungrad.nn.glossary import public
from fungrad.nn.sums import logsumexp, softmax

MASKED = -0.7 * float(np.finfo(np.float32).max)
"""Score of a masked element: finite, so that softmax of a row of such scores is not NaN."""


@public
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Any = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return, for each query, the mean of the values, weighted with the `softmax` of query times key.

    Parameters
    ----------
    query
        Of shape (B, T, N, H), or (T, N, H).
    key
        Of shape (B, S, K, H), or (S, K, H). If K is less than N, each head of the keys serves N / K heads of the
        queries.
    value
        Of the shape and the dtype of `key`.
    bias
        What is added to the scores, of four axes that broadcast to (B, N, T, S), or of three.
    mask
        Booleans that broadcast to (B, N, T, S): which keys a query sees. One that sees none gets the mean of all values.
    scale
        What scores are multiplied by, ``1 / sqrt(H)`` by default.
    is_causal
        Whether a query sees only the keys up to its own place.
    query_seq_lengths, key_value_seq_lengths
        Integers of shape (B,): how many of the queries, and of the keys, there are; what comes after is padding. The
        result is 0 for queries that are padding.
    local_window_size
        How many keys before and after its own place a query sees; one number for both, or two.
    implementation
        None or "xla", which are the same.
    return_residual
        Whether to return the logarithms of the sums of exponentials too, of shape (B, T, N). They have no derivative.

    Returns
    -------
    array, or two
        Of the shape and the dtype of `query`. Computations with float16 and bfloat16 are done in float32.

    Raises
    ------
    ValueError
        If shapes or dtypes do not fit.

    Examples
    --------
    >>> query, key, value = np.zeros((1, 2, 1, 3)), np.zeros((1, 2, 1, 3)), np.arange(6.0).reshape(1, 2, 1, 3)
    >>> nn.dot_product_attention(query, key, value, is_causal=True).reshape(2, 3)
    array([[0. , 1. , 2. ],
           [1.5, 2.5, 3.5]])

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762; J. Ainslie et al., "GQA: Training
    Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", 2023, arXiv:2305.13245.
    """
    if implementation not in (None, "xla"):
        raise ValueError(
            f"nn.dot_product_attention: there is no implementation {implementation!r}; leave it out"
        )
    shape = type_of(array(query)).shape
    q, k, v = (_four_axes(x) for x in (query, key, value))
    B, T, N, H = type_of(q).shape
    S, K = type_of(k).shape[1:3]
    _check(type_of(q).shape, type_of(k).shape, {"query": q, "key": k, "value": v})
    masks = [
        *_mask(mask, (B, N, T, S)),
        *_visible(T, S, is_causal, local_window_size),
        *_not_padding(T, S, B, query_seq_lengths, key_value_seq_lengths),
    ]
    dtype, wide = type_of(k).dtype, computing_dtype(type_of(k).dtype)
    q, k, v = (converted(x, wide) for x in (q, k, v))
    scores = _by_head(q, K) @ fnp.transpose(k, (0, 2, 3, 1))
    scores = fnp.reshape(scores, (B, N, T, S)) * (1.0 / math.sqrt(H) if scale is None else scale)
    if bias is not None:
        scores = scores + _fitting("bias", bias, (B, N, T, S))
    scores = converted(scores, wide)
    if masks:
        scores = fnp.where(functools.reduce(operator.and_, masks), scores, MASKED)
    weights = fnp.reshape(softmax(scores), (B, K, N // K * T, S))
    out = fnp.reshape(weights @ fnp.transpose(v, (0, 2, 1, 3)), (B, N, T, H))
    out = fnp.transpose(out, (0, 2, 1, 3))
    if query_seq_lengths is not None:
        out = fnp.where(_up_to(query_seq_lengths, T)[:, :, None, None], out, 0.0)
    out = fnp.reshape(converted(out, dtype), shape)
    if not return_residual:
        return out
    sums = fnp.transpose(logsumexp(scores, axis=-1), (0, 2, 1))
    return out, lax.stop_gradient(fnp.reshape(converted(sums, dtype), shape[:-1]))


def _by_head(q: Any, heads: int) -> Any:
    """Return queries as (B, K, G T, H): for each head of the keys all queries it serves."""
    B, T, N, H = type_of(q).shape
    return fnp.reshape(fnp.transpose(q, (0, 2, 1, 3)), (B, heads, N // heads * T, H))


def _four_axes(x: Any) -> Any:
    x = array(x)
    ndim = len(type_of(x).shape)
    return fnp.reshape(x, (1,) * (4 - ndim) + type_of(x).shape) if ndim < 4 else x


def _check(query: Shape, key: Shape, given: dict[str, Any]) -> None:
    """Raise ValueError unless the shapes and dtypes of queries, keys and values fit."""
    dtype = type_of(given["key"]).dtype
    for name, x in given.items():
        if len(type_of(x).shape) != 4:
            raise ValueError(
                f"nn.dot_product_attention: {name} must have three axes or four; its shape is {type_of(x).shape}"
            )
        if type_of(x).dtype != dtype:
            raise ValueError(
                f"nn.dot_product_attention: {name} is of dtype {type_of(x).dtype}, but key is of {dtype}"
            )
    if type_of(given["value"]).shape != key:
        raise ValueError(
            f"nn.dot_product_attention: value has the shape {type_of(given['value']).shape}, but key has {key}"
        )
    if (query[0], query[3]) != (key[0], key[3]):
        raise ValueError(
            f"nn.dot_product_attention: queries of shape {query} and keys of shape {key} differ in batches or in "
            "the length of vectors"
        )
    if key[2] == 0 or query[2] % key[2]:
        raise ValueError(
            f"nn.dot_product_attention: {query[2]} heads of queries cannot be shared out among {key[2]} of keys"
        )


def _fitting(name: str, x: Any, shape: Shape) -> Any:
    """Return an array with four axes, each of the length in `shape` or 1."""
    x = _four_axes(x)
    given = type_of(x).shape
    if len(given) != 4 or any(n not in (1, m) for n, m in zip(given, shape, strict=True)):
        raise ValueError(
            f"nn.dot_product_attention: {name} of shape {given} does not broadcast to {shape}"
        )
    return x


def _mask(mask: Any, shape: Shape) -> tuple[Any, ...]:
    if mask is None:
        return ()
    mask = _fitting("mask", mask, shape)
    if type_of(mask).dtype != np.bool_:
        raise ValueError(
            f"nn.dot_product_attention: mask is of booleans, got {type_of(mask).dtype}; what is to be added to "
            "the scores is the bias"
        )
    return (mask,)


def _visible(T: int, S: int, is_causal: bool, window: Any) -> tuple[Any, ...]:
    """Return which keys each query sees by their places, as (T, S)."""
    if not is_causal and window is None:
        return ()
    ahead = np.arange(S) - np.arange(T)[:, None]  # how far a key is after the query's place
    seen = np.ones((T, S), bool)
    if is_causal:
        seen &= ahead <= 0
    if window is not None:
        before, after = (window, window) if isinstance(window, int | np.integer) else window
        seen &= (-before <= ahead) & (ahead <= after)
    return (seen,)


def _not_padding(T: int, S: int, B: int, queries: Any, keys: Any) -> tuple[Any, ...]:
    """Return which queries and keys are there, as arrays that broadcast to (B, N, T, S)."""
    for name, x in (("query_seq_lengths", queries), ("key_value_seq_lengths", keys)):
        if x is not None and type_of(array(x)).shape != (B,):
            raise ValueError(
                f"nn.dot_product_attention: {name} has one number for each batch, shape {(B,)}, got "
                f"{type_of(array(x)).shape}"
            )
    of_queries = () if queries is None else (_up_to(queries, T)[:, None, :, None],)
    of_keys = () if keys is None else (_up_to(keys, S)[:, None, None, :],)
    return of_queries + of_keys


def _up_to(lengths: Any, n: int) -> Any:
    """Return (B, n) booleans: which places are before the length of their row."""
    return np.arange(n) < fnp.expand_dims(array(lengths), 1)

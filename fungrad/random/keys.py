"""Keys: the sources of random numbers.

A typed key is an element of a NumPy array whose dtype says which generator it is for (`fungrad.core.types.KEYS`). So keys are
indexed, reshaped, stacked, stored and carried by loops like numbers, and cannot be mistaken for any. A raw key is its words,
an array of uint32; it is what `PRNGKey` makes, and what samplers compute with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.core.types import KEYS, Shape, is_key, kind_of, type_of
from fungrad.primitives.bits import reinterpret
from fungrad.random import generators
from fungrad.random.dtypes import DType, dtype_of, not_here, shape_of
from fungrad.random.glossary import public, public_like
from fungrad.random.programs import Words, run
from fungrad.random.reuse import note_made, note_use

_U32 = np.dtype(np.uint32)
DEFAULT = "threefry2x32"

_ABSENT = ("philox2x32", "philox4x32", "threefry4x32")
"""Generators of JAX that are not here."""


def generator_of(impl: Any, dtype: Any = None) -> str:
    """Return the generator chosen by one of two arguments of JAX."""
    if impl is not None and dtype is not None:
        raise ValueError("random: give impl or dtype, not both")
    chosen = DEFAULT if impl is None and dtype is None else impl if dtype is None else dtype
    if isinstance(chosen, np.dtype) and is_key(chosen):
        return str(chosen.names[0])  # type: ignore[index]
    if not isinstance(chosen, str):
        raise TypeError(
            f"random: a generator is given by its name, such as {DEFAULT!r}, not {chosen!r}"
        )
    if chosen not in KEYS:
        known = ", ".join(map(repr, KEYS))
        more = (
            "is one of JAX's options that is not here" if chosen in _ABSENT else "is no generator"
        )
        raise ValueError(f"random: {chosen!r} {more}; there are {known}")
    return chosen


def words_of(name: str, key: Any, several: bool = False, uses: bool = True) -> Words:
    """Return the words of a key, typed or raw, along the last axis of a uint32 array; note its use.

    Raises
    ------
    TypeError
        If it is no key.
    ValueError
        If there are several, unless that is allowed.
    """
    dtype = getattr(key, "dtype", None)
    if dtype is not None and is_key(dtype):
        words = Words(reinterpret(key, _U32), str(dtype.names[0]))
    else:
        words = Words(_raw(name, key, dtype, DEFAULT), DEFAULT)
    if not several and words.array.ndim != 1:
        raise ValueError(
            f"random.{name} takes one key, and was given an array of keys of shape {words.array.shape[:-1]}: map it over "
            f"them, fungrad.vmap(lambda key: random.{name}(key, ...))(keys)"
        )
    if uses and not several:
        note_use(name, key)
    return words


def asked_for(
    name: str, key: Any, dtype: Any, default: Any, kinds: str, out_sharding: Any = None
) -> tuple[Words, DType]:
    """Return the words of a sampler's key, and the dtype of its numbers, of one of some kinds."""
    not_here(name, out_sharding)
    return words_of(name, key), dtype_of(name, dtype, default, kinds)


def _raw(name: str, key: Any, dtype: Any, generator: str) -> Any:
    if type(key) is list and dtype is None:
        raise TypeError(
            f"random.{name}: a list is no key; write numpy.array({key!r}, numpy.uint32)"
        )
    shape: Shape = getattr(key, "shape", ())
    length = KEYS[generator].itemsize // _U32.itemsize
    if dtype != _U32 or shape[-1:] != (length,):
        given = type_of(key) if dtype is not None and kind_of(dtype) in "biufc" else repr(key)
        raise TypeError(
            f"random.{name} takes a key, as random.key(0) makes it, or the words of one of {generator}, an array of uint32 "
            f"of shape ({length},); got {given}"
        )
    return key


def as_given(key: Any, words: Any) -> Any:
    """Return words of new keys as keys like `key`: typed, if it is."""
    dtype = key.dtype
    return note_made(reinterpret(words, dtype)) if is_key(dtype) else words


def _seed_words(name: str, seed: Any, generator: str) -> Any:
    if type(seed) is int:
        try:
            seed = np.asarray(seed, np.int64)
        except OverflowError:
            raise OverflowError(
                f"random.{name}: the seed {seed} has more than 64 bits; take it modulo 2**64"
            ) from None
    dtype = getattr(seed, "dtype", None)
    if dtype is not None and is_key(dtype):
        raise TypeError(f"random.{name} takes an integer, and was given a key")
    type_ = type_of(seed)
    if type_.dtype.kind not in "iu":
        raise TypeError(f"random.{name}: a seed is an integer, not {type_}")
    if type_.shape:
        raise TypeError(
            f"random.{name} takes one seed, and was given an array of shape {type_.shape}: fungrad.vmap(random.{name}) "
            "takes several"
        )
    return run(generators.seeded, Words(seed, generator), ())


@public
def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Return the key that an integer is the seed of.

    Parameters
    ----------
    seed
        An integer of up to 64 bits; it may be traced.
    dtype
        In place of `impl`: the dtype of the key, as `key_dtype` returns it.

    Returns
    -------
    key
        An array without axes.

    Raises
    ------
    TypeError
        If the seed is no integer.

    Examples
    --------
    >>> random.uniform(random.key(0))
    np.float64(0.418457111716)
    """
    generator = generator_of(impl, dtype)
    return note_made(reinterpret(_seed_words("key", seed, generator), KEYS[generator]))


@public_like(key)
def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Return a raw key of two 32-bit words: the result of `key`, as plain numbers.

    Returns
    -------
    array
        Of dtype uint32 and shape (2,).

    Examples
    --------
    >>> random.PRNGKey(42)
    array([ 0, 42], dtype=uint32)
    """
    return _seed_words("PRNGKey", seed, generator_of(impl))


@public
def key_dtype(impl: Any = None) -> DType:
    """Return the dtype of keys of a generator.

    Returns
    -------
    numpy.dtype
        Of which elements are keys.

    Examples
    --------
    >>> random.key_dtype() == random.key(0).dtype
    True
    """
    return KEYS[generator_of(impl)]


@public
def key_impl(keys: Any) -> str:
    """Return the name of the generator that keys are for.

    Returns
    -------
    str
        What `key` takes as `impl`.

    Examples
    --------
    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    return words_of("key_impl", keys, True).generator


@public
def key_data(keys: Any) -> Any:
    """Return the words that keys are.

    Returns
    -------
    array
        Of dtype uint32, with an axis of words at the end.

    Examples
    --------
    >>> random.key_data(random.key(42))
    array([ 0, 42], dtype=uint32)
    """
    words = words_of("key_data", keys, True).array
    return words if type(words) is Tracer else words.copy()


@public
def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Return the keys that words are: the inverse of `key_data`.

    Parameters
    ----------
    key_bits_array
        An array of uint32 whose last axis are the words of a key.
    dtype
        In place of `impl`: the dtype of the keys, as `key_dtype` returns it.

    Returns
    -------
    keys
        An array of keys, without the last axis.

    Raises
    ------
    TypeError
        If the array has another dtype or last axis.

    Examples
    --------
    >>> key = random.wrap_key_data(np.array([0, 42], np.uint32))
    >>> bool(key == random.key(42))
    True
    """
    name = generator_of(impl, dtype)
    dtype = getattr(key_bits_array, "dtype", None)
    words = _raw("wrap_key_data", key_bits_array, dtype, name)
    return note_made(reinterpret(words if type(words) is Tracer else words.copy(), KEYS[name]))


@public
def split(key: Any, num: Any = 2) -> Any:
    """Return new keys that come of one, which should then be used for nothing else.

    Parameters
    ----------
    num
        How many, or the shape of the array of them.

    Returns
    -------
    keys
        An array of keys, typed if `key` is.

    Raises
    ------
    TypeError
        If `key` is none, or `num` no integer.

    Examples
    --------
    >>> key, other = random.split(random.key(0))
    >>> random.split(key, 3).shape
    (3,)
    """
    words = words_of("split", key)
    shape: Shape = shape_of("split", num if isinstance(num, Iterable) else (num,))
    return as_given(key, run(generators.split, words, (), shape))


@public
def fold_in(key: Any, data: Any) -> Any:
    """Return the key that comes of a key and a number, such as that of a step.

    Parameters
    ----------
    data
        An integer, of which 32 bits count; it may be traced.

    Returns
    -------
    key
        Typed if `key` is.

    Raises
    ------
    TypeError
        If `key` is none, or `data` no integer.

    Examples
    --------
    >>> key = random.key(0)
    >>> bool(random.fold_in(key, 1) == random.fold_in(key, 2))
    False
    """
    words = words_of("fold_in", key, uses=False)
    type_ = type_of(data)
    if type_.dtype.kind not in "biu" or type_.shape:
        raise TypeError(f"random.fold_in: data is one integer, not {type_}")
    if type(data) is int:
        data = np.uint32(data % (1 << 32)) if abs(data) < (1 << 63) else np.asarray(data, np.int64)
    low = fnp.asarray(data).astype(_U32)
    return as_given(key, run(generators.fold_in, words, (low,)))


@public
def clone(key: Any) -> Any:
    """Return a key for a second use where keys must not be reused (`fungrad.settings.debug_key_reuse`).

    Returns
    -------
    key
        The same key.

    Examples
    --------
    >>> key = random.key(0)
    >>> bool(random.clone(key) == key)
    True
    """
    words_of("clone", key, True)
    return note_made(key, cloned=True)

"""Layers without state: `dropout`, `embedding`.

>>> import numpy as np
>>> from fungrad import nn
>>> nn.embedding(np.array([2, 0]), np.arange(6.0).reshape(3, 2))
array([[4., 5.],
       [0., 1.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.lib.array_utils import normalize_axis_tuple

import fungrad.numpy as fnp
from fungrad import Tracer, random
from fungrad.extend.precision import array, computed, computing_dtype, converted, floating_dtype
from fungrad.extend.types import Shape, kind_of, type_of
from fungrad.nn.glossary import public


@public
def dropout(
    key: Any, x: Any, rate: Any, *, broadcast_axes: Sequence[int] = (), training: bool = True
) -> Any:
    """Return an array with some elements set to 0, and the others divided by the part that is kept.

    With the same key, what is kept is what flax's `Dropout` keeps.

    Parameters
    ----------
    key
        A key of `fungrad.random`; None will do where nothing is drawn.
    rate
        The probability that an element becomes 0, as in flax and PyTorch (`fungrad.example_libraries.stax` takes the
        other one).
    broadcast_axes
        Axes along which all elements become 0 or none: the spatial ones, to drop whole channels.
    training
        Whether to do so at all; False returns `x`.

    Raises
    ------
    ValueError
        If `rate` is not in [0, 1].
    TypeError
        If there is no key.

    Examples
    --------
    >>> nn.dropout(random.key(0), np.ones(4), 0.5)
    array([2., 2., 0., 0.])

    References
    ----------
    N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014.
    """
    if not isinstance(rate, Tracer) and not 0 <= rate <= 1:
        raise ValueError(f"nn.dropout: rate is a probability, in [0, 1], got {rate!r}")
    x = array(x)
    if not training:
        return x
    if key is None:
        raise TypeError(
            "nn.dropout: training draws random numbers; give a key, such as random.key(0)"
        )
    shape = type_of(x).shape
    axes = normalize_axis_tuple(broadcast_axes, len(shape), "nn.dropout")
    return kept(key, x, 1.0 - rate, tuple(1 if i in axes else n for i, n in enumerate(shape)))


def kept(key: Any, x: Any, probability: Any, shape: Shape | None = None) -> Any:
    """Return each element divided by the probability that it is kept, or 0."""
    keep = random.bernoulli(key, probability, type_of(x).shape if shape is None else shape)
    # Where nothing is kept nothing is divided by 0, in derivatives neither.
    divisor = probability + (probability == 0)
    divisor = converted(divisor, computing_dtype(floating_dtype(x)))  # which decides no dtype
    return computed(lambda x: fnp.where(keep, x / divisor, 0.0), x)


@public
def embedding(x: Any, table: Any) -> Any:
    """Return the rows of a table that integers name.

    Parameters
    ----------
    x
        Integers. Negative ones count from the end, as everywhere in NumPy; PyTorch refuses these.
    table
        An array whose first axis is that of the rows; of any dtype.

    Returns
    -------
    array
        Of the shape of `x`, followed by that of a row.

    Raises
    ------
    TypeError
        If `x` has other numbers than integers.
    ValueError
        If `table` has no axis.
    IndexError
        If there is no such row.

    Examples
    --------
    >>> nn.embedding(np.array([2, 0]), np.arange(6.0).reshape(3, 2))
    array([[4., 5.],
           [0., 1.]])
    """
    x, table = array(x), array(table)
    if kind_of(type_of(x).dtype) not in "iu":
        raise TypeError(f"nn.embedding: rows are named by integers, got {type_of(x)}")
    if not type_of(table).shape:
        raise ValueError("nn.embedding: table has rows, got an array of shape ()")
    return fnp.take(table, x, axis=0)

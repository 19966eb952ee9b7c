"""Recurrent cells, `lstm_cell` and `gru_cell`, and their layers over sequences: `lstm` and `gru`.

A cell is a function ``cell(params, carry, x)`` that returns the next carry and an output, so that
``functools.partial(cell, params)`` is a step for `fungrad.lax.scan`.

Shapes are spelled in letters: I inputs and H hidden units. Weights are multiplied from the right, ``x @ w``: PyTorch's
are their transposes, with gates in the same order.

Design: docs/design/31-lax-and-networks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend.precision import array, converted, widened
from fungrad.extend.types import type_of
from fungrad.lax import logistic
from fungrad.nn.glossary import public, public_like

Step = Callable[[Sequence[Any], Sequence[Any], Any], tuple[Any, ...]]
"""Signature: parameters of the hidden state, the carry and the inputs' products to the next carry."""


def _lstm_step(params: Sequence[Any], carry: Sequence[Any], inputs: Any) -> tuple[Any, ...]:
    (w_h,), (h, c) = params, carry
    i, f, g, o = fnp.split(inputs + h @ w_h, 4, axis=-1)
    c = logistic(f) * c + logistic(i) * fnp.tanh(g)
    return logistic(o) * fnp.tanh(c), c


def _gru_step(params: Sequence[Any], carry: Sequence[Any], inputs: Any) -> tuple[Any, ...]:
    (w_h, b_n), (h,) = params, carry
    x_r, x_z, x_n = fnp.split(inputs, 3, axis=-1)
    h_r, h_z, h_n = fnp.split(h @ w_h, 3, axis=-1)
    z = logistic(x_z + h_z)
    n = fnp.tanh(x_n + logistic(x_r + h_r) * (h_n + b_n))
    return ((1 - z) * n + z * h,)


class _Cell(NamedTuple):
    step: Step
    gates: int
    parameters: int
    states: int


_LSTM, _GRU = _Cell(_lstm_step, 4, 3, 2), _Cell(_gru_step, 3, 4, 1)


def _prepared(
    name: str,
    cell: _Cell,
    params: Sequence[Any],
    carry: Sequence[Any] | None,
    x: Any,
    time: Sequence[int] = (),
) -> tuple[np.dtype[Any], list[Any], list[Any], Any]:
    """Return the results' dtype and, wide, the hidden state's parameters, the carry, the inputs' products."""
    dtype, (x, *rest) = widened(x, *params, *(carry or ()))
    arrays, states = rest[: len(params)], rest[len(params) :]
    shapes, shape = [type_of(p).shape for p in arrays], type_of(x).shape
    hidden = shapes[1][0] if shapes[1:] and shapes[1] else 0
    wide = cell.gates * hidden
    expected = [(*shape[-1:], wide), (hidden, wide), (wide,), (hidden,)][: cell.parameters]
    if not shape or shapes != expected:
        raise ValueError(
            f"nn.{name}: for x of shape {shape} and {hidden} hidden units, parameters are of shapes {expected}; "
            f"got {shapes}"
        )
    of_state = (*[n for i, n in enumerate(shape[:-1]) if i not in time], hidden)
    if carry is None:
        states = [fnp.zeros_like(x, shape=of_state)] * cell.states
    if any(type_of(s).shape != of_state for s in states):
        raise ValueError(
            f"nn.{name}: states are of shape {of_state}, got {[type_of(s).shape for s in states]}"
        )
    w_x, w_h, b, *b_n = arrays
    return dtype, [w_h, *b_n], states, x @ w_x + b


def _next(
    name: str, cell: _Cell, params: Sequence[Any], carry: Sequence[Any], x: Any
) -> tuple[Any, ...]:
    dtype, hidden_params, states, inputs = _prepared(name, cell, params, carry, x)
    return tuple(converted(s, dtype) for s in cell.step(hidden_params, states, inputs))


@public
def lstm_cell(params: Any, carry: Any, x: Any) -> tuple[Any, Any]:
    """Return the next state of a cell of long short-term memory, and its output, the hidden state.

    Parameters
    ----------
    params
        ``(w_x, w_h, b)`` of shapes (I, 4 H), (H, 4 H) and (4 H,). The gates are in PyTorch's and flax's order: input,
        forget, cell (g), output. (PyTorch's two biases are to be added up.)
    carry
        ``(h, c)``, the hidden and the cell state, of shape (..., H) each, as in PyTorch; in flax it is (c, h).

    Returns
    -------
    (h, c), h
        The next state and the output.

    Examples
    --------
    >>> params = np.ones((3, 8)), np.ones((2, 8)), np.zeros(8)
    >>> (h, c), y = nn.lstm_cell(params, (np.zeros((5, 2)), np.zeros((5, 2))), np.ones((5, 3)))
    >>> h.shape, c.shape, y is h
    ((5, 2), (5, 2), True)

    References
    ----------
    S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", 1997; the forget gate is of F. Gers et al., "Learning to
    Forget", 2000.
    """
    h, c = carry
    h, c = _next("lstm_cell", _LSTM, params, (h, c), x)
    return (h, c), h


@public
def gru_cell(params: Any, carry: Any, x: Any) -> tuple[Any, Any]:
    """Return the next state of a gated recurrent unit, and its output, which is the same.

    Parameters
    ----------
    params
        ``(w_x, w_h, b, b_n)`` of shapes (I, 3 H), (H, 3 H), (3 H,) and (H,). The gates are in PyTorch's and flax's
        order: reset, update (z), new. `b` is the bias of the inputs, `b_n` that of the hidden state in the new gate,
        which is multiplied by the reset gate. (Of PyTorch's `bias_hh` the other two parts are to be added to `b`.)
    carry
        The hidden state, of shape (..., H).

    Returns
    -------
    h, h
        The next state, and once more as the output.

    Examples
    --------
    >>> params = np.ones((3, 6)), np.ones((2, 6)), np.zeros(6), np.zeros(2)
    >>> h, y = nn.gru_cell(params, np.zeros((5, 2)), np.ones((5, 3)))
    >>> h.shape, y is h
    ((5, 2), True)

    References
    ----------
    K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
    2014, arXiv:1406.1078; the reset gate after the product is that of cuDNN, and `z` keeps the old state.
    """
    (h,) = _next("gru_cell", _GRU, params, (carry,), x)
    return h, h


def _sequence(
    name: str, cell: _Cell, params: Any, xs: Any, carry: Any, axis: int, reverse: bool
) -> tuple[tuple[Any, ...], Any]:
    """Return the last carry and the outputs, by one product of all inputs with their weights, and a loop."""
    xs = array(xs)
    ndim = type_of(xs).ndim
    if not -ndim <= axis < ndim or axis % ndim == ndim - 1:
        raise ValueError(
            f"nn.{name}: axis {axis} of {ndim} is not that of time; the last has the inputs"
        )
    axis %= ndim
    dtype, hidden_params, states, inputs = _prepared(name, cell, params, carry, xs, (axis,))

    def body(carry: tuple[Any, ...], x: Any) -> tuple[tuple[Any, ...], Any]:
        carry = cell.step(hidden_params, carry, x)
        return carry, carry[0]

    last, ys = lax.scan(body, tuple(states), fnp.moveaxis(inputs, axis, 0), reverse=reverse)
    return tuple(converted(s, dtype) for s in last), converted(fnp.moveaxis(ys, 0, axis), dtype)


@public
def lstm(
    params: Any, xs: Any, carry: Any = None, *, axis: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """Return the last state of an LSTM that has gone along a sequence, and its outputs.

    Parameters
    ----------
    params
        As of `lstm_cell`.
    xs
        The inputs, of shape (..., I).
    carry
        The first state ``(h, c)``, of the shape of an element of `xs` with H in place of I; zeros by default.
    axis
        The axis of time, which is not the last: 0, or 1 where PyTorch's `batch_first` would be true.
    reverse
        Whether to begin at the end.

    Returns
    -------
    (h, c), array
        The last state; the outputs, of shape (..., H). States between steps are float32 at least.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> params = np.ones((3, 8)), np.ones((2, 8)), np.zeros(8)
    >>> (h, c), ys = nn.lstm(params, np.ones((7, 5, 3)))
    >>> h.shape, ys.shape
    ((5, 2), (7, 5, 2))
    """
    (h, c), ys = _sequence("lstm", _LSTM, params, xs, carry, axis, reverse)
    return (h, c), ys


@public_like(lstm)
def gru(
    params: Any, xs: Any, carry: Any = None, *, axis: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """Return the last state of gated recurrent units that have gone along a sequence, and their outputs.

    Parameters
    ----------
    params
        As of `gru_cell`.
    carry
        The first state, of the shape of an element of `xs` with H in place of I; zeros by default.

    Returns
    -------
    h, array
        The last state; the outputs, of shape (..., H). States between steps are float32 at least.

    Examples
    --------
    >>> params = np.ones((3, 6)), np.ones((2, 6)), np.zeros(6), np.zeros(2)
    >>> h, ys = nn.gru(params, np.ones((7, 5, 3)))
    >>> h.shape, ys.shape
    ((5, 2), (7, 5, 2))
    """
    states = None if carry is None else (carry,)
    (h,), ys = _sequence("gru", _GRU, params, xs, states, axis, reverse)
    return h, ys

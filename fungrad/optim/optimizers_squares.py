"""Optimizers that keep squares alone: Adagrad, RMSProp, Adafactor and relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fungrad.optim.accumulation import ema
from fungrad.optim.adaptive_squares import (
    scale_by_adadelta,
    scale_by_novograd,
    scale_by_rms,
    scale_by_rss,
    scale_by_sm3,
    scale_by_stddev,
)
from fungrad.optim.base import GradientTransformation, Number, ScalarOrSchedule
from fungrad.optim.clipping import clip_by_block_rms
from fungrad.optim.combining import chain
from fungrad.optim.factored import scale_by_factored_rms
from fungrad.optim.glossary import public, public_like
from fungrad.optim.masking import MaskOrFn
from fungrad.optim.optimizers import Optimizer
from fungrad.optim.optimizers_simple import momentum_or_nothing
from fungrad.optim.scaling import (
    add_decayed_weights,
    scale,
    scale_by_learning_rate,
    scale_by_param_block_rms,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


@public_like(scale_by_adadelta)
def adadelta(
    learning_rate: ScalarOrSchedule | None = None,
    rho: Number = 0.9,
    eps: Number = 1e-06,
    weight_decay: ScalarOrSchedule = 0.0,
    weight_decay_mask: MaskOrFn | None = None,
) -> Optimizer:
    """Adadelta (M. Zeiler, 2012).

    Examples
    --------
    >>> tx = optim.adadelta(0.5)
    >>> params = np.zeros(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0].shape
    (2,)
    """
    return chain(
        add_decayed_weights(weight_decay, weight_decay_mask),
        scale_by_adadelta(rho, eps),
        scale_by_learning_rate(learning_rate),
    )


@public_like(scale_by_rss)
def adagrad(
    learning_rate: ScalarOrSchedule, initial_accumulator_value: Number = 0.1, eps: Number = 1e-07
) -> Optimizer:
    """Adagrad (J. Duchi et al., 2011).

    Parameters
    ----------
    initial_accumulator_value
        What the sums of squares begin with.

    Examples
    --------
    >>> tx = optim.adagrad(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].shape
    (2,)
    """
    first = scale_by_rss(initial_accumulator_value, eps)
    return chain(first, scale_by_learning_rate(learning_rate))


@public
def rmsprop(
    learning_rate: ScalarOrSchedule,
    decay: Number = 0.9,
    eps: Number = 1e-08,
    initial_scale: Number = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: Number | None = None,
    nesterov: bool = False,
    bias_correction: bool = False,
) -> Optimizer:
    """RMSProp (T. Tieleman and G. Hinton, 2012).

    Parameters
    ----------
    centered
        Whether to divide by the standard deviation.

    Examples
    --------
    >>> tx = optim.rmsprop(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].shape
    (2,)
    """
    by = scale_by_stddev if centered else scale_by_rms
    first = by(decay, eps, initial_scale, eps_in_sqrt, bias_correction)
    last = momentum_or_nothing(momentum, nesterov)
    return chain(first, scale_by_learning_rate(learning_rate), last)


@public_like(scale_by_factored_rms)
def adafactor(
    learning_rate: ScalarOrSchedule | None = None,
    min_dim_size_to_factor: int = 128,
    decay_rate: Number = 0.8,
    decay_offset: int = 0,
    multiply_by_parameter_scale: bool = True,
    clipping_threshold: Number | None = 1.0,
    momentum: Number | None = None,
    dtype_momentum: DTypeLike | None = np.float32,
    weight_decay_rate: ScalarOrSchedule | None = None,
    eps: Number = 1e-30,
    factored: bool = True,
    weight_decay_mask: MaskOrFn | None = None,
) -> Optimizer:
    """Adafactor, which keeps means of rows and columns alone (N. Shazeer and M. Stern, 2018).

    Parameters
    ----------
    decay_offset
        The number of the first step.
    multiply_by_parameter_scale
        Whether steps are in proportion to the parameters.
    clipping_threshold
        The largest root of the mean of squares of an array of updates; None for no bound.
    dtype_momentum
        The dtype of the momentum.
    weight_decay_rate
        How much of the parameters is subtracted in each step.
    eps
        Added to the squares.

    Examples
    --------
    >>> tx = optim.adafactor(0.5)
    >>> params = np.ones(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.5, -0.5])
    """
    parts: list[GradientTransformation] = [
        scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)
    ]
    if clipping_threshold is not None:
        parts.append(clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        parts.append(scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        parts.append(scale_by_param_block_rms())
    if momentum is not None:
        parts.append(ema(momentum, debias=False, accumulator_dtype=dtype_momentum))
    if weight_decay_rate is not None:
        parts.append(add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*parts, scale(-1))


@public
def sm3(learning_rate: Number, momentum: Number = 0.9) -> Optimizer:
    """SM3 (R. Anil et al., 2019).

    Examples
    --------
    >>> tx = optim.sm3(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].shape
    (2,)
    """
    return chain(scale_by_sm3(momentum), scale(-learning_rate))


@public
def novograd(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.25,
    eps: Number = 1e-06,
    eps_root: Number = 0.0,
    weight_decay: Number = 0.0,
) -> Optimizer:
    """NovoGrad (B. Ginsburg et al., 2019).

    Examples
    --------
    >>> tx = optim.novograd(0.5)
    >>> params = np.ones(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0].shape
    (2,)
    """
    first = scale_by_novograd(b1, b2, eps, eps_root, weight_decay)
    return chain(first, scale_by_learning_rate(learning_rate))

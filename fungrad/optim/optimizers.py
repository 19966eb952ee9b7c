"""Optimizers that are more than a row: chains of their own, in which steps follow other rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.optim.accumulation import ema, trace
from fungrad.optim.adaptive import scale_by_adam
from fungrad.optim.adaptive_squares import (
    scale_by_adadelta,
    scale_by_rms,
    scale_by_sm3,
    scale_by_stddev,
)
from fungrad.optim.base import GradientTransformation, Number, ScalarOrSchedule, identity
from fungrad.optim.clipping import clip_by_block_rms
from fungrad.optim.combining import chain
from fungrad.optim.factored import scale_by_factored_rms
from fungrad.optim.glossary import public, public_like
from fungrad.optim.masking import MaskOrFn, masked
from fungrad.optim.rows import Optimizer
from fungrad.optim.scaling import (
    add_decayed_weights,
    scale,
    scale_by_learning_rate,
    scale_by_param_block_rms,
    scale_by_polyak,
    scale_by_trust_ratio,
)
from fungrad.optim.signs import scale_by_optimistic_gradient, scale_by_rprop, scale_by_sign

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def _momentum_or_nothing(
    momentum: Any, nesterov: bool, dtype: Any = None
) -> GradientTransformation:
    """Return the momentum that is asked for."""
    return identity() if momentum is None else trace(momentum, nesterov, dtype)


@public
def sgd(
    learning_rate: ScalarOrSchedule,
    momentum: Number | None = None,
    nesterov: bool = False,
    accumulator_dtype: DTypeLike | None = None,
) -> Optimizer:
    """Descend along gradients, with momentum if that is given.

    Examples
    --------
    >>> tx = optim.sgd(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    first = _momentum_or_nothing(momentum, nesterov, accumulator_dtype)
    return chain(first, scale_by_learning_rate(learning_rate))


@public
def signum(
    learning_rate: ScalarOrSchedule, beta: Number = 0.9, accumulator_dtype: DTypeLike | None = None
) -> Optimizer:
    """Descend by the signs of the running mean of gradients (J. Bernstein et al., 2018).

    Parameters
    ----------
    beta
        How much of the mean is kept in each step.

    Examples
    --------
    >>> tx = optim.signum(0.5)
    >>> tx.update(np.array([3.0, -0.1]), tx.init(np.zeros(2)))[0]
    array([-0.5,  0.5])
    """
    mean = ema(beta, debias=False, accumulator_dtype=accumulator_dtype)
    return chain(mean, scale_by_sign(), scale_by_learning_rate(learning_rate))


@public_like(scale_by_rprop)
def rprop(
    learning_rate: Number,
    eta_minus: Number = 0.5,
    eta_plus: Number = 1.2,
    min_step_size: Number = 1e-06,
    max_step_size: Number = 50.0,
) -> Optimizer:
    """Rprop: signs of gradients, each element with a step of its own (M. Riedmiller and H. Braun, 1993).

    See `scale_by_rprop`: as in optax, a step is made in the call after that of its gradient.

    Examples
    --------
    >>> tx = optim.rprop(0.5)
    >>> _, state = tx.update(np.array([3.0, -0.1]), tx.init(np.zeros(2)))
    >>> tx.update(np.array([2.0, -0.1]), state)[0]
    array([-0.5,  0.5])
    """
    steps = scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size)
    return chain(steps, scale(-1.0))


@public_like(scale_by_polyak)
def polyak_sgd(
    max_learning_rate: Number = 1.0,
    scaling: Number = 1.0,
    f_min: Number = 0.0,
    eps: Number = 0.0,
    variant: str = "sps",
) -> Optimizer:
    """Descend by B. Polyak's step (1969), from the value of the loss (N. Loizou et al., 2021).

    `update` needs the value of the loss: ``tx.update(grads, state, params, value=loss)``.

    Parameters
    ----------
    max_learning_rate
        The largest learning rate.
    scaling
        A factor of steps: a number or a schedule.
    eps
        Added to the squared norm of the gradient.
    variant
        "sps", or "sps+" for a step that is never backwards.

    Examples
    --------
    >>> tx = optim.polyak_sgd()
    >>> params = np.array([3.0, 4.0])
    >>> value, grads = fg.value_and_grad(lambda x: (x * x).sum())(params)
    >>> tx.update(grads, tx.init(params), params, value=value)[0]
    array([-1.5, -2. ])
    """
    return chain(sgd(scaling), scale_by_polyak(f_min, max_learning_rate, eps, variant))


@public
def fromage(learning_rate: ScalarOrSchedule, min_norm: Number = 1e-06) -> Optimizer:
    """Fromage: steps proportional to norms of arrays, which keep their length (J. Bernstein et al., 2020).

    Examples
    --------
    >>> tx = optim.fromage(0.5)
    >>> params = np.ones(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0].round(4)
    array([-0.5528, -0.5528])
    """

    def shrunk(rate: Any) -> Any:
        return 1 / (1 + rate**2) ** 0.5

    rate: Any
    decay: Any
    if callable(learning_rate):
        rate = lambda count: learning_rate(count) * shrunk(learning_rate(count))
        decay = lambda count: shrunk(learning_rate(count)) - 1
    else:
        rate, decay = learning_rate * shrunk(learning_rate), shrunk(learning_rate) - 1
    return chain(
        scale_by_trust_ratio(min_norm), scale_by_learning_rate(rate), add_decayed_weights(decay)
    )


@public
def optimistic_adam_v2(
    learning_rate: ScalarOrSchedule,
    *,
    alpha: Number = 1.0,
    beta: Number = 1.0,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    nesterov: bool = True,
) -> Optimizer:
    """Adam and the change of its step since the last one (C. Daskalakis et al., 2018).

    Parameters
    ----------
    alpha
        The factor of Adam's step.
    beta
        The factor of its change.

    Examples
    --------
    >>> tx = optim.optimistic_adam_v2(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].round(4)
    array([-0.7368, -0.7368])
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
        scale_by_optimistic_gradient(alpha, beta),
        scale_by_learning_rate(learning_rate),
    )


@public
def lars(
    learning_rate: ScalarOrSchedule,
    weight_decay: ScalarOrSchedule = 0.0,
    weight_decay_mask: MaskOrFn = True,
    trust_coefficient: Number = 0.001,
    eps: Number = 0.0,
    trust_ratio_mask: MaskOrFn = True,
    momentum: Number = 0.9,
    nesterov: bool = False,
) -> Optimizer:
    """LARS (Y. You et al., 2017).

    Parameters
    ----------
    trust_coefficient
        A factor of the ratio of norms.
    trust_ratio_mask
        Which parameters are scaled by the ratio.

    Examples
    --------
    >>> tx = optim.lars(0.5)
    >>> params = np.ones(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.0005, -0.0005])
    """
    ratio = scale_by_trust_ratio(trust_coefficient=trust_coefficient, eps=eps)
    return chain(
        add_decayed_weights(weight_decay, weight_decay_mask),
        masked(ratio, trust_ratio_mask),
        scale_by_learning_rate(learning_rate),
        trace(momentum, nesterov),
    )


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
    last = _momentum_or_nothing(momentum, nesterov)
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

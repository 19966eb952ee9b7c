"""Optimizers that keep no squares: of gradients, their signs, noise, and the value of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fungrad.optim.accumulation import ema, trace
from fungrad.optim.adaptive import scale_by_adam
from fungrad.optim.base import GradientTransformation, Number, ScalarOrSchedule, identity
from fungrad.optim.combining import chain
from fungrad.optim.glossary import public, public_like
from fungrad.optim.optimizers import Optimizer
from fungrad.optim.randomness import add_noise
from fungrad.optim.scaling import (
    add_decayed_weights,
    scale,
    scale_by_learning_rate,
    scale_by_polyak,
    scale_by_trust_ratio,
)
from fungrad.optim.signs import scale_by_optimistic_gradient, scale_by_rprop, scale_by_sign
from fungrad.typing import Array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def momentum_or_nothing(momentum: Any, nesterov: bool, dtype: Any = None) -> GradientTransformation:
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
    first = momentum_or_nothing(momentum, nesterov, accumulator_dtype)
    return chain(first, scale_by_learning_rate(learning_rate))


@public
def sign_sgd(learning_rate: ScalarOrSchedule) -> Optimizer:
    """Descend by the signs of gradients (J. Bernstein et al., 2018).

    Examples
    --------
    >>> tx = optim.sign_sgd(0.5)
    >>> tx.update(np.array([3.0, -0.1]), tx.init(np.zeros(2)))[0]
    array([-0.5,  0.5])
    """
    return chain(scale_by_sign(), scale_by_learning_rate(learning_rate))


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


@public_like(add_noise)
def noisy_sgd(
    learning_rate: ScalarOrSchedule, eta: Number = 0.01, gamma: Number = 0.55, key: Array | int = 0
) -> Optimizer:
    """Descend along gradients with noise that fades (A. Neelakantan et al., 2015).

    Parameters
    ----------
    eta
        The variance of the noise of the first step.
    gamma
        How fast the variance fades: it is `eta / step**gamma`.

    Examples
    --------
    >>> tx = optim.noisy_sgd(0.5, eta=1e-6)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].round(2)
    array([-0.5, -0.5])
    """
    return chain(add_noise(eta, gamma, key), scale_by_learning_rate(learning_rate))


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


@public_like(scale_by_optimistic_gradient)
def optimistic_gradient_descent(
    learning_rate: ScalarOrSchedule, alpha: Number = 1.0, beta: Number = 1.0
) -> Optimizer:
    """Descend along gradients and their changes (A. Mokhtari et al., 2020), as games need it.

    Examples
    --------
    >>> tx = optim.optimistic_gradient_descent(0.5)
    >>> _, state = tx.update(np.ones(2), tx.init(np.zeros(2)))
    >>> tx.update(3 * np.ones(2), state)[0]
    array([-2.5, -2.5])
    """
    first = scale_by_optimistic_gradient(alpha, beta)
    return chain(first, scale_by_learning_rate(learning_rate))


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

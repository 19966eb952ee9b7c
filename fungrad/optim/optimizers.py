"""Optimizers: chains of transformations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fungrad.optim.accumulation import trace
from fungrad.optim.adaptive import (
    scale_by_adam,
    scale_by_adamax,
    scale_by_adan,
    scale_by_amsgrad,
    scale_by_belief,
    scale_by_radam,
    scale_by_yogi,
)
from fungrad.optim.base import GradientTransformationExtraArgs, Number, ScalarOrSchedule
from fungrad.optim.combining import chain
from fungrad.optim.glossary import public, public_like
from fungrad.optim.masking import MaskOrFn, masked
from fungrad.optim.scaling import add_decayed_weights, scale_by_learning_rate, scale_by_trust_ratio
from fungrad.optim.signs import scale_by_lion

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Optimizer = GradientTransformationExtraArgs


@public
def adam(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    *,
    nesterov: bool = False,
) -> Optimizer:
    """Adam (D. Kingma and J. Ba, 2014).

    Examples
    --------
    >>> tx = optim.adam(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    first = scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return chain(first, scale_by_learning_rate(learning_rate))


@public
def adamw(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    weight_decay: ScalarOrSchedule = 0.0001,
    mask: MaskOrFn | None = None,
    *,
    nesterov: bool = False,
) -> Optimizer:
    """Adam with decay of parameters (I. Loshchilov and F. Hutter, 2019).

    Examples
    --------
    >>> tx = optim.adamw(0.5)
    >>> params = np.zeros(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.5, -0.5])
    """
    first = scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return chain(
        first, add_decayed_weights(weight_decay, mask), scale_by_learning_rate(learning_rate)
    )


@public_like(adam)
def nadam(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    *,
    nesterov: bool = True,
) -> Optimizer:
    """NAdam: Adam that looks ahead along the momentum (T. Dozat, 2016).

    Examples
    --------
    >>> tx = optim.nadam(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].round(4)
    array([-0.7368, -0.7368])
    """
    return adam(learning_rate, b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)


@public_like(adamw)
def nadamw(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    weight_decay: ScalarOrSchedule = 0.0001,
    mask: MaskOrFn | None = None,
    *,
    nesterov: bool = True,
) -> Optimizer:
    """NAdam with decay of parameters.

    Examples
    --------
    >>> tx = optim.nadamw(0.5)
    >>> params = np.zeros(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0].round(4)
    array([-0.7368, -0.7368])
    """
    rest = (eps, eps_root, mu_dtype, weight_decay, mask)
    return adamw(learning_rate, b1, b2, *rest, nesterov=nesterov)


@public_like(adam)
def adabelief(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-16,
    eps_root: Number = 1e-16,
    *,
    nesterov: bool = False,
) -> Optimizer:
    """AdaBelief (J. Zhuang et al., 2020).

    Examples
    --------
    >>> tx = optim.adabelief(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].shape
    (2,)
    """
    first = scale_by_belief(b1, b2, eps, eps_root, nesterov=nesterov)
    return chain(first, scale_by_learning_rate(learning_rate))


@public_like(scale_by_adan)
def adan(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.98,
    b2: Number = 0.92,
    b3: Number = 0.99,
    eps: Number = 1e-08,
    eps_root: Number = 1e-08,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: MaskOrFn | None = None,
) -> Optimizer:
    """Adan (X. Xie et al., 2022).

    Examples
    --------
    >>> tx = optim.adan(0.5)
    >>> params = np.zeros(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0].shape
    (2,)
    """
    return chain(
        scale_by_adan(b1, b2, b3, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


@public_like(scale_by_lion)
def lion(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.99,
    mu_dtype: DTypeLike | None = None,
    weight_decay: ScalarOrSchedule = 0.001,
    mask: MaskOrFn | None = None,
) -> Optimizer:
    """Lion (X. Chen et al., 2023).

    Examples
    --------
    >>> tx = optim.lion(0.5)
    >>> params = np.zeros(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.5, -0.5])
    """
    return chain(
        scale_by_lion(b1, b2, mu_dtype),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


@public_like(scale_by_amsgrad)
def amsgrad(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    bias_correction_mu: bool = True,
    bias_correction_nu: bool = True,
) -> Optimizer:
    """AMSGrad (S. Reddi et al., 2018).

    Examples
    --------
    >>> tx = optim.amsgrad(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    first = scale_by_amsgrad(
        b1, b2, eps, eps_root, mu_dtype, bias_correction_mu, bias_correction_nu
    )
    return chain(first, scale_by_learning_rate(learning_rate))


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


@public
def lamb(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-06,
    eps_root: Number = 0.0,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: MaskOrFn | None = None,
) -> Optimizer:
    """LAMB (Y. You et al., 2020).

    Examples
    --------
    >>> tx = optim.lamb(0.5)
    >>> params = np.ones(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.5, -0.5])
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_trust_ratio(),
        scale_by_learning_rate(learning_rate),
    )


@public_like(scale_by_radam)
def radam(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    eps_root: Number = 0.0,
    threshold: Number = 5.0,
    *,
    nesterov: bool = False,
) -> Optimizer:
    """RAdam (L. Liu et al., 2020).

    Examples
    --------
    >>> tx = optim.radam(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    first = scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov)
    return chain(first, scale_by_learning_rate(learning_rate))


@public
def yogi(
    learning_rate: ScalarOrSchedule, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 0.001
) -> Optimizer:
    """Yogi (M. Zaheer et al., 2018).

    Examples
    --------
    >>> tx = optim.yogi(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].shape
    (2,)
    """
    return chain(scale_by_yogi(b1, b2, eps), scale_by_learning_rate(learning_rate))


@public
def adamax(
    learning_rate: ScalarOrSchedule, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-08
) -> Optimizer:
    """Adamax (D. Kingma and J. Ba, 2014).

    Examples
    --------
    >>> tx = optim.adamax(0.5)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([-0.5, -0.5])
    """
    return chain(scale_by_adamax(b1, b2, eps), scale_by_learning_rate(learning_rate))


@public
def adamaxw(
    learning_rate: ScalarOrSchedule,
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-08,
    weight_decay: ScalarOrSchedule = 0.0001,
    mask: MaskOrFn | None = None,
) -> Optimizer:
    """Adamax with decay of parameters.

    Examples
    --------
    >>> tx = optim.adamaxw(0.5)
    >>> params = np.zeros(2)
    >>> tx.update(np.ones(2), tx.init(params), params)[0]
    array([-0.5, -0.5])
    """
    return chain(
        scale_by_adamax(b1, b2, eps),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )

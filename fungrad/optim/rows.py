"""Table of optimizers, each a chain of a scaling, weight decay and the learning rate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fungrad.optim.adaptive import (
    scale_by_adam,
    scale_by_adamax,
    scale_by_adan,
    scale_by_amsgrad,
    scale_by_belief,
    scale_by_radam,
    scale_by_yogi,
)
from fungrad.optim.adaptive_squares import scale_by_novograd, scale_by_rss
from fungrad.optim.base import GradientTransformation, GradientTransformationExtraArgs
from fungrad.optim.combining import chain
from fungrad.optim.glossary import public_like
from fungrad.optim.randomness import add_noise
from fungrad.optim.scaling import add_decayed_weights, scale_by_learning_rate, scale_by_trust_ratio
from fungrad.optim.signs import scale_by_lion, scale_by_optimistic_gradient, scale_by_sign

if TYPE_CHECKING:  # for tools/stubs.py: names in annotations of parameters
    from numpy.typing import DTypeLike as DTypeLike

    from fungrad.optim.base import Number as Number
    from fungrad.optim.base import ScalarOrSchedule as ScalarOrSchedule
    from fungrad.optim.masking import MaskOrFn as MaskOrFn
    from fungrad.typing import Array as Array

Optimizer: TypeAlias = GradientTransformationExtraArgs
_Maker: TypeAlias = Callable[..., GradientTransformation]

_EXAMPLE = """

Examples
--------
>>> tx = optim.{name}(0.5)
>>> params = np.ones(2)
>>> tx.update(np.ones(2), tx.init(params), params)[0].round(2)
array([{steps}])"""


def _parameter(name: str, annotation: str, **default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, annotation=annotation, **default)


def _optimizer(
    name: str,
    text: str,
    first: _Maker,
    steps: str = "-0.5, -0.5",
    *,
    decay: float | None = None,
    then: Sequence[_Maker] = (),
    without: str = "",
    **defaults: Any,
) -> Callable[..., Optimizer]:
    """Return a public function: a chain of `first`, weight decay, `then` and the learning rate.

    It takes the learning rate and the parameters of `first`, except those in `without`; `defaults` replace their defaults. If
    `decay` is given, it also takes `weight_decay`, with that default, and `mask`. `text` begins its docstring; `steps` are
    the updates that its example shows for gradients of one.
    """
    own = [
        p.replace(default=defaults.get(p.name, p.default))
        for p in inspect.signature(first).parameters.values()
        if p.name not in without.split()
    ]
    parameters = [_parameter("learning_rate", "ScalarOrSchedule"), *own]
    if decay is not None:
        parameters.append(_parameter("weight_decay", "ScalarOrSchedule", default=decay))
        parameters.append(_parameter("mask", "MaskOrFn | None", default=None))
    parameters.sort(key=lambda p: p.kind)
    signature = inspect.Signature(parameters, return_annotation="Optimizer")

    def make(*args: Any, **kwargs: Any) -> Optimizer:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        parts = [first(**{p.name: given[p.name] for p in own})]
        if decay is not None:
            parts.append(add_decayed_weights(given["weight_decay"], given["mask"]))
        parts += [part() for part in then]
        return chain(*parts, scale_by_learning_rate(given["learning_rate"]))

    make.__name__ = make.__qualname__ = name
    make.__signature__ = signature  # type: ignore[attr-defined]
    make.__doc__ = text + _EXAMPLE.format(name=name, steps=steps)
    return public_like(first)(make)


adam = _optimizer("adam", "Adam (D. Kingma and J. Ba, 2014).", scale_by_adam)
adamw = _optimizer(
    "adamw",
    "Adam with weight decay (I. Loshchilov and F. Hutter, 2019).",
    scale_by_adam,
    decay=0.0001,
)
nadam = _optimizer(
    "nadam",
    "NAdam: Adam with Nesterov momentum (T. Dozat, 2016).",
    scale_by_adam,
    "-0.74, -0.74",
    nesterov=True,
)
nadamw = _optimizer(
    "nadamw",
    "NAdam with weight decay.",
    scale_by_adam,
    "-0.74, -0.74",
    decay=0.0001,
    nesterov=True,
)
adabelief = _optimizer("adabelief", "AdaBelief (J. Zhuang et al., 2020).", scale_by_belief)
adan = _optimizer("adan", "Adan (X. Xie et al., 2022).", scale_by_adan, decay=0.0, eps_root=1e-08)
lion = _optimizer(
    "lion",
    "Lion (X. Chen et al., 2023).",
    scale_by_lion,
    decay=0.001,
    without="mode smooth_beta",
)
amsgrad = _optimizer("amsgrad", "AMSGrad (S. Reddi et al., 2018).", scale_by_amsgrad)
lamb = _optimizer(
    "lamb",
    "LAMB (Y. You et al., 2020).",
    scale_by_adam,
    decay=0.0,
    then=[scale_by_trust_ratio],
    without="mu_dtype nesterov",
    eps=1e-06,
)
radam = _optimizer("radam", "RAdam (L. Liu et al., 2020).", scale_by_radam)
yogi = _optimizer(
    "yogi",
    "Yogi (M. Zaheer et al., 2018).",
    scale_by_yogi,
    without="eps_root initial_accumulator_value",
)
adamax = _optimizer("adamax", "Adamax (D. Kingma and J. Ba, 2014).", scale_by_adamax)
adamaxw = _optimizer("adamaxw", "Adamax with weight decay.", scale_by_adamax, decay=0.0001)
adagrad = _optimizer("adagrad", "Adagrad (J. Duchi et al., 2011).", scale_by_rss)
novograd = _optimizer(
    "novograd",
    "NovoGrad (B. Ginsburg et al., 2019).",
    scale_by_novograd,
    "-0.35, -0.35",
    without="mu_dtype",
    eps=1e-06,
)
noisy_sgd = _optimizer(
    "noisy_sgd",
    "Descend along gradients with noise that fades (A. Neelakantan et al., 2015).",
    add_noise,
    "-0.5 , -0.42",
    eta=0.01,
    gamma=0.55,
)
sign_sgd = _optimizer(
    "sign_sgd", "Descend by the signs of gradients (J. Bernstein et al., 2018).", scale_by_sign
)
optimistic_gradient_descent = _optimizer(
    "optimistic_gradient_descent",
    "Descend along gradients and their changes (A. Mokhtari et al., 2020), as games need it.",
    scale_by_optimistic_gradient,
)

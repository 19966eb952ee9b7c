"""Derivatives of functions that have none, by noise, with the names of `optax.perturbations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import fungrad.numpy as fnp
from fungrad import random, stop_gradient, vmap
from fungrad import tree as trees
from fungrad.optim import tree
from fungrad.optim.base import Number
from fungrad.optim.glossary import public

__all__ = ["Gumbel", "Normal", "make_perturbed_fun"]
__dir__ = __all__.copy


class Noise(Protocol):
    """Random numbers, and the logarithm of their density but for a constant."""

    def sample(self, key: Any, sample_shape: Any = (), dtype: Any = float) -> Any: ...

    def log_prob(self, inputs: Any) -> Any: ...


class Normal:
    """Normal noise.

    Examples
    --------
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> from fungrad import optim, random
    >>> noise = optim.perturbations.Normal()
    >>> rounded = optim.perturbations.make_perturbed_fun(fnp.round, 10_000, sigma=0.5, noise=noise)
    >>> print(fg.grad(rounded, argnums=1)(random.key(0), 0.3).round(1))
    1.0
    """

    def __repr__(self) -> str:
        return "Normal()"

    def sample(self, key: Any, sample_shape: Any = (), dtype: Any = float) -> Any:
        """Return random numbers."""
        return random.normal(key, sample_shape, dtype)

    def log_prob(self, inputs: Any) -> Any:
        """Return the logarithm of the density, but for a constant."""
        return -0.5 * inputs**2


class Gumbel:
    """Gumbel noise.

    Examples
    --------
    The mean of the largest, with this noise, is the softmax:

    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad import nn, optim, random
    >>> largest = lambda x: nn.one_hot(fnp.argmax(x), 3)
    >>> noise = optim.perturbations.Gumbel()
    >>> mean = optim.perturbations.make_perturbed_fun(largest, 10_000, sigma=1.0, noise=noise)
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> print(mean(random.key(0), x).round(2), nn.softmax(x).round(2))
    [0.09 0.24 0.67] [0.09 0.24 0.67]
    """

    def __repr__(self) -> str:
        return "Gumbel()"

    def sample(self, key: Any, sample_shape: Any = (), dtype: Any = float) -> Any:
        """Return random numbers."""
        return random.gumbel(key, sample_shape, dtype)

    def log_prob(self, inputs: Any) -> Any:
        """Return the logarithm of the density."""
        return -inputs - fnp.exp(-inputs)


_GUMBEL = Gumbel()


@public
def make_perturbed_fun(
    fun: Callable[[Any], Any],
    num_samples: int = 1000,
    sigma: Number = 0.1,
    noise: Noise = _GUMBEL,
    use_baseline: bool = True,
) -> Callable[[Any, Any], Any]:
    """Return the mean of a function over noise, which has derivatives also where the function has none.

    They are those of the density of the noise, times values (Q. Berthet et al., 2020).

    Parameters
    ----------
    fun
        Takes a pytree of arrays, and returns one; it is mapped by `vmap`.
    num_samples
        How often noise is drawn.
    sigma
        A factor of the noise.
    noise
        `Gumbel()`, `Normal()`, or an object with their methods.
    use_baseline
        Whether the value without noise is subtracted from others, which makes the derivative less noisy.

    Returns
    -------
    callable
        Takes a key of `fungrad.random`, and the argument of `fun`.

    Examples
    --------
    >>> step = lambda x: fnp.where(x > 0, 1.0, 0.0)
    >>> smooth = optim.perturbations.make_perturbed_fun(
    ...     step, 10_000, 1.0, optim.perturbations.Normal()
    ... )
    >>> key = random.key(0)
    >>> print(smooth(key, 0.5).round(2), fg.grad(smooth, argnums=1)(key, 0.5).round(2))
    0.69 0.35
    """

    def mean(key: Any, x: Any) -> Any:
        baseline = fun(stop_gradient(x)) if use_baseline else None

        def one(key: Any) -> Any:
            drawn = tree.random_like(key, x, sampler=noise.sample)
            moved = stop_gradient(trees.map(lambda x, z: x + sigma * z, x, drawn))
            back = trees.map(lambda x, y: noise.log_prob((y - x) / sigma), x, moved)
            likelihood = tree.sum(back)
            weight = fnp.exp(likelihood - stop_gradient(likelihood))  # which is 1
            weighted = tree.scale(weight, fun(moved))
            return tree.add_scale(weighted, 1 - weight, baseline) if use_baseline else weighted

        samples = vmap(one)(random.split(key, num_samples))
        return trees.map(lambda s: fnp.mean(s, axis=0), samples)

    return mean

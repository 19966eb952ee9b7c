"""Random trees, and noise that is added to updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import fungrad.numpy as fnp
from fungrad import random
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.extend.types import is_key
from fungrad.optim.base import (
    GradientTransformation,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
    safe_increment,
)
from fungrad.optim.glossary import public, public_like
from fungrad.typing import Array, PyTree

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class AddNoiseState(NamedTuple):
    """The number of steps, and the key of the noise to come."""

    count: Any
    rng_key: Array


def is_typed_key(x: Any) -> bool:
    """Return whether x is a typed key, or an array of them."""
    return hasattr(x, "dtype") and is_key(x.dtype)


@public
def split_key_like(rng_key: Array, target_tree: PyTree) -> Any:
    """Return a tree of keys, one for each leaf of another tree.

    Parameters
    ----------
    rng_key
        A key of `fungrad.random`.
    target_tree
        The tree.

    Examples
    --------
    >>> keys = optim.tree.split_key_like(random.key(0), {"a": 1.0, "b": [2.0]})
    >>> fg.tree.structure(keys)
    PyTreeSpec({'a': *, 'b': [*]})
    """
    leaves, structure = trees.flatten(target_tree)
    keys = random.split(rng_key, len(leaves))
    return trees.unflatten(structure, [keys[i] for i in range(len(leaves))])


@public_like(split_key_like)
def random_like(
    rng_key: Array,
    target_tree: PyTree,
    sampler: Callable[[Any, tuple[int, ...], Any], Any] | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Return a tree of random numbers with the shapes of another tree.

    Parameters
    ----------
    rng_key
        A key of `fungrad.random`, which is split as `split_key_like` does.
    sampler
        Takes key, shape and dtype; by default `random.normal`.
    dtype
        The dtype of the numbers; by default that of each leaf.

    Examples
    --------
    >>> optim.tree.random_like(random.key(0), {"w": np.ones((2, 3))})["w"].shape
    (2, 3)
    """
    draw = random.normal if sampler is None else sampler

    def drawn(leaf: Any, key: Any) -> Any:
        leaf = array(leaf)
        return draw(key, leaf.shape, leaf.dtype if dtype is None else dtype)

    return trees.map(drawn, target_tree, split_key_like(rng_key, target_tree))


@public
def unwrap_random_key_data(input_tree: PyTree) -> Any:
    """Return a tree with each typed key replaced by its words, as `random.key_data` gives them.

    Parameters
    ----------
    input_tree
        A pytree.

    Examples
    --------
    >>> optim.tree.unwrap_random_key_data({"key": random.key(7), "x": 1.0})
    {'key': array([0, 7], dtype=uint32), 'x': 1.0}
    """
    return trees.map(lambda x: random.key_data(x) if is_typed_key(x) else x, input_tree)


@public
def add_noise(eta: Number, gamma: Number, key: Array | int = 0) -> GradientTransformation:
    """Add normal noise that fades: of variance `eta / step**gamma` (A. Neelakantan et al., 2015).

    Parameters
    ----------
    eta
        The variance in the first step.
    gamma
        How fast it fades: the variance is `eta / step**gamma`.
    key
        A key of `fungrad.random`, or the integer to make one of.

    Examples
    --------
    >>> tx = optim.add_noise(eta=1e-6, gamma=0.55, key=random.key(1))
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0].round(2)
    array([1., 1.])
    """

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        count = safe_increment(state.count)
        following, now = random.split(state.rng_key)
        deviation = fnp.sqrt(eta / count**gamma)
        noise = random_like(now, updates)
        noisy = trees.map(lambda g, n: g + deviation.astype(n.real.dtype) * n, updates, noise)
        return noisy, AddNoiseState(count, following)

    def init(params: Params) -> OptState:
        is_key = is_typed_key(key) or fnp.ndim(key) > 0  # or else an integer, a seed
        start: Any = key if is_key else random.key(key)
        return AddNoiseState(no_steps(), start)

    return GradientTransformation(init, update)

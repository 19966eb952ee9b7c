"""Transformations of parts of the parameters, and several of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, TypeAlias

from fungrad import tree as trees
from fungrad.optim.base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    OptState,
    Params,
    Updated,
    Updates,
    set_to_zero,
    with_extra_args_support,
)
from fungrad.optim.glossary import public, public_like
from fungrad.optim.state_access import ParamsPlaceholder
from fungrad.typing import PyTree

MaskOrFn: TypeAlias = PyTree | Callable[[Params], PyTree]
"""A pytree of booleans, or a function from the parameters to one."""


class MaskedState(NamedTuple):
    """The state of the transformation of unmasked leaves."""

    inner_state: OptState


class MaskedNode(NamedTuple):
    """Stands in states and updates where an array is masked; a node without leaves."""


class PartitionState(NamedTuple):
    """The state of each transformation by its label."""

    inner_states: Mapping[Hashable, OptState]


MultiTransformState = PartitionState


def given(choice: Any, params: Params) -> Any:
    """Return the tree that is given itself or by a function of the parameters."""
    parts = trees.leaves(choice)
    # A pytree may be callable itself, as models of some libraries are; its leaves then are not.
    return choice(params) if parts and all(map(callable, parts)) else choice


@public
def masked(
    inner: GradientTransformation, mask: MaskOrFn, *, mask_compatible_extra_args: bool = False
) -> GradientTransformationExtraArgs:
    """Transform some updates and leave the others as they are.

    Examples
    --------
    >>> tx = optim.masked(optim.scale(10.0), {"w": True, "b": False})
    >>> params = {"w": np.ones(2), "b": np.ones(2)}
    >>> tx.update(params, tx.init(params))[0]
    {'w': array([10., 10.]), 'b': array([1., 1.])}
    """
    within = with_extra_args_support(inner)

    def hidden(mask_tree: Any, full: Any) -> Any:
        return trees.map(lambda m, x: x if m else MaskedNode(), mask_tree, full)

    def init(params: Params) -> OptState:
        if isinstance(params, ParamsPlaceholder):  # which stands for all that is not masked
            return MaskedState(within.init(params))
        return MaskedState(within.init(hidden(given(mask, params), params)))

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        mask_tree = given(mask, updates)
        if mask_compatible_extra_args:
            like = trees.structure(updates)
            extra_args = {
                name: hidden(mask_tree, x) if trees.structure(x) == like else x
                for name, x in extra_args.items()
            }
        visible = None if params is None else hidden(mask_tree, params)
        new, after = within.update(
            hidden(mask_tree, updates), state.inner_state, visible, **extra_args
        )
        chosen = trees.map(lambda m, u, old: u if m else old, mask_tree, new, updates)
        return chosen, MaskedState(after)

    return GradientTransformationExtraArgs(init, update)


@public
def partition(
    transforms: Mapping[Hashable, GradientTransformation],
    param_labels: PyTree | Callable[[Params], PyTree],
    *,
    mask_compatible_extra_args: bool = False,
) -> GradientTransformationExtraArgs:
    """Transform each part of the parameters in its own way.

    `multi_transform` is another name of it.

    Parameters
    ----------
    transforms
        For each label a transformation.
    param_labels
        A pytree of labels that is a prefix of the parameters, or a function from the parameters to one.

    Raises
    ------
    ValueError
        If there is a label without a transformation.

    Examples
    --------
    >>> tx = optim.partition({"slow": optim.sgd(0.1), "fast": optim.sgd(1.0)}, {"w": "slow", "b": "fast"})
    >>> params = {"w": np.ones(2), "b": np.ones(2)}
    >>> tx.update(params, tx.init(params))[0]
    {'w': array([-0.1, -0.1]), 'b': array([-1., -1.])}
    """
    within = {label: with_extra_args_support(tx) for label, tx in transforms.items()}

    def labels_of(params: Params) -> Any:
        return param_labels(params) if callable(param_labels) else param_labels

    def part(labels: Any, label: Hashable) -> GradientTransformationExtraArgs:
        mask = trees.map(lambda x: x == label, labels)
        return masked(within[label], mask, mask_compatible_extra_args=mask_compatible_extra_args)

    def init(params: Params) -> OptState:
        if isinstance(params, ParamsPlaceholder):
            return PartitionState({k: MaskedState(tx.init(params)) for k, tx in within.items()})
        labels = labels_of(params)
        unknown = sorted({repr(x) for x in trees.leaves(labels) if x not in within})
        if unknown:
            raise ValueError(
                f"partition: there is no transformation for the labels {', '.join(unknown)}; there "
                f"are {', '.join(map(repr, within))}"
            )
        return PartitionState({label: part(labels, label).init(params) for label in within})

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        labels, after = labels_of(updates), {}
        for label in within:
            updates, after[label] = part(labels, label).update(
                updates, state.inner_states[label], params, **extra_args
            )
        return updates, PartitionState(after)

    return GradientTransformationExtraArgs(init, update)


multi_transform = partition


@public
def freeze(mask: MaskOrFn) -> GradientTransformation:
    """Make some updates zero, so that their parameters stay as they are.

    Parameters
    ----------
    mask
        A pytree of booleans: where nothing changes.

    Examples
    --------
    >>> tx = optim.chain(optim.sgd(0.5), optim.freeze({"w": True, "b": False}))
    >>> params = {"w": np.ones(2), "b": np.ones(2)}
    >>> tx.update(params, tx.init(params))[0]
    {'w': array([0., 0.]), 'b': array([-0.5, -0.5])}
    """
    return masked(set_to_zero(), mask)


@public_like(freeze)
def selective_transform(
    optimizer: GradientTransformation, *, freeze_mask: MaskOrFn
) -> GradientTransformation:
    """Optimize some parameters; there are no states of the others.

    Parameters
    ----------
    optimizer
        A gradient transformation.
    freeze_mask
        A pytree of booleans: where nothing changes.

    Examples
    --------
    >>> tx = optim.selective_transform(optim.adam(0.5), freeze_mask={"w": True, "b": False})
    >>> params = {"w": np.ones(2), "b": np.ones(2)}
    >>> tx.update(params, tx.init(params))[0]
    {'w': array([0., 0.]), 'b': array([-0.5, -0.5])}
    """
    labels = trees.map(lambda frozen: "freeze" if frozen else "train", freeze_mask)
    return partition({"train": optimizer, "freeze": set_to_zero()}, labels)

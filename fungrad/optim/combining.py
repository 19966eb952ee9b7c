"""Transformations one after another, on flat arrays, and those that only look."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.optim.accumulation import ema
from fungrad.optim.base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    stateless,
    with_extra_args_support,
)
from fungrad.optim.glossary import public
from fungrad.typing import PyTree

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class SnapshotState(NamedTuple):
    """The last measurement, by its name."""

    measurement: dict[str, Any]


class MonitorState(NamedTuple):
    """The last measurements by name, and the measures' memory."""

    measurements: dict[str, Any]
    measure_states: tuple[OptState, ...]


@public
def chain(*args: GradientTransformation) -> GradientTransformationExtraArgs:
    """Apply transformations one after another.

    Parameters
    ----------
    *args
        The transformations, the first of which gets the gradients.

    Examples
    --------
    >>> tx = optim.chain(optim.clip(1.0), optim.scale(-0.5))
    >>> tx.update(np.array([0.5, 3.0]), tx.init(np.zeros(2)))[0]
    array([-0.25, -0.5 ])
    """
    parts = [with_extra_args_support(tx) for tx in args]

    def init(params: Params) -> OptState:
        return tuple(tx.init(params) for tx in parts)

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        if len(state) != len(parts):
            raise ValueError(
                f"chain: the state is of {len(state)} transformations and there are {len(parts)}; begin "
                "with the state that init returns"
            )
        after = []
        for tx, before in zip(parts, state):
            updates, now = tx.update(updates, before, params, **extra_args)
            after.append(now)
        return updates, tuple(after)

    return GradientTransformationExtraArgs(init, update)


@public
def named_chain(*args: tuple[str, GradientTransformation]) -> GradientTransformationExtraArgs:
    """Apply transformations one after another; states are in a dictionary by name.

    Parameters
    ----------
    *args
        Pairs of a name and a transformation.

    Examples
    --------
    >>> tx = optim.named_chain(("momentum", optim.trace(0.9)), ("rate", optim.scale(-0.5)))
    >>> tx.init(np.zeros(2))["momentum"]
    TraceState(trace=array([0., 0.]))
    """
    names = [name for name, _ in args]
    if len(set(names)) != len(names):
        raise ValueError(f"named_chain: names must be different, got {names}")
    parts = [(name, with_extra_args_support(tx)) for name, tx in args]

    def init(params: Params) -> OptState:
        return collections.OrderedDict((name, tx.init(params)) for name, tx in parts)

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        after = collections.OrderedDict()
        for name, tx in parts:
            updates, after[name] = tx.update(updates, state[name], params, **extra_args)
        return updates, after

    return GradientTransformationExtraArgs(init, update)


@public
def flatten(inner: GradientTransformation) -> GradientTransformationExtraArgs:
    """Transform all arrays as a single one, which saves time where they are many and small.

    Examples
    --------
    >>> tx = optim.flatten(optim.trace(0.9))
    >>> tx.init({"w": np.zeros((2, 2)), "b": np.zeros(1)})
    TraceState(trace=array([0., 0., 0., 0., 0.]))
    """
    within = with_extra_args_support(inner)

    def flat(tree: Any) -> Any:
        return fnp.concatenate([fnp.ravel(x) for x in trees.leaves(tree)])

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        row = None if params is None else flat(params)
        new_updates, after = within.update(flat(updates), state, row, **extra_args)
        leaves, structure = trees.flatten(updates)
        pieces, start = [], 0
        for x in leaves:
            stop = start + fnp.size(x)
            pieces.append(fnp.reshape(new_updates[start:stop], fnp.shape(x)))
            start = stop
        return trees.unflatten(structure, pieces), after

    return GradientTransformationExtraArgs(lambda params: within.init(flat(params)), update)


@public
def snapshot(measure_name: str, measure: Callable[[Updates], PyTree]) -> GradientTransformation:
    """Keep a function of the updates in the state; updates are unchanged.

    Parameters
    ----------
    measure_name
        Its name, for `optim.tree.get`.

    Examples
    --------
    >>> tx = optim.chain(optim.snapshot("size", optim.tree.norm), optim.sgd(0.1))
    >>> _, state = tx.update(np.array([3.0, 4.0]), tx.init(np.zeros(2)))
    >>> print(optim.tree.get(state, "size"))
    5.0
    """

    def update(updates: Updates, state: OptState, params: Params | None = None) -> Updated:
        return updates, SnapshotState({measure_name: measure(updates)})

    return GradientTransformation(
        lambda params: SnapshotState({measure_name: measure(params)}), update
    )


@public
def monitor(
    measures: Mapping[str, Callable[[Updates], PyTree] | GradientTransformation],
) -> GradientTransformationExtraArgs:
    """Keep functions or transformations of the updates in the state; updates are unchanged.

    Parameters
    ----------
    measures
        For each name a function of the updates, or a transformation of them.

    Examples
    --------
    >>> tx = optim.monitor({"size": optim.tree.norm, "mean": optim.ema(0.9)})
    >>> _, state = tx.update(np.array([3.0, 4.0]), tx.init(np.zeros(2)))
    >>> state.measurements
    {'size': np.float64(5.0), 'mean': array([3., 4.])}
    """

    def as_transformation(measure: Any) -> GradientTransformationExtraArgs:
        if callable(measure):
            return with_extra_args_support(stateless(lambda updates, params: measure(updates)))
        return with_extra_args_support(measure)

    parts = {name: as_transformation(measure) for name, measure in measures.items()}

    def init(params: Params) -> OptState:
        return MonitorState({}, tuple(tx.init(params) for tx in parts.values()))

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        measurements = {}
        after = []
        for (name, tx), before in zip(parts.items(), state.measure_states):
            measurements[name], now = tx.update(updates, before, params, **extra_args)
            after.append(now)
        return updates, MonitorState(measurements, tuple(after))

    return GradientTransformationExtraArgs(init, update)


@public
def measure_with_ema(
    measure: Callable[[Updates], PyTree],
    decay: Number,
    debias: bool = True,
    accumulator_dtype: DTypeLike | None = None,
) -> GradientTransformationExtraArgs:
    """Return a running mean of a function of the updates, for `monitor`.

    Examples
    --------
    >>> tx = optim.monitor({"size": optim.measure_with_ema(optim.tree.norm, 0.9)})
    >>> _, state = tx.update(np.array([3.0, 4.0]), tx.init(np.zeros(2)))
    >>> print(state.measurements["size"])
    5.0
    """
    mean = ema(decay, debias, accumulator_dtype)
    return chain(
        stateless(lambda updates, params: measure(updates)),
        mean._replace(init=lambda params: mean.init(measure(params))),
    )

"""Hyperparameters in the state, where they can be looked at, changed, and computed by schedules."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

import fungrad.numpy as fnp
from fungrad import Tracer
from fungrad.extend.precision import SINGLE, array
from fungrad.extend.types import is_array, is_half
from fungrad.optim import tree
from fungrad.optim.base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    Number,
    OptState,
    Params,
    Updated,
    Updates,
    no_steps,
    safe_increment,
    tree_map,
    with_extra_args_support,
)
from fungrad.optim.glossary import public
from fungrad.optim.halves import as_short

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class InjectStatefulHyperparamsState(NamedTuple):
    """Number of steps, hyperparameters, their schedules' states, and the transformation's state."""

    count: Any
    hyperparams: dict[str, Any]
    hyperparams_states: dict[str, Any]
    inner_state: OptState


InjectHyperparamsState = InjectStatefulHyperparamsState


@runtime_checkable
class StatefulSchedule(Protocol):
    """A schedule with state: `init()` and `update(state, **extra_args)` make states for its calls."""

    def init(self) -> Any: ...

    def update(self, state: Any, **extra_args: Any) -> Any: ...

    def __call__(self, state: Any, **extra_args: Any) -> Any: ...


class WrappedScheduleState(NamedTuple):
    """The number of steps."""

    count: Any


class WrappedSchedule:
    """A schedule as one that remembers the number of steps.

    Parameters
    ----------
    schedule_fn
        A function of the number of steps so far.

    Examples
    --------
    >>> from fungrad import optim
    >>> schedule = optim.WrappedSchedule(lambda count: 0.5 * count)
    >>> print(schedule(schedule.update(schedule.init())))
    0.5
    """

    def __init__(self, schedule_fn: Callable[[Any], Number]) -> None:
        self.schedule_fn = schedule_fn

    def __repr__(self) -> str:
        return f"WrappedSchedule({self.schedule_fn!r})"

    def init(self) -> WrappedScheduleState:
        """Return the first state."""
        return WrappedScheduleState(no_steps())

    def update(self, state: WrappedScheduleState, **extra_args: Any) -> WrappedScheduleState:
        """Return the next state."""
        del extra_args
        return WrappedScheduleState(safe_increment(state.count))

    def __call__(self, state: WrappedScheduleState, **extra_args: Any) -> Number:
        """Return the value."""
        del extra_args
        return self.schedule_fn(state.count)


def is_number(value: Any) -> bool:
    """Return whether a hyperparameter is a number or an array, but not a switch."""
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, int | float | np.number | Tracer) or is_array(value)


def converted(value: Any, dtype: Any) -> Any:
    """Return a number as an array, a float in a dtype; arrays with axes and tracers keep their own."""
    if isinstance(value, float | np.floating) and dtype is not None:
        return fnp.asarray(value, dtype=dtype)
    return array(value)


def sorted_out(
    arguments: dict[str, Any], static: set[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return those arguments that are schedules, those that are numbers, and the others."""
    schedules, numbers, others = {}, {}, {}
    for name, value in arguments.items():
        if name in static:
            others[name] = value
        elif isinstance(value, StatefulSchedule):
            schedules[name] = value
        elif callable(value):
            schedules[name] = WrappedSchedule(value)
        elif is_number(value):
            numbers[name] = value
        else:
            others[name] = value
    return schedules, numbers, others


@public
def inject_hyperparams(
    inner_factory: Callable[..., GradientTransformation],
    static_args: str | Iterable[str] = (),
    hyperparam_dtype: DTypeLike | None = None,
) -> Callable[..., GradientTransformationExtraArgs]:
    """Return an optimizer whose numbers are in its state, visible and changeable without a new trace.

    Numbers may be schedules, too, where the optimizer takes none.

    Parameters
    ----------
    inner_factory
        A function that returns a transformation, such as `adam`.
    static_args
        Names of arguments that stay out of the state, such as those that Python looks at.
    hyperparam_dtype
        The dtype of floats among them; by default the highest of the parameters, and float32 if these have two bytes or fewer.

    Raises
    ------
    ValueError
        If `static_args` are none of its parameters.

    Examples
    --------
    >>> tx = optim.inject_hyperparams(optim.adam)(learning_rate=0.1)
    >>> state = tx.init(np.zeros(2))
    >>> state.hyperparams["learning_rate"] = 0.5
    >>> tx.update(np.ones(2), state)[0]
    array([-0.5, -0.5])
    """
    static = {static_args} if isinstance(static_args, str) else {*static_args}
    signature = inspect.signature(inner_factory)
    if unknown := sorted(static - set(signature.parameters)):
        raise ValueError(
            f"inject_hyperparams: static_args {unknown} are no parameters of it; these are "
            f"{list(signature.parameters)}"
        )

    @functools.wraps(inner_factory)
    def factory(*args: Any, **kwargs: Any) -> GradientTransformationExtraArgs:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        schedules, numbers, others = sorted_out(bound.arguments, static)

        def made(hyperparams: dict[str, Any]) -> GradientTransformationExtraArgs:
            return with_extra_args_support(inner_factory(**others, **hyperparams))

        def dtype_for(tree_of_arrays: Any) -> Any:
            if hyperparam_dtype is not None:
                return hyperparam_dtype
            dtype = tree.dtype(tree_of_arrays, "highest")
            return SINGLE if is_half(np.dtype(dtype)) else dtype  # where 0.999 is 1

        def init(params: Params) -> OptState:
            dtype = dtype_for(params)
            states = {name: schedule.init() for name, schedule in schedules.items()}
            values = {name: converted(value, dtype) for name, value in numbers.items()}
            for name, schedule in schedules.items():
                values[name] = fnp.asarray(schedule(states[name]), dtype=dtype)
            return InjectStatefulHyperparamsState(
                no_steps(), values, states, made(values).init(params)
            )

        def update(
            updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
        ) -> Updated:
            dtype = dtype_for(updates if params is None else params)
            values = {name: converted(value, dtype) for name, value in state.hyperparams.items()}
            states = {}
            for name, schedule in schedules.items():
                before = state.hyperparams_states[name]
                values[name] = fnp.asarray(schedule(before, **extra_args), dtype=dtype)
                states[name] = schedule.update(before, **extra_args)
            new_updates, inner = made(values).update(
                updates, state.inner_state, params, **extra_args
            )
            if hyperparam_dtype is None:
                new_updates = tree_map(as_short, new_updates, updates)
            return new_updates, InjectStatefulHyperparamsState(
                safe_increment(state.count), values, states, inner
            )

        return GradientTransformationExtraArgs(init, update)

    return factory


inject_stateful_hyperparams = inject_hyperparams

"""Gradient transformations, and the simplest ones.

A transformation is a pair of functions. ``init(params)`` makes a state; ``update(updates, state, params)`` returns other
updates and the next state. Both are pure, and all they hold is pytrees of arrays, so they can be jitted, mapped and carried
through loops. Names, order of arguments and numbers are those of optax (DeepMind, https://github.com/google-deepmind/optax).

Design: docs/design/31-lax-and-networks.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree
from fungrad.extend.precision import array
from fungrad.extend.types import is_array, kind_of
from fungrad.lax import cond
from fungrad.optim.glossary import public, public_like
from fungrad.typing import Array

T = TypeVar("T")
"""A pytree of arrays."""

Params: TypeAlias = Any
"""A pytree like the parameters: gradients, or values to be added to the parameters."""
Updates: TypeAlias = Any
"""A pytree: the memory of a transformation."""
OptState: TypeAlias = Any
"""Result of `update`: other updates, and the next state."""
Updated: TypeAlias = tuple[Updates, OptState]
"""Result of `update`: other updates, and the next state."""
Schedule: TypeAlias = Callable[[Any], Array]
"""A function from the number of steps so far to a number."""
Number: TypeAlias = float | np.number[Any] | Array
"""A number, which may be traced."""
ScalarOrSchedule: TypeAlias = Number | Callable[[Any], Number]
"""A number, or a schedule."""


class TransformInitFn(Protocol):
    """The function from parameters to the first state."""

    def __call__(self, params: Params) -> OptState: ...


class TransformUpdateFn(Protocol):
    """The function from updates to other updates and the next state."""

    def __call__(
        self, updates: T, state: OptState, params: Params | None = None
    ) -> tuple[T, OptState]: ...


class TransformUpdateExtraArgsFn(Protocol):
    """The same with further arguments by name, such as the value of the loss."""

    def __call__(
        self, updates: T, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> tuple[T, OptState]: ...


class GradientTransformation(NamedTuple):
    """A pair of pure functions, `init` and `update`."""

    init: TransformInitFn
    update: TransformUpdateFn


def _no_attribute(self: GradientTransformation, name: str) -> Any:
    from fungrad.optim.mistakes import no_method  # only errors need it

    raise no_method(name)


if not TYPE_CHECKING:  # to type checkers it has no other attributes
    GradientTransformation.__getattr__ = _no_attribute


class GradientTransformationExtraArgs(GradientTransformation):
    """A transformation whose `update` takes more arguments by name, and ignores unknown ones."""

    update: TransformUpdateExtraArgsFn


class EmptyState(NamedTuple):
    """The state of a transformation without memory."""


def zero_like(x: Any, dtype: Any = None) -> Any:
    """Return a zero without axes of `x`'s library. CuPy's `zeros_like` overlooks ``shape=()``."""
    return fnp.zeros_like(x, dtype, shape=(1,)).reshape(())


def tree_map(f: Callable[..., Any], updates: Any, *rest: Any) -> Any:
    """Apply f to all leaves; where the first tree has None, so has the result, whatever the others have.

    NumPy's products of a number and an array of bfloat16 are float32: these are rounded once, when f is done. Leaves in one
    place have one shape, or are single numbers: what would broadcast is a mistake.
    """

    def alike(x: Any, *others: Any) -> Any:
        _check_shapes(x, others)
        return f(x, *others)

    return broadcasting_map(alike if rest else f, updates, *rest)


def broadcasting_map(f: Callable[..., Any], updates: Any, *rest: Any) -> Any:
    """Apply f as `tree_map` does, to leaves whose shapes may differ.

    Results without axes are scalars of NumPy's, as those of its operators are.
    """

    def one(x: Any, *others: Any) -> Any:
        if x is None:
            return None
        result = f(x, *others)
        result = result[()] if type(result) is np.ndarray and not result.ndim else result
        dtype = getattr(x, "dtype", None)
        return result if dtype is None or dtype.kind != "V" else rounded(result, dtype, others)

    return tree.map(one, updates, *rest, is_leaf=lambda x: x is None)


def _check_shapes(x: Any, others: tuple[Any, ...]) -> None:
    shape = getattr(x, "shape", ())
    if not shape:
        return
    for other in others:
        if getattr(other, "shape", shape) != shape and other.size != 1:
            raise ValueError(
                f"arrays of the shapes {tuple(shape)} and {tuple(other.shape)} are in one place of the trees"
            )


def rounded(x: Any, dtype: np.dtype[Any], others: tuple[Any, ...]) -> Any:
    """Return floats in the dtype that all operands have; sums collected in a wider one stay wide."""
    alike = all(getattr(y, "dtype", dtype) == dtype for y in others)
    return x.astype(dtype) if alike and hasattr(x, "dtype") and kind_of(x.dtype) == "f" else x


def no_steps() -> Any:
    """Return the counter of steps before the first one."""
    return np.int32(0)


def required(params: Params | None, name: str) -> Params:
    """Return the parameters that `update` was given, without which this transformation cannot do."""
    if params is None:
        raise ValueError(
            f"{name}: update needs the parameters; write tx.update(updates, state, params)"
        )
    return params


def refuse_complex(tree_of_arrays: Any, name: str) -> None:
    """Complain of complex parameters or updates."""
    if any(array(x).dtype.kind == "c" for x in tree.leaves(tree_of_arrays)):
        raise ValueError(
            f"{name}: complex numbers have no order; parameters and updates must be real"
        )


@public
def init_empty_state(params: Params) -> EmptyState:
    """Return the state of a transformation without memory.

    Examples
    --------
    >>> optim.init_empty_state(np.zeros(3))
    EmptyState()
    """
    del params
    return EmptyState()


@public
def safe_increment(count: Number) -> Array:
    """Return the count and one more, or the count if there is no larger number of its dtype.

    Examples
    --------
    >>> print(optim.safe_increment(np.int32(2)), optim.safe_increment(np.int8(127)))
    3 127
    """
    known: Any = count if is_array(count) or hasattr(count, "dtype") else array(count)
    if np.issubdtype(known.dtype, np.integer):
        largest = np.iinfo(known.dtype).max
    elif np.issubdtype(known.dtype, np.floating):
        return known + known.dtype.type(1)  # the largest one stays as it is by rounding
    else:
        raise ValueError(
            f"safe_increment: count must be an integer or a float, got dtype {known.dtype}"
        )
    kind = known.dtype.type
    return known + fnp.where(known < kind(largest), kind(1), kind(0))


safe_int32_increment = safe_increment


@public
def identity() -> GradientTransformation:
    """Leave updates as they are.

    Examples
    --------
    >>> tx = optim.identity()
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))
    (array([1., 1.]), EmptyState())
    """
    return GradientTransformation(
        init_empty_state, lambda updates, state, params=None: (updates, state)
    )


@public
def set_to_zero() -> GradientTransformation:
    """Make all updates zero, so that parameters stay as they are.

    Examples
    --------
    >>> tx = optim.set_to_zero()
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([0., 0.])
    """
    return stateless(lambda updates, params: tree_map(fnp.zeros_like, updates))


@public
def stateless(f: Callable[[Updates, Params | None], Updates]) -> GradientTransformation:
    """Make a transformation of a function that remembers nothing.

    Parameters
    ----------
    f
        Takes updates and parameters (or None) and returns updates.

    Examples
    --------
    >>> tx = optim.stateless(lambda updates, params: 2 * updates)
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)))[0]
    array([2., 2.])
    """
    return GradientTransformation(
        init_empty_state, lambda updates, state, params=None: (f(updates, params), EmptyState())
    )


@public
def stateless_with_tree_map(f: Callable[[Any, Any], Any]) -> GradientTransformation:
    """Make a transformation of a function of one leaf.

    Parameters
    ----------
    f
        Takes a leaf of the updates and that of the parameters (or None) and returns a leaf.

    Examples
    --------
    >>> tx = optim.stateless_with_tree_map(lambda u, p: u - p)
    >>> tx.update([np.ones(2)], tx.init([np.ones(2)]), [np.ones(2)])[0]
    [array([0., 0.])]
    """

    def over_leaves(updates: Updates, params: Params | None) -> Updates:
        if params is None:
            return tree.map(lambda u: f(u, None), updates)
        return tree.map(f, updates, params)

    return stateless(over_leaves)


@public
def with_extra_args_support(tx: GradientTransformation) -> GradientTransformationExtraArgs:
    """Return a transformation whose `update` takes additional arguments by name.

    Parameters
    ----------
    tx
        A gradient transformation; if it takes none, they are left out.

    Examples
    --------
    >>> tx = optim.with_extra_args_support(optim.scale(2.0))
    >>> tx.update(np.ones(2), tx.init(np.zeros(2)), None, value=3.0)[0]
    array([2., 2.])
    """
    if isinstance(tx, GradientTransformationExtraArgs):
        return tx

    def update(
        updates: Updates, state: OptState, params: Params | None = None, **extra_args: Any
    ) -> Updated:
        del extra_args
        return tx.update(updates, state, params)

    return GradientTransformationExtraArgs(tx.init, update)


@public
def apply_updates(params: T, updates: Updates) -> T:
    """Return parameters and updates added; dtypes are those of the parameters.

    Examples
    --------
    >>> optim.apply_updates({"w": np.ones(2)}, {"w": np.array([0.5, -0.5])})
    {'w': array([1.5, 0.5])}
    """
    try:
        return tree_map(_added, params, updates)
    except (TypeError, ValueError) as error:
        from fungrad.optim.mistakes import apply_error  # only errors need it

        new = apply_error(params, updates, error)
        if new is error:
            raise
        raise new from error


def _added(param: Any, update: Any) -> Any:
    param = array(param)
    return array(param + update).astype(param.dtype)


@public
def incremental_update(new_tensors: T, old_tensors: T, step_size: Number) -> T:
    """Return a step from old arrays to new ones: a running mean of parameters.

    Parameters
    ----------
    new_tensors, old_tensors
        Pytrees of arrays.
    step_size
        How far to go: 1 gives the new ones.

    Examples
    --------
    >>> optim.incremental_update(np.ones(2), np.zeros(2), 0.25)
    array([0.25, 0.25])
    """
    return tree_map(
        lambda new, old: step_size * new + (1.0 - step_size) * old, new_tensors, old_tensors
    )


@public_like(incremental_update)
def periodic_update(new_tensors: T, old_tensors: T, steps: Number, update_period: Number) -> T:
    """Return the new arrays after each period, and the old ones in between.

    Parameters
    ----------
    steps
        The number of steps so far.
    update_period
        The number of steps of a period.

    Examples
    --------
    >>> [float(optim.periodic_update(1.0, 0.0, i, 2)) for i in range(3)]
    [1.0, 0.0, 1.0]
    """
    due = fnp.mod(steps, update_period) == 0
    return cond(due, lambda new, old: new, lambda new, old: old, new_tensors, old_tensors)

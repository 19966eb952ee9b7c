"""The class of the optimizers of `fungrad.example_libraries.optimizers`, and storage of their states."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.example_libraries.step_sizes import public
from fungrad.extend.packages import api_boundary
from fungrad.extend.precision import array, converted
from fungrad.extend.types import kind_of
from fungrad.optim.halves import as_short, holds_half, wide
from fungrad.tree_util import register_dataclass

__all__ = [
    "Array",
    "InitFn",
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "Params",
    "ParamsFn",
    "State",
    "UpdateFn",
    "Updates",
    "clip_grads",
    "l2_norm",
    "optimizer",
    "pack_optimizer_state",
    "unpack_optimizer_state",
]

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
"""A pytree of arrays."""

Array: TypeAlias = Any
"""An array of numbers."""
Params: TypeAlias = Any
"""A pytree of parameters."""
State: TypeAlias = Any
"""The state kept for one array of parameters, a pytree."""
Updates: TypeAlias = Any
"""A pytree of gradients, like the parameters."""


@partial(register_dataclass, data_fields=["packed_state"], meta_fields=["tree_def", "subtree_defs"])
@dataclass(frozen=True)
class OptimizerState:
    """The state of an optimizer: flattened states of the arrays, their structures, and the parameters'.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.example_libraries import optimizers
    >>> init, update, get_params = optimizers.momentum(0.5, mass=0.9)
    >>> state = update(0, [np.ones(2)], init([np.zeros(2)]))
    >>> parameters, velocity = state.packed_state[0]
    >>> print(parameters, velocity)
    [-0.5 -0.5] [1. 1.]
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


InitFn: TypeAlias = Callable[[Params], OptimizerState]
UpdateFn: TypeAlias = Callable[[Any, Updates, OptimizerState], OptimizerState]
ParamsFn: TypeAlias = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """The three functions.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.example_libraries import optimizers
    >>> def run(opt: optimizers.Optimizer, params, grads):
    ...     state = opt.init_fn(params)
    ...     for i, g in enumerate(grads):
    ...         state = opt.update_fn(i, g, state)
    ...     return opt.params_fn(state)
    >>> run(optimizers.sgd(0.5), np.zeros(2), [np.ones(2), np.ones(2)])
    array([-1., -1.])
    """

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


Rule: TypeAlias = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
"""The three functions for one array."""


class JoinPoint:
    """Mark in an unpacked state: the state of one array, in the place of that array of parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.example_libraries import optimizers
    >>> init, update, get_params = optimizers.momentum(0.5, mass=0.9)
    >>> state = optimizers.unpack_optimizer_state(init({"w": np.ones(2)}))
    >>> state["w"].subtree
    (array([1., 1.]), array([0., 0.]))
    """

    def __init__(self, subtree: State) -> None:
        self.subtree = subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"

    def __iter__(self) -> Iterator[State]:
        yield self.subtree


def packed(states: list[State], tree_def: Any) -> OptimizerState:
    """Return the state of an optimizer, made of the states of its arrays."""
    flat = [trees.flatten(state) for state in states]
    return OptimizerState(
        tuple(tuple(leaves) for leaves, _ in flat), tree_def, tuple(s for _, s in flat)
    )


def unpacked(state: OptimizerState) -> list[State]:
    """Return the state of each array."""
    return [
        trees.unflatten(s, leaves)
        for s, leaves in zip(state.subtree_defs, state.packed_state, strict=True)
    ]


def as_before(new: Any, old: Any) -> Any:
    """Return floats in the precision they had, which a step in another one changes; loops need that."""
    before, now = (array(x).dtype for x in (old, new))
    same_kind = kind_of(now) == kind_of(before) in ("f", "c")
    return new.astype(before) if same_kind and now != before else new


@api_boundary
def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Make of an optimizer for one array one for pytrees.

    Parameters
    ----------
    opt_maker
        Returns three functions: ``init(x)`` makes a state, ``update(i, gradient, state)`` the next one,
        ``get_params(state)`` takes the array out of it.

    Raises
    ------
    TypeError
        By the update, if gradients are another tree than the parameters, or a state changes its structure.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.example_libraries import optimizers
    >>> @optimizers.optimizer
    ... def descent(step):
    ...     return (lambda x: x), (lambda i, g, x: x - step * g), (lambda x: x)
    >>> init, update, get_params = descent(0.5)
    >>> get_params(update(0, [np.ones(2)], init([np.zeros(2)])))
    [array([-0.5, -0.5])]
    """

    @functools.wraps(opt_maker)
    def maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_tree(params: Params) -> OptimizerState:
            leaves, structure = trees.flatten(params)
            return packed([init(array(x)) for x in leaves], structure)

        def update_tree(i: Any, grads: Updates, state: OptimizerState) -> OptimizerState:
            leaves, structure = trees.flatten(grads)
            if structure != state.tree_def:
                raise TypeError(
                    f"optimizer: the gradients are a tree {structure}, and the parameters were {state.tree_def}"
                )
            pairs = zip(leaves, unpacked(state), strict=True)
            after = packed([update(i, wide(g), wide(s)) for g, s in pairs], structure)
            if after.subtree_defs != state.subtree_defs:
                raise TypeError(
                    "optimizer: the update changes the structure of the state, from "
                    f"{state.subtree_defs} to {after.subtree_defs}"
                )
            kept = trees.map(as_before, after.packed_state, state.packed_state)
            return OptimizerState(kept, structure, after.subtree_defs)

        def params_of(state: OptimizerState) -> Params:
            return trees.unflatten(state.tree_def, [get_params(s) for s in unpacked(state)])

        return Optimizer(init_tree, update_tree, params_of)

    return maker


@public
def l2_norm(tree: Any) -> NDArray[Any]:
    """Return the norm of all arrays as one vector.

    Examples
    --------
    >>> print(optimizers.l2_norm({"w": np.array([3.0]), "b": np.array([4.0])}))
    5.0
    """
    leaves = trees.leaves(tree)
    norm = fnp.sqrt(sum(fnp.vdot(x, x) for x in wide(leaves)))
    return converted(norm, leaves[0].dtype) if {*map(holds_half, leaves)} == {True} else norm


@public
def clip_grads(grad_tree: T, max_norm: Any) -> T:
    """Return gradients, shortened by one factor if the norm of all of them is beyond a bound.

    Parameters
    ----------
    grad_tree
        A pytree of gradients.
    max_norm
        The bound.

    Examples
    --------
    >>> optimizers.clip_grads([np.array([3.0, 4.0])], 1.0)
    [array([0.6, 0.8])]
    """
    norm = l2_norm(wide(grad_tree))
    fine = norm < max_norm
    factor = max_norm / fnp.where(fine, 1, norm)
    shortened = lambda g: as_short(fnp.where(fine, g, g * factor), g)
    return trees.map(shortened, grad_tree)  # type: ignore[no-any-return]


@public
def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return a state for storage: a tree like the parameters, with a `JoinPoint` for each array.

    Parameters
    ----------
    opt_state
        The state.

    Examples
    --------
    >>> state = optimizers.momentum(0.1, 0.9).init_fn({"w": np.ones(2)})
    >>> optimizers.unpack_optimizer_state(state)["w"].subtree
    (array([1., 1.]), array([0., 0.]))
    """
    return trees.unflatten(opt_state.tree_def, [JoinPoint(s) for s in unpacked(opt_state)])


@public
def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state from a tree that `unpack_optimizer_state` has returned.

    Parameters
    ----------
    marked_pytree
        A pytree with a `JoinPoint` for each array.

    Raises
    ------
    TypeError
        If it has other leaves.

    Examples
    --------
    >>> init, update, get_params = optimizers.momentum(0.1, 0.9)
    >>> marked = optimizers.unpack_optimizer_state(init({"w": np.ones(2)}))
    >>> get_params(optimizers.pack_optimizer_state(marked))
    {'w': array([1., 1.])}
    """
    leaves, structure = trees.flatten(marked_pytree)
    for leaf in leaves:
        if not isinstance(leaf, JoinPoint):
            raise TypeError(
                f"pack_optimizer_state: the leaves must be JoinPoints, got {type(leaf).__name__}"
            )
    return packed([leaf.subtree for leaf in leaves], structure)

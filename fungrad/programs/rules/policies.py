"""Policies of `checkpoint`: functions that decide whether the results of a primitive may be kept.

A policy is called as ``policy(prim, *types, **params)``: with the primitive, the types of its operands and its
parameters. It returns whether its results may be kept for the backward pass; what is neither kept nor an
operand of the checkpointed function is computed again there. Any function of this kind will do:

>>> def small_results(prim, *types, **params):
...     return all(t.size < 1000 for t in types)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from fungrad.core.errors import api_boundary
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.naming import Named

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]
__dir__ = __all__.copy

Policy = Callable[..., bool]


def everything_saveable(primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
    """Keep everything that the backward pass needs, as if there were no `checkpoint`.

    Examples
    --------
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, saved_residuals
    >>> def kept(policy):
    ...     return len(saved_residuals(checkpoint(lambda x: fnp.sin(fnp.sin(x)), policy=policy), 1.0))
    >>> kept(everything_saveable), kept(nothing_saveable)
    (2, 1)
    """
    return True


def nothing_saveable(primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
    """Keep nothing but the operands, as without a policy.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, saved_residuals
    >>> f = checkpoint(lambda x: fnp.sum(fnp.sin(fnp.sin(x))), policy=nothing_saveable)
    >>> saved_residuals(f, np.ones(3))
    [(float64[3], 'from the argument x')]
    """
    return False


def dots_saveable(primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
    """Keep the results of matrix products and convolutions, which take long to compute.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, saved_residuals
    >>> def layers(w, x):
    ...     return fnp.sum(fnp.sin(w @ fnp.sin(w @ x)))
    >>> kept = saved_residuals(checkpoint(layers, policy=dots_saveable), np.eye(3), np.ones(3))
    >>> [type_.shape for type_, _ in kept]  # the operands and two products
    [(3, 3), (3,), (3,), (3,)]
    """
    return isinstance(primitive, (DotGeneral, Convolution))


def dots_with_no_batch_dims_saveable(
    primitive: Primitive, /, *types: ArrayType, **params: Any
) -> bool:
    """Keep the results of matrix products, but not of stacks of them.

    In a network these are the products with weights: their number grows with the batch, that of the products of
    examples with each other (as of attention) faster.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, saved_residuals
    >>> def attention(w, x):  # of 5 sequences of 7 tokens
    ...     q = x @ w
    ...     return fnp.sum(fnp.exp(q @ q.swapaxes(1, 2)))
    >>> policy = dots_with_no_batch_dims_saveable
    >>> kept = saved_residuals(checkpoint(attention, policy=policy), np.eye(2), np.ones((5, 7, 2)))
    >>> [type_.shape for type_, _ in kept]  # the operands and x @ w
    [(2, 2), (5, 7, 2), (5, 7, 2)]
    """
    return isinstance(primitive, DotGeneral) and not primitive.batch_axes[0]


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


# Policies made of names are equal if the names are, so that a function checkpointed anew in each call with
# one finds the programs made in the last.


@dataclasses.dataclass(frozen=True)
class _ByName:
    """Says yes to named results: those in `names`, or those that are not if `others` is true."""

    names: frozenset[str]
    others: bool = False

    def __call__(self, primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
        return isinstance(primitive, Named) and (primitive.label in self.names) is not self.others


@dataclasses.dataclass(frozen=True)
class _AnythingExcept:
    """Says yes to all results but those that have one of the names `excluded`."""

    excluded: frozenset[str]

    def __call__(self, primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
        return not (isinstance(primitive, Named) and primitive.label in self.excluded)


@dataclasses.dataclass(frozen=True)
class _AnyOf:
    """Says yes where one of several policies does."""

    policies: tuple[Policy, ...]

    def __call__(self, primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
        return any(allows(policy, primitive, *types, **params) for policy in self.policies)


@api_boundary
def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Return the policy that keeps results with one of these names, given by `checkpoint_name`.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, checkpoint_name, saved_residuals
    >>> def f(x):
    ...     h = checkpoint_name(fnp.sin(x), "h")
    ...     return fnp.sum(fnp.cos(h) * x)
    >>> kept = saved_residuals(checkpoint(f, policy=save_only_these_names("h")), np.ones(3))
    >>> [source.split(",")[0] for _, source in kept]
    ['from the argument x', "named 'h'"]
    """
    return _ByName(_names(names_which_can_be_saved, "save_only_these_names"))


@api_boundary
def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Return the policy that keeps results with a name, if it is none of these.

    Examples
    --------
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, checkpoint_name, saved_residuals
    >>> def f(x):
    ...     first = checkpoint_name(fnp.sin(x), "first")
    ...     return fnp.sin(checkpoint_name(fnp.sin(first), "second"))
    >>> kept = saved_residuals(checkpoint(f, policy=save_any_names_but_these("second")), 1.0)
    >>> [source.split(",")[0] for _, source in kept]
    ['from the argument x', "named 'first'"]
    """
    return _ByName(_names(names_not_to_save, "save_any_names_but_these"), others=True)


@api_boundary
def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Return the policy that keeps all results but those with one of these names.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, checkpoint_name, saved_residuals
    >>> def f(x):
    ...     return fnp.sin(checkpoint_name(fnp.exp(x), "h"))
    >>> policy = save_anything_except_these_names("h")
    >>> kept = saved_residuals(checkpoint(f, policy=policy), np.ones(3))
    >>> [source.split(",")[0] for _, source in kept]
    ['from the argument x', 'output of cos']
    """
    return _AnythingExcept(_names(names_not_to_save, "save_anything_except_these_names"))


@api_boundary
def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Return the policy that keeps results if either of two does.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> from fungrad.ad_checkpoint import checkpoint, checkpoint_name, saved_residuals
    >>> def f(w, x):
    ...     return fnp.sum(fnp.sin(w @ checkpoint_name(fnp.sin(w @ x), "h")))
    >>> policy = save_from_both_policies(dots_saveable, save_only_these_names("h"))
    >>> kept = saved_residuals(checkpoint(f, policy=policy), np.eye(2), np.ones(2))
    >>> [source.split(",")[0] for _, source in kept[2:]]  # after the operands
    ['output of dot_general', "named 'h'", 'output of dot_general']
    """
    check_policy(policy_1, "save_from_both_policies: policy_1")
    check_policy(policy_2, "save_from_both_policies: policy_2")
    return _AnyOf((*alternatives(policy_1), *alternatives(policy_2)))


def _names(names: tuple[str, ...], what: str) -> frozenset[str]:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{what} takes names, as strings one after the other; got {name!r} of type "
                f"{type(name).__name__}"
            )
    return frozenset(names)


def alternatives(policy: Policy | None) -> tuple[Policy, ...]:
    """Return the policies that a value is kept by, if any one says yes."""
    if policy is None:
        return ()
    return policy.policies if isinstance(policy, _AnyOf) else (policy,)


def kept_by(policy: Policy, expr: Expr) -> set[int]:
    """Return the results of equations that a policy allows to keep."""
    kept: set[int] = set()
    for primitive, inputs, outputs in expr.equations:
        types = [expr.types[v] for v in inputs]
        if allows(policy, primitive, *types, **parameters(primitive)):
            kept.update(outputs)
        elif isinstance(policy, _AnythingExcept) and isinstance(primitive, Named):
            kept.discard(inputs[0])  # the same array without its name
    return kept


def allows(policy: Policy, primitive: Primitive, /, *types: ArrayType, **params: Any) -> bool:
    """Ask a policy; raise a TypeError if it answers anything but yes or no."""
    answer = policy(primitive, *types, **params)
    if not isinstance(answer, bool):
        name = getattr(policy, "__name__", repr(policy))
        raise TypeError(
            f"checkpoint: the policy {name} must return True or False, whether the results of `{primitive}` may be "
            f"kept; got {answer!r}"
        )
    return answer


def check_policy(policy: Any, label: str) -> None:
    """Raise a TypeError unless `policy` is one."""
    makers = [
        save_only_these_names,
        save_any_names_but_these,
        save_anything_except_these_names,
        save_from_both_policies,
    ]
    if policy in makers:
        of = "policies" if policy is save_from_both_policies else "names"
        raise TypeError(f"{label}: {policy.__name__} makes a policy of {of}: call it first")
    if not callable(policy):
        raise TypeError(
            f"{label} must be one of fungrad.checkpoint_policies, or a function; got {policy!r}"
        )


def parameters(primitive: Primitive) -> dict[str, Any]:
    """Return the static parameters of a primitive by name."""
    return {f.name: getattr(primitive, f.name) for f in dataclasses.fields(primitive)}  # type: ignore[arg-type]


def __getattr__(name: str) -> Any:
    if name in ("offload_dot_with_no_batch_dims", "save_and_offload_only_these_names"):
        raise AttributeError(
            f"fungrad.checkpoint_policies has no {name!r}: arrays stay in the memory of the library they are of. "
            "Compute again what need not be kept, with dots_with_no_batch_dims_saveable or save_only_these_names."
        )
    raise AttributeError(f"module 'fungrad.checkpoint_policies' has no attribute {name!r}")

"""Recomputation in place of memory: `checkpoint`, and names for values that may be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.glossary import COMMON
from fungrad.core.reading import as_read
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.transformed import transformed
from fungrad.primitives.naming import Named
from fungrad.programs.closing import NotTraced, record, try_to_close
from fungrad.programs.rules.policies import Policy, check_policy
from fungrad.programs.rules.recomputation import checkpoint_of
from fungrad.programs.watching import look_at
from fungrad.transforms.argnums import chosen_arguments
from fungrad.transforms.arguments import argument_types, as_operand, check_callable, name_of
from fungrad.transforms.signatures import P, R


@COMMON.public
def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
) -> Callable[P, R]:
    """Return `fun` with a derivative that takes less memory: intermediate values are computed again.

    The backward pass of a function needs values that the forward pass has computed. Those within `fun` are not kept
    from the one to the other; the arguments are, and `fun` is run a second time. Results are the same.

    Parameters
    ----------
    prevent_cse
        Accepted for JAX's sake. The second run is never joined with the first.
    policy
        Which values within `fun` may be kept all the same: one of `checkpoint_policies`, or any function
        ``policy(prim, *types, **params)`` that returns True or False for the results of a primitive. By default
        none is.
    static_argnums, static_argnames
        Arguments, by position or by name, that are handed to `fun` as they are: flags, settings, functions.
    concrete
        Accepted for the sake of older programs; must be False.

    Returns
    -------
    Callable
        A function with the arguments and results of `fun`.

    Raises
    ------
    ConcretizationError
        In a call, if `fun` asks for the value of a traced array, as a Python `if` does: within `fun` there are
        none, under `grad` neither.
    TypeError
        In a call, if an argument is no array and not static.

    Notes
    -----
    What `fun` closes over counts as an argument: it is differentiated, and kept. What has an effect, such as
    `fungrad.debug.print`, happens once. Loops (`scan`) count as one primitive for `policy`. Where nothing is
    traced, `fun` is called as it is.

    Examples
    --------
    >>> from fungrad.ad_checkpoint import checkpoint, saved_residuals
    >>> def layer(x):
    ...     return fnp.sin(fnp.sin(fnp.sin(x)))
    >>> print(fg.grad(checkpoint(layer))(1.0) == fg.grad(layer)(1.0))
    True
    >>> saved_residuals(checkpoint(layer), np.ones(3))
    [(float64[3], 'from the argument x')]
    """
    check_callable(fun, "checkpoint")
    label = f"checkpoint({name_of(fun)})"
    if policy is not None:
        check_policy(policy, f"{label}: policy")
    if concrete:
        raise NotImplementedError(
            f"{label}: concrete=True is not supported; name the arguments whose values `fun` looks at in "
            "static_argnums"
        )
    positions, names = chosen_arguments(
        "checkpoint", fun, static_argnums, static_argnames, "static_argnums"
    )

    @transformed(_checkpoint, fun, policy, positions, names)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if innermost_trace() is None or settings.get().jit_disabled:
            result = fun(*args, **kwargs)
            look_at(label, fun, args, result, kwargs)
            return result
        fixed = {i % len(args) for i in positions if -len(args) <= i < len(args)}
        free = [i for i in range(len(args)) if i not in fixed]
        given = {k: x for k, x in kwargs.items() if k not in names}

        def function(dynamic: Sequence[Any], by_name: dict[str, Any]) -> Any:
            called = list(args)
            for i, x in zip(free, dynamic, strict=True):
                called[i] = x
            run = as_read(fun)  # under a name: errors look up which function is called here
            return run(*called, **{**kwargs, **by_name})

        return _record(label, function, policy, [args[i] for i in free], given, free)

    return checkpointed


remat = checkpoint


def _checkpoint(
    fun: Callable[..., Any],
    policy: Policy | None,
    static_argnums: tuple[int, ...],
    static_argnames: frozenset[str],
) -> Callable[..., Any]:
    return checkpoint(
        fun, policy=policy, static_argnums=static_argnums, static_argnames=static_argnames
    )


def _record(
    label: str,
    function: Callable[..., Any],
    policy: Policy | None,
    args: list[Any],
    kwargs: dict[str, Any],
    positions: Sequence[int],
) -> Any:
    """Trace a function and record its call."""
    leaves = tree.leaves((args, kwargs))
    try:
        argument_types(leaves, args, kwargs, label, positions)
    except TypeError as error:
        raise TypeError(f"{error} Name it in static_argnums if it is a setting.") from None
    closure = try_to_close(label, function, args, kwargs, weak=True)
    if isinstance(closure, NotTraced):
        raise type(closure.error)(
            f"{closure.error}\n{label} traces its function without values, under grad too. Name arguments that are "
            "settings in static_argnums, look at values before the call, or choose with fungrad.lax.cond."
        ) from None
    call = checkpoint_of(closure.program, policy)
    results = record(call, [*closure.captured, *map(as_operand, leaves)])
    return tree.unflatten(closure.structure, results)


@COMMON.public
def checkpoint_name(x: Any, name: str) -> Any:
    """Return `x` with a name, by which policies of `checkpoint` can tell it from other values.

    Parameters
    ----------
    x
        An array, a number, or a pytree of them.
    name
        What to call it.

    Returns
    -------
    pytree
        Equal to `x`.

    Examples
    --------
    >>> checkpoint_name(np.ones(2), "h")
    array([1., 1.])
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: the name must be a string, got {name!r}")
    return tree.map(lambda leaf: Named(name)(leaf) if type(leaf) is Tracer else leaf, x)

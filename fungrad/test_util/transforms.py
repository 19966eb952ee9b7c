"""Comparison of transforms with their meaning: `vmap` with a loop, `jit` with the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fungrad import jit, tree, vmap
from fungrad.core.config import compilation
from fungrad.core.state import chosen
from fungrad.extend.programs import name_of
from fungrad.extend.trees import broadcast_prefix
from fungrad.test_util.compare import GLOSSARY, Tolerances, described, mismatches, usual_tolerances
from fungrad.test_util.diagnosis import labels_of

__all__ = ["check_jit", "check_vmap"]

Function = Callable[..., Any]

# vmap


@GLOSSARY.public
def check_vmap(
    f: Function,
    args: Sequence[Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Check `vmap` of a function against a Python loop: structures, shapes, dtypes, values.

    Parameters
    ----------
    args
        A tuple of arguments of ``vmap(f, in_axes, out_axes)``: batches.
    in_axes, out_axes
        As of `vmap`.

    Raises
    ------
    AssertionError
        If they differ. The error says in which element of the batch, and which of the arguments it takes to be mapped for that.

    Examples
    --------
    >>> check_vmap(lambda x, y: fnp.dot(x, y), (np.ones((3, 2)), np.ones(2)), in_axes=(0, None))
    """
    args, tolerances = tuple(args), usual_tolerances(rtol, atol)
    axes = tuple(in_axes) if isinstance(in_axes, (list, tuple)) else (in_axes,) * len(args)
    told = _unlike_loop(f, args, axes, out_axes, tolerances)
    if not told:
        return
    members = _member(args, axes, 0)
    mapped = [k for k, axis in enumerate(axes) if set(broadcast_prefix(axis, args[k], "")) - {None}]
    names, lines = labels_of(f, [0] * len(args)), []
    for k in mapped if len(mapped) > 1 else []:
        alone = tuple([args[i] if i == k else x for i, x in enumerate(members)])
        axis = tuple([a if i == k else None for i, a in enumerate(axes)])
        agrees = not _unlike_loop(f, alone, axis, out_axes, tolerances)
        lines.append(f"over {names[k]} alone: they {'agree' if agrees else 'differ'}")
    by_argument = f"\n  mapped {'; '.join(lines)}" if lines else ""
    raise AssertionError(f"check_vmap({name_of(f)}): vmap and a loop differ in {told}{by_argument}")


def _member(args: tuple[Any, ...], axes: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    """Return the arguments of one call in a batch of them."""
    flat = broadcast_prefix(axes, args, "check_vmap: in_axes")
    leaves, structure = tree.flatten(args)
    taken = [x if a is None else x[_at(x, a, i)] for x, a in zip(leaves, flat, strict=True)]
    return tree.unflatten(structure, taken)  # type: ignore[no-any-return]


def _at(x: Any, axis: int, i: int) -> tuple[Any, ...]:
    return (*[slice(None)] * (axis % x.ndim), i)


def _unlike_loop(
    f: Function, args: tuple[Any, ...], axes: tuple[Any, ...], out_axes: Any, tolerances: Tolerances
) -> str:
    """Return the element of the batch, and the way, in which `vmap` differs most from a loop; or ""."""
    mapped = vmap(f, axes, out_axes)(*args)  # which says so if axes or lengths are wrong
    flat = broadcast_prefix(axes, args, "check_vmap: in_axes")
    pairs = zip(tree.leaves(args), flat, strict=True)
    n = next(x.shape[a] for x, a in pairs if a is not None)
    at = broadcast_prefix(out_axes, mapped, "check_vmap: out_axes")
    leaves, structure = tree.flatten(mapped)
    worst, said = -1.0, ""
    for i in range(n):
        taken = [x if a is None else x[_at(x, a, i)] for x, a in zip(leaves, at, strict=True)]
        expected = f(*_member(args, axes, i))
        told = mismatches(tree.unflatten(structure, taken), expected, tolerances)
        if told and told[0].excess > worst:
            worst, said = told[0].excess, f"element {i} of the batch: {described(told)}"
    return said


# jit


@GLOSSARY.public
def check_jit(
    f: Function,
    args: Sequence[Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    **options: Any,
) -> None:
    """Check that `jit` leaves a function's results unchanged: structure, shapes, dtypes and values.

    Compared are the first call, which traces, the second, and calls with kernels where llvmlite is installed. A function
    that is not pure is found by what it returns without `jit`: other results of the same arguments.

    Parameters
    ----------
    **options
        Of `jit`, such as ``static_argnums``.

    Raises
    ------
    AssertionError
        If they differ, or if `f` is not pure.

    Examples
    --------
    >>> check_jit(lambda x: fnp.sin(x) * 2, (np.ones(3),))
    >>> calls = []
    >>> def impure(x):
    ...     calls.append(x)
    ...     return x * len(calls)
    >>> try:
    ...     check_jit(impure, (2.0,))
    ... except AssertionError as error:
    ...     print(str(error).split(": it")[0])
    check_jit(impure): the function is not pure
    """
    args, tolerances, name = tuple(args), usual_tolerances(rtol, atol), name_of(f)

    def copied() -> Any:  # what is no array, as a static argument, stays
        return tree.map(lambda x: x.copy() if hasattr(x, "dtype") else x, args)

    expected = f(*copied())
    told = mismatches(f(*copied()), expected, lambda x, y: (0.0, 0.0))
    if told:
        raise AssertionError(
            f"check_jit({name}): the function is not pure: it gives other results when it is called again with the "
            f"same arguments, without jit. Is there a counter, a cache, a list or a generator of random numbers in it? "
            f"Under jit it keeps what it was when it was traced\n  in the second call: {described(told)}"
        )
    jitted = jit(f, **options)
    for which in ("the first call", "the second call"):
        _check_call(jitted, copied(), expected, tolerances, f"check_jit({name})", which)
    with chosen(compilation, lambda _: "eager"):
        jitted = jit(f, **options)
        for which in ("the first call with kernels", "the second call with kernels"):
            _check_call(jitted, copied(), expected, tolerances, f"check_jit({name})", which)


def _check_call(
    jitted: Any, args: Any, expected: Any, tolerances: Tolerances, what: str, which: str
) -> None:
    told = mismatches(jitted(*args), expected, tolerances)
    if told:
        raise AssertionError(
            f"{what}: {which} of the jitted function differs from the function: {described(told)}"
        )

"""Scans by an associative operation, in a number of calls that is logarithmic in the length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.paths import difference, flatten_with_path, keystr, paths_of
from fungrad.core.types import ArrayType, type_of
from fungrad.lax.checks import axis_of
from fungrad.lax.glossary import public
from fungrad.lax.operands import array_type_of
from fungrad.programs.watching import look_at
from fungrad.transforms.arguments import name_of

Leaves = list[Any]
T = TypeVar("T")
"""A pytree of arrays."""


@public
def associative_scan(fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0) -> T:
    """Combine the elements along an axis with all before them, by an associative operation.

    The result at k is ``fn(...fn(fn(x[0], x[1]), x[2])..., x[k])``, up to rounding. `fn` works on many
    pairs at once and is called about ``2 * log2(n)`` times for n elements; a loop would take n calls.

    Parameters
    ----------
    fn
        The operation: takes two trees like `elems`, each of some elements along the axis, combines them one
        by one, the first being the earlier, and returns the like. It must be associative:
        ``fn(a, fn(b, c))`` is ``fn(fn(a, b), c)``.
    elems
        An array or a pytree of arrays that all have the same length along the axis.
    reverse
        Whether to go from the last element to the first.
    axis
        The axis, of each array; if negative, counted from the end of the first array.

    Returns
    -------
    pytree of arrays
        The results, of the structure, shapes and dtypes of `elems`.

    Raises
    ------
    TypeError
        If `fn` is not callable, if an element of `elems` is no array, or if `fn` returns another structure,
        shape or dtype than it takes.
    ValueError
        If there is no array or no such axis, or if the lengths differ.

    Notes
    -----
    Neighbours are combined in pairs, the pairs scanned likewise, and the elements between filled in:
    Blelloch, *Prefix sums and their applications*, CMU-CS-90-190 (1990), section 1.2.

    Examples
    --------
    Sums, and the affine recurrence ``h[k] = a[k] * h[k-1] + b[k]``:

    >>> lax.associative_scan(np.add, np.arange(5))
    array([ 0,  1,  3,  6, 10])
    >>> def compose(first, second):
    ...     return first[0] * second[0], second[0] * first[1] + second[1]
    >>> lax.associative_scan(compose, (np.full(4, 0.5), np.ones(4)))[1]
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: fn must be callable, got {fn!r}")
    leaves, structure = tree.flatten(elems)
    axis, length = _axis_and_length(elems, axis)

    def combine(first: Leaves, second: Leaves) -> Leaves:
        arguments = [tree.unflatten(structure, xs) for xs in (first, second)]
        result = fn(*arguments)
        look_at(f"associative_scan({name_of(fn)})", fn, arguments, result)
        return _checked(result, structure, list(map(type_of, second)))

    def take(xs: Leaves, start: int, stop: int | None, step: int) -> Leaves:
        index = (slice(None),) * axis + (slice(start, stop, step),)
        return [x[index] for x in xs]

    if length < 2:
        return tree.unflatten(structure, [x.copy() for x in leaves])  # type: ignore[no-any-return]
    # Level by level, the elements combined in pairs; an odd one at the end waits.
    levels = [[fnp.flip(x, axis) for x in leaves] if reverse else leaves]
    while levels[-1][0].shape[axis] > 1:
        pairs = take(levels[-1], 0, -1, 2), take(levels[-1], 1, None, 2)
        levels.append(combine(*pairs))
    # And back: what a level has scanned are the results at odd places of the level before.
    scanned = levels.pop()
    for elements in reversed(levels):
        even = take(elements, 0, 1, 1)
        n = elements[0].shape[axis]
        if n > 2:
            before = take(scanned, 0, (n - 1) // 2, 1)
            later = combine(before, take(elements, 2, None, 2))
            even = [fnp.concatenate(xs, axis) for xs in zip(even, later, strict=True)]
        scanned = [_interleave(x, y, axis) for x, y in zip(even, scanned, strict=True)]
    if reverse:
        scanned = [fnp.flip(x, axis) for x in scanned]
    return tree.unflatten(structure, scanned)  # type: ignore[no-any-return]


def _axis_and_length(elems: Any, axis: int) -> tuple[int, int]:
    """Return the axis counted from the first, and the length of all arrays along it."""
    named = [
        ("elems" + keystr(path), array_type_of("associative_scan", "elems" + keystr(path), x))
        for path, x in flatten_with_path(elems)[0]
    ]
    if not named:
        raise ValueError("lax.associative_scan: elems holds no array")
    number = axis_of("associative_scan", "axis", axis, named[0][1].ndim)
    shown = ", ".join(f"{name} {t}" for name, t in named)
    if not all(t.ndim > number for _, t in named):
        raise ValueError(f"lax.associative_scan: not all arrays have the axis {number}: {shown}")
    if len({t.shape[number] for _, t in named}) > 1:
        raise ValueError(
            f"lax.associative_scan: all arrays must have the same length along axis {number}, got {shown}"
        )
    return number, named[0][1].shape[number]


def _checked(result: Any, structure: tree.TreeDef, expected: list[ArrayType]) -> Leaves:
    """Return the leaves of the result of `fn`, which must be like its arguments."""
    leaves, found = tree.flatten(result)
    mismatch = None if found == structure else difference(structure, result, exact=True)
    if mismatch is None:
        leaves = structure.flatten_up_to(result)
    # By JAX's rules leaves count alone: a tuple may stand for a NamedTuple.
    elif not (settings.get().jax_types and len(leaves) == len(expected)):
        where, how = mismatch
        raise TypeError(
            f"lax.associative_scan: fn must return the structure it takes; at {where}: {how}"
        )
    for path, x, wanted in zip(paths_of(structure), leaves, expected, strict=True):
        got = array_type_of("associative_scan", f"the result{keystr(path)} of fn", x)
        if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
            raise TypeError(
                f"lax.associative_scan: fn must return shapes and dtypes that it takes; its "
                f"result{keystr(path)} is {got}, for arguments {wanted}"
            )
    return leaves


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Return an array with the elements of `even` and `odd` in turn; `even` may have one more."""
    n = odd.shape[axis]
    head = even[(slice(None),) * axis + (slice(0, n),)]
    shape = (*odd.shape[:axis], 2 * n, *odd.shape[axis + 1 :])
    result = fnp.reshape(fnp.stack([head, odd], axis + 1), shape)
    if even.shape[axis] == n:
        return result
    return fnp.concatenate([result, even[(slice(None),) * axis + (slice(n, None),)]], axis)

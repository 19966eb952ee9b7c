"""Vectorisation: `vmap`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.axes import opened
from fungrad.core.config import settings
from fungrad.core.errors import Place, api_boundary
from fungrad.core.expr import Expr
from fungrad.core.frozen import Draws
from fungrad.core.layout import layout_of, without_axis
from fungrad.core.moving import may_move
from fungrad.core.nesting import lifted
from fungrad.core.reading import as_read
from fungrad.core.snapshot import snapshot
from fungrad.core.transformed import transformed
from fungrad.core.types import ArrayType
from fungrad.rewrite.batch import batch_expr
from fungrad.transforms.argument_errors import axes_by_name, unlike_arguments
from fungrad.transforms.arguments import (
    argument_place,
    argument_types,
    as_operand,
    check_callable,
    name_of,
)
from fungrad.transforms.call import output_variables, rewrite, run_on_values
from fungrad.transforms.chunks import ChunkSize, check_chunk_size, in_chunks
from fungrad.transforms.dtypes import as_traced
from fungrad.transforms.lane_programs import Numbers
from fungrad.transforms.lanes import Lanes, Way
from fungrad.transforms.signatures import P, R
from fungrad.transforms.ways import Traced, all_results


@overload
def vmap(
    fun: np.ufunc,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
    sum_match: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]: ...
@overload
def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
    sum_match: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[P, R]: ...
@api_boundary
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
    sum_match: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that maps `fun` over an axis of its arguments, in one vectorised call.

    Where Python needs a value that differs between batch elements, the batch is split: `fun` runs once for each path, on the elements
    that take it. Results are those of a Python loop over the elements. So is the time, if each element takes a path of its own.
    Side effects, such as ``print(...)``, happen once for each path.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them, written for one example.
    in_axes
        The axis of each positional argument to map over. An integer, None (the argument is the same for all), or a
        tuple or list with one entry for each argument. An entry may be a pytree of axes, a prefix of the argument's
        tree. Keyword arguments are mapped over axis 0.
    out_axes
        Where the mapped axis goes in the results: an integer, None (for results that are the same for
        all), or a tree of these that is a prefix of the result.
    axis_name
        A name for the mapped axis. Where `fun` is running, the collectives of `fungrad.lax`, such as ``psum(x,
        axis_name)``, work across the calls that it is mapped to.
    axis_size
        Length of the mapped axis; needed only if no argument is mapped.
    spmd_axis_name, sum_match
        Accepted for JAX's sake; must be None and False.
    chunk_size
        How many calls are computed at once, one chunk after the other, so that memory is needed for these alone; by default all.
        "auto" takes as many as a quarter of the free memory has room for. Where something is traced, as under `jit`, the chunks are a
        loop, as of `fungrad.lax.map`.

    Raises
    ------
    ValueError
        If mapped axes differ in length, an axis is out of range, nothing is mapped and `axis_size` is
        not given, or results of calls that go different ways differ in tree or shape.
    TypeError
        If `chunk_size` is none of the above.
    ConcretizationError
        If calls that communicate across a named axis would go different ways.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> a, b = np.ones((3, 4)), np.arange(4.0)
    >>> fg.vmap(fnp.dot, in_axes=(0, None))(a, b)
    array([6., 6., 6.])
    >>> fg.vmap(lambda x: x / fg.lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    >>> fg.vmap(lambda n: sum(range(n)))(np.array([2, 5, 5, 3]))  # three ways
    array([ 1, 10, 10,  3])
    """
    check_callable(fun, "vmap")
    _check_options(axis_name, spmd_axis_name, sum_match, chunk_size)
    label = f"vmap({name_of(fun)})" if axis_name is None else f"vmap({name_of(fun)}, {axis_name!r})"
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, Mapping):
        raise axes_by_name(fun, in_axes, label)

    @transformed(vmap, fun, in_axes, out_axes, axis_name, axis_size, None, False, chunk_size)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        types = argument_types(leaves, args, kwargs, label)
        axes = _axes_of(types, in_axes, label, args, kwargs)
        size = _batch_size(types, axes, axis_size, label, (args, kwargs))
        if chunk_size is not None and size:
            batch = leaves, structure, axes, size, out_axes
            return in_chunks(vmap, fun, chunk_size, *batch, label)
        # As they are now: the function may write to them by another name.
        batches = [
            lifted(snapshot(as_operand(x)))
            for x, a in zip(leaves, axes, strict=True)
            if a is not None
        ]
        draws = Draws(fun)
        given = (fun, leaves, structure, axes, types, out_axes)
        trace = Lanes(label)
        trace.mapping = (size, tuple([a for a in axes if a is not None]), batches, axis_name)
        with trace:
            outputs, out_structure, targets = _run(trace, given)
            if trace.way is None:
                draws.warn(label, mapped=True)
                program = _program(trace, outputs, targets)
        if trace.way is None:
            computed = run_on_values(trace, program, *batches)
            if settings.get().jax_types:
                computed = as_traced(trace, outputs, computed)
        else:
            first = Traced(trace, outputs, out_structure, targets)
            computed, runs = all_results(first, functools.partial(_run_again, given))
            if runs < size:  # else it is a loop, in which each call draws its own numbers
                draws.warn(label, mapped=True)
        return tree.unflatten(out_structure, computed)

    return mapped


Given: TypeAlias = tuple[
    Callable[..., Any], Sequence[Any], Any, Sequence[int | None], Sequence[ArrayType], Any
]
"""A function, leaves, tree, mapped axes and types of its arguments, and the axes of results."""


def _run(
    trace: Lanes, given: Given, lanes: Numbers | None = None, place: Place | None = None
) -> tuple[list[int], Any, tuple[int | None, ...]]:
    """Run a function for all calls, or for parted ones from a place on; return results, tree and axes."""
    fun, leaves, structure, axes, types, out_axes = given
    traced = map(functools.partial(_within, trace), leaves, axes, types)
    args, kwargs = tree.unflatten(structure, [*traced])
    trace.way = None if lanes is None else Way(trace, lanes, place)
    with opened(trace.mapping[3], trace.mapping[0], trace):
        run = as_read(fun)  # under a name: errors look up which function is called here
        result = run(*args, **kwargs)
    out_leaves, out_structure = tree.flatten(result)
    label = trace.label
    outputs = output_variables(trace, out_leaves, label)
    if type(out_axes) is int:
        wanted = [out_axes] * len(outputs)
    else:
        wanted = tree.broadcast_prefix(out_axes, result, f"{label}: out_axes")
    where = functools.partial(_result_place, result)
    placed = enumerate(zip(wanted, outputs, strict=True))
    targets = tuple([_front(a, trace.types[v], label, i, where, 1) for i, (a, v) in placed])
    return outputs, out_structure, targets


def _run_again(given: Given, first: Lanes, lanes: Numbers, place: Place | None) -> Traced:
    """Run a function for the calls that have parted from others at a place."""
    trace = Lanes(first.label)
    trace.mapping = first.mapping
    with trace:
        return Traced(trace, *_run(trace, given, lanes, place))


def _program(trace: Lanes, outputs: Sequence[int], targets: tuple[int | None, ...]) -> Program:
    """Return the program of a batch of calls that go one way."""
    size, sources, _, name = trace.mapping

    def build(expr: Expr, done: int) -> Program:
        in_ = [*[None] * expr.captured, *sources]
        return Program(batch_expr(expr, size, in_, targets, trace.label, name))

    made: Program = rewrite(trace, outputs, ("vmap", size, sources, targets, name), build)
    return made


def _check_options(axis_name: Any, spmd_axis_name: Any, sum_match: bool, chunk_size: Any) -> None:
    check_chunk_size(chunk_size, "vmap")
    if chunk_size is not None and axis_name is not None:
        raise ValueError(
            "vmap: calls in chunks cannot work across all calls: leave out axis_name or chunk_size"
        )
    if spmd_axis_name is not None:
        raise ValueError("vmap: spmd_axis_name must be None: there is no sharding here")
    if sum_match:
        raise ValueError("vmap: sum_match must be False: sum the results over the mapped axis")
    if isinstance(axis_name, tuple) or not isinstance(axis_name, Hashable):
        raise TypeError(
            f"vmap: axis_name must be one name, a string or another hashable object, but no tuple; got "
            f"{axis_name!r}. For several axes use one vmap for each."
        )


def _axes_of(
    types: Sequence[ArrayType],
    in_axes: Any,
    label: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> list[int | None]:
    """Return the mapped axis of each leaf of the arguments, counted from the front, or None."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"{label}: in_axes has {len(in_axes)} entries, but the call has {len(args)} positional "
            "arguments; give one for each (keyword arguments are mapped over axis 0)"
        )
    if type(in_axes) is int and not kwargs:
        axes = [in_axes] * len(types)
    else:
        try:
            axes = tree.broadcast_prefix(in_axes, args, f"{label}: in_axes")
        except ValueError as error:
            raise unlike_arguments(in_axes, args, error) from None
        axes += [0] * (len(types) - len(axes))  # of keyword arguments
    place = functools.partial(argument_place, args=args, kwargs=kwargs)
    return [_front(a, t, label, i, place) for i, (a, t) in enumerate(zip(axes, types, strict=True))]


def _within(trace: Lanes, x: Any, axis: int | None, type_: ArrayType) -> Any:
    """Return the function's view of a leaf that is mapped over an axis, or over none."""
    if axis is None:  # an array, so that it can be indexed by a mapped one
        return trace.lift(x) if type(x) is np.ndarray else x
    shape = type_.shape[:axis] + type_.shape[axis + 1 :]
    layout = without_axis(layout_of(x), type_.shape, axis)
    tracer = trace.new_input(type_.update(shape=shape), layout=layout)
    if not may_move(x):
        trace.given.still |= {tracer._variable}
    return tracer


def _front(
    axis: Any,
    type_: ArrayType,
    label: str,
    leaf: int,
    place: Callable[[int], str],
    extra: int = 0,
) -> int | None:
    """Return `axis` counted from the front, for an array with `extra` more axes than `type_`.

    `place` tells how to speak of a leaf in an error.
    """
    if axis is None:
        return None
    ndim = type_.ndim + extra
    if not isinstance(axis, int | np.integer):
        raise ValueError(
            f"{label}: the axis of {place(leaf)} must be an integer or None, got {axis!r}"
        )
    if not -ndim <= axis < ndim:
        if extra:
            raise ValueError(
                f"{label}: axis {axis} of out_axes is out of range for {place(leaf)}, of type {type_} without the "
                "mapped axis"
            )
        why = (
            "is a scalar, and has no axis to map over" if not type_.ndim else f"has no axis {axis}"
        )
        raise ValueError(f"{label}: {place(leaf)}, of type {type_}, {why}. {_advice(place(leaf))}")
    return int(axis) % ndim


def _advice(place: str) -> str:
    """Return advice for an argument, or a part of one, without an axis to map over."""
    if place.startswith("argument '"):
        return (
            "Keyword arguments are mapped always: bind what is the same in all calls, with functools.partial(f, name=value) say, or "
            "pass it by position, with None in in_axes."
        )
    same = "Pass None in in_axes for what is the same in all calls, in_axes=(0, None) say."
    if not re.search(r"\[\d+\]$", place):
        return same
    return (
        "A list or tuple is a tree, and each element of it an argument of its own: to map over a list of numbers, pass numpy.array(x). "
        f"{same}"
    )


def _result_place(result: Any, leaf: int) -> str:
    return f"the result{tree.leaves_with_paths(result)[leaf][0]}"


def _batch_size(
    types: Sequence[ArrayType],
    axes: Sequence[int | None],
    axis_size: int | None,
    label: str,
    arguments: Any,
) -> int:
    sizes = {t.shape[a] for t, a in zip(types, axes, strict=True) if a is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise ValueError(
            f"{label}: nothing is mapped: in_axes is None for every argument. Give an axis for at least "
            "one, or axis_size."
        )
    lines = [
        f"  argument {_argument_name(path)} of type {t} is mapped over axis {a}, of length {t.shape[a]}"
        for (path, _), t, a in zip(tree.leaves_with_paths(arguments), types, axes, strict=True)
        if a is not None
    ]
    if axis_size is not None:
        lines.append(f"  axis_size is {axis_size}")
    raise ValueError(
        f"{label}: mapped axes must have one length, got\n"
        + "\n".join(lines)
        + "\nGive None in in_axes for an argument that is passed whole to each call."
    )


def _argument_name(path: str) -> str:
    """Return `0['w']` for the path `[0][0]['w']` in (args, kwargs)."""
    kind, _, rest = path[1:].partition("]")
    return rest if kind == "1" else rest[1:].replace("]", "", 1)

"""`shard_map`: a function of parts as one of whole arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable
from contextlib import ExitStack
from typing import Any

from fungrad import Expr, tree
from fungrad.compile.lower import Program
from fungrad.core.axes import open_axes, opened
from fungrad.core.nesting import lifted
from fungrad.core.snapshot import snapshot
from fungrad.core.trace import Trace
from fungrad.core.transformed import transformed
from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import check_callable, name_of
from fungrad.extend.trees import broadcast_prefix, leaves_with_paths
from fungrad.sharding.dividing import Dividing
from fungrad.sharding.mesh import Axis, Mesh, PartitionSpec
from fungrad.transforms.arguments import argument_place, argument_types, as_operand
from fungrad.transforms.call import output_variables, rewrite, run_on_values
from fungrad.typing import PyTree


@api_boundary
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = None,
    mesh: Mesh | None = None,
    axis_names: Iterable[Hashable] = frozenset(),
    check_vma: bool = True,
    local_arrays: bool = False,
) -> Callable[..., Any]:
    """Return a function of whole arrays, made of `f`, a function of parts run by all places of a mesh.

    All processes call it with the same arguments and get the same results. `f` is called once in each process and is traced; within it
    the collectives of `fungrad.lax` work across the axes of the mesh by their names, as across those of `vmap`.

    Parameters
    ----------
    f
        A function of arrays and pytrees of them.
    in_specs, out_specs
        A `PartitionSpec` for all arguments, for all results, or trees of them that are prefixes of the tuple of the arguments and of
        the result. A place gets a part of each axis that is divided, of equal length, and all of the others. Results
        are joined so; along axes of the mesh that are not named, they have to be the same.
    mesh
        The places. It, and `in_specs`, must be given: there is no current mesh.
    axis_names
        Accepted for JAX's sake: the axes of the mesh, all of them.
    check_vma
        Whether it is an error if results are not the same that have to be; else that of the first place is taken.
    local_arrays
        Whether arguments and results are, along axes that are divided, what this process has of them, instead of the whole: so no process has to hold
        the whole.

    Raises
    ------
    ValueError
        If an axis cannot be divided, or specs do not fit; if results differ that have to be the same.
    DistributedError
        If the processes come to different collectives, or one ends.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.sharding import PartitionSpec as P, make_mesh, shard_map
    >>> mesh = make_mesh((4,), ("i",))
    >>> norm = shard_map(
    ...     lambda x: fg.lax.psum(fg.numpy.sum(x * x), "i"), mesh=mesh, in_specs=P("i"), out_specs=P()
    ... )
    >>> norm(np.arange(8.0))
    np.float64(140.0)
    >>> fg.grad(norm)(np.arange(8.0))
    array([ 0.,  2.,  4.,  6.,  8., 10., 12., 14.])
    """
    options = {
        "out_specs": out_specs,
        "in_specs": in_specs,
        "mesh": mesh,
        "axis_names": axis_names,
        "check_vma": check_vma,
        "local_arrays": local_arrays,
    }
    if f is None:
        return functools.partial(shard_map, **options)
    check_callable(f, "shard_map")
    if not isinstance(mesh, Mesh):
        raise TypeError(f"shard_map: mesh must be given, a fungrad.sharding.Mesh; got {mesh!r}")
    if in_specs is None:
        raise TypeError("shard_map: in_specs must be given: PartitionSpec() is what is not divided")
    if axis_names and {*axis_names} != {*mesh.axis_names}:
        raise NotImplementedError(
            f"shard_map: axis_names must be all axes of the mesh, {mesh.axis_names}, or left out; got {axis_names!r}"
        )
    for spec in [*_specs_in(in_specs, "in_specs"), *_specs_in(out_specs, "out_specs")]:
        unknown = [n for names in spec for n in names if n not in mesh.axis_names]
        if unknown:
            raise ValueError(f"shard_map: {spec} names {unknown[0]!r}, which is no axis of {mesh}")
    in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
    label = f"shard_map({name_of(f)})"
    made = _Mapped(f, label, in_specs, out_specs, mesh, check_vma, local_arrays)
    return transformed(_loaded, f, tuple(options.items()))(made.call)


@dataclasses.dataclass(frozen=True)
class _Mapped:
    """A function returned by `shard_map`."""

    f: Callable[..., Any]
    label: str
    in_specs: Any
    out_specs: Any
    mesh: Mesh
    check: bool
    local: bool

    def call(self, *args: Any) -> Any:
        """Call the function in each of this process's places."""
        label, specs = self.label, self.in_specs
        if any(axis.parts for axis in open_axes().values()):
            raise NotImplementedError(
                f"{label}: shard_map within shard_map; give one mesh all the axes, and the function their names"
            )
        dividing = Dividing(self.mesh.layout(), label, self.local, self.check)
        leaves, structure = tree.flatten(args)
        types = argument_types(leaves, args, {}, label)
        if isinstance(specs, tuple) and len(specs) != len(args):
            raise ValueError(
                f"{label}: in_specs has {len(specs)} entries, but the call has {len(args)} arguments"
            )
        specs = broadcast_prefix(specs, args, f"{label}: in_specs")
        place = lambda i: argument_place(i, args)
        wholes = [lifted(snapshot(as_operand(x))) for x in leaves]
        with Trace(label) as trace:
            inputs = [
                trace.new_input(dividing.part(t, spec, i, place))
                for i, (t, spec) in enumerate(zip(types, specs, strict=True))
            ]
            with ExitStack() as axes:
                for axis in dividing.layout:
                    axes.enter_context(_opened(axis, trace))
                result = self.f(*tree.unflatten(structure, inputs))
            out_leaves, out_structure = tree.flatten(result)
            outputs = output_variables(trace, out_leaves, label)
            targets = broadcast_prefix(self.out_specs, result, f"{label}: out_specs")
            for i, (v, spec) in enumerate(zip(outputs, targets, strict=True)):
                dividing.check_rank(
                    trace.types[v], spec, functools.partial(_result_place, result), i
                )

            def build(expr: Expr, done: int) -> Program:
                return Program(dividing.program(expr, types, specs, targets))

            kind = ("shard_map", dividing, tuple(types), tuple(specs), tuple(targets))
            program = rewrite(trace, outputs, kind, build)
        return tree.unflatten(out_structure, run_on_values(trace, program, *wholes))


def _loaded(f: Callable[..., Any], options: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """Return `shard_map` of a function: the maker of unpickled ones."""
    return shard_map(f, **dict(options))


def _result_place(result: Any, leaf: int) -> str:
    return f"the result{leaves_with_paths(result)[leaf][0]}"


def _specs_in(specs: Any, argument: str) -> list[PartitionSpec]:
    """Return the specs in a tree of them."""
    leaves = [specs] if isinstance(specs, PartitionSpec) else tree.leaves(specs)
    for spec in leaves:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map: {argument} must be a PartitionSpec or a tree of them, got {spec!r} of type {type(spec).__name__}; "
                "PartitionSpec() is what is not divided"
            )
    return leaves


def _opened(axis: Axis, trace: Trace) -> ExitStack:
    """Context in which an axis of the mesh has its name."""
    stack = ExitStack()
    parts: tuple[tuple[Hashable, int], ...] = ((axis.along, axis.ranks),) * (axis.ranks > 1)
    if axis.ranks == 1 or axis.lanes > 1:
        parts += ((axis.lane, axis.lanes),)
    if axis.ranks > 1:
        stack.enter_context(opened(axis.lane, axis.lanes, trace))
    stack.enter_context(opened(axis.name, axis.ranks * axis.lanes, trace, parts))
    return stack

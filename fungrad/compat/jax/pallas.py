"""Interpreted `jax.experimental.pallas`: kernels are traced for one block, in a loop over the grid.

Its references are those of `fungrad.compat.jax.refs`. In the loop the results are carried on; each turn takes a block out of every
array, calls the kernel, and puts what it has written back. All of it is jitted, as it is in JAX.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fungrad.compat.jax.elements import uninitialized
from fungrad.compat.jax.modules import lax as _lax
from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.compat.jax.pallas_specs import BlockSpec, GridSpec, blocks_of, padded_shape
from fungrad.compat.jax.refs import InputRef, Ref
from fungrad.compat.jax.transforms import jit
from fungrad.core import tree
from fungrad.core.state import holding, state_variable

jnp: Any = _numpy
lax: Any = _lax


class Place(NamedTuple):
    """Where in a grid a kernel runs."""

    ids: tuple[Any, ...]
    grid: tuple[int, ...]


_place: Any = state_variable("pallas_place", None)


@contextmanager
def _at(place: Place) -> Iterator[None]:
    with holding(_place, place):
        yield


def _axis(name: str, axis: int) -> tuple[Place, int]:
    place = _place.get()
    if place is None:
        raise ValueError(
            f"{name} is called in kernels alone, those of pallas_call; there is no grid here"
        )
    if not 0 <= axis < len(place.grid):
        raise ValueError(f"Axis {axis} is out of bounds for grid {place.grid}")
    return place, axis


def program_id(axis: int) -> Any:
    """Return where along an axis of the grid the kernel runs."""
    place, axis = _axis("program_id", axis)
    return place.ids[axis]


def num_programs(axis: int) -> int:
    """Return the length of an axis of the grid."""
    place, axis = _axis("num_programs", axis)
    return place.grid[axis]


@dataclasses.dataclass(frozen=True)
class _Call:
    """A kernel, and how it is called."""

    kernel: Callable[..., Any]
    outputs: list[Any]
    structure: Any
    spec: GridSpec
    aliases: Mapping[int, int]
    name: str

    def __call__(self, *args: Any) -> Any:
        leaves, structure = tree.flatten(args)
        inputs = [jnp.asarray(x) for x in leaves]
        grid = self.spec.grid
        into = blocks_of("in_specs", self.spec.in_specs, args, [x.shape for x in inputs])
        results = tree.unflatten(self.structure, self.outputs)
        shapes = [x.shape for x in self.outputs]
        out = blocks_of("out_specs", self.spec.out_specs, results, shapes)
        fills = [self._start(i, x, inputs) for i, x in enumerate(self.outputs)]
        inputs = [_padded(x, block, grid) for x, block in zip(inputs, into, strict=True)]
        fills = [_padded(x, block, grid) for x, block in zip(fills, out, strict=True)]
        scratch = tree.map(_made, self.spec.scratch_shapes, is_leaf=_has_shape)
        scratch, of_scratch = tree.flatten(scratch)

        def turn(ids: tuple[Any, ...], carry: Any) -> Any:
            arrays, more = carry
            with _at(Place(ids, grid)):
                taken = [b.taken(x, ids) for x, b in zip(inputs, into, strict=True)]
                given = [InputRef(x, self.name) for x in taken]
                made = [Ref(b.taken(x, ids)) for x, b in zip(arrays, out, strict=True)]
                kept = [Ref(x) for x in more]
                self._run(structure, of_scratch, given, made, kept)
                after = [b.put(x, r.held, ids) for x, r, b in zip(arrays, made, out, strict=True)]
                return after, [ref.held for ref in kept]

        arrays, _ = _over(grid, turn, (fills, scratch))
        cut = [x[tuple(map(slice, shape))] for x, shape in zip(arrays, shapes, strict=True)]
        return tree.unflatten(self.structure, cut)

    def _start(self, i: int, result: Any, inputs: Sequence[Any]) -> Any:
        """Return a result before the kernel runs: an input, or nothing yet."""
        for source, target in self.aliases.items():
            if target == i:
                x = inputs[source]
                if (x.shape, x.dtype) != (tuple(result.shape), np.dtype(result.dtype)):
                    raise ValueError(
                        f"input_output_aliases={{{source}: {i}}}: the input is {x.dtype.name}{[*x.shape]}, the output "
                        f"{np.dtype(result.dtype).name}{[*result.shape]}; both must have one shape and dtype"
                    )
                return x
        return uninitialized(result.shape, result.dtype)

    def _run(self, structure: Any, of_scratch: Any, refs: Any, made: Any, kept: Any) -> None:
        args = tree.unflatten(structure, refs)
        results = tree.unflatten(self.structure, made)
        several = type(results) in (tuple, list)
        scratch = tree.unflatten(of_scratch, kept)
        named = scratch if isinstance(scratch, dict) else {}
        scratch = () if named else scratch
        returned = self.kernel(*args, *(results if several else [results]), *scratch, **named)
        if returned is not None:
            raise ValueError(
                f"The kernel function in the pallas_call {self.name} should return None, and assign to the references of results: "
                f"o_ref[...] = x. It returns {returned!r}"
            )


def _has_shape(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _made(x: Any) -> Any:
    if not _has_shape(x):
        raise TypeError(
            f"scratch_shapes takes shapes and dtypes, as pl.ANY((2, 3), jax.numpy.float32), got {x!r}"
        )
    return uninitialized(x.shape, x.dtype)


def _padded(x: Any, block: Any, grid: tuple[int, ...]) -> Any:
    shape = padded_shape(x.shape, block)
    if shape == x.shape:
        return x
    return lax.dynamic_update_slice(uninitialized(shape, x.dtype), x, [0] * x.ndim)


def _over(grid: tuple[int, ...], turn: Callable[..., Any], carry: Any) -> Any:
    """Return the carry through all places of a grid, the last axis fastest."""
    count = int(np.prod(grid))
    if count == 0:
        return carry

    def body(i: Any, carry: Any) -> Any:
        ids = []
        for length in reversed(grid):
            ids.append(i % length)
            i = i // length
        return turn(tuple(reversed(ids)), carry)

    if count == 1:
        return body(jnp.int32(0), carry)
    return lax.fori_loop(jnp.int32(0), jnp.int32(count), body, carry)


def pallas_call(
    kernel: Callable[..., None],
    out_shape: Any,
    *,
    grid_spec: GridSpec | None = None,
    grid: Any = (),
    in_specs: Any = None,
    out_specs: Any = None,
    scratch_shapes: Any = (),
    input_output_aliases: Mapping[int, int] | None = None,
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: Any = None,
    cost_estimate: Any = None,
    metadata: Any = None,
) -> Callable[..., Any]:
    """Return a function of arrays that runs a kernel at each place of a grid; `interpret` must be true."""
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif grid != () or in_specs is not None or out_specs is not None or scratch_shapes != ():
        raise ValueError(
            "pallas_call takes grid_spec, or grid, in_specs, out_specs and scratch_shapes, not both"
        )
    if isinstance(out_shape, list):
        out_shape = tuple(out_shape)
    named = name or getattr(kernel, "__name__", None) or repr(kernel)
    outputs, structure = tree.flatten(out_shape, is_leaf=_has_shape)
    for x in outputs:
        if not _has_shape(x):
            raise TypeError(
                f"out_shape takes a shape and a dtype, as jax.ShapeDtypeStruct((2, 3), jax.numpy.float32), got {x!r}"
            )
    call = _Call(kernel, outputs, structure, grid_spec, dict(input_output_aliases or {}), named)

    def program(*args: Any) -> Any:
        return call(*args)

    program.__name__ = named
    jitted = jit(program)

    def wrapped(*args: Any) -> Any:
        if not interpret:
            raise ValueError(
                "Only interpret mode is supported on CPU backend: write pallas_call(..., interpret=True)."
            )
        return jitted(*args)

    wrapped.__doc__ = kernel.__doc__
    return wrapped


# What kernels call


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """Return a decorator that calls a function where a condition is true."""

    def decide(function: Callable[[], None]) -> None:
        if isinstance(condition, (bool, np.bool_)):
            if condition:
                function()
        else:
            lax.cond(condition, function, lambda: None)

    return decide


def loop(
    lower: Any, upper: Any, *, init_carry: Any = None, step: Any = 1, unroll: Any = None
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that calls a function with consecutive numbers and its own last result."""

    def decide(body: Callable[..., Any]) -> Any:
        count = cdiv(upper - lower, step)

        def turn(i: Any, carry: Any) -> Any:
            place = lower + i * step
            return body(place) if init_carry is None else body(place, carry)

        return lax.fori_loop(0, count, turn, init_carry)

    return decide


def run_scoped(
    f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Any:
    """Return a function's result for new references to arrays of some types."""
    references = tree.map(lambda x: Ref(_made(x)), types, is_leaf=_has_shape)
    named = tree.map(lambda x: Ref(_made(x)), kw_types, is_leaf=_has_shape)
    return f(*references, **named)


def with_scoped(*types: Any, collective_axes: Any = (), **kw_types: Any) -> Callable[..., Any]:
    """Return a decorator by which a function is called with such references after its own arguments."""

    def decide(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            def scoped(*references: Any, **named: Any) -> Any:
                return f(*args, *references, **kwargs, **named)

            return run_scoped(scoped, *types, **kw_types)

        return call

    return decide


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """Return an array that is not to be read; its elements are 0."""
    return jnp.zeros(shape, dtype)


def empty_like(x: Any) -> Any:
    """Return such an array of the shape and dtype of another, for each one in a pytree."""
    return tree.map(lambda x: jnp.zeros(x.shape, x.dtype), x, is_leaf=_has_shape)


def debug_print(fmt: str, *args: Any) -> None:
    """Print values whenever the kernel runs."""
    from fungrad.compat.jax.modules import debug as module

    debug: Any = module
    debug.print(fmt, *args)


def cdiv(a: Any, b: Any) -> Any:
    """Return a quotient of integers, rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        return (a + b - 1) // b
    return lax.div(a + (b - 1), jnp.asarray(b, getattr(a, "dtype", None)))


def align_to(a: Any, alignment: Any) -> Any:
    """Return the least multiple of a number that is no less than another."""
    return cdiv(a, alignment) * alignment


def multiple_of(x: Any, values: Any) -> Any:
    """Return the first argument; `values` are divisors of it."""
    return x


def next_power_of_2(x: int) -> int:
    """Return the least power of 2 that is no less than a number."""
    if x < 0:
        raise ValueError(f"next_power_of_2 takes a number that is not negative, got {x}")
    return 1 if x == 0 else 2 ** (x - 1).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return by how many elements one goes on along each axis."""
    return tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))


def broadcast_to(a: Any, shape: Sequence[int]) -> Any:
    """Return an array repeated to a shape."""
    return jnp.broadcast_to(a, shape)


def reciprocal(x: Any, *, approx: bool = False, full_range: bool = True) -> Any:
    """Return 1 divided by numbers."""
    return 1.0 / x


__all__ = ["BlockSpec", "GridSpec", "pallas_call"]

"""Which block of an array a kernel is given: `BlockSpec`, `GridSpec`, and where blocks are."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad.compat.jax.modules import lax as _lax
from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.core import tree
from fungrad.core.types import Shape

jnp: Any = _numpy
lax: Any = _lax


class MemorySpace(enum.Enum):
    """Where an array lies: it has no effect. Called, a place gives the type of an array there."""

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"
    HOST = "host"
    VMEM = "vmem"
    SMEM = "smem"
    CMEM = "cmem"

    def __str__(self) -> str:
        return self.value

    def __call__(self, shape: Sequence[int], dtype: Any) -> MemoryRef:
        return MemoryRef(tuple(shape), dtype, self)


class MemoryRef:
    """Shape and dtype of an array for a kernel to work with; or, as JAX has it, a type and where it lies."""

    def __init__(self, *parts: Any) -> None:
        if len(parts) == 2:
            inner, self.memory_space = parts
            self.shape, self.dtype = tuple(inner.shape), inner.dtype
        else:
            self.shape, self.dtype, self.memory_space = parts


@dataclasses.dataclass(frozen=True)
class Blocked:
    """A length of blocks: an index counts blocks."""

    block_size: int


@dataclasses.dataclass(frozen=True)
class Element:
    """A length of blocks: an index counts elements."""

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """An axis along which a kernel has one place, and which it does not see."""


squeezed = Squeezed()


class BlockSpec:
    """Shape of an array's blocks, and the function from grid places to block indices."""

    def __init__(
        self,
        block_shape: Sequence[Any] | None = None,
        index_map: Callable[..., Any] | None = None,
        pipeline_mode: Any = None,
        *,
        memory_space: Any = None,
    ) -> None:
        if callable(block_shape):
            raise TypeError("BlockSpec takes the shape first: BlockSpec((2, 3), lambda i: (i, 0))")
        self.block_shape = None if block_shape is None else tuple(block_shape)
        self.index_map, self.pipeline_mode = index_map, pipeline_mode
        self.memory_space = memory_space

    def __repr__(self) -> str:
        return f"BlockSpec(block_shape={self.block_shape}, index_map={self.index_map})"

    def replace(self, **changes: Any) -> BlockSpec:
        """Return the same with other parts."""
        names = ("block_shape", "index_map", "pipeline_mode", "memory_space")
        return BlockSpec(**{**{name: getattr(self, name) for name in names}, **changes})


class GridSpec:
    """A grid, the blocks of arguments and results at each of its places, and arrays to work with."""

    def __init__(
        self,
        grid: Any = (),
        in_specs: Any = None,
        out_specs: Any = None,
        scratch_shapes: Any = (),
    ) -> None:
        lengths = (grid,) if not isinstance(grid, (tuple, list)) else tuple(grid)
        if not all(isinstance(n, int) for n in lengths):
            try:
                lengths = tuple([n.__index__() for n in lengths])
            except (AttributeError, TypeError):
                raise TypeError(f"grid takes numbers that are known, got {grid!r}") from None
        self.grid: tuple[int, ...] = lengths
        self.in_specs, self.out_specs = in_specs, out_specs
        self.scratch_shapes = scratch_shapes


class Block(NamedTuple):
    """Lengths of blocks, hidden axes, indices that count elements, and the function that gives them."""

    lengths: Shape
    dropped: tuple[int, ...]
    by_elements: tuple[bool, ...]
    index_map: Callable[..., Any] | None

    def _starts(self, ids: Sequence[Any]) -> list[Any]:
        if self.index_map is None:
            return [0] * len(self.lengths)
        index = self.index_map(*ids)
        index = tuple(index) if isinstance(index, (tuple, list)) else (index,)
        if len(index) != len(self.lengths):
            raise ValueError(
                f"an index_map gives an index for each axis of the block, {len(self.lengths)}, got {len(index)}: {index}"
            )
        parts = zip(index, self.lengths, self.by_elements, strict=True)
        return [jnp.asarray(i if element else i * n, jnp.int32) for i, n, element in parts]

    def _is_whole(self, x: Any) -> bool:
        return self.index_map is None and self.lengths == x.shape and not self.dropped

    def taken(self, x: Any, ids: Sequence[Any]) -> Any:
        """Return the block of an array at a place of the grid."""
        if self._is_whole(x):
            return x
        block = lax.dynamic_slice(x, self._starts(ids), self.lengths)
        return lax.squeeze(block, self.dropped) if self.dropped else block

    def put(self, x: Any, block: Any, ids: Sequence[Any]) -> Any:
        """Return an array with a block replaced."""
        if self._is_whole(x):
            return block
        block = lax.expand_dims(block, self.dropped) if self.dropped else block
        return lax.dynamic_update_slice(x, block, self._starts(ids))


def padded_shape(shape: Shape, block: Block) -> Shape:
    """Return the least shape that whole blocks fill up."""
    lengths = zip(shape, block.lengths, block.by_elements, strict=True)
    return tuple([n if element else -(-n // b) * b for n, b, element in lengths])


def _block(what: str, spec: Any, shape: Shape) -> Block:
    if spec is None or spec.block_shape is None:
        return Block(tuple(shape), (), (False,) * len(shape), None)
    if len(spec.block_shape) != len(shape):
        raise ValueError(
            f"{what}: a block of shape {spec.block_shape} is given for an array of shape {tuple(shape)}; both need as many axes"
        )
    lengths, dropped, by_elements = [], [], []
    for i, part in enumerate(spec.block_shape):
        if part is None or isinstance(part, Squeezed):
            dropped.append(i)
            lengths.append(1)
        elif isinstance(part, (int, Blocked, Element)) or hasattr(part, "__index__"):
            lengths.append(part.block_size if isinstance(part, (Blocked, Element)) else int(part))
        else:
            raise NotImplementedError(
                f"{what}: fungrad, in the place of jax, has blocks of whole lengths, pl.Blocked, pl.Element and pl.Squeezed, got {part!r}"
            )
        if isinstance(part, Element) and tuple(part.padding) != (0, 0):
            raise NotImplementedError(
                f"{what}: pl.Element takes no padding here, got {part.padding}; pad the array, jax.numpy.pad"
            )
        by_elements.append(isinstance(part, Element))
    return Block(tuple(lengths), tuple(dropped), tuple(by_elements), spec.index_map)


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, BlockSpec)


def blocks_of(what: str, specs: Any, arrays: Any, shapes: Sequence[Shape]) -> list[Block]:
    """Return the blocks for the leaves of a pytree of arrays; all of each one where nothing is said."""
    if specs is None:
        return [_block(what, None, shape) for shape in shapes]
    if isinstance(specs, list):
        specs = tuple(specs)
    if isinstance(arrays, list):
        arrays = tuple(arrays)
    if not isinstance(arrays, tuple) and isinstance(specs, tuple) and len(specs) == 1:
        specs = specs[0]
    found = tree.leaves(specs, is_leaf=_is_spec)
    if len(found) != len(shapes):
        raise ValueError(
            f"{what}: {len(found)} specs are given for {len(shapes)} arrays; give one for each, pl.BlockSpec() for all of an array"
        )
    return [_block(what, spec, shape) for spec, shape in zip(found, shapes, strict=True)]

"""Meshes, how they lie on the processes, and how arrays are divided along their axes."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.distributed import process_count, process_index
from fungrad.distributed.exchange import Along

if TYPE_CHECKING:
    from fungrad.typing import ArrayLike


class PartitionSpec:
    """Along which axes of a mesh the axes of an array are divided.

    Parameters
    ----------
    *partitions
        For each axis of the array, from the first: the name of an axis of the mesh; a tuple of names, of which the last
        runs fastest; or None. Axes that are left out are not divided.

    Examples
    --------
    >>> PartitionSpec("rows", None)
    PartitionSpec('rows', None)
    """

    __slots__ = ("partitions",)

    def __init__(self, *partitions: Hashable) -> None:
        self.partitions: tuple[tuple[Hashable, ...], ...] = tuple(map(_names_of, partitions))
        names = [n for names in self.partitions for n in names]
        if len({*names}) < len(names):
            raise ValueError(
                f"PartitionSpec: an axis of the mesh can divide one axis: {partitions!r}"
            )

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash(self.partitions)

    def __repr__(self) -> str:
        shown = [None if not p else p[0] if len(p) == 1 else p for p in self.partitions]
        return f"PartitionSpec({', '.join(map(repr, shown))})"


def _names_of(partition: Any) -> tuple[Hashable, ...]:
    if partition is None:
        return ()
    return tuple(partition) if isinstance(partition, (tuple, list)) else (partition,)


class Mesh:
    """Places, in an array with named axes, that run a function together.

    Parameters
    ----------
    devices
        An array with an entry for each place; of these the shape alone counts. Each process has as many places, and those that
        follow one another in C order: ``np.arange(8).reshape(4, 2)`` on two processes gives each two rows.
    axis_names
        The names of its axes.

    Examples
    --------
    >>> mesh = Mesh(np.arange(8).reshape(4, 2), ("data", "model"))
    >>> mesh
    Mesh('data': 4, 'model': 2)
    """

    def __init__(
        self, devices: ArrayLike | Sequence[object], axis_names: Sequence[Hashable] | str
    ) -> None:
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        lengths = np.shape(devices)  # type: ignore[arg-type]
        if len(lengths) != len(names) or len({*names}) < len(names):
            raise ValueError(
                f"Mesh: axis_names must have a name of its own for each axis of devices, of shape {lengths}; got {axis_names!r}"
            )
        if not math.prod(lengths):
            raise ValueError(
                f"Mesh: there must be a place at least, got devices of shape {lengths}"
            )
        self.axis_names = names
        self._lengths = lengths

    @property
    def shape(self) -> dict[Hashable, int]:
        """The lengths of the axes by their names."""
        return dict(zip(self.axis_names, self._lengths, strict=True))

    @property
    def size(self) -> int:
        """How many places there are."""
        return math.prod(self._lengths)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((self.axis_names, self._lengths))

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{n!r}: {k}' for n, k in self.shape.items())})"

    def share(self, names: Hashable | Sequence[Hashable]) -> tuple[int, int]:
        """Return which share of the places along an axis is this process's, and how many shares there are.

        It is what `fungrad.training.minibatches` takes as `shard`, for rows that are divided along that axis. Processes that differ in their
        place along other axes alone have the same one.

        Parameters
        ----------
        names
            The name of an axis, or a tuple of names, of which the last runs fastest.

        Raises
        ------
        ValueError
            If an axis is not the mesh's, or if what this process has of several axes does not follow one another.

        Examples
        --------
        >>> make_mesh((4, 2), ("data", "model")).share("data")
        (0, 1)
        """
        names = _names_of(names)
        own, count = self.blocks(names)
        if (np.diff(own) != 1).any():
            raise ValueError(
                f"Mesh.share: what a process has of {names} does not follow one another; name the axes in the order of {self}"
            )
        return int(own[0]) // len(own), count // len(own)

    def blocks(self, names: Sequence[Hashable], process: int | None = None) -> tuple[Any, int]:
        """Return the numbers of a process's parts along axes, in its order, and the number of all parts."""
        axes = {a.name: a for a in self.layout(process)}
        process = process_index() if process is None else process
        numbers, count = np.zeros(1, int), 1
        for name in names:
            if name not in axes:
                raise ValueError(f"{name!r} is no axis of {self}")
            axis = axes[name]
            first = axis.along.members.index(process) * axis.lanes
            length = axis.ranks * axis.lanes
            numbers = np.add.outer(numbers * length, first + np.arange(axis.lanes)).reshape(-1)
            count *= length
        return numbers, count

    def layout(self, process: int | None = None) -> Layout:
        """Return a process's part of the mesh, by default this one's.

        Raises
        ------
        ValueError
            If the places cannot be divided among the processes.
        """
        return _layout(self, process_count(), process_index() if process is None else process)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Hashable],
    axis_types: None = None,
    *,
    devices: None = None,
) -> Mesh:
    """Return a mesh with axes of these lengths and names.

    Parameters
    ----------
    axis_shapes, axis_names
        The lengths and the names.
    axis_types, devices
        Must be None: functions under `shard_map` see parts along all axes, and the processes divide the places.

    Raises
    ------
    ValueError
        If `axis_types` or `devices` is given.

    Examples
    --------
    >>> make_mesh((4, 2), ("data", "model")).size
    8
    """
    for argument, given in (("axis_types", axis_types), ("devices", devices)):
        if given is not None:
            raise ValueError(
                f"make_mesh: {argument} must be None, got {given!r}: shard_map sees parts along all axes, and the "
                "processes divide the places"
            )
    return Mesh(np.empty(tuple(axis_shapes), np.bool_), axis_names)


@dataclasses.dataclass(frozen=True)
class Lane:
    """Name, in collectives, of one process's part of an axis that others share."""

    axis: Hashable

    def __repr__(self) -> str:
        return repr(self.axis)


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a mesh: it lies along `ranks` processes with `lanes` places each."""

    name: Hashable
    ranks: int
    lanes: int
    along: Along
    lane: Hashable


Layout = tuple[Axis, ...]


@functools.lru_cache(maxsize=256)
def _layout(mesh: Mesh, count: int, index: int) -> Layout:
    rest, grid = count, []
    for length in mesh.shape.values():
        ranks = length if rest % length == 0 else rest
        if length % ranks:
            break
        grid.append(ranks)
        rest //= ranks
    if rest > 1 or len(grid) < len(mesh.shape):
        raise ValueError(
            f"{mesh} cannot be divided among {count} processes: its first axes have to make up that number, or a multiple of it "
            "by the last of them"
        )
    processes = np.arange(count).reshape(grid)
    place = np.unravel_index(index, grid)
    axes = []
    for k, (name, length) in enumerate(mesh.shape.items()):
        row: Any = (*place[:k], slice(None), *place[k + 1 :])
        lanes = length // grid[k]
        lane = name if grid[k] == 1 else Lane(name)
        axes.append(Axis(name, grid[k], lanes, Along(name, tuple(processes[row].tolist())), lane))
    return tuple(axes)

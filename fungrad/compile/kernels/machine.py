"""Facts of a machine that decide which equations become kernels."""

from __future__ import annotations

from typing import NamedTuple

from fungrad.compile.kernels.devices import DeviceNamespace
from fungrad.compile.kernels.meaning import Namespace


class Machine(NamedTuple):
    """A machine that runs kernels.

    Attributes
    ----------
    scalars
        What operations on elements it has.
    vectors
        Whether one thread computes neighbours at once, and only these fast. Else neighbours are computed by threads of their own, and
        what is one by one is as good.
    places
        Whether arrays that are put together are computed in their places, by whatever computes them.
    shares
        Whether several units of it share a row, where `blocks_share` says so.
    """

    scalars: type[Namespace]
    vectors: bool
    places: bool
    shares: bool


HOST = Machine(Namespace, vectors=True, places=True, shares=False)
DEVICE = Machine(DeviceNamespace, vectors=False, places=False, shares=True)

ARRAYS = 480
"""Arrays, at most, whose addresses the parameters of a device's kernel hold: they are 4 kB."""
FEW = 64
"""Rows that are too few to keep a device busy, with a block of threads for each."""
BESIDE = 8
"""Rows, at least, that a block computes if they lie beside each other."""
LONG = 1 << 13
"""Elements of a row from which several blocks may share it."""


def blocks_share(rows: int, length: int, beside: bool) -> bool:
    """Whether rows are so few and long that blocks share them.

    Blocks do not wait for each other: what goes on with the results of such rows, element by element, is another kernel.
    """
    return length >= LONG and rows < FEW * (BESIDE if beside else 1)

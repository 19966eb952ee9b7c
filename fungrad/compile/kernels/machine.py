"""What of a machine decides which equations become kernels."""

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
    """

    scalars: type[Namespace]
    vectors: bool
    places: bool


HOST = Machine(Namespace, vectors=True, places=True)
DEVICE = Machine(DeviceNamespace, vectors=False, places=False)

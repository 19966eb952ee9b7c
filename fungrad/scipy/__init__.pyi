# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

from fungrad.scipy import cluster as cluster, fft as fft, integrate as integrate, interpolate as interpolate, linalg as linalg, ndimage as ndimage, optimize as optimize, signal as signal, sparse as sparse, spatial as spatial, special as special, stats as stats

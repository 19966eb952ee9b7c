# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

from fungrad.scipy import cluster as cluster
from fungrad.scipy import fft as fft
from fungrad.scipy import integrate as integrate
from fungrad.scipy import interpolate as interpolate
from fungrad.scipy import linalg as linalg
from fungrad.scipy import ndimage as ndimage
from fungrad.scipy import optimize as optimize
from fungrad.scipy import signal as signal
from fungrad.scipy import sparse as sparse
from fungrad.scipy import spatial as spatial
from fungrad.scipy import special as special
from fungrad.scipy import stats as stats

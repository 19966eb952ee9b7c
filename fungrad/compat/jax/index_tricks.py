"""`jax.numpy.r_`, `c_` and their like, which make arrays where they are indexed, and their classes."""

from __future__ import annotations

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import Indexed


class _Mgrid(Indexed):
    """Grids of indices."""

    def __init__(self) -> None:
        super().__init__(fnp.mgrid)


class _Ogrid(Indexed):
    """Grids of indices, each of one row."""

    def __init__(self) -> None:
        super().__init__(fnp.ogrid)


class _AxisConcat(Indexed):
    """Arrays, numbers and slices, joined along an axis."""

    axis: int
    ndmin: int
    trans1d: int
    op_name: str

    def __len__(self) -> int:
        return 0


class RClass(_AxisConcat):
    """Joins along the first axis."""

    axis, ndmin, trans1d, op_name = 0, 1, -1, "r_"

    def __init__(self) -> None:
        super().__init__(fnp.r_)


class CClass(_AxisConcat):
    """Joins along the last axis."""

    axis, ndmin, trans1d, op_name = -1, 2, 0, "c_"

    def __init__(self) -> None:
        super().__init__(fnp.c_)


mgrid, ogrid, r_, c_ = _Mgrid(), _Ogrid(), RClass(), CClass()

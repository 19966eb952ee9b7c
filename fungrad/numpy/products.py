"""Products: `dot`, `matmul`, `tensordot`, `outer`, `kron`, `cross` and their kin.

All are one `DotGeneral`. Products of matrices and vectors record nothing else: training spends its time
there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.config import settings
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, is_added, type_of
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.flipping import roll
from fungrad.numpy.plans import loop_dtypes
from fungrad.numpy.promotion import apply, as_tracer, ask_numpy, cast, promote, strong
from fungrad.numpy.shaping import is_sequence, moveaxis, reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives.contraction import NO_AXES, DotGeneral, contract
from fungrad.primitives.slices import index_axis

_DOTS = {(m, n): DotGeneral(((m - 1,), (0,)), NO_AXES, (m, n)) for m in (1, 2) for n in (1, 2)}
"""The products of vectors and matrices, by how many axes the operands have."""


def _operands(a: Any, b: Any, function: Any = None) -> list[Any]:
    """Return both as tracers of one dtype; `function` is asked for it, if it is a ufunc.

    Its answer is that of the promotion of dtypes but for dtypes that other packages add to NumPy.
    """
    alike = (
        type(a) is type(b) is Tracer and a.dtype == b.dtype and not (a._type.weak or b._type.weak)
    )
    if alike and not is_added(a.dtype):
        return [a, b]
    x, y = strong(a), strong(b)
    numpys = isinstance(function, np.ufunc) and not settings.get().jax_types
    if numpys and (is_added(x.dtype) or is_added(y.dtype)):
        wide, _ = loop_dtypes(function, (type_of(x), type_of(y)))
        x, y = [z if z.dtype == wide else z.astype(wide) for z in (x, y)]
    return promote(x, y)


def _refused(function: Any, *operands: Any) -> NoReturn:
    """Raise NumPy's error for operands that do not fit."""
    ask_numpy(function.__name__, lambda xs: function(*xs), operands)
    types = " and ".join(str(x._type) for x in operands)
    raise ValueError(f"{function.__name__}: {types} do not fit together")


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = _operands(a, b)
    m, n = x.ndim, y.ndim
    if not m or not n:
        return apply(e.mul, (x, y))
    axis = max(n - 2, 0)
    if x.shape[-1] != y.shape[axis]:
        _refused(np.dot, x, y)
    product = _DOTS.get((m, n)) or DotGeneral(((m - 1,), (axis,)), NO_AXES, (m, n))
    return product(x, y)


def _takes_axes(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Give the rule of a generalized ufunc the argument `axes`: where the axes of the product are."""

    @functools.wraps(rule)
    def with_axes(x1: Any, x2: Any, /, *args: Any, axes: Any = None, **kwargs: Any) -> Any:
        if axes is None:
            return rule(x1, x2, *args, **kwargs)
        places = [tuple(a) if is_sequence(a) else (a,) for a in axes]
        if len(places) == 2:  # of a product that is a scalar
            places.append(())
        if len(places) != 3:
            raise ValueError(
                f"{rule.__name__}: axes should be a list with an entry for each of the 2 operands and the result, "
                f"got {axes!r}"
            )
        last = [tuple(range(-len(a), 0)) for a in places]
        operands = [
            moveaxis(as_tracer(x), a, to) for x, a, to in zip((x1, x2), places, last, strict=False)
        ]
        return moveaxis(rule(*operands, *args, **kwargs), last[2], places[2])

    return with_axes


@implements(np.matmul)
@_takes_axes
def matmul(x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None, **kwargs: Any) -> Any:
    if kwargs:
        not_for_tracers("matmul", kwargs)
    x, y = _operands(x1, x2, np.matmul)
    if dtype is not None:
        x, y = cast(x, np.dtype(dtype)), cast(y, np.dtype(dtype))
    m, n = x.ndim, y.ndim
    if (product := _DOTS.get((m, n))) is not None and x.shape[-1] == y.shape[0]:
        return product(x, y)
    rows, columns = [ROW] * (m > 1), [COLUMN] * (n > 1)
    return _stacked(np.matmul, x, [*rows, SUMMED], y, [SUMMED, *columns], [*rows, *columns])


ROW, COLUMN, SUMMED = 0, 1, 2
"""The names of the axes of a product; those of a stack of them are called -1, -2, ... from the last."""


def _stacked(
    function: Any, x: Tracer, of_x: list[int], y: Tracer, of_y: list[int], of_out: list[int]
) -> Any:
    """Multiply stacks of arrays, whose leading axes are broadcast against each other."""
    summed = [
        z.shape[names.index(SUMMED) - len(names)] if z.ndim >= len(names) else None
        for z, names in ((x, of_x), (y, of_y))
    ]
    if None in summed or summed[0] != summed[1]:
        _refused(function, x, y)
    try:
        stack = np.broadcast_shapes(x.shape[: x.ndim - len(of_x)], y.shape[: y.ndim - len(of_y)])
    except ValueError:
        _refused(function, x, y)
    operands = [_without_stretched(z, names, stack) for z, names in ((x, of_x), (y, of_y))]
    used = {name for _, names in operands for name in names}
    # Where both have an axis of length 1 it is in neither now, but in the result.
    kept = [i for i in range(-len(stack), 0) if i in used]
    result = contract(*operands[0], *operands[1], [*kept, *of_out])
    return reshaped(result, stack + result.shape[len(kept) :])


def _without_stretched(x: Tracer, names: list[int], stack: Shape) -> tuple[Tracer, list[int]]:
    """Return an array without those of its stacking axes that have length 1, and its axes' names."""
    count = x.ndim - len(names)
    kept = [i for i in range(-count, 0) if x.shape[count + i] != 1]
    shape = tuple([x.shape[count + i] for i in kept]) + x.shape[count:]
    return reshaped(x, shape), [*kept, *names]


def _conjugate(x: Any) -> Any:
    return e.conj(x) if x.dtype.kind == "c" else x


@implements(np.vecdot)
@_takes_axes
def vecdot(
    x1: Any, x2: Any, /, out: Any = None, *, axis: Any = -1, dtype: Any = None, **kwargs: Any
) -> Any:
    not_for_tracers("vecdot", kwargs)
    x, y = [cast(z, np.dtype(dtype or z.dtype)) for z in _operands(x1, x2, np.vecdot)]
    if axis != -1:
        x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    return _stacked(np.vecdot, _conjugate(x), [SUMMED], y, [SUMMED], [])


def _plain_matvec(x1: Any, x2: Any, /) -> Any:
    """Matrix-vector dot product of two arrays."""
    return np.matmul(x1, np.asarray(x2)[..., None])[..., 0]


def _plain_vecmat(x1: Any, x2: Any, /) -> Any:
    """Vector-matrix dot product of two arrays."""
    return np.matmul(np.conj(x1)[..., None, :], x2)[..., 0, :]


for _plain, _name in (_plain_matvec, "matvec"), (_plain_vecmat, "vecmat"):
    _plain.__name__, _plain.__module__ = _name, "numpy"  # of which they are elsewhere
_matvec = getattr(np, "matvec", _plain_matvec)  # NumPy has them since 2.2
_vecmat = getattr(np, "vecmat", _plain_vecmat)


@implements(_matvec)
@_takes_axes
def matvec(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> Any:
    not_for_tracers("matvec", kwargs)
    x, y = _operands(x1, x2)
    return _stacked(_matvec, x, [ROW, SUMMED], y, [SUMMED], [ROW])


@implements(_vecmat)
@_takes_axes
def vecmat(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> Any:
    not_for_tracers("vecmat", kwargs)
    x, y = _operands(x1, x2)
    return _stacked(_vecmat, _conjugate(x), [SUMMED], y, [SUMMED, COLUMN], [COLUMN])


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    x, y = [reshaped(z, (z.size,)) for z in _operands(a, b)]
    if x.size != y.size:
        _refused(np.vdot, x, y)
    return _DOTS[1, 1](_conjugate(x), y)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    x, y = _operands(a, b)
    m, n = x.ndim, y.ndim
    if not m or not n:
        return apply(e.mul, (x, y))
    if x.shape[-1] != y.shape[-1]:
        _refused(np.inner, x, y)
    return DotGeneral(((m - 1,), (n - 1,)), NO_AXES, (m, n))(x, y)


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    x, y = [reshaped(z, (z.size,)) for z in _operands(a, b)]
    return DotGeneral(NO_AXES, NO_AXES, (1, 1))(x, y)


@implements(np.tensordot, zero_d=True)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = _operands(a, b)
    if is_sequence(axes):
        of_x, of_y = axes
    else:
        of_x, of_y = range(-axes, 0), range(axes)
    pairs = [_axes_of(z, given) for z, given in ((x, of_x), (y, of_y))]
    if [x.shape[i] for i in pairs[0]] != [y.shape[i] for i in pairs[1]]:
        raise ValueError(
            f"shape-mismatch for sum: axes {pairs[0]} of {x._type} and {pairs[1]} of {y._type}"
        )
    return DotGeneral((pairs[0], pairs[1]), NO_AXES, (x.ndim, y.ndim))(x, y)


def _axes_of(x: Tracer, given: Any) -> tuple[int, ...]:
    wanted: Sequence[Any] = list(given) if is_sequence(given) else [given]
    axes = tuple([normalize_axis_index(i, x.ndim) for i in wanted])
    if len({*axes}) != len(axes):
        raise ValueError("duplicate axes are not allowed in tensordot")
    return axes


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    x, y = _operands(a, b)
    n = max(x.ndim, y.ndim)
    if not x.ndim or not y.ndim:
        return apply(e.mul, (x, y))
    x, y = [reshaped(z, (1,) * (n - z.ndim) + z.shape) for z in (x, y)]
    of_x, of_y = range(0, 2 * n, 2), range(1, 2 * n, 2)
    result = contract(x, of_x, y, of_y, range(2 * n))
    return reshaped(result, tuple([i * j for i, j in zip(x.shape, y.shape, strict=True)]))


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _operands(a, b)
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    lengths = x.shape[-1], y.shape[-1]
    if not {*lengths} <= {2, 3}:
        np.cross(
            np.zeros(lengths[0]), np.zeros(lengths[1])
        )  # raises, and says which lengths this NumPy takes
    if lengths == (2, 2):
        (x0, x1), (y0, y1) = _last(x, 0, 1), _last(y, 0, 1)
        return apply(e.sub, (apply(e.mul, (x0, y1)), apply(e.mul, (x1, y0))))
    x, y = [np.pad(z, [(0, 0)] * (z.ndim - 1) + [(0, 3 - z.shape[-1])]) for z in (x, y)]
    left = apply(e.mul, (roll(x, -1, -1), roll(y, -2, -1)))
    right = apply(e.mul, (roll(x, -2, -1), roll(y, -1, -1)))
    return moveaxis(apply(e.sub, (left, right)), -1, axisc)


def _last(x: Tracer, *positions: int) -> list[Tracer]:
    """Return elements along the last axis, which goes."""
    return [index_axis(x, x.ndim - 1, i) for i in positions]

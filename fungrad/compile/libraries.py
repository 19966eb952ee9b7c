"""Primitives that another library computes faster or in less memory; results differ by rounding.

Fourier transforms: NumPy computes unscaled single-precision ones, as most that go to frequencies are, in double
precision (the first loop that the operands fit) and in several times the memory. SciPy keeps to the precision, and
shares stacks of transforms among threads.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from fungrad.compile.background import importing
from fungrad.compile.fallback import Rerun
from fungrad.compile.targets import host
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.fft import FFT, InverseRealFFT, RealFFT

LEAST = 1 << 12
"""Elements from which single-precision transforms are SciPy's, whose check for infinities costs time."""
SHARED = 1 << 19
"""Elements from which a stack of transforms is worth several threads."""


def with_libraries(expr: Expr) -> Expr:
    """Return `expr` with calls of the libraries that serve it best."""
    equations = []
    for equation in expr.equations:
        fourier = _fourier(equation, expr.types[equation.inputs[0]]) if equation.inputs else None
        equations.append(equation if fourier is None else equation._replace(primitive=fourier))
    if all(a is b for a, b in zip(equations, expr.equations, strict=True)):
        return expr
    return dataclasses.replace(expr, equations=tuple(equations))


def _fourier(equation: Equation, x: ArrayType) -> Fourier | None:
    """Return the replacement of NumPy's function for a Fourier transform, if it is better."""
    transform = equation.primitive
    if not isinstance(transform, (FFT, RealFFT, InverseRealFFT)) or x.dtype.char not in "fdFD":
        return None
    axes = transform.axes if isinstance(transform, FFT) else (transform.axis,)
    stack = x.size // min([x.shape[axis] for axis in axes])
    shared = x.size >= SHARED and stack > 1 and host.threads() > 1
    forward = isinstance(transform, RealFFT) or not getattr(transform, "inverse", True)
    if not shared and not (forward and x.dtype.char in "fF" and x.size >= LEAST):
        return None
    with importing:  # not in the first call
        import scipy.fft  # noqa: F401
    return Fourier(transform)


@primitive
class Fourier(Primitive):
    """A Fourier transform by SciPy's functions, in the precision of its numbers."""

    transform: FFT | RealFFT | InverseRealFFT

    differentiable = False

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return self.transform.abstract_eval(x)

    def impl(self, xp: Any, x: Any) -> Any:
        if not x.flags.c_contiguous:  # NumPy's results lie as the operand does
            return self.transform.impl(xp, x)
        import scipy.fft

        match self.transform:
            case FFT(axes=axes, inverse=inverse, norm=norm):
                function = scipy.fft.ifftn if inverse else scipy.fft.fftn
                given: dict[str, Any] = {"axes": axes}
            case RealFFT(axis=axis, norm=norm):
                function, given = scipy.fft.rfft, {"axis": axis}
            case InverseRealFFT(axis=axis, n=n, norm=norm):
                function, given = scipy.fft.irfft, {"n": n, "axis": axis}
        workers = host.threads() if x.size >= SHARED else 1
        transformed = function(x, norm=norm, workers=workers, **given)
        if not _is_finite(transformed):
            raise Rerun  # NumPy's functions may warn of it, or not
        return transformed


def _is_finite(x: Any) -> bool:
    """Whether no element is NaN or infinite, told by the greatest and the least."""
    parts = x.view(x.real.dtype)
    return math.isfinite(np.maximum.reduce(parts, None)) and math.isfinite(
        np.minimum.reduce(parts, None)
    )

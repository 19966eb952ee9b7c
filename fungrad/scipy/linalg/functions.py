"""Functions of square matrices: exponentials, logarithms, roots, trigonometric functions.

Dtypes are SciPy's: `logm`, `expm_frechet` and powers that are no integers are of double precision. That of a
traced result does not depend on values: functions of real matrices are real, and raise
ValueError where they would not be; give them ``A.astype(complex)`` there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import matrices, numbers
from fungrad.numpy.plans import broadcast_shapes
from fungrad.numpy.promotion import as_tracer, broadcast_to
from fungrad.numpy.shaping import reshaped
from fungrad.primitives.decompositions import Eig
from fungrad.primitives.linalg import Inv, Solve
from fungrad.primitives.matrix_functions import Frechet, MatrixFunction, SquareRoot
from fungrad.primitives.stacks import matmul, scaled_columns
from fungrad.scipy.arguments import double
from fungrad.scipy.mirrors import mirrors

__all__ = [
    "coshm", "cosm", "expm", "expm_frechet", "fractional_matrix_power", "funm", "logm", "signm",
    "sinhm", "sinm", "sqrtm", "tanhm", "tanm",
]  # fmt: skip

_EXP, _LOG = MatrixFunction("expm"), MatrixFunction("logm")
_missing: Any = object()  # for an argument that newer versions of SciPy leave out


def _square(a: Any) -> Any:
    return matrices(a, square=True)


def _without_estimate(name: str, disp: Any) -> None:
    if disp is not _missing and not disp:
        raise TypeError(f"{name}: traced, there is no estimate of the error; leave out `disp`")


@implements(scipy.linalg.expm)
def expm(A: Any) -> Any:
    """A number is a matrix of one element; of that the result is of double precision, as SciPy's."""
    a = as_tracer(A)
    return _EXP(reshaped(double(a), (1, 1)) if a.shape in ((), (1,)) else _square(a))


@mirrors(scipy.linalg.expm_frechet)
def expm_frechet(A: Any, E: Any, compute_expm: bool = True) -> Any:
    """Traced, `method` means nothing: the derivative is a block of the exponential of a larger matrix."""
    a, e = [_square(x) for x in numbers(double(A), double(E))]
    stack = broadcast_shapes("expm_frechet", [x._type.update(shape=x.shape[:-2]) for x in (a, e)])
    a, e = [broadcast_to(x, stack + x.shape[-2:]) for x in (a, e)]
    derivative = Frechet("expm")(a, e)
    return (_EXP(a), derivative) if compute_expm else derivative


@implements(scipy.linalg.logm)
def logm(A: Any, disp: Any = _missing) -> Any:
    """The principal logarithm."""
    _without_estimate("logm", disp)
    return _LOG(_square(double(A)))


@mirrors(scipy.linalg.sqrtm)
def sqrtm(A: Any, disp: Any = _missing) -> Any:
    """The principal square root. Its derivative needs an invertible matrix."""
    _without_estimate("sqrtm", disp)
    return SquareRoot()(_square(A))


@implements(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """``expm(t * logm(A))``, and by repeated multiplication if `t` is an integer."""
    if isinstance(t, int | np.integer) or (isinstance(t, float) and t.is_integer()):
        return np.linalg.matrix_power(as_tracer(A), int(t))
    return _EXP(_LOG(_square(double(A))) * t)


@implements(scipy.linalg.signm)
def signm(A: Any, disp: Any = _missing) -> Any:
    """``A (A A)^(-1/2)``: N. Higham, "Functions of Matrices" (2008), chapter 5."""
    _without_estimate("signm", disp)
    a = _square(A)
    return matmul(a, Inv()(SquareRoot()(matmul(a, a))))


@implements(scipy.linalg.funm)
def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Traced, by eigenvalues, of diagonalizable matrices, and the result is complex.

    `func` is applied to traced eigenvalues: it must be made of functions of `fungrad.numpy`. Where
    eigenvalues repeat, derivatives are NaN.
    """
    _without_estimate("funm", disp)
    w, v = Eig()(_square(A))
    scaled = scaled_columns(v, func(w))
    return np.matrix_transpose(Solve()(np.matrix_transpose(v), np.matrix_transpose(scaled)))


# As SciPy defines them: N. Higham, "Functions of Matrices" (2008), chapter 12.


def _cos_and_sin(A: Any) -> tuple[Any, Any]:
    a = _square(A)
    if a.dtype.kind != "c":
        turned = _EXP(1j * a)
        return np.real(turned), np.imag(turned)
    ahead, back = _EXP(1j * a), _EXP(-1j * a)
    return 0.5 * (ahead + back), -0.5j * (ahead - back)


def _cosh_and_sinh(A: Any) -> tuple[Any, Any]:
    a = _square(A)
    ahead, back = _EXP(a), _EXP(-a)
    return 0.5 * (ahead + back), 0.5 * (ahead - back)


cosm = mirrors(scipy.linalg.cosm)(lambda A: _cos_and_sin(A)[0])
sinm = mirrors(scipy.linalg.sinm)(lambda A: _cos_and_sin(A)[1])
tanm = mirrors(scipy.linalg.tanm)(lambda A: Solve()(*_cos_and_sin(A)))
coshm = mirrors(scipy.linalg.coshm)(lambda A: _cosh_and_sinh(A)[0])
sinhm = mirrors(scipy.linalg.sinhm)(lambda A: _cosh_and_sinh(A)[1])
tanhm = mirrors(scipy.linalg.tanhm)(lambda A: Solve()(*_cosh_and_sinh(A)))

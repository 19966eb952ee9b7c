# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload
from typing import TypeVar as _TypeVar
from scipy.optimize import OptimizeResult

_T = _TypeVar("_T")
def cumulative_simpson(y: _ArrayLike, *, x: _ArrayLike | None = ..., dx: _ArrayLike = ..., axis: int | _Sequence[int] = ..., initial: _ArrayLike | None = ...) -> _Array: r"""Cumulatively integrate y(x) using the composite Simpson's 1/3 rule. The integral of the samples at every point is calculated by assuming a quadratic relationship between each point and the two adjacent points."""
def cumulative_trapezoid(y: _ArrayLike, x: _ArrayLike | None = ..., dx: _ArrayLike = ..., axis: int | _Sequence[int] = ..., initial: _ArrayLike | None = ...) -> _Array: r"""Cumulatively integrate y(x) using the composite trapezoidal rule."""
def fixed_quad(func: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., n: int = ...) -> tuple[_Array, None]: r"""Integrate a function from `a` to `b` by the Gauss-Legendre formula of order `n`."""
@_overload
def odeint(func: _Callable[..., _Any], y0: _ArrayLike, t: _ArrayLike, *args: _Any, rtol: _ArrayLike = ..., atol: _ArrayLike = ..., mxstep: float = ..., hmax: float = ..., **options: _Any) -> _Array: r"""Integrate the differential equation ``dy/dt = func(y, t, *args)``."""
@_overload
def odeint(func: _Callable[..., _Any], y0: _T, t: _ArrayLike, *args: _Any, rtol: _ArrayLike = ..., atol: _ArrayLike = ..., mxstep: float = ..., hmax: float = ..., **options: _Any) -> _T: ...
def quad(func: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., full_output: _ArrayLike = ..., epsabs: float = ..., epsrel: float = ..., limit: int = ..., points: _ArrayLike | None = ..., weight: str | None = ..., wvar: _ArrayLike | None = ..., wopts: _ArrayLike | None = ..., maxp1: int = ..., limlst: int = ..., complex_func: _bool = ...) -> tuple[_Array, _Array]: r"""Integrate a function of a number from `a` to `b`; `scipy.integrate.quad`."""
@_overload
def quad_vec(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, epsabs: float = ..., epsrel: float = ..., norm: str = ..., cache_size: float = ..., limit: int = ..., workers: int = ..., points: _ArrayLike | None = ..., quadrature: str | None = ..., full_output: _Literal[False] = ..., *, args: tuple[_Any, ...] = ...) -> tuple[_Array, _Array]: r"""Integrate an array-valued function of a number from `a` to `b`; `scipy.integrate.quad_vec`."""
@_overload
def quad_vec(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, epsabs: float = ..., epsrel: float = ..., norm: str = ..., cache_size: float = ..., limit: int = ..., workers: int = ..., points: _ArrayLike | None = ..., quadrature: str | None = ..., *, full_output: _Literal[True], args: tuple[_Any, ...] = ...) -> tuple[_Any, ...]: ...
@_overload
def quad_vec(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, epsabs: float = ..., epsrel: float = ..., norm: str = ..., cache_size: float = ..., limit: int = ..., workers: int = ..., points: _ArrayLike | None = ..., quadrature: str | None = ..., full_output: _bool = ..., *, args: tuple[_Any, ...] = ...) -> _Any: ...
def romb(y: _ArrayLike, dx: _ArrayLike = ..., axis: int | _Sequence[int] = ..., show: _bool = ...) -> _Array: r"""Romberg integration using samples of a function."""
def simpson(y: _ArrayLike, x: _ArrayLike | None = ..., *, dx: _ArrayLike = ..., axis: int | _Sequence[int] = ...) -> _Array: r"""Integrate y(x) using samples along the given axis and the composite Simpson's rule. If x is None, spacing of dx is assumed."""
def solve_ivp(fun: _Callable[..., _Any], t_span: _ArrayLike, y0: _ArrayLike, method: str = ..., t_eval: _ArrayLike | None = ..., dense_output: _bool = ..., events: _Any = ..., vectorized: _bool = ..., args: tuple[_Any, ...] | None = ..., **options: _Any) -> OptimizeResult: r"""Integrate the differential equation ``dy/dt = fun(t, y, *args)``; `scipy.integrate.solve_ivp`."""
def trapezoid(y: _ArrayLike, x: _ArrayLike | None = ..., dx: _ArrayLike = ..., axis: int | _Sequence[int] = ...) -> _Array: r"""Integrate along the given axis using the composite trapezoidal rule."""

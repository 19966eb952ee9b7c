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

from scipy.optimize import BFGS as BFGS, SR1 as SR1, Bounds as Bounds, HessianUpdateStrategy as HessianUpdateStrategy, LinearConstraint as LinearConstraint, NonlinearConstraint as NonlinearConstraint, OptimizeResult as OptimizeResult, OptimizeWarning as OptimizeWarning
@_overload
def curve_fit(f: _Callable[..., _Any], xdata: _ArrayLike, ydata: _ArrayLike, p0: _ArrayLike | None = ..., sigma: _ArrayLike | None = ..., absolute_sigma: _bool = ..., *, bounds: _Any = ..., jac: _Callable[..., _Any] | str | _bool | None = ..., full_output: _Literal[False] = ..., **options: _Any) -> tuple[_Array, _Array]: r"""Fit a function to data; `scipy.optimize.curve_fit` with the exact Jacobian."""
@_overload
def curve_fit(f: _Callable[..., _Any], xdata: _ArrayLike, ydata: _ArrayLike, p0: _ArrayLike | None = ..., sigma: _ArrayLike | None = ..., absolute_sigma: _bool = ..., *, bounds: _Any = ..., jac: _Callable[..., _Any] | str | _bool | None = ..., full_output: _Literal[True], **options: _Any) -> tuple[_Any, ...]: ...
@_overload
def curve_fit(f: _Callable[..., _Any], xdata: _ArrayLike, ydata: _ArrayLike, p0: _ArrayLike | None = ..., sigma: _ArrayLike | None = ..., absolute_sigma: _bool = ..., *, bounds: _Any = ..., jac: _Callable[..., _Any] | str | _bool | None = ..., **options: _Any) -> _Any: ...
def least_squares(fun: _Callable[..., _Any], x0: _Any, jac: _Callable[..., _Any] | str | _bool | None = ..., bounds: _Any = ..., method: str = ..., *, args: tuple[_Any, ...] = ..., kwargs: dict[str, _Any] | None = ..., **options: _Any) -> OptimizeResult: r"""Minimize a sum of squares; `scipy.optimize.least_squares` with the exact Jacobian."""
def minimize(fun: _Callable[..., _Any], x0: _Any, args: tuple[_Any, ...] = ..., method: _Callable[..., _Any] | str | None = ..., jac: _Callable[..., _Any] | str | _bool | None = ..., hess: _Any = ..., hessp: _Any = ..., bounds: _Any = ..., constraints: _Any = ..., tol: float | None = ..., callback: _Callable[..., _Any] | None = ..., options: dict[str, _Any] | None = ...) -> OptimizeResult: r"""Minimize a function of one or more variables; `scipy.optimize.minimize` with exact derivatives."""
def minimize_scalar(fun: _Callable[..., _Any], bracket: _ArrayLike | None = ..., bounds: _Any = ..., args: tuple[_Any, ...] = ..., method: _Callable[..., _Any] | str | None = ..., tol: float | None = ..., options: dict[str, _Any] | None = ...) -> OptimizeResult: r"""Minimize a function of a number; `scipy.optimize.minimize_scalar`, which uses no derivatives."""
def root(fun: _Callable[..., _Any], x0: _Any, args: tuple[_Any, ...] = ..., method: str = ..., jac: _Callable[..., _Any] | str | _bool | None = ..., tol: float | None = ..., callback: _Callable[..., _Any] | None = ..., options: dict[str, _Any] | None = ...) -> OptimizeResult: r"""Find a root of a function of several variables; `scipy.optimize.root` with the exact Jacobian."""
@_overload
def bisect(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[False] = ..., **options: _Any) -> _Array: r"""Find a root between `a` and `b`; `scipy.optimize.bisect`."""
@_overload
def bisect(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[True], **options: _Any) -> tuple[_Any, ...]: ...
@_overload
def bisect(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., **options: _Any) -> _Any: ...
@_overload
def brenth(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[False] = ..., **options: _Any) -> _Array: r"""Find a root between `a` and `b`; `scipy.optimize.brenth`."""
@_overload
def brenth(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[True], **options: _Any) -> tuple[_Any, ...]: ...
@_overload
def brenth(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., **options: _Any) -> _Any: ...
@_overload
def brentq(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[False] = ..., **options: _Any) -> _Array: r"""Find a root between `a` and `b`; `scipy.optimize.brentq`."""
@_overload
def brentq(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[True], **options: _Any) -> tuple[_Any, ...]: ...
@_overload
def brentq(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., **options: _Any) -> _Any: ...
def fixed_point(func: _Callable[..., _Any], x0: _ArrayLike, args: tuple[_Any, ...] = ..., xtol: float = ..., maxiter: int = ..., method: str = ...) -> _Array: r"""Find a fixed point of a function; `scipy.optimize.fixed_point`."""
@_overload
def newton(func: _Callable[..., _Any], x0: _ArrayLike, fprime: _Callable[..., _Any] | _bool | None = ..., args: tuple[_Any, ...] = ..., tol: float = ..., maxiter: int = ..., fprime2: _Callable[..., _Any] | _bool | None = ..., x1: _ArrayLike | None = ..., rtol: float = ..., full_output: _Literal[False] = ..., disp: _bool = ...) -> _Array: r"""Find roots by Newton's method; `scipy.optimize.newton` with the exact derivative."""
@_overload
def newton(func: _Callable[..., _Any], x0: _ArrayLike, fprime: _Callable[..., _Any] | _bool | None = ..., args: tuple[_Any, ...] = ..., tol: float = ..., maxiter: int = ..., fprime2: _Callable[..., _Any] | _bool | None = ..., x1: _ArrayLike | None = ..., rtol: float = ..., *, full_output: _Literal[True], disp: _bool = ...) -> tuple[_Any, ...]: ...
@_overload
def newton(func: _Callable[..., _Any], x0: _ArrayLike, fprime: _Callable[..., _Any] | _bool | None = ..., args: tuple[_Any, ...] = ..., tol: float = ..., maxiter: int = ..., fprime2: _Callable[..., _Any] | _bool | None = ..., x1: _ArrayLike | None = ..., rtol: float = ..., full_output: _bool = ..., disp: _bool = ...) -> _Any: ...
@_overload
def ridder(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[False] = ..., **options: _Any) -> _Array: r"""Find a root between `a` and `b`; `scipy.optimize.ridder`."""
@_overload
def ridder(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[True], **options: _Any) -> tuple[_Any, ...]: ...
@_overload
def ridder(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., **options: _Any) -> _Any: ...
def root_scalar(f: _Callable[..., _Any], args: tuple[_Any, ...] = ..., method: str | None = ..., bracket: _ArrayLike | None = ..., fprime: _Callable[..., _Any] | _bool | None = ..., fprime2: _Callable[..., _Any] | _bool | None = ..., x0: _ArrayLike | None = ..., x1: _ArrayLike | None = ..., xtol: float | None = ..., rtol: float | None = ..., maxiter: int | None = ..., options: dict[str, _Any] | None = ...) -> OptimizeResult: r"""Find a root of a function of a number; `scipy.optimize.root_scalar` with exact derivatives."""
@_overload
def toms748(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[False] = ..., **options: _Any) -> _Array: r"""Find a root between `a` and `b`; `scipy.optimize.toms748`."""
@_overload
def toms748(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., *, full_output: _Literal[True], **options: _Any) -> tuple[_Any, ...]: ...
@_overload
def toms748(f: _Callable[..., _Any], a: _ArrayLike, b: _ArrayLike, args: tuple[_Any, ...] = ..., **options: _Any) -> _Any: ...

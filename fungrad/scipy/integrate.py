"""Integrals and differential equations: `scipy.integrate` for traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special
from scipy.optimize import OptimizeResult

from fungrad.control import ode, quadrature
from fungrad.control.programs import Closure, close, shared
from fungrad.core import tree
from fungrad.core.errors import api_boundary
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import array_type, type_of
from fungrad.numpy.promotion import as_array
from fungrad.primitives.elementwise import Cast
from fungrad.scipy.samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)
from fungrad.transforms.call import as_operand

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "fixed_quad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "trapezoid",
]


def _operand(x: Any) -> Any:
    """Return an array, a number or a list as an operand of floating-point or complex dtype."""
    x = as_operand(as_array(x))
    return x if type_of(x).inexact else Cast(np.dtype(float))(x)


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if x.dtype == dtype else Cast(dtype)(x)


def _is_plain(*arguments: Any) -> bool:
    """Whether nothing here can be traced: no argument is, and no trace is open to be closed over."""
    return current_trace.get() is None and not _traced(tree.leaves(arguments))


def _traced(values: Sequence[Any]) -> bool:
    return any(type(x) is Tracer for x in values)


class _Equation:
    """The right-hand side of a differential equation, traced, with its states as a list of leaves."""

    def __init__(self, label: str, slope: Callable[[Any, Any], Any], y0: Any, times: Any) -> None:
        self.label = label
        self.slope = slope
        leaves, self.structure = tree.flatten(y0)
        self.states = [_operand(x) for x in leaves]
        self.times = _operand(times)
        if self.times.dtype.kind != "f":
            raise TypeError(f"{label}: times must be real, got {type_of(self.times)}")
        self.closure = self._close()
        dtypes = [
            np.result_type(x, t.dtype)
            for x, t in zip([x.dtype for x in self.states], self.closure.types, strict=True)
        ]
        if dtypes != [x.dtype for x in self.states]:
            self.states = [_cast(x, d) for x, d in zip(self.states, dtypes, strict=True)]
            self.closure = self._close(dtypes)

    def _close(self, dtypes: Sequence[Any] = ()) -> Closure:
        shapes = [x.shape for x in self.states]

        def function(y: Any, t: Any) -> list[Any]:
            found, structure = tree.flatten(self.slope(tree.unflatten(self.structure, y), t))
            found = [_operand(x) for x in found]
            if structure != self.structure or [x.shape for x in found] != shapes:
                raise ValueError(
                    f"{self.label} must return what it takes for y, a tree of structure {self.structure} with "
                    f"shapes {shapes}; got {structure} with shapes {[x.shape for x in found]}"
                )
            return [_cast(x, d) for x, d in zip(found, dtypes, strict=True)] if dtypes else found

        return close(self.label, function, self.states, array_type((), self.times.dtype))

    def solve(self, options: ode.Options) -> list[Any]:
        """Return the states at all times."""
        if self.times.ndim != 1 or not self.times.size:
            raise ValueError(
                f"{self.label}: times must be a vector, got an array of shape {self.times.shape}"
            )
        first = [ode.one_row(y) for y in self.states]
        if self.times.size == 1:
            return first
        k = len(self.states)
        captured = self.closure.captured
        kinds = (ode.INITIAL,) * k, (ode.ALL,) * k
        flow = shared(ode.Flow, self.closure.program, len(captured), *kinds, options)
        later = flow(*captured, self.times, *self.states)
        return [ode.joined(y, z) for y, z in zip(first, later, strict=True)]


@api_boundary
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Integrate the differential equation ``dy/dt = func(y, t, *args)``.

    Parameters
    ----------
    func
        The right-hand side: takes the state, the time and `args`; returns the derivative, of the structure
        and shapes of the state.
    y0
        The state at the first time: a floating-point or complex array, or a pytree of them.
    t
        A vector of times, increasing or decreasing, at which the state is wanted.
    *args
        Further arguments of `func`, pytrees.
    rtol, atol
        Relative and absolute error allowed in each step; for derivatives too.
    mxstep
        The number of steps between two times after which to give up.
    hmax
        The longest step.

    Returns
    -------
    pytree
        Of the structure of `y0`; each array has an axis of times in front. If the integration fails, there is
        a warning and NaN.

    Raises
    ------
    ValueError
        If `func` does not return what it takes for the state, or the times are not monotonic.

    Notes
    -----
    The signature is that of `jax.experimental.ode.odeint`. The steps are those of SciPy's `DOP853` (Hairer, Nørsett
    and Wanner, "Solving ordinary differential equations I" (1993)), for equations that are not stiff; for stiff
    ones there is `solve_ivp` with an implicit method. Derivatives by `y0`, `t`, `args` and what `func` closes over
    are solutions of differential equations in turn, at any order: forward sensitivities, and the adjoint
    equation in reverse mode, which integrates the state backwards between the times in `t`. Where that is
    unstable (strong damping over a long interval), more times help. Under `vmap` each equation is integrated by
    itself, with steps of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.scipy.integrate import odeint
    >>> def final(rate):
    ...     return odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 1.0]), rate)[-1]
    >>> print(final(2.0).round(6), fg.grad(final)(2.0).round(6))
    0.135335 -0.135335
    """
    equation = _Equation("odeint: func", lambda y, s: func(y, s, *args), y0, t)
    options = ode.Options("DOP853", float(rtol), float(atol), float(hmax), float(mxstep))
    return tree.unflatten(equation.structure, equation.solve(options))


@api_boundary
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Integrate the differential equation ``dy/dt = fun(t, y, *args)``; `scipy.integrate.solve_ivp`.

    Outside of traces this is SciPy's function. Where something is traced, arguments and what `fun` closes
    over alike:

    Parameters
    ----------
    fun
        The right-hand side; it returns an array or a list of the length of `y`.
    t_span
        The first and the last time.
    y0
        A vector: the state at the first time.
    method
        A name of one of SciPy's methods.
    t_eval
        The times at which the state is wanted; it must be given.
    args
        A tuple of further arguments of `fun`.
    **options
        `rtol`, `atol` (numbers), `max_step`, as in SciPy.

    Returns
    -------
    OptimizeResult
        With `t`, `y` of shape ``(n, len(t))``, `success` and `status` (-1 if the integration failed, and then
        `y` ends in NaN).

    Raises
    ------
    TypeError
        For arguments that have no meaning for traced arrays.

    Notes
    -----
    See `odeint` on derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.scipy.integrate import solve_ivp
    >>> def final(rate):
    ...     times = np.array([0.0, 1.0])
    ...     return solve_ivp(lambda t, y: [-rate * y[0]], (0, 1), [1.0], "LSODA", times, rtol=1e-9).y[0, -1]
    >>> print(fg.grad(final)(2.0).round(6))
    -0.135335
    """
    extra = () if args is None else tuple(args)

    def scipys() -> Any:
        return scipy.integrate.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )

    explicit = _traced(tree.leaves((t_span, y0, t_eval, extra)))
    if not explicit and current_trace.get() is None:
        return scipys()
    start, stop = t_span
    times = None if t_eval is None else as_array(t_eval)
    grid = _operand(start).reshape((1,))
    if times is not None:
        dtype = np.result_type(grid.dtype, times.dtype)
        grid = ode.joined(_cast(grid, dtype), _cast(times, dtype))
    state = _operand(y0)
    if state.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if vectorized:
        raise TypeError("solve_ivp: vectorized=True has no use for traced arrays; leave it out")
    equation = _Equation(
        "solve_ivp: fun", lambda y, t: as_array(fun(t, y, *extra)), state, grid
    )
    if not explicit and not _traced(equation.closure.captured):
        return scipys()
    names = {"dense_output": dense_output, "events": events is not None}
    wrong = [name for name, given in names.items() if given]
    wrong += [name for name in options if name not in ("rtol", "atol", "max_step")]
    if wrong:
        raise TypeError(
            f"solve_ivp: {', '.join(wrong)} cannot be used where something is traced; pass the times at which "
            "the state is wanted as t_eval"
        )
    if times is None:
        raise TypeError(
            "solve_ivp: where something is traced, the times at which the state is wanted must be given as "
            "t_eval: how many steps the solver takes depends on values"
        )
    if method not in ode.METHODS:
        raise ValueError(f"`method` must be one of {list(ode.METHODS)}.")
    settings = ode.Options(
        method,
        float(options.get("rtol", 1e-3)),
        float(options.get("atol", 1e-6)),
        float(options.get("max_step", np.inf)),
    )
    (found,) = equation.solve(settings)
    y = np.transpose(found[1:])
    success = np.isfinite(y).all()
    return OptimizeResult(t=times, y=y, success=success, status=np.where(success, 0, -1))


def _integral(
    label: str,
    func: Callable[..., Any],
    limits: tuple[Any, Any],
    args: tuple[Any, ...],
    options: quadrature.Options,
) -> tuple[Any, Any]:
    a, b = [_operand(x) for x in limits]
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind != "f" or a.shape or b.shape:
        raise TypeError(f"{label}: the limits must be real numbers, got {type_of(a)}, {type_of(b)}")

    def integrand(x: Any) -> Any:
        return _operand(func(x, *args))

    closure = close(f"{label}: func", integrand, array_type((), dtype))
    integral = shared(quadrature.Integral, closure.program, len(closure.captured), options)
    return integral(*closure.captured, _cast(a, dtype), _cast(b, dtype))  # type: ignore[no-any-return]


@api_boundary
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    **options: Any,
) -> Any:
    """Integrate a function of a number from `a` to `b`; `scipy.integrate.quad`.

    Outside of traces this is SciPy's function. Where something is traced, arguments and what `func`
    closes over alike:

    Parameters
    ----------
    func
        The integrand ``func(x, *args)``, a real or complex number.
    a, b
        The limits; they may be infinite.
    args
        Further arguments of `func`.
    epsabs, epsrel, limit
        The absolute and relative error allowed, for derivatives too, and a bound on the number of subintervals.

    Returns
    -------
    value, error
        The integral and an estimate of its error, which has no derivative.

    Raises
    ------
    TypeError
        For other options of SciPy's, if something is traced.

    Notes
    -----
    Derivatives are integrals of derivatives (Leibniz' rule), by QUADPACK like the integral itself; gradients by
    arrays by `quad_vec`. Under `vmap` each integral is computed by itself.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> from fungrad.scipy.integrate import quad
    >>> print(fg.grad(lambda k: quad(lambda x: fnp.exp(-k * x), 0.0, np.inf)[0])(2.0).round(6))
    -0.25
    """
    args = args if isinstance(args, tuple) else (args,)
    if _is_plain(a, b, args):
        return scipy.integrate.quad(
            func, a, b, args, epsabs=epsabs, epsrel=epsrel, limit=limit, **options
        )
    if options:
        raise TypeError(
            f"quad: the options {sorted(options)} cannot be used inside of a traced function; split the integral, "
            "or write the weight into the integrand"
        )
    settings = quadrature.Options(float(epsabs), float(epsrel), int(limit))
    return _integral("quad", func, (a, b), args, settings)


@api_boundary
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    *,
    limit: int = 10000,
    args: Any = (),
    **options: Any,
) -> Any:
    """Integrate an array-valued function of a number from `a` to `b`; `scipy.integrate.quad_vec`.

    Outside of traces this is SciPy's function. Inside, the error is measured by the maximum norm, and
    `options` cannot be used. Parameters, results and derivatives are those of `quad`, of a function that
    returns an array.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.scipy.integrate import quad_vec
    >>> fg.grad(lambda p: quad_vec(lambda x: x ** p, 0.0, 1.0)[0].sum())(np.array([1.0, 3.0])).round(6)
    array([-0.25  , -0.0625])
    """
    args = args if isinstance(args, tuple) else (args,)
    if _is_plain(a, b, args):
        return scipy.integrate.quad_vec(
            f, a, b, epsabs, epsrel, limit=limit, args=args, **options
        )
    if options:
        raise TypeError(f"quad_vec: the options {sorted(options)} cannot be used inside of a traced function")
    settings = quadrature.Options(float(epsabs), float(epsrel), int(limit))
    return _integral("quad_vec", f, (a, b), args, settings)


@api_boundary
def fixed_quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5
) -> tuple[Any, None]:
    """Integrate a function from `a` to `b` by the Gauss-Legendre formula of order `n`.

    Parameters
    ----------
    func
        The integrand: takes a vector of places and `args`; the places are the last axis of its result.
    a, b
        The limits, finite.
    args
        Further arguments of `func`.
    n
        The number of places.

    Returns
    -------
    value, None
        The integral, and nothing, as `scipy.integrate.fixed_quad` gives.

    Examples
    --------
    >>> import fungrad as fg
    >>> from fungrad.scipy.integrate import fixed_quad
    >>> print(fg.grad(lambda b: fixed_quad(lambda x: x ** 3, 0.0, b)[0])(2.0).round(6))
    8.0
    """
    nodes, weights = scipy.special.roots_legendre(n)
    if any(type(x) is not Tracer and not np.isfinite(x).all() for x in (a, b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    values = func((b - a) * (nodes + 1) / 2.0 + a, *args)
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None

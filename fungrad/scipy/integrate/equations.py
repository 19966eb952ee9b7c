"""Differential equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate
from scipy.optimize import OptimizeResult

from fungrad.core import tree
from fungrad.core.tracer import innermost_trace
from fungrad.core.types import array_type, type_of
from fungrad.numpy.promotion import as_array, has_tracer
from fungrad.programs.closing import Closure, close, shared
from fungrad.programs.solvers import ode
from fungrad.programs.solvers.initial_value import METHODS, Options
from fungrad.scipy.arguments import cast, operand
from fungrad.scipy.glossary import public

__all__ = ["odeint", "solve_ivp"]


class Equation:
    """The right-hand side of a differential equation, traced, with its states as a list of leaves."""

    def __init__(self, label: str, slope: Callable[[Any, Any], Any], y0: Any, times: Any) -> None:
        self.label = label
        self.slope = slope
        leaves, self.structure = tree.flatten(y0)
        self.states = [operand(x) for x in leaves]
        self.times = operand(times)
        if self.times.dtype.kind != "f":
            raise TypeError(f"{label}: times must be real, got {type_of(self.times)}")
        self.closure = self._close()
        dtypes = [
            np.result_type(x, t.dtype)
            for x, t in zip([x.dtype for x in self.states], self.closure.types, strict=True)
        ]
        if dtypes != [x.dtype for x in self.states]:
            self.states = [cast(x, d) for x, d in zip(self.states, dtypes, strict=True)]
            self.closure = self._close(dtypes)

    def _close(self, dtypes: Sequence[Any] = ()) -> Closure:
        shapes = [x.shape for x in self.states]

        def function(y: Any, t: Any) -> list[Any]:
            slopes, structure = tree.flatten(self.slope(tree.unflatten(self.structure, y), t))
            slopes = [operand(x) for x in slopes]
            if structure != self.structure or [x.shape for x in slopes] != shapes:
                raise ValueError(
                    f"{self.label} must return what it takes for y, a tree of structure {self.structure} with "
                    f"shapes {shapes}; got {structure} with shapes {[x.shape for x in slopes]}"
                )
            return [cast(x, d) for x, d in zip(slopes, dtypes, strict=True)] if dtypes else slopes

        return close(self.label, function, self.states, array_type((), self.times.dtype))

    def solve(self, options: Options) -> list[Any]:
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


@public
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
    >>> def final(rate):
    ...     return integrate.odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 1.0]), rate)[-1]
    >>> print(final(2.0).round(6), fg.grad(final)(2.0).round(6))
    0.135335 -0.135335
    """
    equation = Equation("odeint: func", lambda y, s: func(y, s, *args), y0, t)
    options = Options("DOP853", float(rtol), float(atol), float(hmax), float(mxstep))
    return tree.unflatten(equation.structure, equation.solve(options))


@public
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
    >>> def final(rate):
    ...     times = np.array([0.0, 1.0])
    ...     return integrate.solve_ivp(lambda t, y: [-rate * y[0]], (0, 1), [1.0], "LSODA", times, rtol=1e-9, atol=1e-9).y[0, -1]
    >>> print(fg.grad(final)(2.0).round(6))
    -0.135335
    """
    extra = () if args is None else tuple(args)

    def scipys() -> Any:
        return scipy.integrate.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )

    explicit = has_tracer(tree.leaves((t_span, y0, t_eval, extra)))
    if not explicit and innermost_trace() is None:
        return scipys()
    times = None if t_eval is None else as_array(t_eval)
    grid = _grid(t_span, times)
    state = operand(y0)
    if state.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if vectorized:
        raise TypeError("solve_ivp: vectorized=True has no use for traced arrays; leave it out")
    equation = Equation("solve_ivp: fun", lambda y, t: as_array(fun(t, y, *extra)), state, grid)
    if not explicit and not has_tracer(equation.closure.captured):
        return scipys()
    given = {"dense_output": dense_output, "events": events is not None}
    settings = _options(method, times, [k for k, is_given in given.items() if is_given], options)
    (states,) = equation.solve(settings)
    y = np.transpose(states[1:])
    success = np.isfinite(y).all()
    return OptimizeResult(t=times, y=y, success=success, status=np.where(success, 0, -1))


def _grid(t_span: Any, times: Any) -> Any:
    """Return the first time and, behind it, those at which the state is wanted."""
    start, stop = t_span
    if times is not None and not has_tracer((start, stop, times)):
        low, high = min(start, stop), max(start, stop)
        if np.any(times < low) or np.any(times > high):
            raise ValueError("Values in `t_eval` are not within `t_span`.")
    grid = operand(start).reshape((1,))
    if times is None:
        return grid
    dtype = np.result_type(grid.dtype, times.dtype)
    return ode.joined(cast(grid, dtype), cast(times, dtype))


def _options(method: Any, times: Any, given: list[str], options: dict[str, Any]) -> Options:
    """Return the settings of the solver; raise for arguments that have no meaning for traced arrays."""
    wrong = [*given, *[name for name in options if name not in ("rtol", "atol", "max_step")]]
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
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {list(METHODS)}.")
    return Options(
        method,
        float(options.get("rtol", 1e-3)),
        float(options.get("atol", 1e-6)),
        float(options.get("max_step", np.inf)),
    )

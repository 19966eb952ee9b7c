"""`scipy.integrate.solve_ivp` of traced arguments: SciPy's own steps, events, dense output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from scipy.optimize import OptimizeResult

from fungrad.core import tree
from fungrad.core.backend import to_host
from fungrad.core.errors import ConcretizationError, FungradError, here
from fungrad.core.tracer import Tracer, innermost_trace, needed_value
from fungrad.core.types import array_type
from fungrad.numpy.promotion import as_array, has_tracer
from fungrad.programs.closing import Closure, close
from fungrad.programs.solvers import ode
from fungrad.programs.solvers.initial_value import METHODS, Options
from fungrad.programs.solvers.root import root, tangent_solver
from fungrad.scipy.arguments import cast, operand
from fungrad.scipy.glossary import public
from fungrad.scipy.integrate.equations import Equation
from fungrad.scipy.optimize.jacobians import LEAST, Jacobian, takes_few_products

__all__ = ["solve_ivp"]

STEERING = frozenset(["jac", "jac_sparsity", "lband", "min_step", "uband"])
"""Options that change how SciPy finds its steps, and no result."""

OBEYED = frozenset(["atol", "first_step", "max_step", "rtol"])


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

    Outside of traces this is SciPy's function; "BDF" and "Radau" get the Jacobian if it is sparse. Where something is traced, arguments and what `fun` closes
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
        One of SciPy's methods, by name or by its class.
    t_eval
        The times at which the state is wanted. By default those of SciPy's own steps; these depend on values,
        which are asked for: under `jit` there is a program for each of them.
    dense_output
        Whether the result has `sol`, a function of the time, which integrates up to the times it is called with.
    events
        A function ``event(t, y, *args)`` or a list of them, with attributes `terminal` and `direction`; which of them
        happen depends on values too. The times at which they happen have derivatives.
    vectorized
        Means nothing for traced arrays.
    args
        A tuple of further arguments of `fun`.
    **options
        `rtol`, `atol` (of several the least holds for all), `first_step` and `max_step`, as in SciPy; Jacobians and
        `min_step` are not needed.

    Returns
    -------
    OptimizeResult
        As SciPy's. With `t_eval` and without events, `success` and `status` are traced too (-1 if the integration failed,
        and then `y` ends in NaN), and `message`, `nfev`, `njev` and `nlu` are found when they are asked for.

    Raises
    ------
    TypeError
        For options that SciPy's methods do not have.
    ConcretizationError
        If values are asked for, and there are none.

    Notes
    -----
    See `odeint` on derivatives. Times of steps are constants.

    Examples
    --------
    >>> def final(rate):
    ...     return integrate.solve_ivp(lambda t, y: [-rate * y[0]], (0, 1), [1.0], "LSODA", rtol=1e-9, atol=1e-9).y[0, -1]
    >>> print(fg.grad(final)(2.0).round(6))
    -0.135335
    >>> def landing(height):
    ...     hit = lambda t, y: y[0]
    ...     return integrate.solve_ivp(lambda t, y: [y[1], -10.0], (0, 9), [height, 0.0], events=hit).t_events[0][0]
    >>> print(fg.grad(landing)(5.0).round(6))  # of sqrt(height / 5)
    0.1
    """
    extra = () if args is None else tuple(args)

    def scipys() -> Any:
        if (jacobian := _sparse_jacobian(fun, t_span, y0, method, extra, options)) is not None:
            options["jac"] = jacobian
        return scipy.integrate.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )

    explicit = has_tracer(tree.leaves((t_span, y0, t_eval, extra)))
    if not explicit and innermost_trace() is None:
        return scipys()
    state = operand(y0)
    if state.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    start = operand(t_span[0]).reshape((1,))
    equation = Equation("solve_ivp: fun", lambda y, t: as_array(fun(t, y, *extra)), state, start)
    watched = _events(events, extra, equation)
    captured = [*equation.closure.captured, *[x for e in watched for x in e.closure.captured]]
    if not explicit and not has_tracer(captured):
        return scipys()
    problem = Problem(equation, watched, t_span, _options(method, options))
    times = None if t_eval is None else _checked(as_array(t_eval), t_span)
    return _result(problem, times, dense_output, events is not None)


def _sparse_jacobian(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any,
    extra: tuple[Any, ...],
    options: dict[str, Any],
) -> Callable[..., Any] | None:
    """Return the Jacobian for an implicit method of SciPy's, if it is sparse and `fun` can be traced."""
    name = method.__name__ if isinstance(method, type) else method
    state = np.asarray(y0)
    if name not in ("BDF", "Radau") or {"jac", "jac_sparsity"} & {
        k for k, x in options.items() if x is not None
    }:
        return None
    if state.size < LEAST or state.ndim != 1 or state.dtype.kind not in "biuf":
        return None
    right = lambda y, t, *more: as_array(fun(t, y, *more))
    try:
        if not takes_few_products(right, state.astype(float), float(t_span[0]), *extra):
            return None
    except (TypeError, ValueError, AttributeError, FungradError):  # `fun` is no function to trace
        return None
    derivative = Jacobian(right, as_sparse=True)
    return lambda t, y, *more: derivative(y, t, *more)


class Event(NamedTuple):
    """A function of the time and the state, whose zeros are looked for."""

    closure: Closure
    terminal: Any
    direction: float


def _events(events: Any, extra: tuple[Any, ...], equation: Equation) -> list[Event]:
    """Return the functions of events as programs."""
    several = events if isinstance(events, (list, tuple)) else () if events is None else (events,)
    made = []
    for event in several:

        def value(y: Any, t: Any, event: Any = event) -> Any:
            return operand(event(t, y[0], *extra)).reshape(())

        clock = array_type((), equation.times.dtype)
        closure = close("solve_ivp: events", value, equation.states, clock)
        terminal, direction = getattr(event, "terminal", False), getattr(event, "direction", 0)
        made.append(Event(closure, terminal, direction))
    return made


def _checked(times: Any, t_span: Any) -> Any:
    """Return the times at which the state is wanted; raise if they are known and wrong."""
    if times.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    start, stop = t_span
    if not has_tracer((start, stop, times)):
        if np.any(times < min(start, stop)) or np.any(times > max(start, stop)):
            raise ValueError("Values in `t_eval` are not within `t_span`.")
        if np.any(np.diff(times) * (1 if stop > start else -1) <= 0):
            raise ValueError("Values in `t_eval` are not properly sorted.")
    return times


def _options(method: Any, options: dict[str, Any]) -> Options:
    """Return the settings of the solver; raise for those that SciPy lacks."""
    name = method.__name__ if isinstance(method, type) else method
    if name not in METHODS or (isinstance(method, type) and METHODS[name] is not method):
        raise ValueError(
            f"`method` must be one of {list(METHODS)} where something is traced; got {method!r}"
        )
    if wrong := sorted(options.keys() - OBEYED - STEERING):
        raise TypeError(
            f"solve_ivp: {', '.join(wrong)}: no options of SciPy's methods; leave them out"
        )
    first = options.get("first_step")
    return Options(
        name,
        float(options.get("rtol", 1e-3)),
        float(np.min(options.get("atol", 1e-6))),
        float(options.get("max_step", np.inf)),
        first_step=None if first is None else float(first),
    )


class Problem(NamedTuple):
    """An equation with its events, over an interval of time."""

    equation: Equation
    events: list[Event]
    t_span: Any
    options: Options

    def states(self, times: Any, to_end: bool = True) -> Any:
        """Return the states at times in the order of the interval, of shape (n, len(times)).

        `to_end` takes the steps that SciPy takes, whose last one ends at the end of the interval.
        """
        start, stop = [operand(x).reshape((1,)) for x in self.t_span]
        parts = [start, operand(times), *([stop] if to_end else [])]
        dtype = np.result_type(*[x.dtype for x in parts])
        grid = cast(parts[0], dtype)
        for x in parts[1:]:
            grid = ode.joined(grid, cast(x, dtype))
        (rows,) = self.equation.at(grid, self.options)
        return np.transpose(rows[1:-1] if to_end else rows[1:])

    def on_values(self, times: Any) -> Any:
        """Return SciPy's solution for the values of arguments, which are asked for."""
        known = [_value(x) for x in (*self.t_span, *self.equation.states)]
        start, stop, y0 = known
        where = None if times is None else _value(times)
        events = [OnValues(e.closure, e.terminal, e.direction) for e in self.events]
        slope = OnValues(self.equation.closure)
        o = self.options
        limits = {"rtol": o.rtol, "atol": o.atol, "max_step": o.max_step}
        return scipy.integrate.solve_ivp(
            slope,
            (float(start), float(stop)),
            y0,
            o.method,
            where,
            events=events or None,
            first_step=o.first_step,
            **limits,
        )

    def event_time(self, event: Event, time: float) -> Any:
        """Return a time at which an event happens, differentiated by the implicit function theorem."""

        def value(t: Any) -> Any:
            state = self.states(t.reshape((1,)), to_end=False)[:, 0]
            return event.closure([state], t)

        clock = array_type((), self.equation.times.dtype)
        f = close("solve_ivp: events", value, clock)
        found = close("solve_ivp: events", lambda t: t, clock).program
        given = (np.asarray(time, clock.dtype)[()],)
        return root(f, (found, given), tangent_solver(lambda g, y: y / g(1.0), f))[0]


def _value(x: Any) -> Any:
    """Return the array that an argument is; raise if it has no value."""
    value = needed_value(x) if type(x) is Tracer else x
    if value is None:
        raise ConcretizationError(
            f"at {here()}\nsolve_ivp: how many steps it takes, and which events happen, depends on values, and a tracer of type "
            f"{x._type} under `{x._owner.label}` has none. Give the times at which the state is wanted as t_eval, and no events"
        )
    return to_host(value)


class OnValues:
    """A function of the time and the state as one of NumPy arrays, as SciPy takes it."""

    def __init__(self, closure: Closure, terminal: Any = False, direction: float = 0) -> None:
        self.terminal, self.direction = terminal, direction
        self._captured = [_value(x) for x in closure.captured]
        self._run = closure.program.compiled(np)
        self._types = closure.program.expr.input_types[len(self._captured) :]

    def __call__(self, t: Any, y: Any) -> Any:
        of_state, of_time = [x.dtype for x in self._types]
        return self._run(*self._captured, np.asarray(y, of_state), of_time.type(t))[0]


class Solution(OptimizeResult):  # type: ignore[misc]
    """A result of `solve_ivp` with parts that are found on demand."""

    _later: Callable[[], Any]

    def __missing__(self, key: str) -> Any:
        if key not in ("message", "nfev", "njev", "nlu"):
            raise KeyError(key)
        found = self._later()
        self.update({name: found[name] for name in ("message", "nfev", "njev", "nlu")})
        return self[key]


class Dense:
    """The solution as a function of the time, between `t_min` and `t_max`."""

    def __init__(self, problem: Problem, times: Any, stop: Any, to_end: bool) -> None:
        self._problem, self._to_end, self.ts = problem, to_end, times
        start, stop = operand(problem.t_span[0]), operand(stop).reshape(())
        self._sign = np.where(stop >= start, 1.0, -1.0)
        self.t_min, self.t_max = np.minimum(start, stop), np.maximum(start, stop)

    def __call__(self, t: Any) -> Any:
        """Return the state at a time, or those at a vector of times, in any order."""
        times = operand(t)
        if times.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        if not has_tracer((times, self.t_min, self.t_max)) and (
            np.any(times < self.t_min) or np.any(times > self.t_max)
        ):
            raise ValueError(
                f"solve_ivp: sol is asked for times outside of {self.t_min} to {self.t_max}"
            )
        row = times.reshape((-1,))
        order = np.argsort(row * self._sign)
        states = self._problem.states(row[order], self._to_end)
        states = states[:, np.argsort(order)]
        return states[:, 0] if times.ndim == 0 else states


def _result(problem: Problem, times: Any, dense_output: bool, with_events: bool) -> Any:
    """Return the solution at times, or at those of SciPy's steps if there are none given."""
    if times is not None and not problem.events:
        y = problem.states(times)
        success = np.isfinite(y).all()
        status = np.where(success, 0, -1)
        dense = Dense(problem, times, problem.t_span[1], True) if dense_output else None
        made = Solution(t=times, y=y, sol=dense, t_events=None, y_events=None)
        made.update(status=status, success=success)
        object.__setattr__(made, "_later", lambda: problem.on_values(times))
        return made
    plain = problem.on_values(times)
    t_events, y_events = _happened(problem, plain, with_events)
    to_end = plain.status == 0
    ends = [operand(x).reshape((1,)) for x in problem.t_span]
    if plain.status == 1:
        ends[1] = _last(problem, plain, t_events)
    elif plain.status < 0:
        ends[1] = plain.t[-1:]
    if times is not None:
        t = times[: len(plain.t)]
    else:
        t = np.concatenate([ends[0], plain.t[1:-1], ends[1]]) if has_tracer(ends) else plain.t
    y = problem.states(t, to_end) if len(plain.t) else plain.y
    dense = Dense(problem, t, ends[1], to_end) if dense_output else None
    made = Solution(plain)
    made.update(t=t, y=y, sol=dense, t_events=t_events, y_events=y_events)
    return made


def _happened(problem: Problem, plain: Any, with_events: bool) -> tuple[Any, Any]:
    """Return for each event the times at which it happened, and the states then."""
    if not with_events:
        return None, None
    times: list[Any] = []
    states: list[Any] = []
    for event, known, then in zip(problem.events, plain.t_events, plain.y_events, strict=True):
        if not len(known):
            times.append(known)
            states.append(then)
            continue
        moving = [problem.event_time(event, t).reshape((1,)) for t in known]
        times.append(np.concatenate(moving))
        states.append(np.transpose(problem.states(times[-1], plain.status == 0)))
    return times, states


def _last(problem: Problem, plain: Any, t_events: Sequence[Any]) -> Any:
    """Return the time of the event that ended the integration, the last one that happened."""
    start = _value(problem.t_span[0])
    ends = [
        (abs(known[-1] - start), moving[-1])
        for known, moving in zip(plain.t_events, t_events, strict=True)
        if len(known)
    ]
    return max(ends, key=lambda end: end[0])[1].reshape((1,))

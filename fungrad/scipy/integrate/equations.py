"""Differential equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.types import array_type, type_of
from fungrad.programs.closing import Closure, close, shared
from fungrad.programs.solvers import ode
from fungrad.programs.solvers.initial_value import Options
from fungrad.scipy.arguments import as_tuple, cast, operand
from fungrad.scipy.glossary import public

__all__ = ["odeint"]


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
        return self.at(self.times, options)

    def at(self, times: Any, options: Options) -> list[Any]:
        """Return the states at a vector of times; the first is the initial time."""
        if times.ndim != 1 or not times.size:
            raise ValueError(
                f"{self.label}: times must be a vector, got an array of shape {times.shape}"
            )
        first = [ode.one_row(y) for y in self.states]
        if times.size == 1:
            return first
        k = len(self.states)
        captured = self.closure.captured
        kinds = (ode.INITIAL,) * k, (ode.ALL,) * k
        flow = shared(ode.Flow, self.closure.program, len(captured), *kinds, options)
        later = flow(*captured, times, *self.states)
        return [ode.joined(y, z) for y, z in zip(first, later, strict=True)]


TOLERANCE = 1.4e-8
"""Relative and absolute error that `odeint` allows by default."""


@public
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: Any = TOLERANCE,
    atol: Any = TOLERANCE,
    mxstep: float = np.inf,
    hmax: float = np.inf,
    **options: Any,
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
    **options
        Other keywords of `scipy.integrate.odeint`: ``args=`` is a tuple of further arguments, ``tfirst=True`` calls
        ``func(t, y, *args)``, `full_output` and `tcrit` are refused, and those that steer LSODA have no effect.

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
    ones there is `solve_ivp` with an implicit method. Derivatives by `y0`, `t`, `args` and captures of `func` are
    solutions of differential equations in turn, at any order. They are forward sensitivities and, in reverse mode,
    the adjoint equation, which integrates the state backwards between the times in `t`. Where that is unstable
    (strong damping over a long interval), more times help. Under `vmap` each equation is integrated by itself, with
    steps of its own.

    Examples
    --------
    >>> def final(rate):
    ...     return integrate.odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 1.0]), rate)[-1]
    >>> print(final(2.0).round(6), fg.grad(final)(2.0).round(6))
    0.135335 -0.135335
    """
    args, tfirst = _as_scipys(args, options)
    right = (lambda y, s: func(s, y, *args)) if tfirst else lambda y, s: func(y, s, *args)
    equation = Equation("odeint: func", right, y0, t)
    limits = [float(x or np.inf) for x in (hmax, mxstep)]  # 0 is no limit, as in SciPy
    errors = [float(np.min(TOLERANCE if x is None else x)) for x in (rtol, atol)]
    solver = Options("DOP853", *errors, *limits)
    return tree.unflatten(equation.structure, equation.solve(solver))


STEERING = frozenset(
    [
        "Dfun",
        "col_deriv",
        "h0",
        "hmin",
        "ixpr",
        "ml",
        "mu",
        "mxhnil",
        "mxordn",
        "mxords",
        "printmessg",
    ]
)
"""Keywords of SciPy's that change how LSODA finds its steps, and no result."""

INSTEAD = {
    "full_output": "how many steps it takes is known once the program runs; leave it out",
    "tcrit": "integrate up to each of these times by a call of its own",
}


def _as_scipys(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
    """Return further arguments of the right-hand side, and whether it takes the time first."""
    given = {name: x for name, x in options.items() if name not in STEERING}
    more, tfirst = given.pop("args", ()), bool(given.pop("tfirst", False))
    for name, advice in INSTEAD.items():
        value = given.pop(name, None)
        if value is not None and np.any(value):
            raise TypeError(f"odeint: {name}={value!r} cannot be used: {advice}")
    if given:
        raise TypeError(f"odeint: {', '.join(sorted(given))}: neither JAX nor SciPy has it")
    return (*args, *as_tuple(more)), tfirst

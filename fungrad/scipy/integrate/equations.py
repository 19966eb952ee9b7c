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
from fungrad.scipy.arguments import cast, operand
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
    equation = Equation("odeint: func", lambda y, s: func(y, s, *args), y0, t)
    options = Options("DOP853", float(rtol), float(atol), float(hmax), float(mxstep))
    return tree.unflatten(equation.structure, equation.solve(options))

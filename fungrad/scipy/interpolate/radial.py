"""Interpolation of scattered data by radial basis functions.

The interpolant is a sum of kernels at the data points and a polynomial whose monomials the kernels' coefficients are orthogonal to:
G. E. Fasshauer, "Meshfree Approximation Methods with MATLAB", 2007, chapter 6.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from itertools import combinations_with_replacement
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.interpolate

from fungrad.numpy.promotion import has_tracer, strong
from fungrad.scipy.arguments import double
from fungrad.scipy.interpolate.objects import Interpolant, registered
from fungrad.typing import Array

__all__ = ["RBFInterpolator"]


def _off_zero(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of squared distances that is 0 at 0, where its formula has no derivative."""

    def kernel(r2: Any) -> Any:
        apart = r2 > 0
        return np.where(apart, f(np.where(apart, r2, 1.0)), 0.0)

    return kernel


KERNELS = MappingProxyType(
    {
        "linear": (_off_zero(lambda r2: -np.sqrt(r2)), 0),
        "thin_plate_spline": (_off_zero(lambda r2: 0.5 * r2 * np.log(r2)), 1),
        "cubic": (_off_zero(lambda r2: r2 * np.sqrt(r2)), 1),
        "quintic": (_off_zero(lambda r2: -r2 * r2 * np.sqrt(r2)), 2),
        "multiquadric": (lambda r2: -np.sqrt(r2 + 1), 0),
        "inverse_multiquadric": (lambda r2: 1 / np.sqrt(r2 + 1), -1),
        "inverse_quadratic": (lambda r2: 1 / (r2 + 1), -1),
        "gaussian": (lambda r2: np.exp(-r2), -1),
    }
)
"""For each kernel: a function of squared distances, and the least degree of the polynomial."""


@registered
class RBFInterpolator(Interpolant):
    """Interpolate scattered data. Differentiable in all arrays: places, values, widths, smoothing.

    Parameters
    ----------
    y
        Places of the data, of shape (n, d).
    d
        Values, of shape (n, ...).
    neighbors
        For plain arrays alone: `scipy.interpolate.RBFInterpolator` has it.
    smoothing
        What the kernels of each datum with itself are increased by: a number, or one for each.
    kernel
        "thin_plate_spline", "linear", "cubic", "quintic", "multiquadric", "inverse_multiquadric", "inverse_quadratic" or "gaussian".
    epsilon
        What distances are multiplied by; the first four kernels may leave it out.
    degree
        The degree of the polynomial; -1 for none.

    Examples
    --------
    >>> y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> f = RBFInterpolator(y, y[:, 0] * 2 + y[:, 1])
    >>> fg.grad(lambda x: f(x)[0])(np.array([[0.25, 0.5]])).round(6)
    array([[2., 1.]])
    """

    arrays = ("y", "epsilon", "shift", "scale", "coefficients")
    settings = ("kernel", "powers", "shape")
    own: Any = None
    """SciPy's object, if it was made of plain arrays."""

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: int | None = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: int | None = None,
    ) -> None:
        if neighbors is not None:
            raise TypeError(
                "RBFInterpolator: neighbors are found for plain arrays alone; leave the argument out, or keep the object of scipy.interpolate "
                "outside of what is transformed"
            )
        plain = [np.asarray(x) if not has_tracer([x]) else np.zeros(np.shape(x)) for x in (y, d)]
        self.kernel = kernel.lower()
        if not has_tracer([y, d, smoothing, epsilon]):
            own = scipy.interpolate.RBFInterpolator(
                *plain, smoothing=smoothing, kernel=kernel, epsilon=epsilon, degree=degree
            )
            self._take(own)
            return
        if self.kernel not in KERNELS:
            raise ValueError(f"`kernel` must be one of {set(KERNELS)}.")
        least = KERNELS[self.kernel][1]
        if epsilon is None and least >= 0 and self.kernel != "multiquadric":
            epsilon = 1.0
        if epsilon is None:
            raise ValueError(f"`epsilon` must be specified if `kernel` is {self.kernel}.")
        self.y, values = double(y), strong(d)
        if self.y.ndim != 2 or values.shape[:1] != self.y.shape[:1]:
            raise ValueError(
                f"`y` must have shape (n, d) and `d` (n, ...); got {self.y.shape} and {values.shape}"
            )
        values = values if values.dtype.kind == "c" else double(values)
        n, ndim = self.y.shape
        self.epsilon, self.shape = double(epsilon), values.shape[1:]
        degree = max(least, 0) if degree is None else operator.index(degree)
        self.powers = tuple(
            tuple(chosen.count(i) for i in range(ndim))
            for k in range(degree + 1)
            for chosen in combinations_with_replacement(range(ndim), k)
        )
        if len(self.powers) > n:
            raise ValueError(
                f"At least {len(self.powers)} data points are required when `degree` is {degree} and the number of dimensions is {ndim}."
            )
        low, high = np.min(self.y, axis=0), np.max(self.y, axis=0)
        self.shift = (high + low) / 2
        half = (high - low) / 2
        self.scale = np.where(half == 0, 1.0, half)
        self.coefficients = self._solved(values.reshape((n, -1)), double(smoothing))

    def _solved(self, values: Any, smoothing: Any) -> Any:
        """Return the coefficients of the kernels and, after them, of the monomials."""
        n = values.shape[0]
        rows = self._terms(self.y)
        diagonal = np.eye(n) * np.broadcast_to(smoothing, (n,))
        top = rows + np.concatenate([diagonal, np.zeros((n, len(self.powers)))], 1)
        bottom = np.concatenate([rows[:, n:].T, np.zeros((len(self.powers),) * 2)], 1)
        rest = np.zeros((len(self.powers), values.shape[1]), values.dtype)
        return np.linalg.solve(np.concatenate([top, bottom]), np.concatenate([values, rest]))

    def _terms(self, x: Any) -> Any:
        """Return the kernels and monomials at places, a row for each."""
        steps = (x[:, None, :] - self.y[None]) * self.epsilon
        kernels = KERNELS[self.kernel][0](np.sum(steps * steps, axis=-1))
        scaled = (x - self.shift) / self.scale
        one = np.ones_like(scaled[:, 0])
        monomials = [
            functools.reduce(
                operator.mul, [scaled[:, i] ** p for i, p in enumerate(powers) if p], one
            )
            for powers in self.powers
        ]
        return np.concatenate([kernels, *[m[:, None] for m in monomials]], 1)

    def _take(self, own: Any) -> None:
        """Take over the coefficients of SciPy's object."""
        self.own = own
        self.y, self.epsilon, self.shift, self.scale = own.y, own.epsilon, own._shift, own._scale
        self.coefficients = np.ascontiguousarray(own._coeffs).view(own.d_dtype)
        self.kernel, self.shape = own.kernel, tuple(own.d_shape)
        self.powers = tuple(tuple(map(int, p)) for p in own.powers)

    def __call__(self, x: Any) -> Array:
        """Return the values at places of shape (n, d)."""
        if self.own is not None and self.is_plain(x):
            return self.own(x)
        x = double(x)
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ValueError(f"`x` must have shape (n, {self.y.shape[1]}), got {x.shape}")
        return (self._terms(x) @ self.coefficients).reshape((x.shape[0], *self.shape))

    @classmethod
    def of_scipy(cls, own: Any) -> RBFInterpolator:
        """Return the interpolant that one of SciPy's is."""
        if own.neighbors is not None:
            return cls(own.y, own.d, own.neighbors)
        self: RBFInterpolator = object.__new__(cls)
        self._take(own)
        return self

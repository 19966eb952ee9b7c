"""Jacobians and Hessians for SciPy's solvers: from few products where they are sparse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fungrad.patterns.jacobian import sparse_jacobian
from fungrad.patterns.plans import plan_for
from fungrad.patterns.walk import DenseError
from fungrad.scipy.optimize.variables import Compiled
from fungrad.transforms.autodiff import linearize
from fungrad.transforms.grad import grad
from fungrad.transforms.jacobian import jacfwd

LEAST = 200
"""Unknowns from which on a pattern is looked for: of 100, a dense Jacobian takes less time."""

MANY = 1000
"""Unknowns from which on a factorization takes longer than iterations with a sparse Jacobian."""

FEW = 0.25
"""Products for each column of the Jacobian, at the most, for which a colouring pays."""

A_STEP = 8
"""Products with a Hessian that a step of conjugate gradients is expected to take."""


def takes_few_products(function: Callable[..., Any], x: Any, *rest: Any) -> bool:
    """Whether the Jacobian of ``function(x, *rest)`` by `x` is had from fewer products than columns."""
    return _cost(function, x, rest, False) <= FEW * x.size


def has_sparse_hessian(objective: Callable[..., Any], x: Any) -> bool:
    """Whether the Hessian is had from no more products than a step of conjugate gradients takes."""
    return _cost(grad(objective), x, (), True) <= A_STEP


def _cost(function: Callable[..., Any], x: Any, rest: tuple[Any, ...], symmetric: bool) -> float:
    """Return the products that a sparse matrix of derivatives takes; infinity if it is dense or small."""
    if x.size < LEAST:
        return math.inf
    push: Any = linearize(lambda x: function(x, *rest), x)[1]
    try:
        return plan_for(push, "auto", symmetric).colouring.cost
    except DenseError:
        return math.inf


class Jacobian:
    """The Jacobian of a function from vector to vector, by the cheaper of two ways.

    Parameters
    ----------
    function
        The function; what it takes after the vector is constant.
    as_sparse
        Whether a sparse Jacobian is returned as one of `scipy.sparse`.
    dense
        The transform that computes a dense one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        as_sparse: bool = False,
        dense: Callable[..., Any] = jacfwd,
    ) -> None:
        self._function = function
        self._as_sparse = as_sparse
        self._dense = dense
        self._compute: Callable[..., Any] | None = None

    def __call__(self, x: Any, *rest: Any) -> Any:
        """Return the Jacobian by `x`; the first call decides in which way."""
        if self._compute is None:
            self._compute = self._chosen(x, *rest)
        return self._compute(x, *rest)

    def _chosen(self, x: Any, *rest: Any) -> Callable[..., Any]:
        if not takes_few_products(self._function, x, *rest):
            return Compiled(self._dense(self._function))
        compressed = Compiled(sparse_jacobian(self._function, format="csc"))
        return compressed if self._as_sparse else lambda *args: compressed(*args).toarray()

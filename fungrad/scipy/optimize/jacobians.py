"""Jacobians for SciPy's solvers: from few products where they are sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fungrad.patterns.jacobian import sparse_jacobian
from fungrad.patterns.plans import plan_for
from fungrad.patterns.walk import DenseError
from fungrad.scipy.optimize.variables import Compiled
from fungrad.transforms.autodiff import linearize
from fungrad.transforms.jacobian import jacfwd

LEAST = 200
"""Unknowns from which on a pattern is looked for: of 100, a dense Jacobian takes less time."""

FEW = 0.25
"""Products for each column of the Jacobian, at the most, for which a colouring pays."""


def takes_few_products(function: Callable[..., Any], x: Any, *rest: Any) -> bool:
    """Whether the Jacobian of ``function(x, *rest)`` by `x` is had from fewer products than columns."""
    if x.size < LEAST:
        return False
    push: Any = linearize(lambda x: function(x, *rest), x)[1]
    try:
        return plan_for(push, "auto", False).colouring.cost <= FEW * x.size
    except DenseError:
        return False


class Jacobian:
    """The Jacobian of a function from vector to vector, by the cheaper of two ways.

    Parameters
    ----------
    function
        The function; what it takes after the vector is constant.
    as_sparse
        Whether a sparse Jacobian is returned as one of `scipy.sparse`.
    """

    def __init__(self, function: Callable[..., Any], as_sparse: bool = False) -> None:
        self._function = function
        self._as_sparse = as_sparse
        self._compute: Callable[..., Any] | None = None

    def __call__(self, x: Any, *rest: Any) -> Any:
        """Return the Jacobian by `x`; the first call decides in which way."""
        if self._compute is None:
            self._compute = self._chosen(x, *rest)
        return self._compute(x, *rest)

    def _chosen(self, x: Any, *rest: Any) -> Callable[..., Any]:
        if not takes_few_products(self._function, x, *rest):
            return Compiled(jacfwd(self._function))
        compressed = Compiled(sparse_jacobian(self._function, format="csc"))
        return compressed if self._as_sparse else lambda *args: compressed(*args).toarray()

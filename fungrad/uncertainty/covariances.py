"""Covariances of the elements of trees, in the forms in which users have them."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.errors import here
from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of, type_of


class Elements:
    """The elements of a tree of real arrays, in C order, leaf after leaf."""

    def __init__(self, x: Any, label: str, what: str) -> None:
        leaves, self._structure = tree.flatten(x)
        self.label, self._types = label, [type_of(leaf) for leaf in leaves]
        for t in self._types:
            if kind_of(t.dtype) != "f":
                raise TypeError(f"{label}: {what} must be real floats, got {t}")
        self.size = sum(t.size for t in self._types)

    def flat(self, x: Any) -> Any:
        """Return the vector of the elements of such a tree."""
        return joined([leaf.reshape(-1) for leaf in map(_array, tree.leaves(x))])

    def tree(self, vector: Any) -> Any:
        """Return the tree of the elements of a vector."""
        leaves, start = [], 0
        for t in self._types:
            part = vector[start : start + t.size].reshape(t.shape).astype(t.dtype)
            leaves.append(part if type(part) is Tracer else part[()])
            start += t.size
        return tree.unflatten(self._structure, leaves)

    def covariance(self, given: Any) -> tuple[Any, bool]:
        """Return a matrix, or variances of independent elements and True; raise if it is neither."""
        leaves, structure = tree.flatten(given)
        shapes = [np.shape(x) for x in leaves]
        if structure == self._structure and shapes == [t.shape for t in self._types]:
            variances = self.flat(given)
            self._check(variances, variances)
            return variances, True
        n = self.size
        if len(leaves) != 1 or shapes[0] != (n, n):
            described = shapes[0] if len(leaves) == 1 else f"a tree, {structure}"
            raise ValueError(
                f"at {here()}\n{self.label}: the covariance is a matrix of shape {(n, n)}, for the {n} elements of the argument, or "
                f"variances of the structure and shapes of the argument; got {described}"
            )
        matrix = _array(leaves[0])
        self._check(matrix, fnp.diagonal(matrix))
        return matrix, False

    def _check(self, given: Any, variances: Any) -> None:
        """Raise if known numbers are those of no covariance."""
        if type(given) is Tracer:
            return
        if kind_of(given.dtype) not in "fiu":
            raise TypeError(
                f"at {here()}\n{self.label}: a covariance is real, got {given.dtype}: pass its real part, or that of the real and imaginary parts as one real vector"
            )
        if np.any(variances < 0):
            least = float(np.min(variances))
            raise ValueError(
                f"at {here()}\n{self.label}: variances must not be negative, and the least of these is {least}; pass squares of standard deviations"
            )
        if given.ndim == 2 and given is not variances:
            scale = float(abs(given).max()) if given.size else 0.0
            if np.any(np.abs(given - given.T) > 1e-6 * scale):
                raise ValueError(
                    f"at {here()}\n{self.label}: the covariance is not symmetric; pass (C + C.T) / 2 if rounding is the cause"
                )


def _array(x: Any) -> Any:
    return x if hasattr(x, "reshape") else np.asarray(x)


def joined(parts: list[Any]) -> Any:
    """Return vectors one after the other."""
    if not parts:
        return np.zeros(0)
    return parts[0] if len(parts) == 1 else fnp.concatenate(parts)


def factor(covariance: Any, independent: bool) -> Any:
    """Return a matrix or vector that makes of independent numbers of variance 1 such of this covariance.

    The triangle of Cholesky; of known singular covariances, which have none, the symmetric square root.
    """
    if independent:
        return fnp.sqrt(covariance)
    try:
        return fnp.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        if type(covariance) is Tracer:
            raise
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -1e-8 * values[-1]:
        raise ValueError(
            f"at {here()}\nthere are no numbers of this covariance: its least eigenvalue is {values[0]:.3g}, and none may be negative"
        )
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T

"""The unknowns of an optimization as one vector, and functions of them with compiled derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.errors import ConcretizationError
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import looks_like
from fungrad.core.types import type_of
from fungrad.numpy.promotion import has_tracer
from fungrad.scipy.arguments import operand, untraced
from fungrad.transforms.arguments import name_of
from fungrad.transforms.explain import log_traced_anew
from fungrad.transforms.jit import jit


class Variables:
    """Between the tree that a user's function takes and the vector of float64 that SciPy works on.

    A list or tuple of numbers is a vector and a number is a vector of one, as in SciPy.
    """

    def __init__(self, x0: Any, label: str) -> None:
        if isinstance(x0, (list, tuple)) and all(np.ndim(x) == 0 for x in tree.leaves(x0)):
            x0 = operand(x0)
        leaves, self.structure = tree.flatten(x0)
        leaves = [operand(x) for x in leaves]
        if self.structure == tree.LEAF and not leaves[0].shape:
            leaves = [leaves[0].reshape((1,))]
        self.types = [type_of(x) for x in leaves]
        for t in self.types:
            if t.dtype.kind != "f":
                raise TypeError(
                    f"{label}: x0 must be real, got {t}; take real and imaginary parts apart"
                )
        self.ends = list(itertools.accumulate(t.size for t in self.types))
        self.size = self.ends[-1] if self.ends else 0
        self.start = flat(leaves)

    @property
    def plain(self) -> bool:
        """Whether the tree is the vector."""
        return (
            self.structure == tree.LEAF and self.types[0].ndim == 1 and self.types[0].dtype == float
        )

    def tree(self, vector: Any) -> Any:
        """Return the tree of the elements of an array or a tracer."""
        if self.plain:
            return vector
        leaves = []
        for t, end in zip(self.types, self.ends, strict=True):
            x = vector[end - t.size : end].reshape(t.shape).astype(t.dtype)
            leaves.append(x if type(x) is Tracer else x[()])
        return tree.unflatten(self.structure, leaves)


def flat(x: Any) -> Any:
    """Return the elements of a tree of real arrays as a vector of float64."""
    parts = [operand(leaf).reshape((-1,)).astype(float) for leaf in tree.leaves(x)]
    if not parts:
        return np.zeros(0)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def scalar_function(
    fun: Callable[..., Any], args: tuple[Any, ...], variables: Variables
) -> Callable[[Any], Any]:
    """Return an objective as a function of the vector."""

    @looks_like(fun)
    def of_vector(vector: Any) -> Any:
        value = fun(variables.tree(vector), *args)
        if getattr(value, "size", 0) == 1 and value.shape:  # SciPy takes such for a number
            return value.reshape(())
        return value

    return of_vector


def vector_function(
    fun: Callable[..., Any], args: tuple[Any, ...], variables: Variables, what: str
) -> Callable[[Any], Any]:
    """Return a function with several results as one from vector to vector."""

    @looks_like(fun)
    def of_vector(vector: Any) -> Any:
        value = fun(variables.tree(vector), *args)
        leaves = [operand(x) for x in tree.leaves(value)]
        wrong = [type_of(x) for x in leaves if x.dtype.kind != "f"]
        if wrong:
            raise TypeError(f"{what} {name_of(fun)} must return real numbers; got {wrong[0]}")
        return flat(leaves)

    return of_vector


class Compiled:
    """A function compiled by `jit`, unless its Python asks for values; then it is traced in each call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._traced = function
        jitted: Any = jit(function)
        jitted.guards = False  # a minimizer calls it with other values each time
        self._function: Callable[..., Any] = jitted

    def __call__(self, *args: Any) -> Any:
        try:
            returned = self._function(*args)
        except ConcretizationError as error:
            if has_tracer(tree.leaves(args)):
                raise
            log_traced_anew(name_of(self._traced), error)
            self._function = self._traced
            returned = self._function(*args)
        return untraced(returned, name_of(self._traced))


def on_arrays(function: Callable[..., Any], args: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """Return a user's function for SciPy to call with arrays."""
    return lambda *x: untraced(function(*x, *args), name_of(function))

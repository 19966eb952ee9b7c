"""Jacobians as linear operators of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fungrad.core import tree
from fungrad.core.backend import on_host
from fungrad.core.cached import cached_property
from fungrad.core.errors import api_boundary, here
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, kind_of, type_of
from fungrad.transforms.arguments import Argnums, check_callable, name_of
from fungrad.transforms.autodiff import linear_transpose, linearize
from fungrad.transforms.jacobian import _partial
from fungrad.transforms.vmap import vmap

__all__ = ["linear_operator"]


@api_boundary
def linear_operator(
    fun: Callable[..., Any], *args: Any, argnums: int | Sequence[int] = 0, **kwargs: Any
) -> LinearOperator:
    """Return the Jacobian of `fun` at some arguments as a `scipy.sparse.linalg.LinearOperator`.

    It is for SciPy's iterative solvers: `gmres`, `lsmr`, `svds`, `eigsh`, ... Each product is a jvp, of its transpose a vjp, at the point
    where it was made; the function itself is computed once.

    Parameters
    ----------
    fun
        A function that returns floats. The operator of ``grad(loss)`` is the Hessian of `loss`.
    *args, **kwargs
        Its arguments, which have values.
    argnums
        Which positional arguments to differentiate with respect to.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        Of shape (m, n): the m elements of the results by the n elements of the arguments, in C order, leaf after leaf.

    Raises
    ------
    TypeError
        If something is traced or an array of CuPy, or an argument or result is no float.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from scipy.sparse.linalg import lsmr
    >>> operator = fg.linear_operator(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0]))
    >>> operator.shape, operator @ np.ones(3), operator.T @ np.ones(2)
    ((2, 3), array([3., 5.]), array([2., 4., 2.]))
    >>> lsmr(operator, np.array([3.0, 5.0]))[0].round(6)
    array([0.857143, 1.285714, 0.571429])
    """
    check_callable(fun, "linear_operator")
    label = f"linear_operator({name_of(fun)})"
    if any(type(x) is Tracer for x in tree.leaves((args, kwargs))):
        raise TypeError(
            f"at {here()}\n{label}: the arguments are traced, and SciPy's operators have values. Within transforms use the function "
            "that fungrad.linearize returns, with fungrad.scipy.sparse.linalg."
        )
    if not on_host(tree.leaves((args, kwargs))):
        raise TypeError(
            f"at {here()}\n{label}: SciPy's operators take NumPy's arrays, and the arguments are CuPy's: use the functions that fungrad.linearize "
            "and fungrad.vjp return in a cupyx.scipy.sparse.linalg.LinearOperator, or move the arguments with cupy.asnumpy"
        )
    _, by = Argnums(argnums).of(args, label)
    is_complex = any(type_of(x).dtype.kind == "c" for x in tree.leaves(by))
    of_chosen, chosen = _partial(fun, argnums, args, kwargs, label, holomorphic=is_complex)
    value, push = linearize(of_chosen, chosen)
    for x in (*tree.leaves(chosen), *tree.leaves(value)):
        if kind_of(type_of(x).dtype) != ("c" if is_complex else "f"):
            wanted = "complex numbers" if is_complex else "real floats"
            raise TypeError(f"{label} needs {wanted} as arguments and results, got {type_of(x)}")
    return Jacobian(push, chosen, value)


class Jacobian(LinearOperator):  # type: ignore[misc]
    """The linear function that `linearize` gives, as an operator on vectors."""

    def __init__(self, push: Callable[[Any], Any], chosen: Any, value: Any) -> None:
        self._push, self._chosen = push, chosen
        self._arguments, self._results = _Vector(chosen), _Vector(value)
        dtype = np.result_type(self._arguments.dtype, self._results.dtype)
        super().__init__(dtype, (self._results.size, self._arguments.size))

    @cached_property
    def _pull(self) -> Callable[[Any], Any]:
        return linear_transpose(self._push, self._chosen)

    def _matvec(self, x: Any) -> Any:
        return self._results.flat(self._push(self._arguments.tree(np.ravel(x))))

    def _rmatvec(self, x: Any) -> Any:
        pulled = self._pull(self._results.tree(np.conj(np.ravel(x))))[0]
        return np.conj(self._arguments.flat(pulled))

    def _matmat(self, x: Any) -> Any:
        of_column = lambda v: self._results.flat(self._push(self._arguments.tree(v)))
        return vmap(of_column, in_axes=1, out_axes=1)(np.asarray(x))

    def _rmatmat(self, x: Any) -> Any:
        of_column = lambda v: self._arguments.flat(self._pull(self._results.tree(v))[0])
        return np.conj(vmap(of_column, in_axes=1, out_axes=1)(np.conj(x)))


class _Vector:
    """Between a tree and the vector of its elements."""

    def __init__(self, x: Any) -> None:
        leaves, self._structure = tree.flatten(x)
        self._types: list[ArrayType] = [type_of(leaf) for leaf in leaves]
        self._ends = np.cumsum([t.size for t in self._types])
        self.size = int(self._ends[-1]) if leaves else 0
        self.dtype = np.result_type(*[t.dtype for t in self._types]) if leaves else np.dtype(float)

    def tree(self, vector: Any) -> Any:
        """Return the tree whose elements a vector has."""
        parts = []
        for t, end in zip(self._types, self._ends, strict=True):
            part = vector[end - t.size : end].reshape(t.shape)
            parts.append(part.astype(t.dtype))
        return tree.unflatten(self._structure, parts)

    def flat(self, x: Any) -> Any:
        """Return the vector of the elements of a tree."""
        parts = [leaf.reshape((-1,)) for leaf in map(_as_array, tree.leaves(x))]
        return np.concatenate(parts) if len(parts) != 1 else parts[0]


def _as_array(x: Any) -> Any:
    return x if type(x) is Tracer else np.asarray(x)

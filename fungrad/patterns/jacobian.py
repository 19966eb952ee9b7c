"""Sparse Jacobians and Hessians, from as many products as a colouring has colours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from fungrad.core import tree
from fungrad.core.backend import on_host
from fungrad.core.cache import LRUCache
from fungrad.core.errors import api_boundary, here
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import transformed
from fungrad.core.types import kind_of, type_of
from fungrad.patterns.entries import Way, matrix
from fungrad.patterns.index_sets import TooDense
from fungrad.patterns.plans import Plan, detected, has_no_forward_mode, plan_for
from fungrad.patterns.walk import DenseError
from fungrad.scipy.sparse.arrays import SparseArray
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.autodiff import linear_transpose, linearize
from fungrad.transforms.chunks import ChunkSize, check_chunk_size
from fungrad.transforms.grad import grad
from fungrad.transforms.jacobian import _check_result, _partial

__all__ = ["sparse_hessian", "sparse_jacobian", "sparsity"]

MODES = ("auto", "columns", "rows", "both")
FORMATS = ("csr", "csc", "coo")


@api_boundary
def sparse_jacobian(
    fun: Callable[..., Any],
    pattern: Any = None,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    mode: str = "auto",
    format: str = "csr",
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of `fun` as a sparse matrix, from a few products.

    The program of `fun` tells which results can depend on which arguments. Columns that share no row are computed by one
    product, or rows that share no column: of a tridiagonal matrix, three products give all.

    Parameters
    ----------
    fun
        A function of arrays and pytrees of them.
    pattern
        A matrix, dense or one of SciPy's, whose entries are the places where the Jacobian may be non-zero; by default they are
        found. Other entries are an error. Where the program does not prove that there are none, each call that has values
        compares a product with a random vector.
    argnums, has_aux, holomorphic
        As of `jacfwd`.
    mode
        "columns" uses forward mode, "rows" reverse mode, and "both" both; "auto" takes the cheapest, or computes entries without
        products.
    format
        "csr", "csc" or "coo".
    chunk_size
        How many products are computed at once, as of `vmap`; by default all.

    Returns
    -------
    Callable
        Takes what `fun` takes. Returns an array of `scipy.sparse` of shape (m, n), for m elements of the results and n elements of the
        arguments, in C order, leaf after leaf. The entries of the pattern are all stored,
        zeros too. Under `jit`, and wherever something is traced, it is one of `fungrad.scipy.sparse`, whose data are
        traced; what a jitted function returns is SciPy's again.

    Raises
    ------
    DenseError
        A ValueError, if the matrix has more than 50 million entries; it names the line of `fun`.
    ValueError
        If `pattern` is of another shape, or lacks entries.
    TypeError
        If an argument or result is no float, or an array of CuPy.

    Notes
    -----
    The pattern holds for all values of the arguments, and may be larger than need be: an index that is computed from arguments may
    be any. Python's `if` and loops are followed as they run. Pattern and colouring are kept with the program, so only the first
    call takes the time to find them. For the method see Gebremedhin, Manne and Pothen, SIAM Review 47 (2005), 629-705.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def steps(x):
    ...     return x[1:] ** 2 - x[:-1]
    >>> jacobian = fg.sparse_jacobian(steps)(np.array([1.0, 2.0, 3.0]))
    >>> type(jacobian).__name__, jacobian.nnz
    ('csr_array', 4)
    >>> jacobian.toarray()
    array([[-1.,  4.,  0.],
           [ 0., -1.,  6.]])
    """
    check_callable(fun, "sparse_jacobian")
    label = f"sparse_jacobian({name_of(fun)})"
    _check_options(label, mode, format, chunk_size)
    given = None if pattern is None else _Given(pattern, mode, False, label)

    @transformed(
        sparse_jacobian, fun, pattern, argnums, has_aux, holomorphic, mode, format, chunk_size
    )
    def jacobian_function(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = _partial(fun, argnums, args, kwargs, label, holomorphic)
        _check_arguments(chosen, holomorphic, label)
        value, push, *aux = linearize(of_chosen, chosen, has_aux=has_aux)
        for x in tree.leaves(value):
            _check_result(type_of(x), holomorphic, label)
        plan = given or plan_for(push, mode, False)
        way = Way(format, mode, chunk_size)
        result = _result(plan, push, chosen, value, way)
        return (result, aux[0]) if has_aux else result

    return jacobian_function


@api_boundary
def sparse_hessian(
    fun: Callable[..., Any],
    pattern: Any = None,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    format: str = "csr",
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that computes the Hessian of `fun` as a sparse matrix, from a few products.

    The program of the gradient tells where a second derivative may be non-zero. A star colouring makes use of the symmetry: the
    Hessian of a sum over neighbours takes two or three products, that of an arrow two.

    Parameters
    ----------
    fun
        A function that returns a real scalar.
    pattern
        A symmetric matrix, as of `sparse_jacobian`.
    argnums, has_aux, format, chunk_size
        As of `sparse_jacobian`.

    Returns
    -------
    Callable
        Takes what `fun` takes. Returns an array of `scipy.sparse` of shape (n, n), n being the number of elements of the arguments.

    Raises
    ------
    DenseError, ValueError, TypeError
        As of `sparse_jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def rosenbrock(x):
    ...     return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    >>> fg.sparse_hessian(rosenbrock)(np.ones(3)).toarray()
    array([[ 802., -400.,    0.],
           [-400., 1002., -400.],
           [   0., -400.,  200.]])
    """
    check_callable(fun, "sparse_hessian")
    label = f"sparse_hessian({name_of(fun)})"
    _check_options(label, "auto", format, chunk_size)
    given = None if pattern is None else _Given(pattern, "auto", True, label)

    @transformed(sparse_hessian, fun, pattern, argnums, has_aux, format, chunk_size)
    def hessian_function(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = _partial(fun, argnums, args, kwargs, label)
        _check_arguments(chosen, False, label)
        slope = grad(of_chosen, has_aux=has_aux)
        value, push, *aux = linearize(slope, chosen, has_aux=has_aux)
        plan = given or plan_for(push, "auto", True)
        way = Way(format, "auto", chunk_size)
        result = _result(plan, push, chosen, value, way)
        return (result, aux[0]) if has_aux else result

    return hessian_function


@api_boundary
def sparsity(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, order: int = 1
) -> Callable[..., Any]:
    """Return the function that tells where the Jacobian of `fun`, or its Hessian, may be non-zero.

    Parameters
    ----------
    fun
        A function of arrays and pytrees of them; for the order 2 one that returns a real scalar.
    argnums
        As of `jacfwd`.
    order
        1 for the Jacobian, 2 for the Hessian.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns a boolean ``scipy.sparse.csr_array`` of the shape that `sparse_jacobian` or `sparse_hessian` gives. It
        is what SciPy's ``jac_sparsity`` takes.

    Raises
    ------
    DenseError
        As of `sparse_jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.sparsity(lambda x: x[1:] * x[:-1])(np.ones(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    plan = plan_of(fun, argnums, order, "auto", "sparsity")

    @transformed(sparsity, fun, argnums, order)
    def pattern_function(*args: Any, **kwargs: Any) -> Any:
        return plan(args, kwargs).pattern.copy()

    return pattern_function


def plan_of(
    fun: Callable[..., Any], argnums: int | Sequence[int], order: int, mode: str, caller: str
) -> Callable[..., Plan]:
    """Return the function from arguments, and keyword arguments, to the plan of a matrix of derivatives."""
    check_callable(fun, caller)
    label = f"{caller}({name_of(fun)})"
    if order not in (1, 2):
        raise ValueError(f"{label}: order is 1 or 2, got {order!r}")
    modes = MODES if order == 1 else MODES[:1]
    if mode not in modes:
        raise ValueError(f"{label}: mode is one of {list(modes)}, got {mode!r}")

    def plan(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        of_chosen, chosen = _partial(fun, argnums, args, kwargs, label)
        derivative: Any = linearize(of_chosen if order == 1 else grad(of_chosen), chosen)[1]
        return plan_for(derivative, mode, order == 2)

    return plan


def _check_options(label: str, mode: str, format: str, chunk_size: Any) -> None:
    check_chunk_size(chunk_size, label)
    if mode not in MODES:
        raise ValueError(f"{label}: mode is one of {list(MODES)}, got {mode!r}")
    if format not in FORMATS:
        raise ValueError(f"{label}: format is one of {list(FORMATS)}, got {format!r}")


def _check_arguments(chosen: Any, holomorphic: bool, label: str) -> None:
    """Raise unless arguments are real floats, or complex ones of a holomorphic function, on the host."""
    if not on_host([x for x in tree.leaves(chosen) if type(x) is not Tracer]):
        raise TypeError(
            f"at {here()}\n{label} gives arrays of scipy.sparse, which hold NumPy's arrays, and the arguments are CuPy's: move them "
            "with cupy.asnumpy, or use jacfwd, jacrev or hessian with chunk_size="
        )
    for x in tree.leaves(chosen):
        if kind_of(type_of(x).dtype) != "f" and not holomorphic:
            raise TypeError(
                f"{label} needs real arguments, got {type_of(x)}: pass holomorphic=True if the function is holomorphic"
            )


def _result(plan: Plan | _Given, push: Any, chosen: Any, value: Any, way: Way) -> Any:
    """Return the matrix of the linear function `push` by a plan, or by a pattern given, which is checked."""
    if isinstance(plan, Plan):
        return matrix(plan, push, chosen, value, way, True)
    result = matrix(plan.plan(push), push, chosen, value, way, False)
    plan.check(push, chosen, value, result)
    return result


class _Given:
    """A pattern of the user's, and for which programs it is known to be right."""

    def __init__(self, pattern: Any, mode: str, symmetric: bool, label: str) -> None:
        self.label, self.mode, self.symmetric = label, mode, symmetric
        if sp.issparse(pattern):
            rows, columns = pattern.tocoo().coords
        else:
            pattern = np.asarray(pattern)
            if pattern.ndim != 2:
                raise ValueError(
                    f"{label}: pattern is a matrix, got an array of {pattern.ndim} axes"
                )
            rows, columns = np.nonzero(pattern)
        if symmetric:
            rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        entries = (np.ones(len(rows), bool), (rows, columns))
        self.pattern = sp.csr_array(entries, shape=pattern.shape, dtype=bool)
        self.pattern.sort_indices()
        self.proven: LRUCache[bool] = LRUCache(maxsize=64)

    @functools.cache  # noqa: B019 - there are few modes
    def _plan(self, mode: str) -> Plan:
        return Plan(self.pattern, mode, self.symmetric)

    def plan(self, push: Any) -> Plan:
        """Return the plan for a derivative; raise if the shape is another."""
        how = push._how
        shape = tuple([sum(t.size for t in x[1]) for x in (how.results, how.arguments)])
        if self.pattern.shape != shape:
            raise ValueError(
                f"{self.label}: pattern has the shape {self.pattern.shape}, and the matrix of derivatives has {shape}"
            )
        rows = self.mode == "auto" and not self.symmetric and has_no_forward_mode(push)
        return self._plan("rows" if rows else self.mode)

    def check(self, push: Any, chosen: Any, value: Any, result: Any) -> None:
        """Raise if a product with a random vector shows that entries are missing.

        Nothing is compared where the program proves that there are none, or where there are no values.
        """
        if isinstance(result, SparseArray) or self._is_proven(push):
            return
        backward = has_no_forward_mode(push)
        given = value if backward else chosen
        apply = linear_transpose(push, chosen) if backward else push
        draws = np.random.default_rng(0)
        leaves, structure = tree.flatten(given)
        vectors = [draws.standard_normal(type_of(x).shape).astype(type_of(x).dtype) for x in leaves]
        pushed = tree.leaves(apply(tree.unflatten(structure, vectors)))
        exact, vector = [np.concatenate([np.ravel(x) for x in xs]) for xs in (pushed, vectors)]
        result = result.T if backward else result
        scale = abs(result) @ abs(vector) + abs(exact)
        wrong = abs(result @ vector - exact) > np.sqrt(np.finfo(exact.dtype).eps) * scale
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"at {here()}\n{self.label}: pattern lacks entries that are not zero, in {'column' if backward else 'row'} {row} among {int(wrong.sum())}. "
                "fungrad.sparsity returns all places where there may be any."
            )

    def _is_proven(self, push: Any) -> bool:
        """Whether the program proves that there are no other entries."""
        program = push._how.program
        known = self.proven.get(program)
        if known is None:
            try:
                found, constants = detected(push)
                known = not constants and (found > self.pattern).nnz == 0
            except (DenseError, TooDense):
                known = False
            self.proven.put(program, known)
        return known

"""Matrices of derivatives, and products with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import as_result
from fungrad.core.errors import api_boundary
from fungrad.core.reading import as_read
from fungrad.core.transformed import transformed
from fungrad.core.types import kind_of, type_of
from fungrad.transforms.arguments import Argnums, argument_types, check_callable, name_of
from fungrad.transforms.autodiff import jvp, linearize, vjp
from fungrad.transforms.chunks import ChunkSize, check_chunk_size
from fungrad.transforms.grad import differentiable, grad
from fungrad.transforms.signatures import P
from fungrad.transforms.vmap import vmap


def _partial(
    fun: Callable[..., Any],
    argnums: Any,
    args: tuple[Any, ...],
    kwargs: Any,
    label: str,
    holomorphic: bool = False,
    allow_int: bool | None = None,
) -> tuple[Callable[[Any], Any], Any]:
    """Return `fun` as a function of the chosen arguments alone (one, or a tuple), and those.

    Raises a TypeError that names the leaf if one of them cannot be differentiated by.
    """
    which = Argnums(argnums)
    positions, chosen = which.of(args, label)
    types = argument_types(tree.leaves(chosen), chosen, {}, label, positions)
    differentiable(types, chosen, positions, label, holomorphic, allow_int)

    def of_chosen(chosen: Any) -> Any:
        run = as_read(fun)  # under a name: errors look up which function is called here
        return run(*which.replaced(args, positions, chosen), **kwargs)

    of_chosen.__name__ = f"{name_of(fun)} of argnums {argnums}"
    return of_chosen, chosen[0] if which.single else chosen


def _basis(leaves: Sequence[Any]) -> list[np.ndarray]:
    """Return, for each leaf, the rows of the identity matrix over all leaves that belong to it."""
    types = [type_of(x) for x in leaves]
    total = sum(t.size for t in types)
    rows, start = [], 0
    for t in types:
        part = np.zeros((total, t.size), t.dtype)
        part[start : start + t.size] = np.eye(t.size, dtype=t.dtype)
        rows.append(part.reshape(total, *t.shape))
        start += t.size
    return rows


def _along_basis(
    linear: Callable[[Any], Any], leaves: Sequence[Any], structure: Any, out_axis: int, chunk: Any
) -> Any:
    """Return the results of a linear function along all directions of a basis, stacked along an axis."""
    if chunk is None:
        return vmap(linear, out_axes=out_axis)(tree.unflatten(structure, _basis(leaves)))
    types = [type_of(x) for x in leaves]
    total = sum(t.size for t in types)

    def along(number: Any) -> Any:  # in place of the whole basis, which is a square matrix
        one, start, direction = number == np.arange(total), 0, []
        for t in types:
            direction.append(one[start : start + t.size].reshape(t.shape).astype(t.dtype))
            start += t.size
        return linear(tree.unflatten(structure, direction))

    return vmap(along, out_axes=out_axis, chunk_size=chunk)(np.arange(total))


def _split_rows(x: Any, leaves: Sequence[Any], axis: int) -> list[Any]:
    """Cut the axis of all basis directions of `x` into the shapes of the leaves."""
    parts, start = [], 0
    for leaf in leaves:
        t = type_of(leaf)
        index = (slice(None),) * axis + (slice(start, start + t.size),)
        part = x[index]
        parts.append(as_result(part.reshape(x.shape[:axis] + t.shape + x.shape[axis + 1 :])))
        start += t.size
    return parts


@overload
def jacfwd(
    fun: np.ufunc,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]: ...
@overload
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[P, Any]: ...
@api_boundary
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of `fun`, a column at a time (forward mode).

    Best for functions with more results than arguments. Parameters are those of `grad`, but `fun` may
    return arrays of any shape and pytrees of them; `chunk_size` is how many columns are computed at once, as of `vmap`.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns a tree of the structure of the result, each leaf a tree of the
        structure of the argument, of arrays of shape ``result.shape + argument.shape``.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.jacfwd(lambda x: x ** 2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_callable(fun, "jacfwd")
    check_chunk_size(chunk_size, "jacfwd")
    label = f"jacfwd({name_of(fun)})"

    @transformed(jacfwd, fun, argnums, has_aux, holomorphic, chunk_size)
    def jacobian_function(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = _partial(fun, argnums, args, kwargs, label, holomorphic)
        leaves, structure = tree.flatten(chosen)
        for x in leaves:
            type_ = type_of(x)
            if type_.dtype.kind == "c" and not holomorphic:
                raise TypeError(
                    f"{label} needs real arguments, got {type_}: pass holomorphic=True if the function is "
                    "holomorphic, or use jacrev for real functions of complex arguments"
                )
        _, push, *aux = linearize(of_chosen, chosen, has_aux=has_aux)
        columns = _along_basis(push, leaves, structure, -1, chunk_size)
        result = tree.map(
            lambda c: tree.unflatten(structure, _split_rows(c, leaves, len(c.shape) - 1)), columns
        )
        return (result, aux[0]) if has_aux else result

    return jacobian_function


@overload
def jacrev(
    fun: np.ufunc,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]: ...
@overload
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[P, Any]: ...
@api_boundary
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of `fun`, a row at a time (reverse mode).

    Best for functions with more arguments than results. Parameters are those of `grad`, but `fun` may
    return arrays of any shape and pytrees of them; `chunk_size` is how many rows are computed at once, as of `vmap`.
    `jacobian` is another name for this.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns a tree of the structure of the result, each leaf a tree of the
        structure of the argument, of arrays of shape ``result.shape + argument.shape``.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.jacrev(lambda x: x.sum() * x)(np.array([1.0, 2.0]))
    array([[4., 1.],
           [2., 5.]])
    """
    check_callable(fun, "jacrev")
    check_chunk_size(chunk_size, "jacrev")
    label = f"jacrev({name_of(fun)})"

    @transformed(jacrev, fun, argnums, has_aux, holomorphic, allow_int, chunk_size)
    def jacobian_function(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = _partial(fun, argnums, args, kwargs, label, holomorphic, allow_int)
        structure = tree.structure(chosen)
        value, pull, *aux = vjp(of_chosen, chosen, has_aux=has_aux)
        out_leaves, out_structure = tree.flatten(value)
        for x in out_leaves:
            _check_result(type_of(x), holomorphic, label)
        (rows,) = _along_basis(pull, out_leaves, out_structure, 0, chunk_size)
        by_argument = [_split_rows(r, out_leaves, 0) for r in tree.leaves(rows)]
        result = tree.unflatten(
            out_structure,
            [
                tree.unflatten(structure, [parts[i] for parts in by_argument])
                for i in range(len(out_leaves))
            ],
        )
        return (result, aux[0]) if has_aux else result

    return jacobian_function


jacobian = jacrev


def _check_result(type_: Any, holomorphic: bool, label: str) -> None:
    if kind_of(type_.dtype) == "f" or (type_.dtype.kind == "c" and holomorphic):
        return
    fix = (
        "pass holomorphic=True if the function is holomorphic"
        if type_.dtype.kind == "c"
        else "return a float"
    )
    raise TypeError(f"{label} needs a function with real results; got {type_}: {fix}")


@overload
def hessian(
    fun: np.ufunc,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]: ...
@overload
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[P, Any]: ...
@api_boundary
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that computes the Hessian of `fun`, forward over reverse.

    Parameters are those of `grad`; `chunk_size` is how many columns are computed at once, as of `vmap`.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns the second derivatives: for an argument that is an array, an array
        of shape ``argument.shape + argument.shape``; for a tree, a tree of trees.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.hessian(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    rows = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(rows, argnums, has_aux, holomorphic, chunk_size)


@api_boundary
def hvp(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return the function that multiplies the Hessian of `fun` with a vector, without forming it.

    Parameters
    ----------
    fun
        A function that returns a real scalar.
    argnums
        Which positional arguments to differentiate with respect to.

    Returns
    -------
    Callable
        ``product(*args, vector)``: takes what `fun` takes and, last, a vector of the structure and shapes of the
        argument; returns the product, of the same structure. Computed forward over reverse, at the cost of
        a few gradients.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.hvp(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    check_callable(fun, "hvp")
    label = f"hvp({name_of(fun)})"

    @transformed(hvp, fun, argnums)
    def product(*args_and_vector: Any, **kwargs: Any) -> Any:
        if len(args_and_vector) < 2:
            raise TypeError(f"{label} is called with the arguments of the function and a vector")
        *args, vector = args_and_vector
        of_chosen, chosen = _partial(fun, argnums, tuple(args), kwargs, label)
        return jvp(grad(of_chosen), (chosen,), (vector,))[1]

    return product

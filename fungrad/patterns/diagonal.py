"""The diagonal of a Hessian, from as few products as neighbours need colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.errors import api_boundary
from fungrad.core.transformed import transformed
from fungrad.core.types import type_of
from fungrad.patterns.plans import plan_for
from fungrad.patterns.walk import DenseError
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.autodiff import linearize
from fungrad.transforms.chunks import ChunkSize, check_chunk_size
from fungrad.transforms.grad import grad
from fungrad.transforms.jacobian import _partial
from fungrad.transforms.vmap import vmap

__all__ = ["hessian_diagonal"]


@api_boundary
def hessian_diagonal(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """Return the function that computes the diagonal of the Hessian of `fun`, and nothing else of it.

    Two elements of the arguments without a mixed second derivative share a product with the Hessian. So a separable function takes
    one product, a chain two, and a function whose Hessian is dense as many as it has elements.

    Parameters
    ----------
    fun
        A function that returns a real scalar.
    argnums, has_aux
        As of `grad`.
    chunk_size
        How many products are computed at once, as of `vmap`.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns second derivatives of the structure, shapes and dtypes of the argument.

    Raises
    ------
    TypeError
        If `fun` does not return a real scalar, or an argument is no float.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.hessian_diagonal(lambda x: (x ** 3).sum() + x[0] * x[1])(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    check_callable(fun, "hessian_diagonal")
    check_chunk_size(chunk_size, "hessian_diagonal")
    label = f"hessian_diagonal({name_of(fun)})"

    @transformed(hessian_diagonal, fun, argnums, has_aux, chunk_size)
    def diagonal_function(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = _partial(fun, argnums, args, kwargs, label)
        slope, push, *aux = linearize(grad(of_chosen, has_aux=has_aux), chosen, has_aux=has_aux)
        leaves, structure = tree.flatten(chosen)
        types = [type_of(x) for x in leaves]
        colours = _colours(push, sum(t.size for t in types))
        ends = np.cumsum([0, *[t.size for t in types]])

        def of_colour(colour: Any) -> list[Any]:
            chosen_ones = colour == colours
            parts = [
                chosen_ones[a:b].reshape(t.shape).astype(t.dtype)
                for a, b, t in zip(ends, ends[1:], types, strict=False)
            ]
            products = tree.leaves(push(tree.unflatten(structure, parts)))
            return [x * y for x, y in zip(parts, products, strict=True)]

        count = int(colours.max(initial=-1)) + 1
        if not count:
            result = slope
        else:
            found = vmap(of_colour, chunk_size=chunk_size)(np.arange(count))
            result = tree.unflatten(structure, [fnp.sum(x, axis=0, dtype=x.dtype) for x in found])
        return (result, aux[0]) if has_aux else result

    return diagonal_function


def _colours(push: Any, n: int) -> np.ndarray[Any, Any]:
    """Return colours of the elements, such that those of one colour have no mixed second derivative."""
    try:
        return plan_for(push, "auto", True).neighbour_colours
    except DenseError:
        return np.arange(n)

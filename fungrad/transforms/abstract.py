"""Looking at a function without running it: its program, and the types of its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from fungrad.core import tree
from fungrad.core.errors import api_boundary, here
from fungrad.core.expr import Expr
from fungrad.core.trace import Trace
from fungrad.core.transformed import transformed
from fungrad.core.types import name_of_dtype
from fungrad.transforms.call import argument_types, check_callable, name_of, output_variables


class ShapeDtypeStruct:
    """Stands for an array where only its shape and dtype matter.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.ShapeDtypeStruct((2, 3), float)
    ShapeDtypeStruct(shape=(2, 3), dtype=float64)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            f"at {here()}\n{self!r} has a shape and a dtype, but no values: NumPy would make an array of one object of "
            "it. fungrad.numpy.zeros_like makes an array of its shape and dtype, and fungrad.eval_shape takes it in place "
            "of an array."
        )

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name_of_dtype(self.dtype)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def _trace_abstractly(label: str, fun: Any, args: Any, kwargs: Any) -> tuple[Expr, Any]:
    check_callable(fun, label.partition("(")[0])
    leaves, structure = tree.flatten((args, kwargs))
    with Trace(label, bake=True) as trace:
        types = argument_types(leaves, args, kwargs, label)
        tracers = [trace.new_input(t) for t in types]
        new_args, new_kwargs = tree.unflatten(structure, tracers)
        out_leaves, out_structure = tree.flatten(fun(*new_args, **new_kwargs))
        return trace.expr(output_variables(trace, out_leaves, label)), out_structure


def make_expr(fun: Callable[..., Any]) -> Callable[..., Expr]:
    """Return the function that traces `fun` and returns the program it is, for printing.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them. `make_jaxpr` is another name for this.

    Returns
    -------
    Callable
        Takes what `fun` takes, or `ShapeDtypeStruct` in place of arrays; returns the `Expr`.

    Examples
    --------
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> fg.make_expr(lambda x, y: fnp.sin(x) * y)(1.0, 2.0)
    { lambda a:float64[]* b:float64[]* .
      c:float64[] = cast[dtype=float64] a
      d:float64[] = sin c
      e:float64[] = cast[dtype=float64] b
      f:float64[] = multiply d e
      return (f,) }
    """

    @transformed(make_expr, fun)
    def traced(*args: Any, **kwargs: Any) -> Expr:
        return _trace_abstractly(f"make_expr({name_of(fun)})", fun, args, kwargs)[0]

    return traced


make_jaxpr = make_expr


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of what ``fun(*args, **kwargs)`` would give, without computing it.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    *args, **kwargs
        Its arguments, or `ShapeDtypeStruct` in their place.

    Returns
    -------
    pytree of ShapeDtypeStruct
        Of the structure of the result.

    Examples
    --------
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> fg.eval_shape(fnp.dot, fg.ShapeDtypeStruct((2, 3), float), fg.ShapeDtypeStruct((3,), float))
    ShapeDtypeStruct(shape=(2,), dtype=float64)
    """
    expr, structure = _trace_abstractly(f"eval_shape({name_of(fun)})", fun, args, kwargs)
    return tree.unflatten(
        structure, [ShapeDtypeStruct(t.shape, t.dtype) for t in expr.output_types]
    )

"""Looking at a function without running it: its program, and the types of its results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from fungrad.core import tree
from fungrad.core.axes import opened
from fungrad.core.errors import api_boundary, here
from fungrad.core.expr import Expr
from fungrad.core.mode import BRANCH, PROGRAM
from fungrad.core.reading import as_read
from fungrad.core.trace import Trace
from fungrad.core.transformed import transformed
from fungrad.core.types import ArrayType, array_type, name_of_dtype, type_of
from fungrad.primitives.shaping import full
from fungrad.transforms.argnums import positions_in
from fungrad.transforms.arguments import argument_types, check_callable, described, name_of
from fungrad.transforms.avals import ShapedArray
from fungrad.transforms.avals import typeof as typeof
from fungrad.transforms.call import output_variables
from fungrad.transforms.jaxprs import ClosedJaxpr


class ShapeDtypeStruct:
    """Stands for an array where only its shape and dtype matter.

    Parameters
    ----------
    shape
        A sequence of integers.
    dtype
        The dtype.
    sharding, vma, manual_axis_type, is_ref
        Accepted for JAX's sake: arrays are on one device. The first two are kept.
    weak_type
        Whether the dtype gives way to any that it meets, as that of a Python number does.

    Examples
    --------
    >>> import fungrad as fg
    >>> fg.ShapeDtypeStruct((2, 3), float)
    ShapeDtypeStruct(shape=(2, 3), dtype=float64)
    """

    __slots__ = ("dtype", "shape", "sharding", "vma", "weak_type")

    def __init__(
        self,
        shape: Iterable[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
        vma: Any = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: give a dtype")
        self.shape: tuple[int, ...] = tuple(shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.sharding, self.weak_type, self.vma = sharding, bool(weak_type), vma or frozenset()

    @classmethod
    def of(cls, type_: ArrayType) -> ShapeDtypeStruct:
        """Return the stand-in for arrays of a type."""
        return cls(type_.shape, type_.dtype, weak_type=type_.weak)

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Return the stand-in for an array: its shape, dtype and sharding."""
        t = type_of(x)
        return cls(t.shape, t.dtype, sharding=getattr(x, "sharding", None), weak_type=t.weak)

    @property
    def type(self) -> ArrayType:
        """Shape and dtype as programs have them."""
        return array_type(self.shape, self.dtype, self.weak_type)

    ndim = property(lambda self: self.type.ndim, doc="Number of axes.")
    size = property(lambda self: self.type.size, doc="Number of elements.")
    nbytes = property(lambda self: self.type.nbytes, doc="Memory that the elements take.")

    manual_axis_type: ClassVar[None] = None
    is_ref: ClassVar[bool] = False

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the same with some of the arguments of the class changed."""
        return ShapeDtypeStruct(
            **{**{name: getattr(self, name) for name in self.__slots__}, **changes}
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            f"at {here()}\n{self!r} has a shape and a dtype, but no values: NumPy would make an array of one object of "
            "it. fungrad.numpy.zeros_like makes an array of its shape and dtype, and fungrad.eval_shape takes it in place "
            "of an array."
        )

    def __repr__(self) -> str:
        more = f", sharding={self.sharding}" if self.sharding is not None else ""
        more += ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name_of_dtype(self.dtype)}{more})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))


class _Hoisting(Trace):
    """The trace of a program to look at: an array that is used several times is captured once."""

    __slots__ = ()
    large = 0


STANDING = (ShapeDtypeStruct, ShapedArray)
"""Classes that stand for an array."""


class _Traced(NamedTuple):
    """Program of a function, its captures of enclosing traces, and the structure of its results."""

    expr: Expr
    captured: list[Any]
    structure: tree.TreeDef

    @property
    def shapes(self) -> Any:
        """The results as `ShapeDtypeStruct`."""
        return tree.unflatten(self.structure, [*map(ShapeDtypeStruct.of, self.expr.output_types)])


def trace_abstractly(
    label: str,
    fun: Any,
    args: Any,
    kwargs: Any,
    static: Collection[int] = (),
    axis_env: Sequence[tuple[Any, int]] = (),
    shapes_alone: bool = False,
) -> _Traced:
    """Return the program that a function is, of arguments of these types."""
    check_callable(fun, label.partition("(")[0])
    fixed = {i % len(args) for i in static if -len(args) <= i < len(args)}
    moving = [x for i, x in enumerate(args) if i not in fixed]
    leaves, structure = tree.flatten((moving, kwargs))
    mode = PROGRAM if shapes_alone else BRANCH._replace(bake=True)
    with _Hoisting(label, mode) as trace, ExitStack() as axes:
        for name, size in axis_env:
            axes.enter_context(opened(name, size, trace))
        types = argument_types([*map(described, leaves)], moving, kwargs, label)
        tracers = [trace.new_input(t) for t in types]
        traced, new_kwargs = tree.unflatten(structure, tracers)
        rest = iter(traced)
        new_args = [x if i in fixed else next(rest) for i, x in enumerate(args)]
        run = as_read(fun)  # under a name: errors look up which function is called here
        out_leaves, out_structure = tree.flatten(run(*new_args, **new_kwargs))
        if shapes_alone:  # of what stands for an array, these are known
            out_leaves = [full(x.type, 0) if type(x) in STANDING else x for x in out_leaves]
        expr = trace.expr(output_variables(trace, out_leaves, label))
        return _Traced(expr, [*trace.captures.values()], out_structure)


def make_expr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return the function that traces `fun` and returns the program it is, for printing.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them. `make_jaxpr` is another name for this.
    static_argnums
        The positions of arguments that are not traced.
    axis_env
        Names and lengths of axes that functions such as `fungrad.lax.psum` may name.
    return_shape
        Whether to return the shapes and dtypes of the results too, as `eval_shape` does.

    Returns
    -------
    Callable
        Takes what `fun` takes, or `ShapeDtypeStruct` in place of arrays; returns the program, an `Expr` that has the attributes of
        JAX's ``ClosedJaxpr`` too, or with `return_shape` a pair of that and the shapes.

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
    static = positions_in("make_expr", static_argnums, "static_argnums")
    axes = tuple(axis_env or ())

    @transformed(make_expr, fun, static, axes, return_shape)
    def traced(*args: Any, **kwargs: Any) -> Any:
        program = trace_abstractly(f"make_expr({name_of(fun)})", fun, args, kwargs, static, axes)
        closed = ClosedJaxpr.of(program.expr, program.captured)
        return (closed, program.shapes) if return_shape else closed

    return traced


make_jaxpr = make_expr


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of the results of ``fun(*args, **kwargs)``, without computing them.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    *args, **kwargs
        Its arguments, or anything with their `shape` and `dtype` (`ShapeDtypeStruct`) in their place.

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
    label = f"eval_shape({name_of(fun)})"
    return trace_abstractly(label, fun, args, kwargs, shapes_alone=True).shapes

"""Python functions that a program calls each time it runs: `pure_callback` and `io_callback`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from fungrad.core import tree
from fungrad.core.glossary import COMMON
from fungrad.core.nesting import trace_of, without_values
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, is_array, type_of
from fungrad.primitives.callback import VMAP_METHODS, Arguments, IoCallback, PureCallback
from fungrad.transforms.arguments import as_operand, check_callable

if TYPE_CHECKING:
    from fungrad.typing import PyTree


def split_arguments(
    label: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Arguments, list[Any]]:
    """Return the structure of the arguments with their other leaves, and their array leaves.

    The array leaves are the operands of the equation. The other leaves are parameters of it, so they must be hashable.
    """
    leaves, structure = tree.flatten((args, kwargs))
    static, operands = [], []
    for i, x in enumerate(leaves):
        if type(x) is Tracer or is_array(x):
            operands.append(as_operand(x))
        elif isinstance(x, Hashable):
            static.append((i, x))
        else:
            raise TypeError(
                f"{label}: an argument is {x!r} of type {type(x).__name__}, which is neither an array nor hashable; "
                "bind it with functools.partial, or let the callback close over it"
            )
    return Arguments(structure, tuple(static), tree.key_order((args, kwargs))), operands


def declared(label: str, result_shape_dtypes: Any) -> tuple[tuple[ArrayType, ...], tree.TreeDef]:
    """Return the types and the structure of declared results."""
    leaves, structure = tree.flatten(result_shape_dtypes)
    types = []
    for x in leaves:
        try:
            types.append(type_of(x).update(weak=False))
        except TypeError:
            raise TypeError(
                f"{label}: result_shape_dtypes must hold arrays or what has a shape and a dtype, such as "
                f"fungrad.ShapeDtypeStruct((3,), float); got {x!r} of type {type(x).__name__}"
            ) from None
    return tuple(types), structure


@COMMON.public
def pure_callback(
    callback: Callable[..., PyTree],
    result_shape_dtypes: PyTree,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return the result of a Python function of the arguments, called each time the program runs.

    The function is taken to be pure: it may be called more or less often than the program says, and not at all if its
    results are not used. It runs on arrays, also where the arguments are traced, so it may use any library. It
    has no derivative unless `custom_jvp` or `custom_vjp` states one.

    Parameters
    ----------
    callback
        Called with the arguments, with NumPy arrays in place of arrays and tracers (scalars where there are no axes).
    result_shape_dtypes
        A pytree of arrays, or of things with a shape and a dtype: what the callback returns.
    *args, **kwargs
        Pytrees of arrays. Other leaves, numbers of Python among them, are handed on as they are and must be hashable.
    vmap_method
        What `vmap` does: None is an error; with "sequential" or "sequential_unrolled" the callback is called for
        each element. With the others it is called once for the batch: mapped arguments have the batch axis in front, and
        results must have it too. Arguments that are not mapped have an axis of length 1 there ("expand_dims"), are
        repeated along it ("broadcast_all"), or do not have it ("legacy_vectorized").

    Returns
    -------
    pytree of arrays
        Of the structure and types of `result_shape_dtypes`.

    Raises
    ------
    TypeError
        When the program runs, if the callback returns something else.
    MissingRuleError
        If it is differentiated, or mapped without a `vmap_method`.

    Examples
    --------
    >>> def count(x):
    ...     return np.asarray(np.unique(x).size)
    >>> shape = fg.ShapeDtypeStruct((), np.int64)
    >>> print(fg.jit(lambda x: pure_callback(count, shape, x))(np.array([1.0, 1.0, 2.0])))
    2
    """
    check_callable(callback, "pure_callback")
    if sharding is not None:
        raise ValueError("pure_callback: sharding must be None: there is no sharding here")
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"pure_callback: vmap_method must be None or one of {', '.join(map(repr, VMAP_METHODS))}; got "
            f"{vmap_method!r}"
        )
    types, out = declared("pure_callback", result_shape_dtypes)
    arguments, operands = split_arguments("pure_callback", args, kwargs)
    call = PureCallback(callback, arguments, types, out, vmap_method)
    # In a function traced without values (by jit, say) the call is recorded also if no operand is traced: the callback is
    # called when the program runs.
    trace = trace_of(operands) or without_values()
    results = call(*operands) if trace is None else trace.record(call, operands)
    return tree.unflatten(out, results)


@COMMON.public_like(pure_callback)
def io_callback(
    callback: Callable[..., PyTree],
    result_shape_dtypes: PyTree,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function for its effect and its results, each time the program runs.

    It is called exactly once for each time the line is reached, in the order of the program, also where its results are
    not used. It has no derivative.

    Parameters
    ----------
    result_shape_dtypes
        A pytree of arrays, or of things with a shape and a dtype: what the callback returns; None for nothing.
    ordered
        It matters for `vmap` alone, since calls are always in order. If False, the callback is called for each element of
        the batch. If True, `vmap` raises: the calls for one element would come between those for others.

    Raises
    ------
    TypeError
        When the program runs, if the callback returns something else.
    MissingRuleError
        If it is differentiated.
    ValueError
        If it is mapped with `ordered`.

    Examples
    --------
    >>> numbers = iter([3.0, 4.0])
    >>> def draw():
    ...     return np.float64(next(numbers))
    >>> f = fg.jit(lambda x: x * io_callback(draw, fg.ShapeDtypeStruct((), float)))
    >>> print(f(10.0), f(10.0))
    30.0 40.0
    """
    check_callable(callback, "io_callback")
    if sharding is not None:
        raise ValueError("io_callback: sharding must be None: there is no sharding here")
    types, out = declared("io_callback", result_shape_dtypes)
    arguments, operands = split_arguments("io_callback", args, kwargs)
    results = IoCallback(callback, arguments, types, out, ordered)(*operands)
    return tree.unflatten(out, results)

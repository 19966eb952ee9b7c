"""JAX's functions about devices and scopes, which have little to do here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from fungrad.core import tree
from fungrad.core.backend import as_result, to_host
from fungrad.core.errors import api_boundary, here
from fungrad.core.glossary import COMMON
from fungrad.core.state import chosen
from fungrad.core.tracer import Tracer, current_trace, known_value
from fungrad.core.transformed import transformed
from fungrad.core.types import is_array
from fungrad.transforms.arguments import check_callable

T = TypeVar("T")
"""A pytree."""


def block_until_ready(x: T) -> T:
    """Return `x`: programs of NumPy have finished when they return, and CuPy waits where values are read.

    Examples
    --------
    >>> import numpy as np
    >>> block_until_ready(np.ones(2))
    array([1., 1.])
    """
    return x


def effects_barrier() -> None:
    """Do nothing: a program's prints and calls are done when it returns.

    Examples
    --------
    >>> effects_barrier()
    """


@COMMON.public
def device_get(x: T) -> T:
    """Return a pytree with its arrays as those of NumPy.

    Parameters
    ----------
    x
        A pytree of arrays; tracers must have values.

    Returns
    -------
    pytree
        NumPy arrays are the same objects; those of CuPy are copied to the host.

    Raises
    ------
    TypeError
        If a tracer in it has no value.

    Examples
    --------
    >>> device_get({"w": np.ones(2)})
    {'w': array([1., 1.])}
    """

    def get(leaf: Any) -> Any:
        value = known_value(leaf) if type(leaf) is Tracer else leaf
        if value is None:
            raise TypeError(
                f"at {here()}\ndevice_get: a tracer of type {leaf._type} under `{leaf._owner.label}` has no value: call "
                "it outside of the transformed function"
            )
        return as_result(to_host(value)) if is_array(value) and hasattr(value, "get") else value

    return tree.map(get, x)  # type: ignore[no-any-return]


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Context, and decorator, that names a part of a program; `show.graph` may draw it as one node.

    Parameters
    ----------
    name
        The name. Scopes may be within others.

    Raises
    ------
    TypeError
        If `name` is no string.

    Examples
    --------
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> def f(x):
    ...     for i in range(200):
    ...         with named_scope(f"layer {i}"):
    ...             x = fnp.tanh(x * x + 1)
    ...     return x
    >>> drawing = fg.show.graph(f)(1.0)
    >>> [node.name for node in drawing.scene.nodes][:3]
    ['x', 'layer 0', 'layer 1']
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope takes a string, got {name!r} of type {type(name).__name__}")
    from fungrad.core.scopes import scoped  # only programs with names need it

    with scoped(name):
        yield


@api_boundary
def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return `fun` under another name, which messages and ``make_expr`` show.

    Examples
    --------
    >>> named_call(lambda x: x, name="identity").__name__
    'identity'
    """
    check_callable(fun, "named_call")

    @transformed(_named_call, fun, name)
    def named(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    if name is not None:
        named.__name__ = name
    return named


def _named_call(fun: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    return named_call(fun, name=name)


@COMMON.documented
def ensure_compile_time_eval() -> AbstractContextManager[None]:
    """Context in which computation on arrays alone runs at once, also in traced functions.

    That is so for functions of fungrad.numpy everywhere; here it is also so for what makes arrays of nothing, such
    as ``fungrad.numpy.zeros``. Values that a trace has can be asked for as outside.

    Examples
    --------
    >>> @fg.jit
    ... def f(x):
    ...     with ensure_compile_time_eval():
    ...         table = fnp.arange(3) + 1
    ...     return x * int(table[2])
    >>> f(2.0)
    np.float64(6.0)
    """
    return chosen(current_trace, lambda _: None)

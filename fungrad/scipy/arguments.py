"""Arguments of SciPy's functions for traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.errors import LostDerivativeError, here
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import PYTHON_SCALARS, type_of
from fungrad.numpy.promotion import as_array, has_tracer, strong
from fungrad.primitives.elementwise import Cast
from fungrad.transforms.arguments import as_operand


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Return the further arguments of a user's function; one alone need not be in a tuple."""
    return args if isinstance(args, tuple) else (args,)


def operand(x: Any) -> Any:
    """Return an array, a number or a list as an operand of floating-point or complex dtype."""
    x = as_operand(as_array(x))
    return x if type_of(x).inexact else Cast(np.dtype(float))(x)


def cast(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand with `dtype`."""
    return x if x.dtype == dtype else Cast(dtype)(x)


def double(x: Any) -> Any:
    """Return an array or a tracer in double precision, complex if it is."""
    x = strong(x)
    dtype = np.dtype(complex if x.dtype.kind == "c" else float)
    return cast(x, dtype) if type(x) is Tracer else np.asarray(x, dtype)


def is_plain(*arguments: Any) -> bool:
    """Whether nothing here can be traced: no argument is, and no trace is open to be closed over."""
    return innermost_trace() is None and not has_tracer(tree.leaves(arguments))


def untraced(value: Any, what: str) -> Any:
    """Return a function's result for arrays; raise for a tracer, which would lose its derivative in SciPy."""
    if has_tracer(tree.leaves(value)):
        raise LostDerivativeError(
            f"at {here()}\n{what} closes over a traced array, and its Python needs values of its own argument, "
            "so it cannot be differentiated. Write it as for jit, with fungrad.numpy.where in place of `if`."
        )
    return value


def is_scalar(x: Any) -> bool:
    """Whether `x` is a number, or an array or tracer without axes."""
    return type(x) in PYTHON_SCALARS or getattr(x, "shape", None) == ()

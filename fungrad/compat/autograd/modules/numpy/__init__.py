"""``autograd.numpy``."""

from __future__ import annotations

from typing import Any

import numpy as _np

import fungrad.numpy as _fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.numpy import (
    fft,
    linalg,
    numpy_boxes,
    numpy_jvps,
    numpy_vjps,
    numpy_vspaces,
    numpy_wrapper,
    random,
)
from fungrad.compat.autograd.modules.numpy.numpy_wrapper import (
    append,
    array_from_args,
    column_stack,
    concatenate,
    concatenate_args,
    hstack,
    make_diagonal,
    metadata,
    numpy_version,
    parse_einsum_input,
    row_stack,
    stack,
    vstack,
    wrap_namespace,
)
from fungrad.compat.autograd.namespaces import fill, is_traced, names_of, plain_names

__all__ = [
    "append", "array_from_args", "column_stack", "concatenate", "concatenate_args", "fft", "hstack", "linalg",
    "make_diagonal", "metadata", "numpy_boxes", "numpy_jvps", "numpy_version", "numpy_vjps", "numpy_vspaces",
    "numpy_wrapper", "parse_einsum_input", "random", "row_stack", "stack", "vstack", "where", "wrap_namespace",
]  # fmt: skip
__all__ += plain_names(_np)
__version__ = _np.__version__
__getattr__ = names_of("autograd.numpy", _fnp, _np, ABSENT)
fill(globals(), _np)
_original_where = _fnp.where  # libraries give it rules of their own


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """Return NumPy's ``where``; of Python's numbers alone, as a list."""
    if not args and not kwargs:
        return _fnp.where(condition)
    if len(args) + len(kwargs) != 2:
        raise ValueError("either both or neither of x and y should be given")
    choices = (*args, *[kwargs[name] for name in ("x", "y") if name in kwargs])
    result = _fnp.where(condition, *choices)
    plain = not is_traced([condition, *choices]) and isinstance(result, _np.ndarray)
    return result.tolist() if plain else result

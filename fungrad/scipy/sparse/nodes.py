"""Sparse matrices as pytrees of their data: fungrad's, and SciPy's, replaced where data are traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from fungrad.core.nodes import register_node
from fungrad.scipy.sparse.arrays import SparseArray, as_sparse
from fungrad.scipy.sparse.structure import Structure


def _taken_apart(x: Any) -> tuple[tuple[Any], tuple[Structure, str, str, str]]:
    ours = as_sparse(x)  # of SciPy's other formats it is COO
    return (ours._data,), (ours.structure, ours.format, ours.kind, x.format)


def _put_together(aux: tuple[Structure, str, str, str], children: tuple[Any]) -> Any:
    """Return a matrix of SciPy's, or one of ours if its data are traced, or none that SciPy takes."""
    structure, format, kind, given = aux
    ours = SparseArray(*children, structure, format, kind)
    (data,) = children
    if type(data) is not np.ndarray or data.dtype.char not in _SCIPYS or data.shape != (ours.nnz,):
        return ours
    # Copies: methods of SciPy's, such as eliminate_zeros, write into the index arrays.
    if format == "coo":
        made = getattr(scipy.sparse, f"coo_{kind}")
        places = structure.rows.copy(), structure.cols.copy()
        return made((data, places), ours.shape).asformat(given)
    data, indices, ends = ours._in_order()
    made = getattr(scipy.sparse, f"{format}_{kind}")
    return made((data, indices.copy(), ends.copy()), ours.shape)


_SCIPYS = "?bBhHiIlLqQfdgFDG"
"""The dtypes of SciPy's sparse matrices."""

register_node(SparseArray, _taken_apart, _put_together)
for _format in ("coo", "csr", "csc", "dia", "bsr", "lil", "dok"):
    for _kind in ("array", "matrix"):
        register_node(getattr(scipy.sparse, f"{_format}_{_kind}"), _taken_apart, _put_together)

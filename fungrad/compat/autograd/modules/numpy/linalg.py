"""``autograd.numpy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy.linalg as _theirs

import fungrad.numpy as _fnp
import fungrad.numpy.linalg as _ours
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import fill, names_of, plain_names

__all__ = ["eigh"]
__all__ += plain_names(_theirs)
__getattr__ = names_of("autograd.numpy.linalg", _ours, _theirs, ABSENT)
fill(globals(), _theirs)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return NumPy's ``eigh``; its derivative is by the triangle that is read, where fungrad's is by both."""
    half, strict = (_fnp.tril, -1) if UPLO.upper() == "L" else (_fnp.triu, 1)
    other = _fnp.conj(_fnp.swapaxes(half(a, strict), -1, -2))
    return _ours.eigh(half(a) + other, UPLO)

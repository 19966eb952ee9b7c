"""`scipy.cluster.vq` for traced arrays: the nearest of some vectors.

>>> import numpy as np
>>> import fungrad as fg
>>> codes = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> code, distance = vq(np.array([[3.0, 3.0]]), codes)
>>> code, distance
(array([1], dtype=int32), array([1.]))
>>> fg.grad(lambda x: vq(x, codes)[1][0])(np.array([[3.0, 3.0]]))
array([[ 0., -1.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.cluster.vq

from fungrad.scipy.mirrors import mirrors
from fungrad.scipy.names import mirror_of
from fungrad.scipy.special.sums import floating


@mirrors(scipy.cluster.vq.vq)
def vq(obs: Any, code_book: Any) -> tuple[Any, Any]:
    x, codes = floating(obs, code_book)
    if x.ndim != codes.ndim or x.ndim not in (1, 2) or x.shape[1:] != codes.shape[1:]:
        raise ValueError(
            "vq: obs and code_book are both of one axis, or of two with as many features; got shapes "
            f"{x.shape} and {codes.shape}"
        )
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    between = x[:, None] - codes
    nearest = np.argmin(np.sum(between * between, axis=-1), axis=1)
    return nearest.astype(np.int32), np.linalg.norm(x - codes[nearest], axis=-1)


if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__, __dir__, __getattr__ = mirror_of(scipy.cluster.vq, globals())

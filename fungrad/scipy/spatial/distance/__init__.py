"""`scipy.spatial.distance` for traced arrays: distances between vectors, and their forms.

Distances of equal vectors, as of points from themselves, have derivatives 0.

>>> import numpy as np
>>> import fungrad as fg
>>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> cdist(points, points)
array([[0., 5.],
       [5., 0.]])
>>> fg.grad(lambda x: pdist(x).sum())(points)
array([[-0.6, -0.8],
       [ 0.6,  0.8]])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.spatial.distance

import fungrad.numpy as fnp
from fungrad.scipy.mirrors import mirrors
from fungrad.scipy.names import mirror_of
from fungrad.scipy.special.sums import floating
from fungrad.transforms.vmap import vmap

Metric = Callable[..., Any]
"""A function of vectors along the last axes of two arrays, and of parameters of its own."""


def _sqeuclidean(u: Any, v: Any, w: Any = 1.0) -> Any:
    return fnp.sum(w * (u - v) ** 2, axis=-1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return fnp.linalg.norm(u - v if w is None else (u - v) * fnp.sqrt(w), axis=-1)


def _cityblock(u: Any, v: Any, w: Any = 1.0) -> Any:
    return fnp.sum(w * fnp.abs(u - v), axis=-1)


def _chebyshev(u: Any, v: Any) -> Any:
    return fnp.max(fnp.abs(u - v), axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    if p == math.inf:
        return _chebyshev(u, v)
    weighted = u - v if w is None else (u - v) * w ** (1 / p)
    return fnp.linalg.norm(weighted, ord=p, axis=-1)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _euclidean(u, v, 1 / V)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    between = u - v
    squares = fnp.sum((between @ VI) * between, axis=-1)
    is_zero = squares == 0
    return fnp.where(is_zero, 0.0, fnp.sqrt(fnp.where(is_zero, 1.0, squares)))


def _cosine(u: Any, v: Any, w: Any = 1.0) -> Any:
    lengths = fnp.sum(w * u * u, axis=-1) * fnp.sum(w * v * v, axis=-1)
    return 1 - fnp.sum(w * u * v, axis=-1) / fnp.sqrt(lengths)


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    w = fnp.ones(u.shape[-1]) if w is None else w
    u, v = [x - fnp.sum(w * x, axis=-1, keepdims=True) / fnp.sum(w) for x in (u, v)]
    return _cosine(u, v, w)


def _canberra(u: Any, v: Any, w: Any = 1.0) -> Any:
    sizes = fnp.abs(u) + fnp.abs(v)
    return fnp.sum(w * fnp.abs(u - v) / fnp.where(sizes == 0, 1.0, sizes), axis=-1)


def _braycurtis(u: Any, v: Any, w: Any = 1.0) -> Any:
    return fnp.sum(w * fnp.abs(u - v), axis=-1) / fnp.sum(w * fnp.abs(u + v), axis=-1)


_METRICS: dict[str, Metric] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": _cityblock,
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _euclidean,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}
"""By SciPy's formulas, which the documentation of `scipy.spatial.distance` states."""


def _metric(label: str, metric: Any, kwargs: dict[str, Any], together: Callable[[], Any]) -> Metric:
    """Return a metric with its parameters; `together` gives all vectors, for variances."""
    if callable(metric):
        return lambda u, v: metric(u, v, **kwargs)
    name = str(metric).lower()
    if name not in _METRICS:
        raise ValueError(
            f"{label}: of traced arrays, metric is a function of two vectors or one of {sorted(_METRICS)}; got {metric!r}"
        )
    given = {
        k: fnp.asarray(x) if k in ("w", "V", "VI") else x
        for k, x in kwargs.items()
        if x is not None
    }
    if name == "seuclidean" and "V" not in given:
        given["V"] = fnp.var(together(), axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in given:
        given["VI"] = fnp.linalg.inv(fnp.atleast_2d(fnp.cov(together().T))).T
    return lambda u, v: _METRICS[name](u, v, **given)


def _vectors(label: str, *arrays: Any) -> list[Any]:
    found = list(floating(*arrays))
    for x in found:
        if x.ndim != 2:
            raise ValueError(
                f"{label}: vectors are the rows of an array of two axes; got shape {x.shape}"
            )
    return found


@mirrors(scipy.spatial.distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any, kwargs: dict[str, Any]) -> Any:
    a, b = _vectors("cdist", XA, XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"cdist: vectors are of one length, got shapes {a.shape} and {b.shape}")
    between = _metric("cdist", metric, kwargs, lambda: fnp.concatenate([a, b]))
    if callable(metric):
        return vmap(vmap(between, (None, 0)), (0, None))(a, b)
    return between(a[:, None], b[None])


@mirrors(scipy.spatial.distance.pdist)
def pdist(X: Any, metric: Any, kwargs: dict[str, Any]) -> Any:
    (x,) = _vectors("pdist", X)
    between = _metric("pdist", metric, kwargs, lambda: x)
    first, second = np.triu_indices(x.shape[0], 1)
    return (vmap(between) if callable(metric) else between)(x[first], x[second])


@mirrors(scipy.spatial.distance.squareform)
def squareform(X: Any, force: Any, checks: Any) -> Any:
    x = fnp.asarray(X)
    if x.ndim != (
        2 if force == "tovector" else 1 if force == "tomatrix" else x.ndim
    ) or x.ndim not in (1, 2):
        raise ValueError(f"squareform: force={force!r} does not suit an array of shape {x.shape}")
    if x.ndim == 2:
        if x.shape[0] != x.shape[1]:
            raise ValueError(f"squareform: the matrix argument must be square, got shape {x.shape}")
        return x[np.triu_indices(x.shape[0], 1)]
    n = math.ceil(math.sqrt(2 * x.size))
    if n * (n - 1) != 2 * x.size:
        raise ValueError(f"squareform: {x.size} distances are not those of any number of points")
    n = max(n, 1)
    places = np.zeros((n, n), int)
    places[np.triu_indices(n, 1)] = np.arange(x.size)
    places = places + places.T
    if n == 1:
        return fnp.zeros((1, 1), x.dtype)
    return fnp.where(np.eye(n, dtype=bool), fnp.zeros((), x.dtype), x[places])


if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__, __dir__, __getattr__ = mirror_of(scipy.spatial.distance, globals())

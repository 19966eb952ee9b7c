"""Objects of `jax.scipy` that compute arrays when they are asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.compat.jax.crossing import enter, leave
from fungrad.compat.jax.results import Holder
from fungrad.scipy.interpolate import grids
from fungrad.scipy.stats import kde


class _Computing(Holder):
    """Holds an object whose methods compute arrays, and whose attributes may be some."""

    made: Callable[..., Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(
            type(self).made(*map(enter, args), **{k: enter(x) for k, x in kwargs.items()})
        )

    def __getattr__(self, name: str) -> Any:
        attribute = super().__getattr__(name)
        return self._calling(attribute) if callable(attribute) else leave(attribute)

    @staticmethod
    def _calling(method: Callable[..., Any]) -> Callable[..., Any]:
        def plain(x: Any) -> Any:
            return x.inner if isinstance(x, _Computing) else enter(x)

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return leave(method(*map(plain, args), **{k: plain(x) for k, x in kwargs.items()}))

        return call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._calling(self.inner)(*args, **kwargs)


class RegularGridInterpolator(_Computing):
    """Interpolation on a grid; NaN outside of it by default."""

    made = grids.RegularGridInterpolator

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        super().__init__(points, values, method, bounds_error, fill_value)


class gaussian_kde(_Computing):
    """An estimate of a density by the normal distribution around each point."""

    made = kde.gaussian_kde

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        super().__init__(dataset, bw_method, weights)

"""``autograd.scipy.stats.multivariate_normal``."""

from __future__ import annotations

from typing import Any

from scipy.stats import multivariate_normal as _theirs

import fungrad.numpy as _fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import multivariate_normal as _ours

__getattr__ = names_of("autograd.scipy.stats.multivariate_normal", _ours, _theirs, ABSENT)


def entropy(mean: Any, cov: Any) -> Any:
    """Return the differential entropy."""
    return 0.5 * _fnp.linalg.slogdet(2 * _fnp.pi * _fnp.e * _fnp.atleast_2d(cov))[1]

"""``autograd.scipy.stats``."""

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.scipy.stats import (
    beta,
    chi2,
    dirichlet,
    gamma,
    multivariate_normal,
    norm,
    poisson,
    t,
)
from fungrad.compat.standing_in import attributes

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]
__getattr__ = attributes("autograd.scipy.stats", ABSENT)

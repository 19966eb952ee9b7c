"""`jax.scipy.stats`, with a module for each distribution."""

import sys as _sys
from types import ModuleType as _ModuleType

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.scipy import stats as _stats

DISTRIBUTIONS = """
bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r laplace logistic
multinomial multivariate_normal nbinom norm pareto poisson t truncnorm uniform vonmises wrapcauchy
"""


def _module(name: str) -> _ModuleType:
    made = _ModuleType(f"{__name__}.{name}", f"`jax.scipy.stats.{name}`.")
    of_stacks = ["fungrad.compat.jax.multivariate"] if name == "multivariate_normal" else []
    made.__dict__["__getattr__"] = _namespace(
        f"jax.scipy.stats.{name}", vars(made), [*of_stacks, getattr(_stats, name)]
    )
    _sys.modules[made.__name__] = _sys.modules[f"jax.scipy.stats.{name}"] = made
    return made


globals().update({name: _module(name) for name in DISTRIBUTIONS.split()})
__getattr__ = _namespace(
    "jax.scipy.stats", globals(), ["fungrad.compat.jax.computing", "fungrad.scipy.stats"]
)

"""JAX's random numbers, `jax.random`: the same key gives the same numbers.

Numbers follow from a *key* alone. A key is used once; `split` makes new ones of it.

>>> from fungrad import random
>>> key, other = random.split(random.key(0))
>>> random.normal(key, (2,))
array([ 1.88002989, -0.48121497])
"""

import importlib as _importlib
from typing import Any as _Any

_NAMES = {
    "keys": "PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data",
    "uniforms": "bernoulli bits rademacher randint uniform",
    "continuous": (
        "cauchy exponential gumbel laplace logistic pareto rayleigh triangular weibull_min"
    ),
    "choices": "categorical choice permutation",
    "counts": "binomial geometric multinomial poisson",
    "gamma_family": "ball beta chisquare dirichlet f generalized_normal t",
    "gammas": "gamma loggamma",
    "normals": "double_sided_maxwell lognormal maxwell normal truncated_normal wald",
    "vectors": "multivariate_normal orthogonal",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME]
__dir__ = __all__.copy


def __getattr__(name: str) -> _Any:
    from fungrad.numpy.elsewhere import unknown_name
    from fungrad.random.exclusions import EXCLUDED

    if name in _HOME:
        attribute = getattr(_importlib.import_module(f"fungrad.random.{_HOME[name]}"), name)
        globals()[name] = attribute
        return attribute
    if name in EXCLUDED:
        raise AttributeError(f"fungrad.random has no {name!r}: {EXCLUDED[name]}")
    raise unknown_name("fungrad.random", name, __all__)

"""JAX's random numbers, `jax.random`: the same key gives the same numbers.

Numbers follow from a *key* alone. A key is used once; `split` makes new ones of it.

>>> from fungrad import random
>>> key, other = random.split(random.key(0))
>>> random.normal(key, (2,))
array([ 1.88002989, -0.48121497])
"""

from fungrad.numpy.on_demand import import_on_demand as _import_on_demand

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


def _reason(name: str) -> str | None:
    from fungrad.random.exclusions import EXCLUDED  # read where a name is missing

    return EXCLUDED.get(name)


_import_on_demand(globals(), _NAMES, reason=_reason)

"""`scipy.special` for traced arrays, and SciPy's own functions on plain ones.

SciPy's ufuncs take tracers too: under a transform ``scipy.special.gamma(x)`` is
``fungrad.scipy.special.gamma(x)``. The functions that SciPy writes in Python (`logsumexp`, `softmax`, `log_softmax`,
`polygamma`, `zeta`, `multigammaln`, `factorial`, `comb`, `perm`, `lambertw`, `sph_harm_y`, `spherical_jn`, ...) must be
called from here. All can be differentiated any number of times; complex numbers are taken where SciPy
takes them.

By these operands there is no derivative, and `MissingRuleError` is raised where one is asked for:

=========================================================  ==================================
Function                                                   Operands
=========================================================  ==================================
`jv`, `jve`, `yv`, `yve`, `iv`, `ive`, `hankel1`, ...      the order (`kv`, `kve` have it)
`kn`, `yn`, `expn`                                         the order
`hyp0f1`, `hyp1f1`, `hyp2f1`, `hyperu`                     the parameters
`eval_jacobi`, `eval_legendre`, ...                        the degree, `alpha`, `beta`
`lpmv`                                                     the order and the degree
`ellipj`                                                   the parameter `m`
`zeta`                                                     complex arguments
=========================================================  ==================================

`gammainc`, `betainc`, `stdtr`, their complements and inverses, and `zeta` are differentiable by all arguments.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.scipy import special
>>> special.logsumexp(np.array([1000.0, 1000.0]))
np.float64(1000.693147180)
>>> fg.grad(special.logsumexp)(np.array([1000.0, 1000.0]))
array([0.5, 0.5])
>>> fg.grad(special.gammainc)(2.0, 3.0)  # by the parameter
np.float64(-0.197425419579)
"""

import scipy.special
from scipy.special import bernoulli as bernoulli

from fungrad.numpy import sinc as sinc
from fungrad.scipy.names import mirror_of
from fungrad.scipy.special import functions, sums
from fungrad.scipy.special.functions import *
from fungrad.scipy.special.sums import *
from fungrad.scipy.special.ufuncs import *

__all__, __dir__, __getattr__ = mirror_of(
    scipy.special, globals(), *functions.__all__, *sums.__all__
)

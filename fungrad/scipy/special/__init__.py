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
np.float64(1000.6931471805599)
>>> fg.grad(special.logsumexp)(np.array([1000.0, 1000.0]))
array([0.5, 0.5])
>>> fg.grad(special.gammainc)(2.0, 3.0)  # by the parameter
np.float64(-0.19742541957920)
"""

import difflib
from typing import Any

import scipy.special
from scipy.special import bernoulli

from fungrad.numpy import sinc
from fungrad.scipy.special.functions import (
    comb,
    factorial,
    lambertw,
    legendre_p,
    multigammaln,
    perm,
    polygamma,
    sph_harm_y,
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
    zeta,
)
from fungrad.scipy.special.sums import (
    log_softmax,
    logsumexp,
    softmax,
    softplus,
)
from fungrad.scipy.special.ufuncs import (
    airy,
    bdtr,
    bdtrc,
    beta,
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    betaln,
    binom,
    boxcox,
    boxcox1p,
    cbrt,
    chdtr,
    chdtrc,
    chdtri,
    cosm1,
    dawsn,
    digamma,
    ellipe,
    ellipeinc,
    ellipj,
    ellipk,
    ellipkinc,
    ellipkm1,
    entr,
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfi,
    erfinv,
    eval_chebyt,
    eval_chebyu,
    eval_gegenbauer,
    eval_genlaguerre,
    eval_hermite,
    eval_hermitenorm,
    eval_jacobi,
    eval_laguerre,
    eval_legendre,
    exp1,
    exp10,
    exp2,
    expi,
    expit,
    expm1,
    expn,
    exprel,
    fdtr,
    fdtrc,
    fdtri,
    fresnel,
    gamma,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    gammasgn,
    gdtr,
    gdtrc,
    hankel1,
    hankel1e,
    hankel2,
    hankel2e,
    huber,
    hyp0f1,
    hyp1f1,
    hyp2f1,
    hyperu,
    i0,
    i0e,
    i1,
    i1e,
    inv_boxcox,
    inv_boxcox1p,
    iv,
    ive,
    j0,
    j1,
    jn,
    jv,
    jve,
    k0,
    k0e,
    k1,
    k1e,
    kl_div,
    kn,
    kv,
    kve,
    log1p,
    log_expit,
    log_ndtr,
    loggamma,
    logit,
    lpmv,
    nbdtr,
    nbdtrc,
    ndtr,
    ndtri,
    ndtri_exp,
    owens_t,
    pdtr,
    pdtrc,
    poch,
    powm1,
    pseudo_huber,
    psi,
    rel_entr,
    rgamma,
    shichi,
    sici,
    spence,
    stdtr,
    stdtrit,
    wofz,
    wrightomega,
    xlog1py,
    xlogy,
    y0,
    y1,
    yn,
    yv,
    yve,
)

# fmt: off
__all__ = [
    "airy", "bdtr", "bdtrc", "bernoulli", "beta", "betainc", "betaincc", "betainccinv",
    "betaincinv", "betaln", "binom", "boxcox", "boxcox1p", "cbrt", "chdtr", "chdtrc", "chdtri",
    "comb", "cosm1", "dawsn", "digamma", "ellipe", "ellipeinc", "ellipj", "ellipk", "ellipkinc",
    "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfi", "erfinv", "eval_chebyt",
    "eval_chebyu", "eval_gegenbauer", "eval_genlaguerre", "eval_hermite", "eval_hermitenorm",
    "eval_jacobi", "eval_laguerre", "eval_legendre", "exp1", "exp10", "exp2", "expi", "expit",
    "expm1", "expn", "exprel", "factorial", "fdtr", "fdtrc", "fdtri", "fresnel", "gamma",
    "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "gammaln", "gammasgn", "gdtr",
    "gdtrc", "hankel1", "hankel1e", "hankel2", "hankel2e", "huber", "hyp0f1", "hyp1f1", "hyp2f1",
    "hyperu", "i0", "i0e", "i1", "i1e", "inv_boxcox", "inv_boxcox1p", "iv", "ive", "j0", "j1",
    "jn", "jv", "jve", "k0", "k0e", "k1", "k1e", "kl_div", "kn", "kv", "kve", "lambertw",
    "legendre_p", "log1p", "log_expit", "log_ndtr", "log_softmax", "loggamma", "logit",
    "logsumexp", "lpmv", "multigammaln", "nbdtr", "nbdtrc", "ndtr", "ndtri", "ndtri_exp",
    "owens_t", "pdtr", "pdtrc", "perm", "poch", "polygamma", "powm1", "pseudo_huber", "psi",
    "rel_entr", "rgamma", "shichi", "sici", "sinc", "softmax", "softplus", "spence", "sph_harm_y",
    "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "stdtr", "stdtrit", "wofz",
    "wrightomega", "xlog1py", "xlogy", "y0", "y1", "yn", "yv", "yve", "zeta",
]
# fmt: on


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in scipy.special.__all__:
        raise AttributeError(
            f"fungrad.scipy.special has no {name!r} yet; scipy.special.{name} works on plain arrays, outside of "
            "transformed functions"
        )
    close = difflib.get_close_matches(name, __all__, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise AttributeError(f"module 'fungrad.scipy.special' has no attribute {name!r}{hint}")

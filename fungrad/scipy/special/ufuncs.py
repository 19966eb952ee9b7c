"""The ufuncs of `scipy.special`, one line each, as `fungrad.numpy.math` has NumPy's.

Those with several results, and those that are made of others, have a rule instead of a primitive.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import scipy.special

from fungrad.numpy.promotion import ufunc_operands
from fungrad.numpy.ufuncs import ufunc
from fungrad.primitives import bessel as b
from fungrad.primitives import elementwise as e
from fungrad.primitives import elliptic as l
from fungrad.primitives import gamma as g
from fungrad.primitives import hypergeometric as h
from fungrad.primitives import incomplete as i
from fungrad.primitives import losses
from fungrad.primitives import special as p
from fungrad.primitives import student as s
from fungrad.primitives.scipy_ufunc import constant


def _results(function: Any, *primitives: Any) -> Any:
    """Return the public function of a ufunc of one operand that has several results."""
    function = inspect.unwrap(function)  # from what SciPy puts around it with SCIPY_ARRAY_API=1

    def rule(x: Any) -> tuple[Any, ...]:
        (x,) = ufunc_operands(function, (x,))
        return tuple([primitive(x) for primitive in primitives])

    return ufunc(function, rule)


# Gamma functions

gamma = ufunc(g.gamma)
gammaln = ufunc(g.gammaln)
loggamma = ufunc(g.loggamma)
gammasgn = ufunc(g.gammasgn)
rgamma = ufunc(g.rgamma)
digamma = psi = ufunc(g.digamma)
poch = ufunc(g.poch)
binom = ufunc(g.binom)
beta = ufunc(g.beta)
betaln = ufunc(g.betaln)
gammainc = ufunc(i.gammainc)
gammaincc = ufunc(i.gammaincc)
gammaincinv = ufunc(i.gammaincinv)
gammainccinv = ufunc(i.gammainccinv)
betainc = ufunc(i.betainc)
betaincc = ufunc(i.betaincc)
betaincinv = ufunc(i.betaincinv)
betainccinv = ufunc(i.betainccinv)

# Error functions and the normal distribution

erf = ufunc(p.erf)
erfc = ufunc(p.erfc)
erfcx = ufunc(p.erfcx)
erfi = ufunc(p.erfi)
erfinv = ufunc(p.erfinv)
erfcinv = ufunc(p.erfcinv)
dawsn = ufunc(p.dawsn)
wofz = ufunc(p.wofz)
fresnel = _results(scipy.special.fresnel, p.fresnel_s, p.fresnel_c)
ndtr = ufunc(p.ndtr)
ndtri = ufunc(p.ndtri)
ndtri_exp = ufunc(p.ndtri_exp)
log_ndtr = ufunc(p.log_ndtr)
owens_t = ufunc(p.owens_t)

# Exponential and trigonometric integrals

exp1 = ufunc(p.exp1)
expi = ufunc(p.expi)
expn = ufunc(p.expn)
exprel = ufunc(p.exprel)
sici = _results(scipy.special.sici, p.si, p.ci)
shichi = _results(scipy.special.shichi, p.shi, p.chi)
spence = ufunc(p.spence)
wrightomega = ufunc(p.wrightomega)

# Bessel and Airy functions

j0 = ufunc(b.j0)
j1 = ufunc(b.j1)
jv = jn = ufunc(b.jv)
jve = ufunc(b.jve)
y0 = ufunc(b.y0)
y1 = ufunc(b.y1)
yn = ufunc(b.yn)
yv = ufunc(b.yv)
yve = ufunc(b.yve)
hankel1 = ufunc(b.hankel1)
hankel1e = ufunc(b.hankel1e)
hankel2 = ufunc(b.hankel2)
hankel2e = ufunc(b.hankel2e)
i0 = ufunc(b.i0)
i0e = ufunc(b.i0e)
i1 = ufunc(b.i1)
i1e = ufunc(b.i1e)
iv = ufunc(b.iv)
ive = ufunc(b.ive)
k0 = ufunc(b.k0)
k0e = ufunc(b.k0e)
k1 = ufunc(b.k1)
k1e = ufunc(b.k1e)
kn = ufunc(b.kn)
kv = ufunc(b.kv)
kve = ufunc(b.kve)
airy = _results(scipy.special.airy, b.airy_ai, b.airy_aip, b.airy_bi, b.airy_bip)

# Hypergeometric functions, polynomials, Legendre functions, elliptic integrals

hyp0f1 = ufunc(h.hyp0f1)
hyp1f1 = ufunc(h.hyp1f1)
hyp2f1 = ufunc(h.hyp2f1)
hyperu = ufunc(h.hyperu)
eval_jacobi = ufunc(h.eval_jacobi)
eval_legendre = ufunc(h.eval_legendre)
eval_gegenbauer = ufunc(h.eval_gegenbauer)
eval_chebyt = ufunc(h.eval_chebyt)
eval_chebyu = ufunc(h.eval_chebyu)
eval_laguerre = ufunc(h.eval_laguerre)
eval_genlaguerre = ufunc(h.eval_genlaguerre)
eval_hermite = ufunc(h.eval_hermite)
eval_hermitenorm = ufunc(h.eval_hermitenorm)
lpmv = ufunc(h.lpmv)
ellipk = ufunc(l.ellipk)
ellipkm1 = ufunc(l.ellipkm1)
ellipe = ufunc(l.ellipe)
ellipkinc = ufunc(l.ellipkinc)
ellipeinc = ufunc(l.ellipeinc)


def _ellipj(u: Any, m: Any) -> tuple[Any, ...]:
    operands = ufunc_operands(scipy.special.ellipj, (u, m))
    return tuple([f(*operands) for f in (l.jacobi_sn, l.jacobi_cn, l.jacobi_dn, l.jacobi_am)])


ellipj = ufunc(scipy.special.ellipj, _ellipj)

# Elementary functions, entropies, losses, power transforms

exp2 = ufunc(p.exp2)
exp10 = ufunc(p.exp10)
expm1 = ufunc(p.expm1)
log1p = ufunc(p.special_log1p)
cbrt = ufunc(p.cbrt)
cosm1 = ufunc(p.cosm1)
powm1 = ufunc(p.powm1)
expit = ufunc(p.expit)
logit = ufunc(p.logit)
log_expit = ufunc(p.log_expit)
xlogy = ufunc(p.xlogy)
xlog1py = ufunc(p.xlog1py)
entr = ufunc(p.entr)
rel_entr = ufunc(p.rel_entr)
kl_div = ufunc(p.kl_div)
huber = ufunc(losses.huber)
pseudo_huber = ufunc(losses.pseudo_huber)
boxcox = ufunc(losses.boxcox)
boxcox1p = ufunc(losses.boxcox1p)
inv_boxcox = ufunc(losses.inv_boxcox)
inv_boxcox1p = ufunc(losses.inv_boxcox1p)


# Distribution functions, which are incomplete gamma and beta functions: M. Abramowitz and I. A. Stegun,
# "Handbook of Mathematical Functions", 26.4.19, 26.5.24, 26.5.26, 26.6.2. Numbers of events and of trials are
# whole, and there is no derivative by them.


def _made_of(function: Any, rule: Any) -> Any:
    """Return the public function of a ufunc; `rule` gets tracers of its dtypes and of one shape."""
    function = inspect.unwrap(function)
    return ufunc(function, lambda *operands: rule(*ufunc_operands(function, operands)))


def _events(x: Any, like: Any) -> Any:
    """Return the whole number that `x` stands for."""
    return e.floor(e.cast(x, like))


def _binomial(function: Any, otherwise: float) -> Any:
    """Return the rule of the probability of up to, or of more than, k events in n trials."""

    def rule(k: Any, n: Any, p: Any) -> Any:
        k, n = _events(k, p), _events(n, p)
        some = e.less(k, n)
        result = function(k + 1, e.select(some, n - k, constant(1, p)), p)
        return e.select(some, result, constant(otherwise, p))

    return rule


def _fdtri(m: Any, n: Any, p: Any) -> Any:
    y = i.betaincinv(m / 2, n / 2, p)
    return n * y / (m * (1 - y))


chdtr = _made_of(scipy.special.chdtr, lambda v, x: i.gammainc(v / 2, x / 2))
chdtrc = _made_of(scipy.special.chdtrc, lambda v, x: i.gammaincc(v / 2, x / 2))
chdtri = _made_of(scipy.special.chdtri, lambda v, p: 2 * i.gammainccinv(v / 2, p))
gdtr = _made_of(scipy.special.gdtr, lambda a, b, x: i.gammainc(b, a * x))
gdtrc = _made_of(scipy.special.gdtrc, lambda a, b, x: i.gammaincc(b, a * x))
pdtr = _made_of(scipy.special.pdtr, lambda k, m: i.gammaincc(_events(k, m) + 1, m))
pdtrc = _made_of(scipy.special.pdtrc, lambda k, m: i.gammainc(_events(k, m) + 1, m))
bdtr = _made_of(scipy.special.bdtr, _binomial(i.betaincc, 1.0))
bdtrc = _made_of(scipy.special.bdtrc, _binomial(i.betainc, 0.0))
nbdtr = _made_of(
    scipy.special.nbdtr, lambda k, n, p: i.betainc(_events(n, p), _events(k, p) + 1, p)
)
nbdtrc = _made_of(
    scipy.special.nbdtrc, lambda k, n, p: i.betaincc(_events(n, p), _events(k, p) + 1, p)
)
fdtr = _made_of(scipy.special.fdtr, lambda m, n, x: i.betainc(m / 2, n / 2, m * x / (n + m * x)))
fdtrc = _made_of(scipy.special.fdtrc, lambda m, n, x: i.betainc(n / 2, m / 2, n / (n + m * x)))
fdtri = _made_of(scipy.special.fdtri, _fdtri)
stdtr = ufunc(s.stdtr)
stdtrit = ufunc(s.stdtrit)

if not TYPE_CHECKING:  # type checkers know all names by the definitions
    __all__ = [name for name in dict.fromkeys(scipy.special.__all__) if name in globals()]

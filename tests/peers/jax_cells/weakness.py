"""Cells about weak types: which results of weak operands, and of others beside them, are weak."""

import sys

import jax
import jax.numpy as jnp
from jax import lax, nn
from jax.scipy import special

TEXTS = """
W[0]|W[1:]|W[N]|M[0]|M[:,0]|M[N,N]|M[None]|W.at[0].get()|lax.dynamic_slice(W,(0,),(2,))|lax.select(B,W,W)|jnp.pad(W,1)
jnp.pad(W,1,mode='edge')|jnp.roll(W,1)|jnp.tile(W,2)|jnp.flip(W)|jnp.take(W,N)|jnp.take(W,0)|jnp.diag(W)|jnp.diag(M)
jnp.diagflat(W)|jnp.meshgrid(W,W)|jnp.meshgrid(W,F)|jnp.select([B],[W],2.)|jnp.select([B],[W])|jnp.select([B],[2.],3.)
jnp.piecewise(W,[B],[1.,2.])|jnp.where(B,W,2.)|jnp.where(B,1.,2.)|jnp.insert(W,0,1.)|jnp.append(W,1.)|jnp.delete(W,0)
jnp.einsum('i,i',W,W)|jnp.einsum('i->i',W)|jnp.einsum('ii->i',M)|jnp.tensordot(M,M)|jnp.matmul(M,M)|M@M|W@W
jnp.split(W,3)|jnp.array_split(W,2)|jnp.unique(W,size=2)|jnp.sort(W)|jnp.cumsum(W)|jnp.interp(W,W,W)|jnp.interp(W,F,F)
jnp.linspace(W,W,3)|jnp.linspace(0.,1.,3)|jnp.repeat(W,2)|jnp.squeeze(W[None])|jnp.swapaxes(M,0,1)|jnp.moveaxis(M,0,1)
jnp.rot90(M)|jnp.tril(M)|jnp.triu(M)|jnp.trace(M)|jnp.clip(W,0,1)|jnp.clip(W,0.,None)|jnp.nan_to_num(W)|jnp.round(W)
jnp.round(W,1)|jnp.array(W)|jnp.asarray(W)|jnp.array([W,W])|jnp.array([S,1.])|jnp.array([1.,2.])|jnp.copy(W)
jnp.stack([W,W])|jnp.concatenate([W,W])|jnp.concatenate([W,F])|jnp.block([W,W])|jnp.full((2,),S)|jnp.full_like(W,1.)
jnp.zeros_like(W)|jnp.ones_like(S)|jnp.broadcast_arrays(W,S)|jnp.atleast_2d(W)|jnp.outer(W,W)|jnp.kron(M,M)
jnp.cross(W,W)|jnp.convolve(W,W)|jnp.polyval(W,W)|jnp.quantile(W,.5)|jnp.median(W)|jnp.mean(W)|jnp.var(W)|jnp.diff(W)
jnp.gradient(W)|jnp.ediff1d(W)|jnp.digitize(W,W)|jnp.searchsorted(W,W)|jnp.histogram(W)|jnp.take_along_axis(W,N,0)
jnp.put_along_axis(W,N,1.,0,inplace=False)
jnp.compress(B,W,size=2)|jnp.extract(B,W,size=2)|jnp.partition(W,1)
jnp.argpartition(W,1)|jnp.trapezoid(W)|jnp.vander(W)|jnp.ix_(N,N)|jnp.resize(W,(2,2))|jnp.unwrap(W)
jnp.heaviside(W,1.)|jnp.frexp(W)|jnp.modf(W)|jnp.divmod(W,W)|jnp.nanmax(W)|jnp.linalg.norm(W)|jnp.linalg.inv(M)
jnp.linalg.det(M)|jnp.linalg.solve(M,W)|jnp.linalg.matrix_power(M,2)|jnp.fft.fft(W)|-W|W+1|1+W|W**2|2**I|W//2|abs(W)
I/I|I+2.|W*F|I*N|W.real|W.sum()|W.mean()|~I|I<<1|jnp.pad(2.0,1)|jnp.tile(2.0,2)|jnp.repeat(2.0,2)|jnp.flip(W,0)
jnp.stack([1.0,2.0])|jnp.concatenate([W,I])|jnp.hstack([W,W])|jnp.vstack([W,W])|jnp.dstack([W,W])
jnp.column_stack([W,W])|jnp.diagonal(M)|jnp.fliplr(M)|jnp.permute_dims(M,(1,0))|jnp.matrix_transpose(M)
jnp.rollaxis(M,1)|lax.reshape(W,(3,1))|lax.slice(W,(0,),(2,))|lax.dynamic_update_slice(W,W[:1],(0,))|lax.rev(W,(0,))
lax.pad(W,0.,[(1,1,0)])|lax.concatenate([W,W],0)|lax.select_n(B,W,W)|lax.sort(W)|lax.top_k(W,2)|lax.cumsum(W)
lax.reduce_sum(W,(0,))|lax.max(W,W)|lax.clamp(0.,W,1.)|lax.squeeze(W[None],(0,))|lax.expand_dims(W,(0,))
lax.integer_pow(W,2)|lax.dot(W,W)|lax.sin(W)|lax.add(W,W)|nn.relu(W)|nn.softmax(W)|nn.sigmoid(S)|jnp.sin(W)
jnp.exp(2.0)|jnp.maximum(W,1.)|jnp.logaddexp(W,W)|jnp.hypot(W,W)|jnp.sqrt(I)|jnp.abs(I)|jnp.sign(W)|jnp.mod(W,W)
jnp.square(W)|jnp.sum(M,0)|jnp.max(W)|jnp.cumprod(W)|jnp.nansum(W)|jnp.std(W)|jnp.average(W)|jnp.percentile(W,50)
jnp.ptp(W)|jnp.argmax(W)|jnp.argsort(W)|jnp.count_nonzero(W)|jnp.inner(W,W)|jnp.vdot(W,W)|jnp.dot(M,W)|jnp.conj(W)
jnp.angle(W)|jnp.deg2rad(W)|jnp.sinc(W)|jnp.i0(W)|jnp.nextafter(W,W)|jnp.ldexp(W,I)|jnp.copysign(W,W)|jnp.fmin(W,W)
jnp.fmax(W,W)|jnp.cbrt(W)|jnp.reciprocal(W)|jnp.where(W>0,W,S)|jnp.where(B,I,2)|jnp.where(B,I,2.)|jnp.expand_dims(W,0)
jnp.rint(W)|jnp.floor(W)|jnp.trunc(W)|jnp.nanmean(W)|jnp.corrcoef(W,W)|jnp.cov(W)|jnp.polyadd(W,W)|jnp.polymul(W,W)
jnp.polyder(W)|jnp.polyint(W)|jnp.poly(W)|jnp.tri(3)|jnp.union1d(W,W,size=1)|jnp.setdiff1d(W,F,size=1)
jnp.intersect1d(W,W,size=1)|jnp.isclose(W,W)|jnp.nonzero(W,size=1)|jnp.geomspace(1.,2.,3)|jnp.logspace(W,W,3)
jnp.broadcast_to(S,(2,))|jnp.unstack(W)|jnp.hsplit(M,3)|jnp.complex64(S)|lax.complex(W,W)|jnp.astype(W,float)
W.astype(float)|jnp.float32(S)|jnp.bincount(N,W,length=3)|jnp.apply_over_axes(jnp.sum,M,[0])|jnp.array_split(W,3)
jnp.block([[M,M]])|jnp.mgrid[0:2.]|jnp.indices((2,))|jnp.cumulative_sum(W)|jnp.matvec(M,W)|jnp.vecdot(W,W)
jnp.linalg.norm(M)|jnp.linalg.cholesky(M)|jnp.linalg.qr(M)|jnp.linalg.eigh(M)|jnp.linalg.svd(M)|jnp.linalg.slogdet(M)
jnp.linalg.pinv(M)|jnp.linalg.trace(M)|jnp.linalg.diagonal(M)|jnp.linalg.outer(W,W)|jnp.linalg.multi_dot([M,M])
jnp.linalg.cross(W,W)|lax.abs(H)|lax.acos(H)|lax.acosh(H)|lax.asin(H)|lax.asinh(H)|lax.atan(H)|lax.atan2(H, H)
lax.atanh(H)|lax.bessel_i0e(H)|lax.bessel_i1e(H)|lax.cbrt(H)|lax.ceil(H)|lax.conj(H)|lax.cos(H)|lax.cosh(H)
lax.cumlogsumexp(H)|lax.cummax(H)|lax.cummin(H)|lax.cumprod(H)|lax.digamma(H)|lax.div(H, H)|lax.erf(H)|lax.erf_inv(H)
lax.erfc(H)|lax.exp(H)|lax.exp2(H)|lax.expm1(H)|lax.floor(H)|lax.igamma(H, H)|lax.igammac(H, H)|lax.lgamma(H)
lax.log(H)|lax.log1p(H)|lax.logistic(H)|lax.min(H, H)|lax.mul(H, H)|lax.neg(H)|lax.nextafter(H, H)|lax.pow(H, H)
lax.reciprocal(H)|lax.rem(H, H)|lax.round(H)|lax.rsqrt(H)|lax.sign(H)|lax.sinh(H)|lax.sqrt(H)|lax.square(H)
lax.sub(H, H)|lax.tan(H)|lax.tanh(H)|lax.reduce_max(H, (0,))|lax.reduce_min(H, (0,))|lax.reduce_prod(H, (0,))
lax.zeta(H, H)|lax.polygamma(H, H)|lax.random_gamma_grad(H, H)|lax.stop_gradient(H)|nn.relu(H)|nn.relu6(H)
nn.sigmoid(H)|nn.softplus(H)|nn.sparse_plus(H)|nn.soft_sign(H)|nn.silu(H)|nn.swish(H)|nn.log_sigmoid(H)
nn.leaky_relu(H)|nn.hard_sigmoid(H)|nn.hard_silu(H)|nn.hard_swish(H)|nn.hard_tanh(H)|nn.elu(H)|nn.celu(H)|nn.selu(H)
nn.gelu(H)|nn.squareplus(H)|nn.mish(H)|nn.logsumexp(H)|nn.standardize(H)|nn.softmax(H)|nn.log_softmax(H)
nn.identity(H)|special.gammaln(H)|special.erf(H)|special.erfc(H)|special.erfinv(H)|special.expit(H)|special.logit(H)
special.digamma(H)|special.i0(H)|special.i1(H)|special.i0e(H)|special.i1e(H)|special.ndtr(H)|special.ndtri(H)
special.log_ndtr(H)|special.xlogy(H, H)|special.xlogy(H, 0)|special.xlog1py(H, H)|special.xlog1py(H, 0)
special.entr(H)|special.logsumexp(H)|special.betaln(H, H)|special.betaln(H, 0)|special.beta(H, H)|special.beta(H, 0)
special.gamma(H)|special.factorial(H)|special.exp1(H)|special.expi(H)|special.kl_div(H, H)|special.kl_div(H, 0)
special.rel_entr(H, H)|special.rel_entr(H, 0)|special.zeta(H, H)|special.zeta(H, 0)|special.gammainc(H, H)
special.gammainc(H, 0)|special.gammaincc(H, H)|special.gammaincc(H, 0)|special.multigammaln(H, 0)
"""
ARRAYS = {
    "W": jnp.broadcast_to(2.0, (3,)),
    "H": jnp.broadcast_to(0.5, (3,)),
    "M": jnp.broadcast_to(2.0, (3, 3)),
    "I": jnp.broadcast_to(2, (3,)),
    "S": jnp.asarray(2.0),
    "F": jnp.arange(3.0),
    "N": jnp.arange(3),
    "B": jnp.arange(3) > 0,
}
NAMES = {"jnp": jnp, "lax": lax, "nn": nn, "special": special, "jax": jax}


def of_results():
    """With arrays and traced: with arrays, JAX need not compute what it traces alike."""

    def kinds(results):
        return [[str(x.dtype), bool(x.weak_type)] for x in jax.tree.leaves(results)]

    found = {}
    for text in TEXTS.replace("\n", "|").strip("|").split("|"):
        f = eval(f"lambda {', '.join(ARRAYS)}: {text}", NAMES)
        traced = kinds(jax.eval_shape(f, *ARRAYS.values()))
        made = kinds(f(*ARRAYS.values())) if "fungrad" in sys.modules else traced
        found[text] = [traced, made]
    return found

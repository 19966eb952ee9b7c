"""Dtypes and weak types by the setting `promotion`, and in 32 bits, beside JAX's: all pairs of dtypes, many functions."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jsp = pytest.importorskip("jax.scipy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad.core.types import ArrayType  # noqa: E402
from fungrad.settings import enable_x64, promotion  # noqa: E402

BITS = [64, 32]
SHORT = ["bool", "int8", "int32", "uint8", "uint32", "bfloat16", "float16", "float32", "complex64"]
SELDOM = [
    "uint8",
    "uint64",
    "uint32",
    "float16",
    "complex64",
    "complex128",
    "complex128*",
    "complex64*",
]
LONG = ["int64", "uint64", "float64", "complex128"]
WEAK = {64: ["int64*", "float64*", "complex128*"], 32: ["int32*", "float32*", "complex64*"]}

UNARY = [
    "sin",
    "exp",
    "sqrt",
    "cbrt",
    "log1p",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "abs",
    "negative",
    "sign",
    "square",
    "reciprocal",
    "isnan",
    "signbit",
    "invert",
    "bitwise_count",
    "logical_not",
    "fabs",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "float_power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "copysign",
    "nextafter",
    "heaviside",
    "equal",
    "less",
    "greater_equal",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "gcd",
    "logical_and",
    "logical_xor",
]

OF_ONE = """np.sum(x)|np.prod(x)|np.mean(x)|np.var(x)|np.std(x)|np.max(x)|np.cumsum(x)|np.cumprod(x)|np.median(x)|np.average(x)|np.sort(x)
np.clip(x,0,1)|np.clip(x,0.,1.)|np.where(x>0,x,0)|np.where(x>0,x,0.)|np.where(x>0,1,0)|np.where(x>0,1.,0.)|np.full_like(x,2.5)|np.zeros_like(x)
x*2|2*x|x+1.5|x/2|x//2|x**0.5|2**x|x%3|-x|abs(x)|x*1j|np.reshape(x,(3,1))|x.T|x[0]|x[:2]|np.stack([x,x])|np.concatenate([x,x])|np.diff(x)
np.dot(x,x)|np.outer(x,x)|np.linalg.norm(x)|np.fft.fft(x)|np.sinc(x)|np.round(x)|np.real(x)|np.nan_to_num(x)|np.quantile(x,0.5)|np.cov(x[None])
np.broadcast_to(x,(2,3))|np.repeat(x,2)|np.roll(x,1)|np.take(x,0)|np.trapezoid(x)|x.astype(np.float32)|np.asarray(x)|np.array(x)|x.sum()
x.mean()|x.max()|x.std()|np.count_nonzero(x)|np.nansum(x)|np.nanmean(x)|np.linspace(0,x[0],3)|np.einsum('i,i',x,x)|np.hstack([x,1.])
np.append(x,1)|lax.stop_gradient(x)|lax.convert_element_type(x,np.float32)|np.linalg.inv(x[:,None]*x)|np.mean(x,dtype=np.float32)
np.array([x[0],1.])|np.array([x[0],1])|np.array([x,x])|lax.cond(True,lambda a:a,lambda a:a*2.,x)|lax.scan(lambda c,a:(c+a,c),0.,x)[0]
lax.scan(lambda c,a:(c+a,c*a),x[0],x)[0]|lax.fori_loop(0,3,lambda i,c:c+x[0],1.)|lax.while_loop(lambda c:False,lambda c:c+x[0],x[0])"""
OF_TWO = """x+y|x-y|x*y|x/y|x//y|x%y|x<y|x&y|np.where(x>0,x,y)|np.concatenate([x,y])|np.stack([x,y])|np.hstack([x,y])|np.dot(x,y)|x@y
np.inner(x,y)|np.outer(x,y)|np.vdot(x,y)|np.kron(x,y)|np.tensordot(x,y,1)|np.einsum('i,i->i',x,y)|np.clip(x,y,y)|np.append(x,y)
np.convolve(x,y)|np.average(x,weights=y)|np.linspace(x[0],y[0],3)|np.select([x>0],[x],y)|np.array([x[0],y[0]])|np.meshgrid(x,y)[0]
np.full_like(x,y)|np.trapezoid(x,y)|x.at[0].set(y[0])|x.at[0].add(y[0])|np.maximum(x,y)|lax.cond(True,lambda a,b:a,lambda a,b:a,x,y)"""

WEAK_DIFFERS = [
    "np.linalg.norm",
    "np.fft.fft",
    "np.array",
    "at[0]",
    "np.select",
    "lax.scan",
    "fori_loop",
    "while_loop",
    "np.convolve",
]
"""What has JAX's dtype and is weak where JAX's result is not, or the other way round."""


def listed(text):
    return [e for line in text.split("\n") for e in line.split("|")]


def choices(bits):
    return SHORT + (LONG if bits == 64 else []) + WEAK[bits]


def cases(bits):
    all_, some = (
        choices(bits),
        [d for d in choices(bits) if d not in ("uint8", "uint64", "complex128")],
    )
    yield from ((f"np.{name}(x)", (a,)) for name in UNARY for a in all_)
    yield from ((f"np.{name}(x,y)", (a, b)) for name in BINARY[:4] for a in all_ for b in all_)
    yield from ((f"np.{name}(x,y)", (a, b)) for name in BINARY[4:] for a in some for b in some)
    yield from ((text, (a,)) for text in listed(OF_ONE) for a in all_)
    yield from ((text, (a, b)) for text in listed(OF_TWO) for a in some for b in some)


def functions():
    texts = dict.fromkeys(text for text, _ in cases(64))
    theirs, ours = {"np": jnp, "lax": jax.lax}, {"np": fnp, "lax": fg.lax}
    return {t: [eval(f"lambda x, y=None: {t}", names) for names in (theirs, ours)] for t in texts}


def jaxs(function, dtypes):
    """Return dtype and weakness of JAX's result, None where it refuses."""
    types = [
        jax.ShapeDtypeStruct((3,), jnp.dtype(d.rstrip("*")), weak_type=d.endswith("*"))
        for d in dtypes
    ]
    try:
        found = jax.eval_shape(function, *types)
    except (TypeError, ValueError):
        return None
    return found.dtype.name, found.weak_type


def fungrads(function, dtypes):
    types = [ArrayType((3,), jnp.dtype(d.rstrip("*")), d.endswith("*")) for d in dtypes]
    found = fg.make_expr(function)(*types).output_types[0]
    return found.dtype.name, found.weak


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_all_pairs(bits):
    by_text, differences = functions(), []
    with jax.enable_x64(bits == 64), enable_x64(bits == 64), promotion("jax"):
        for text, dtypes in cases(bits):
            theirs, ours = by_text[text]
            expected = jaxs(theirs, dtypes)
            if expected is None:
                continue
            try:
                found = fungrads(ours, dtypes)
            except TypeError as error:
                found = str(error)
            weak_matters = expected[0] != "bool" and not any(t in text for t in WEAK_DIFFERS)
            if found != expected if weak_matters else found[0] != expected[0]:
                differences.append((text, *dtypes, expected, found))
    assert differences == []


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_plain_arrays(bits):
    by_text, differences = functions(), []
    chosen = [
        d
        for d in choices(bits)
        if d in ("bool", "int8", "int32", "bfloat16", "float32", "complex64", "float64", "int64")
    ]
    with jax.enable_x64(bits == 64), enable_x64(bits == 64), promotion("jax"):
        for text in listed(OF_TWO):
            for dtypes in [(a, b) for a in chosen for b in chosen]:
                expected = jaxs(by_text[text][0], dtypes)
                of_booleans = dtypes == ("bool", "bool") and "linspace" in text
                if expected is None or not text.startswith("np.") or of_booleans:
                    continue
                found = by_text[text][1](*[np.ones(3, jnp.dtype(d)) for d in dtypes])
                if found.dtype.name != expected[0]:
                    differences.append((text, *dtypes, expected[0], found.dtype.name))
    assert differences == []


MADE = """np.zeros(3)|np.ones(3)|np.empty(3)|np.arange(3)|np.arange(3.)|np.linspace(0,1,3)|np.eye(2)|np.identity(2)|np.full(3,2.)|np.full(3,2)
np.array([1,2])|np.array([1.,2])|np.array(2.5)|np.array(3)|np.array(2j)|np.asarray(F)|np.asarray(I)|np.array(F)|np.asarray([F,F])|np.zeros(3,float)
np.zeros(3,np.float64)|np.zeros(3,'int64')|np.zeros(3,complex)|np.asarray(F,np.float64)|np.asarray(I,int)|np.full(3,1,float)|np.ones_like(F)
np.argmax(F)|np.argmin(F)|np.argsort(F)|np.nonzero(F,size=2)[0]|np.where(F,size=2)[0]|np.argwhere(F,size=2)|np.count_nonzero(F)|np.sum(F>0)
np.cumsum(F>0)|np.bincount(I)|np.unique(F,size=3)|np.unique(F,return_counts=True,size=3)[1]|np.meshgrid(F,F)[0]|np.fft.fft(F)
np.fft.rfft(F)|np.mean(F)|np.sum(F,dtype=np.float64)|np.where(True,1.,2.)|np.sin(2.)|np.add(1,2)|np.dot(F,F)|np.linalg.inv(np.eye(2))|np.linalg.norm(F)
np.linalg.slogdet(np.eye(2))[1]|np.float32(1)+np.ones(3)|lax.iota(float,3)|lax.argmax(F,0,int)|lax.add(F,1.)|lax.add(I,1)
lax.convert_element_type(F,float)|lax.top_k(F,1)[1]|nn.one_hot(I,3)|nn.softmax(F)|nn.relu(F)|np.logspace(0,1,3)|np.vander(F)|np.histogram(F)[1]|np.interp(F,F,F)
np.stack([F,F])|np.concatenate([I,I])|np.take(F,0)|np.ravel(F)|np.var(F)|np.median(F)|np.prod(I)|np.max(I)|np.round(F)|np.clip(F,0,1)|np.pad(F,1)"""


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_what_is_made(bits):
    arrays = {"F": np.array([1.0, 2.0, 3.0]), "I": np.arange(3)}
    differences = []
    with jax.enable_x64(bits == 64), enable_x64(bits == 64), promotion("jax"):
        for text in listed(MADE):
            theirs = eval(text, {"np": jnp, "lax": jax.lax, "nn": jax.nn, **arrays})
            scope = {"np": fnp, "lax": fg.lax, "nn": fg.nn, **arrays}
            ours = [eval(text, scope), fg.jit(lambda text=text, scope=scope: eval(text, scope))()]
            found = {np.asarray(x).dtype.name for x in ours}
            weak = getattr(ours[0], "weak_type", False)
            if found != {theirs.dtype.name} or weak != theirs.weak_type:
                differences.append((text, theirs.dtype.name, theirs.weak_type, found, weak))
    assert differences == []


SAMPLERS = """normal(k,(3,))|uniform(k,(3,))|uniform(k,(3,),float)|randint(k,(3,),0,10)|bernoulli(k,0.3,(5,))|categorical(k,np.zeros(4),shape=(3,))
gamma(k,2.0,(3,))|exponential(k,(3,))|laplace(k,(3,))|gumbel(k,(3,))|cauchy(k,(3,))|permutation(k,5)|choice(k,5,(3,))
truncated_normal(k,-1.,1.,(3,))|t(k,3.,(3,))|poisson(k,3.,(3,))|bits(k,(3,))|multivariate_normal(k,np.zeros(2),np.eye(2))|rademacher(k,(3,))
split(k)[1]|fold_in(k,3)|PRNGKey(3)|orthogonal(k,2)|ball(k,2,shape=(2,))|normal(k,dtype=np.float64)"""


@pytest.mark.filterwarnings("ignore")
def test_random_numbers_in_32_bits():
    for text in listed(SAMPLERS):
        found = []
        for lib, np_ in ((jax.random, jnp), (fg.random, fnp)):
            with jax.enable_x64(False), enable_x64(False), promotion("jax"):
                names = {name: getattr(lib, name) for name in dir(lib)}
                found.append(eval(text, {**names, "np": np_, "k": lib.PRNGKey(7)}))
        theirs, ours = map(np.asarray, found)
        assert ours.dtype == theirs.dtype, text
        np.testing.assert_allclose(ours, theirs, 2e-5, 1e-6, err_msg=text)

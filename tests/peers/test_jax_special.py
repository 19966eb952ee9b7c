"""fungrad.scipy.special against jax.scipy.special: values, derivatives to second order, batches."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jsp = pytest.importorskip("jax.scipy.special")

import fungrad as fg  # noqa: E402
from fungrad.scipy import special  # noqa: E402
from tests.samples.row import complexes, reals  # noqa: E402

X, Y = reals(6), reals(6, seed=1)
POSITIVE = reals(6, low=0.5, high=5.0)
SIGNED = reals(6, low=-2.5, high=2.5)

CASES = [
    (name, operands)
    for operands, names in [
        ((SIGNED,), "erf erfc ndtr log_ndtr expit i0 i0e i1 i1e"),
        ((X,), "erfinv ndtri logit entr expi spence log_softmax softmax logsumexp"),
        ((POSITIVE,), "gamma gammaln digamma expi"),
        ((POSITIVE, Y), "beta betaln xlogy xlog1py rel_entr kl_div poch gammainc gammaincc"),
    ]
    for name in names.split()
]  # fmt: skip


def compare(ours, theirs, rtol):
    theirs = np.asarray(theirs)
    assert (np.shape(ours), ours.dtype) == (theirs.shape, theirs.dtype)
    scale = np.abs(theirs).max(initial=1.0)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)


def same(f, g, operands, rtol, orders=2):
    compare(f(*operands), g(*operands), rtol)
    every = tuple(range(len(operands)))
    ours = fg.jit(fg.grad(lambda *xs: f(*xs).sum(), every))(*operands)
    theirs = jax.grad(lambda *xs: g(*xs).sum(), every)(*operands)
    for x, y in zip(ours, theirs, strict=True):
        compare(x, y, rtol)
    if orders == 2:
        ours = fg.hessian(lambda *xs: f(*xs).sum(), every)(*operands)
        theirs = jax.hessian(lambda *xs: g(*xs).sum(), every)(*operands)
        for x, y in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            compare(x, y, rtol)


@pytest.mark.parametrize(("name", "operands"), CASES)
def test_function(name, operands):
    # By their parameters JAX differentiates series of the incomplete functions, once, to fewer digits.
    incomplete = name in ("gammainc", "gammaincc")
    same(
        getattr(special, name),
        getattr(jsp, name),
        operands,
        1e-7 if incomplete else 1e-9,
        orders=1 if incomplete else 2,
    )


@pytest.mark.parametrize(
    ("f", "g", "operands"),
    [
        (lambda x: special.polygamma(2, x), lambda x: jsp.polygamma(2, x), (POSITIVE,)),
        (lambda a: special.multigammaln(a + 3, 3), lambda a: jsp.multigammaln(a + 3, 3), (POSITIVE,)),
        (lambda q: special.zeta(2.5, q), lambda q: jsp.zeta(2.5, q), (POSITIVE,)),
        (special.exp1, jsp.exp1, (POSITIVE,)),
        (lambda x: special.betainc(0.7, 2.5, x), lambda x: jsp.betainc(0.7, 2.5, x), (X,)),
        (lambda x: special.expn(3, x), lambda x: jsp.expn(3, x), (POSITIVE,)),
        (
            lambda a, b: special.logsumexp(a, b=b, axis=0),
            lambda a, b: jsp.logsumexp(a, b=b, axis=0),
            (SIGNED, Y),
        ),
        (lambda x: special.hyp1f1(1.5, 2.5, x), lambda x: jsp.hyp1f1(1.5, 2.5, x), (X,)),
        (special.factorial, jsp.factorial, (POSITIVE,)),
    ],
)  # fmt: skip
def test_with_fixed_parameters(f, g, operands):
    same(f, g, operands, 1e-9, orders=1)


def test_complex_gradients_have_the_convention_of_jax():
    z = complexes(5)
    ours = fg.grad(lambda z: abs(special.logsumexp(z)))(z)
    compare(ours, jax.grad(lambda z: abs(jsp.logsumexp(z)))(z), 1e-12)

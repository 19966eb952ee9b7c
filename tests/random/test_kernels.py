"""Random numbers by kernels are those without: integers and uniform numbers to the bit, others to a few units of the last place."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax, random
from tests.compile.compiling import compare, needs_compiler

WORDS = random.PRNGKey(4)

EXACT = {
    "bits": lambda k: [random.bits(k, (1001,), d) for d in ("u1", "u2", "u4", "u8")],
    "split": lambda k: random.split(k, 500),
    "fold_in": lambda k: random.fold_in(k, 7),
    "uniform": lambda k: [random.uniform(k, (1001,), d) for d in ("f2", "f4", "f8")],
    "uniform of bounds": lambda k: [
        random.uniform(k, (1001,), d, -0.1, 0.7) for d in ("f2", "f4", "f8")
    ],
    "randint": lambda k: [random.randint(k, (501,), -3, 40, d) for d in ("i1", "i4", "i8")],
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (1001,)),
    "permutation": lambda k: random.permutation(k, 1001),
    "choice": lambda k: random.choice(k, 50, (1001,), p=np.full(50, 0.02)),
    "categorical": lambda k: random.categorical(k, np.linspace(-1, 1, 20), shape=(1001,)),
    "triangular": lambda k: random.triangular(k, 0.0, 1.0, 3.0, (1001,)),
    "poisson": lambda k: random.poisson(k, 4.0, (501,)),
    "in a loop": lambda k: lax.scan(
        lambda key, _: (lambda ks: (ks[0], random.uniform(ks[1])))(random.split(key)),
        k,
        None,
        length=50,
    ),
    "mapped": lambda k: fg.vmap(lambda k: random.uniform(k, (30,)))(random.split(k, 40)),
}
CLOSE = {
    "normal": lambda k: [random.normal(k, (1001,), d) for d in ("f4", "f8")],
    "gumbel": lambda k: random.gumbel(k, (1001,)),
    "exponential": lambda k: random.exponential(k, (1001,)),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 2.0, (1001,)),
    "gamma": lambda k: random.gamma(k, 2.5, (501,)),
    "beta": lambda k: random.beta(k, 2.5, 0.5, (501,)),
    "binomial": lambda k: random.binomial(k, 50, 0.4, (501,)),
}


@needs_compiler
@pytest.mark.parametrize("name", EXACT)
def test_exactly(name):
    compare(EXACT[name], (WORDS,), 0)


@needs_compiler
@pytest.mark.parametrize("name", CLOSE)
def test_closely(name):
    compare(CLOSE[name], (WORDS,), 8)


@needs_compiler
def test_a_sampler_is_one_kernel():
    draw = fg.jit(lambda k: random.uniform(k, (1000,), np.float32))
    assert len(draw.lower(WORDS).kernels) == 1


@needs_compiler
def test_typed_keys_are_left_to_numpy():
    draw = lambda k: random.uniform(random.split(k, 3)[1], (300,))
    compare(draw, (random.wrap_key_data(WORDS),), 0)

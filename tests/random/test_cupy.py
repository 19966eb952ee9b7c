"""Random numbers of raw keys on CuPy's arrays, shown with a strict stand-in: they are those of NumPy's."""

import sys

import numpy as np
import pytest

import fungrad as fg
from fungrad import random
from tests.backends.fake_cupy import make_module


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


DRAWS = {
    "split": lambda k: random.split(k, 3),
    "fold_in": lambda k: random.fold_in(k, 2),
    "bits": lambda k: random.bits(k, (5,)),
    "uniform": lambda k: random.uniform(k, (5,)),
    "uniform of bounds": lambda k: random.uniform(k, (5,), np.float32, 0.3, 1.7),
    "normal": lambda k: random.normal(k, (5,)),
    "randint": lambda k: random.randint(k, (5,), 0, 9),
    "bernoulli": lambda k: random.bernoulli(k, 0.5, (3,)),
    "gamma": lambda k: random.gamma(k, 2.0, (3,)),
    "beta": lambda k: random.beta(k, 1.0, 2.0, (2,)),
    "gumbel": lambda k: random.gumbel(k, (3,)),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 2.0, (2,)),
    "permutation": lambda k: random.permutation(k, 5),
    "categorical": lambda k: random.categorical(k, np.zeros(4)),
    "choice": lambda k: random.choice(k, 3, (2,), p=np.ones(3) / 3),
    "poisson": lambda k: random.poisson(k, 3.0, (3,)),
    "binomial": lambda k: random.binomial(k, 30, 0.5, (3,)),
    "multivariate_normal": lambda k: random.multivariate_normal(k, np.zeros(2), np.eye(2)),
    "orthogonal": lambda k: random.orthogonal(k, 2),
}


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_numpy(cupy, name, transform):
    words = random.PRNGKey(3)
    found = transform(DRAWS[name])(cupy.asarray(words))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), DRAWS[name](words), 1e-14)


def test_there_are_no_typed_keys(cupy):
    words = cupy.asarray(random.PRNGKey(3))
    for call in (
        lambda: random.wrap_key_data(words),
        lambda: random.key(cupy.asarray(np.array(3))),
        lambda: fg.jit(random.wrap_key_data)(words),
        lambda: fg.jit(lambda x, key: x + random.normal(key, (2,)))(words, random.key(0)),
    ):
        with pytest.raises(TypeError, match=r"CuPy has no typed keys.*random\.PRNGKey"):
            call()

"""fungrad.example_libraries.stax without JAX: training, mapping, errors. tests/peers/test_jax_stax.py has the numbers."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import optim, random
from fungrad.example_libraries import stax

INIT, APPLY = stax.serial(stax.Dense(8), stax.Tanh, stax.Dropout(0.9), stax.Dense(2))
X = np.random.default_rng(0).normal(size=(64, 2))
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)


def loss(params, key):
    scores = stax.logsoftmax(APPLY(params, X, rng=key))
    return -fnp.mean(fnp.take_along_axis(scores, LABELS[:, None], 1))


def test_a_network_learns():
    _, params = INIT(random.key(0), (-1, 2))
    tx = optim.adam(0.03)
    state, before = tx.init(params), loss(params, random.key(1))

    @fg.jit
    def step(params, state, key):
        updates, state = tx.update(fg.grad(loss)(params, key), state, params)
        return optim.apply_updates(params, updates), state

    for n in range(150):
        params, state = step(params, state, random.key(n))
    assert loss(params, random.key(1)) < 0.5 * before


def test_ensembles_are_mapped_over_keys():
    keys = random.split(random.key(0), 3)
    params = fg.vmap(lambda key: INIT(key, (-1, 2))[1])(keys)
    out = fg.vmap(lambda p, key: APPLY(p, X, rng=key))(params, keys)
    assert out.shape == (3, 64, 2)
    for n, key in enumerate(keys):
        alone = APPLY(INIT(key, (-1, 2))[1], X, rng=key)
        np.testing.assert_allclose(out[n], alone, rtol=1e-13, atol=1e-15)


def test_no_layers_at_all():
    init, apply = stax.serial()
    assert init(random.key(0), (2, 3)) == ((2, 3), [])
    assert apply([], 1.5) == 1.5


def test_dropout_needs_a_key():
    with pytest.raises(ValueError, match="rng=key"):
        APPLY(INIT(random.key(0), (-1, 2))[1], X)


def test_windows_have_a_length_for_each_step():
    with pytest.raises(ValueError, match=r"stax\.MaxPool: strides"):
        stax.MaxPool((2, 2), (1,))


def test_parameters_are_as_many_as_layers():
    with pytest.raises(ValueError, match="4 layers are given 2 parts of parameters"):
        APPLY(INIT(random.key(0), (-1, 2))[1][:2], X, rng=random.key(0))
    init, apply = stax.parallel(stax.Identity, stax.Relu)
    with pytest.raises(ValueError, match="2 layers are given 3 inputs"):
        apply(((), ()), [X, X, X])
    with pytest.raises(ValueError, match="2 layers are given 1 shapes"):
        init(random.key(0), [(3,)])


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'flax'"):
        _ = fg.example_libraries.flax
    assert dir(fg.example_libraries) == ["optimizers", "stax"]

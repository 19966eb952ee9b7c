"""A program written for JAX, run by tests/compat/test_jax.py with FUNGRAD_COMPAT_IMMUTABLE=1: no array changes."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

X = jnp.arange(3.0)
REFUSED = {
    "an element": lambda x: x.__setitem__(0, 5.0),
    "a slice": lambda x: x.__setitem__(slice(None), 5.0),
    "fill": lambda x: x.fill(5.0),
    "put": lambda x: x.put([0], 5.0),
    "partition": lambda x: x.partition(1),
    "flat": lambda x: x.flat.__setitem__(0, 5.0),
    "all of flat": lambda x: setattr(x, "flat", 5.0),
    "real": lambda x: setattr(x, "real", 5.0),
    "shape": lambda x: setattr(x, "shape", (1, 3)),
    "a view": lambda x: x.T.__setitem__(0, 5.0),
    "numpy.put": lambda x: np.put(x, [0], 5.0),
    "numpy.copyto": lambda x: np.copyto(x, 5.0),
    "numpy.add.at": lambda x: np.add.at(x, [0], 5.0),
    "out": lambda x: np.add(x, 5.0, out=x),
    "numpy.put_along_axis": lambda x: np.put_along_axis(x, np.array([0]), 5.0, 0),
}
OF_ARRAYS = {
    "what NumPy takes": lambda x: np.asarray(x).__setitem__(0, 5.0),
    "a view of NumPy": lambda x: x.view(np.ndarray).__setitem__(0, 5.0),
    "a buffer": lambda x: memoryview(x).__setitem__(0, 5.0),
    "flags": lambda x: x.setflags(write=True),
    "a dtype": lambda x: setattr(x, "dtype", np.int32),
    "resize": lambda x: x.resize(6),
    "a copy": lambda x: copy.copy(x).__setitem__(0, 5.0),
    "a deep copy": lambda x: copy.deepcopy(x).__setitem__(0, 5.0),
    "what was pickled": lambda x: np.asarray(pickle.loads(pickle.dumps(x))).__setitem__(0, 5.0),
    "random.shuffle": lambda x: np.random.default_rng(0).shuffle(x),
}
WAYS = {
    "made": lambda: X,
    "computed": lambda: X * 1,
    "jitted": lambda: jax.jit(lambda x: x * 1)(X),
    "a function": lambda: jnp.sin(X),
    "a gradient": lambda: jax.grad(lambda x: (x**2).sum())(X),
    "weak": lambda: jnp.asarray(2.0) + X,
}


@pytest.mark.parametrize("name", [*REFUSED, *OF_ARRAYS])
@pytest.mark.parametrize("way", WAYS)
def test_arrays_do_not_change(name, way):
    x = WAYS[way]()
    before = np.array(x)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        {**REFUSED, **OF_ARRAYS}[name](x)
    np.testing.assert_array_equal(x, before)
    assert x.shape == (3,)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.jvp(f, (X,), (X,))])
def test_nor_do_traced_ones(name, transform):
    def f(x):
        y = (x if jnp.ndim(x) else X + x) * 1
        with pytest.raises((TypeError, ValueError, AttributeError)):
            REFUSED[name](y)
        return y

    found = transform(f)
    if callable(found):
        np.testing.assert_array_equal(jax.jit(f)(X), X)


def test_what_is_said():
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        X[0] = 5
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        jax.jit(lambda x: (x * 1).__setitem__(0, 5))(X)


def test_what_programs_may_do():
    x = X
    x += 1
    np.testing.assert_array_equal(x, [1, 2, 3])
    np.testing.assert_array_equal(X, [0, 1, 2])
    changed = np.array(x)
    changed[0] = 7
    np.testing.assert_array_equal(x.at[0].set(7), changed)
    np.testing.assert_array_equal(X[::-1].sort(), X)
    np.testing.assert_array_equal(jax.jit(lambda x: x[::-1].sort())(X), X)
    np.testing.assert_array_equal(jnp.place(X, X > 1, 9.0, inplace=False), [0, 1, 9])
    filled = jax.jit(lambda x: jnp.fill_diagonal(jnp.outer(x, x), x, inplace=False))(X)
    np.testing.assert_array_equal(filled, [[0, 0, 0], [0, 1, 2], [0, 2, 2]])
    mine = np.zeros(3)
    mine[0] = 1.0  # an array of NumPy is the program's own
    assert jnp.asarray(mine)[0] == 1


def test_functions_of_fungrad_fill_what_they_make():
    """In Python, where they are traced."""
    a = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    for f in (
        lambda a: jax.scipy.linalg.expm(a),
        lambda a: jnp.linalg.inv(a),
        lambda a: jnp.gradient(a, axis=0),
        lambda a: jnp.histogram(a)[0],
        lambda a: jnp.median(a),
        lambda a: jnp.convolve(a[0], a[1]),
        lambda a: jax.scipy.linalg.sqrtm(a).real,
        lambda a: jnp.polyfit(jnp.arange(2.0), a[0], 1),
    ):
        np.testing.assert_allclose(jax.jit(f)(a), f(a), rtol=1e-5, atol=1e-6)

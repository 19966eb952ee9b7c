"""`jacfwd`, `jacrev`, `hessian`, `hvp`."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

JACOBIANS = [fg.jacfwd, fg.jacrev, fg.jacobian]


def close(a, b, rtol=1e-12, atol=1e-13):
    fg.test_util.assert_allclose(a, b, rtol, atol)


@pytest.mark.parametrize("jacobian", JACOBIANS)
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x**2, 3.0, np.float64(6)),
        (lambda x: x**2, np.array([1.0, 2.0]), np.diag([2.0, 4.0])),
        (lambda x: fnp.sum(x**2), np.array([1.0, 2.0]), np.array([2.0, 4.0])),
        (lambda x: x * np.array([1.0, 2.0]), 3.0, np.array([1.0, 2.0])),
        (lambda x: x.T, np.ones((1, 2)), np.eye(2).reshape(2, 1, 1, 2)),
        (lambda x: np.ones(2), np.ones(3), np.zeros((2, 3))),
        (lambda x: x[:0], np.ones(3), np.zeros((0, 3))),
        (lambda x: x.sum() * np.ones(2), np.ones(0), np.zeros((2, 0))),
        (lambda x: x * 2.0, np.ones(2, np.float32), 2 * np.eye(2, dtype=np.float32)),
    ],
)
def test_values_shapes_and_types(jacobian, f, x, expected):
    for _ in range(3):
        result = jacobian(f)(x)
        close(result, expected)
        assert type(result) is type(expected)
        close(fg.jit(jacobian(f))(x), expected)


def model(params, x, *, scale=1.0):
    w, (b, _) = params["w"], params["rest"]
    y = fnp.tanh(w @ x + b) * scale
    return {"y": y, "norm": fnp.sum(y * y)}, (x[0] * b,)


@pytest.fixture
def params(rng):
    return {"w": rng.normal(size=(2, 3)), "rest": (rng.normal(size=2), None)}


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), (1, 0), [0]])
def test_forward_equals_reverse_on_trees(params, rng, argnums):
    x = rng.normal(size=3)
    forward = fg.jacfwd(model, argnums)(params, x, scale=2.0)
    reverse = fg.jacrev(model, argnums)(params, x, scale=2.0)
    close(forward, reverse)
    outputs, _ = fg.tree.flatten(model(params, x))
    leaves = fg.tree.leaves(
        [(params, x)[i] for i in argnums] if not isinstance(argnums, int) else (params, x)[argnums]
    )
    shapes = [np.shape(o) + np.shape(i) for o in outputs for i in leaves]
    assert [a.shape for a in fg.tree.leaves(forward)] == shapes


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_has_aux(jacobian):
    f = lambda x: (x * x, {"x": x, "s": "text"})
    result, aux = jacobian(f, has_aux=True)(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(result, np.diag([2.0, 4.0]))
    assert aux["s"] == "text"
    assert type(aux["x"]) is np.ndarray
    np.testing.assert_array_equal(aux["x"], [1, 2])


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_holomorphic(jacobian):
    z = np.array([1 + 2j, 0.5 - 1j])
    result = jacobian(lambda z: z**2 * z[0], holomorphic=True)(z)
    expected = np.diag(2 * z * z[0]) + np.outer(z**2, [1, 0])
    close(result, expected)


@pytest.mark.parametrize(
    ("jacobian", "f", "x", "words"),
    [
        (fg.jacfwd, lambda x: x, np.arange(3), "floating-point and complex"),
        (fg.jacrev, lambda x: x, np.arange(3), "floating-point and complex"),
        (fg.jacfwd, lambda x: x, np.ones(2), "must be complex"),
        (fg.jacrev, lambda x: x, np.ones(2), "must be complex"),
    ],
)
def test_arguments_of_the_wrong_kind(jacobian, f, x, words):
    with pytest.raises(TypeError, match=words):
        jacobian(f, holomorphic=words == "must be complex")(x)


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_complex_without_holomorphic(jacobian):
    with pytest.raises(TypeError, match="holomorphic"):
        jacobian(lambda z: z * z)(np.array([1j, 2.0]))


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_argnums_out_of_range(jacobian):
    with pytest.raises(ValueError, match="argnums=2 needs at least 3 positional arguments"):
        jacobian(lambda x, y: x, argnums=2)(1.0, 2.0)


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_jacobian_in_closures_and_other_transforms(jacobian):
    def f(a, x):
        return jacobian(lambda y: a * y * y)(x).sum()  # 2 a sum(x)

    x = np.array([1.0, 2.0])
    assert fg.grad(f)(3.0, x) == 6
    np.testing.assert_array_equal(fg.grad(f, 1)(3.0, x), [6, 6])
    np.testing.assert_array_equal(fg.vmap(f, (0, None))(np.array([1.0, 2.0]), x), [6, 12])


@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_control_flow_on_values(jacobian):
    def f(x):
        return x * x if x[0] > 0 else -x

    np.testing.assert_array_equal(jacobian(f)(np.array([1.0, 2.0])), np.diag([2.0, 4.0]))
    np.testing.assert_array_equal(jacobian(f)(np.array([-1.0, 2.0])), -np.eye(2))


# Second derivatives


def quartic(x):
    return fnp.sum(x**4) + fnp.prod(x)


def quartic_hessian(x):
    p = np.prod(x)
    h = p / np.outer(x, x)
    np.fill_diagonal(h, 12 * x**2)
    return h


SECOND = {
    "hessian": fg.hessian,
    "fwd.rev": lambda f: fg.jacfwd(fg.jacrev(f)),
    "rev.fwd": lambda f: fg.jacrev(fg.jacfwd(f)),
    "rev.rev": lambda f: fg.jacrev(fg.jacrev(f)),
    "fwd.fwd": lambda f: fg.jacfwd(fg.jacfwd(f)),
    "jit": lambda f: fg.jit(fg.hessian(f)),
    "of jit": lambda f: fg.hessian(fg.jit(f)),
    "fwd.grad": lambda f: fg.jacfwd(fg.grad(f)),
    "rev.grad": lambda f: fg.jacrev(fg.grad(f)),
}


@pytest.mark.parametrize("second", SECOND)
def test_hessian(second, rng):
    x = rng.uniform(0.5, 2, size=4)
    close(SECOND[second](quartic)(x), quartic_hessian(x))


def test_hessian_of_trees_and_argnums(rng):
    def f(p, y):
        return fnp.sum(p["a"] ** 2 * y) * p["b"]

    p, y = {"a": rng.normal(size=2), "b": 3.0}, rng.normal(size=2)
    h = fg.hessian(f)(p, y)
    close(h["a"]["a"], np.diag(2 * y * 3.0))
    close(h["a"]["b"], 2 * p["a"] * y)
    close(h["b"]["a"], 2 * p["a"] * y)
    assert h["b"]["b"] == 0
    both = fg.hessian(f, (0, 1))(p, y)
    close(both[0]["a"][1], np.diag(2 * p["a"] * 3.0))
    close(both[0]["a"][0], h["a"])
    close(both[1][1], np.zeros((2, 2)))


def test_hessian_has_aux():
    h, aux = fg.hessian(lambda x: (x**3, {"x": x, "s": "text"}), has_aux=True)(2.0)
    assert h == 12
    assert aux == {"x": 2.0, "s": "text"}


def test_third_derivative_tensor(rng):
    x = rng.normal(size=3)
    third = fg.jacfwd(fg.hessian(lambda x: fnp.sum(x**3) + x[0] * x[1] * x[2]))(x)
    expected = np.zeros((3, 3, 3))
    for i in range(3):
        expected[i, i, i] = 6
    for p in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        expected[p] = 1
    close(third, expected)


def test_hvp(rng):
    x, v = rng.uniform(0.5, 2, size=4), rng.normal(size=4)
    expected = quartic_hessian(x) @ v
    close(fg.hvp(quartic)(x, v), expected)
    close(fg.jit(fg.hvp(quartic))(x, v), expected)
    close(fg.vmap(fg.hvp(quartic), (None, 0))(x, np.eye(4)), quartic_hessian(x))
    np.testing.assert_allclose(
        fg.grad(lambda v: fg.hvp(quartic)(x, v) @ v)(v), 2 * expected, rtol=1e-12
    )


def test_hvp_on_trees_and_argnums():
    def f(a, p, *, scale):
        return a * p["x"] ** 3 * scale + p["y"] * p["x"]

    product = fg.hvp(f, 1)(2.0, {"x": 3.0, "y": 1.0}, {"x": 1.0, "y": 10.0}, scale=1.0)
    assert product == {"x": 46.0, "y": 1.0}  # 6 a x + 10
    both = fg.hvp(lambda x, y: x * x * y, (0, 1))(2.0, 3.0, (1.0, 1.0))
    assert both == (10.0, 4.0)


def test_hvp_without_a_vector():
    with pytest.raises(TypeError, match="and a vector"):
        fg.hvp(quartic)(np.ones(3))


def test_float32_stays():
    x = np.ones(3, np.float32)
    for f in (fg.hessian(quartic), fg.jacfwd(quartic), fg.jacrev(quartic)):
        assert f(x).dtype == np.float32
    assert fg.hvp(quartic)(x, x).dtype == np.float32


def test_results_do_not_alias():
    x = np.ones(3)
    for f in (fg.jacfwd(lambda x: x), fg.jacrev(lambda x: x), fg.hessian(lambda x: fnp.sum(x * x))):
        for _ in range(2):
            first, second = f(x), f(x)
            expected = first.copy()
            first[:] = 9
            np.testing.assert_array_equal(second, expected)
            assert second.flags.writeable

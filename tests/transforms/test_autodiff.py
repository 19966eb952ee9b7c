"""`jvp`, `vjp`, `linearize`, `linear_transpose`."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp


def f(x, y):
    """A function of a matrix and a vector with two results."""
    z = fnp.sin(x) * y
    return fnp.sum(z, axis=1), {"exp": fnp.exp(y), "first": z[0]}


@pytest.fixture
def point(rng):
    return rng.normal(size=(2, 3)), rng.normal(size=3)


@pytest.fixture
def direction(rng):
    return rng.normal(size=(2, 3)), rng.normal(size=3)


def difference(f, primals, tangents, h=1e-6):
    """The derivative along `tangents` by central differences, leaf by leaf."""
    ahead = f(*[np.asarray(x) + h * t for x, t in zip(primals, tangents)])
    behind = f(*[np.asarray(x) - h * t for x, t in zip(primals, tangents)])
    return fg.tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * h), ahead, behind)


def close(a, b, **tolerance):
    a, b = fg.tree.flatten(a), fg.tree.flatten(b)
    assert a[1] == b[1]
    for x, y in zip(a[0], b[0]):
        np.testing.assert_allclose(x, y, **tolerance)


# jvp and linearize


def forward_modes():
    def by_linearize(f, primals, tangents):
        value, derivative = fg.linearize(f, *primals)
        return value, derivative(*tangents)

    return {
        "jvp": fg.jvp,
        "linearize": by_linearize,
        "jit.jvp": lambda f, p, t: fg.jit(lambda p, t: fg.jvp(f, p, t))(p, t),
        "jit.linearize": lambda f, p, t: fg.jit(lambda p, t: by_linearize(f, p, t))(p, t),
    }


@pytest.mark.parametrize("mode", forward_modes())
def test_forward_mode(mode, point, direction):
    value, tangent = forward_modes()[mode](f, point, direction)
    close(value, f(*point), rtol=1e-13)
    close(tangent, difference(f, point, direction), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mode", forward_modes())
def test_forward_mode_keeps_types(mode):
    x = np.ones(3, np.float32)
    value, tangent = forward_modes()[mode](lambda x: (x * 2.0, fnp.sum(x)), (x,), (x,))
    for a in (value[0], tangent[0]):
        assert type(a) is np.ndarray
        assert a.dtype == np.float32
        assert a.flags.writeable
        assert not np.shares_memory(a, x)
    for a in (value[1], tangent[1]):
        assert type(a) is np.float32


@pytest.mark.parametrize("mode", forward_modes())
@pytest.mark.parametrize(
    ("g", "expected"),
    [
        (lambda x: x, 1),
        (lambda x: (x, x)[0], 1),
        (lambda x: 3.0, 0),
        (lambda x: x * 0 + 2, 0),
        (lambda x: fnp.sign(x), 0),
        (lambda x: fnp.floor(x) + x, 1),
    ],
)
def test_tangents_of_identities_and_constants(mode, g, expected):
    _, tangent = forward_modes()[mode](g, (2.0,), (1.0,))
    assert type(tangent) is np.float64
    assert tangent == expected


@pytest.mark.parametrize("mode", forward_modes())
def test_integer_results_have_float0_tangents(mode):
    value, tangent = forward_modes()[mode](
        lambda x: (fnp.argmax(x), x > 0, x), (np.ones(3),), (np.ones(3),)
    )
    assert value[0] == 0
    assert (tangent[0].dtype, tangent[0].shape) == (fg.float0, ())
    assert (tangent[1].dtype, tangent[1].shape) == (fg.float0, (3,))
    np.testing.assert_array_equal(tangent[2], np.ones(3))


@pytest.mark.parametrize("mode", ["jvp", "linearize"])
def test_integer_arguments_take_float0_tangents(mode):
    n = np.arange(3)
    value, tangent = forward_modes()[mode](
        lambda n, x: x * n, (n, np.ones(3)), (np.zeros(3, fg.float0), np.full(3, 2.0))
    )
    np.testing.assert_array_equal(value, [0, 1, 2])
    np.testing.assert_array_equal(tangent, [0, 2, 4])


@pytest.mark.parametrize("mode", forward_modes())
def test_weak_numbers_as_tangents_of_arrays(mode):
    _, tangent = forward_modes()[mode](lambda x: x * x, (np.float32(3),), (1.0,))
    assert tangent == 6
    assert tangent.dtype == np.float32


def test_has_aux():
    def g(x):
        y = fnp.sin(x)
        return y * 2, {"y": y, "s": "text", "n": None}

    x = 0.5
    value, tangent, aux = fg.jvp(g, (x,), (1.0,), has_aux=True)
    v2, derivative, aux2 = fg.linearize(g, x, has_aux=True)
    v3, pullback, aux3 = fg.vjp(g, x, has_aux=True)
    for a in (aux, aux2, aux3):
        assert a == {"y": np.sin(x), "s": "text", "n": None}
        assert type(a["y"]) is np.float64
    np.testing.assert_allclose([value, v2, v3], 2 * np.sin(x), rtol=1e-15)
    np.testing.assert_allclose(
        [tangent, derivative(1.0), pullback(1.0)[0]], 2 * np.cos(x), rtol=1e-15
    )


def test_linearize_does_not_repeat_the_function():
    runs = []

    def g(x):
        runs.append(None)
        return fnp.sin(x)

    _, derivative = fg.linearize(g, 0.5)
    for t in (1.0, 2.0, -1.0):
        np.testing.assert_allclose(derivative(t), t * np.cos(0.5), rtol=1e-15)
    assert len(runs) == 1


def test_jvp_along_zero_and_jvp_of_jvp():
    def g(x):
        return x**3

    assert fg.jvp(g, (2.0,), (0.0,))[1] == 0
    second = fg.jvp(lambda x: fg.jvp(g, (x,), (1.0,))[1], (2.0,), (1.0,))
    assert second == (12, 12)
    # The tangent is differentiated too: d/dt of f'(x) t.
    assert fg.grad(lambda t: fg.jvp(g, (2.0,), (t,))[1])(5.0) == 12


# vjp


def test_vjp_is_the_transpose_of_jvp(point, direction, rng):
    value, pullback = fg.vjp(f, *point)
    close(value, f(*point), rtol=1e-13)
    ct = fg.tree.map(lambda x: rng.normal(size=np.shape(x)), value)
    tangent = fg.jvp(f, point, direction)[1]
    left = sum(np.sum(a * b) for a, b in zip(fg.tree.leaves(ct), fg.tree.leaves(tangent)))
    pulled = pullback(ct)
    right = sum(np.sum(a * b) for a, b in zip(pulled, direction))
    np.testing.assert_allclose(left, right, rtol=1e-12)
    assert type(pulled) is tuple
    for x, ct_x in zip(point, pulled):
        assert type(ct_x) is np.ndarray
        assert ct_x.shape == x.shape
        assert ct_x.flags.writeable


def test_pullback_many_times_and_results_are_separate():
    x = np.arange(3.0)
    value, pullback = fg.vjp(fnp.exp, x)
    expected = np.exp(np.arange(3.0))
    first = pullback(np.ones(3))[0]
    first[:] = -1  # ours to change
    value[:] = -1  # exp keeps its result for the pullback: a copy of it
    x[:] = -1
    for k in range(4):
        ct = np.full(3, float(k))
        (pulled,) = pullback(ct)
        np.testing.assert_allclose(pulled, k * expected, rtol=1e-15)
        np.testing.assert_array_equal(ct, np.full(3, k))
        assert not np.shares_memory(pulled, ct)


@pytest.mark.parametrize("size", [3, 20_000])  # large arrays are not copied while tracing
@pytest.mark.parametrize("runs", [1, 3])
def test_pullback_and_derivative_are_snapshots(size, runs):
    for _ in range(runs):
        x, c = np.arange(size) + 1.0, np.full(size, 2.0)
        original = x.copy()

        def g(x):
            return x * x * c  # noqa: B023

        value, pullback = fg.vjp(g, x)
        value2, derivative = fg.linearize(g, x)
        transposed = fg.linear_transpose(lambda x: x * c, x)  # noqa: B023
        for array in (x, c, value, value2):
            assert array.flags.writeable
            array[:] = np.nan
        np.testing.assert_array_equal(pullback(np.ones(size))[0], 4 * original)
        np.testing.assert_array_equal(derivative(np.ones(size)), 4 * original)
        np.testing.assert_array_equal(transposed(np.ones(size))[0], np.full(size, 2.0))


@pytest.mark.parametrize(
    "g", [lambda x: x, lambda x: (x, x), lambda x: x.reshape(3, 1), lambda x: {"a": x, "b": x.T}]
)
def test_identities_do_not_alias(g):
    x = np.arange(3.0)
    for _ in range(3):
        value, pullback = fg.vjp(g, x)
        ct = fg.tree.map(np.ones_like, value)
        pulled = pullback(ct)
        arrays = [x, *fg.tree.leaves(value), *fg.tree.leaves(ct), *pulled]
        for i, a in enumerate(arrays):
            assert a.flags.writeable
            for b in arrays[:i]:
                assert not np.shares_memory(a, b)


def test_outputs_that_do_not_depend_on_the_input():
    def g(x, y):
        return {"c": 3.0, "y": y * 2, "x": fnp.sin(x), "array": np.arange(2.0)}

    value, pullback = fg.vjp(g, 0.5, 7.0)
    ct = {"c": 1.0, "y": 5.0, "x": 0.0, "array": np.ones(2)}
    gx, gy = pullback(ct)
    assert (gx, gy) == (0, 10)
    assert type(gx) is np.float64
    assert value["array"].dtype == np.float64


def test_function_of_no_input_at_all():
    value, pullback = fg.vjp(lambda x: 3.0, np.ones(2))
    assert value == 3
    (g,) = pullback(1.0)
    np.testing.assert_array_equal(g, [0, 0])
    g += 1  # writable


def test_integer_results_and_arguments_of_vjp():
    value, pullback = fg.vjp(
        lambda n, x: (fnp.argmax(x), x * n), np.arange(3), np.array([1.0, 3.0, 2.0])
    )
    assert value[0] == 1
    gn, gx = pullback((np.zeros((), fg.float0), np.ones(3)))
    assert (gn.dtype, gn.shape) == (fg.float0, (3,))
    np.testing.assert_array_equal(gx, [0, 1, 2])


def test_no_primals_and_empty_results():
    value, pullback = fg.vjp(lambda: (), *[])
    assert value == ()
    assert pullback(()) == ()
    value, pullback = fg.vjp(lambda x: {}, 1.0)
    assert value == {}
    assert pullback({}) == (0.0,)


def test_vjp_of_a_holomorphic_function_does_not_conjugate():
    z, ct = 1.5 - 0.5j, 0.3 + 0.7j
    _, pullback = fg.vjp(lambda z: z * z * (1 + 2j), z)
    np.testing.assert_allclose(pullback(ct)[0], ct * 2 * z * (1 + 2j), rtol=1e-14)
    tangent = fg.jvp(lambda z: z * z, (z,), (ct,))[1]
    np.testing.assert_allclose(tangent, 2 * z * ct, rtol=1e-14)
    # conj is real-linear: its transpose under (a, b) -> a b conjugates.
    assert fg.vjp(fnp.conj, z)[1](ct)[0] == np.conj(ct)
    assert fg.jvp(fnp.conj, (z,), (ct,))[1] == np.conj(ct)


def test_cotangents_of_complex_results_of_real_arguments():
    _, pullback = fg.vjp(lambda x: fnp.exp(1j * x), 0.5)
    ct = 0.3 + 0.7j
    (g,) = pullback(ct)
    assert type(g) is np.float64
    np.testing.assert_allclose(g, (ct * 1j * np.exp(0.5j)).real, rtol=1e-14)


def test_vjp_under_jit_vmap_and_grad():
    x = np.array([0.1, 0.2, 0.3])

    def pulled(x):
        return fg.vjp(fnp.sin, x)[1](2.0)[0]

    expected = 2 * np.cos(x)
    np.testing.assert_allclose(fg.vmap(pulled)(x), expected, rtol=1e-15)
    np.testing.assert_allclose(fg.jit(fg.vmap(pulled))(x), expected, rtol=1e-15)
    np.testing.assert_allclose(fg.vmap(fg.grad(pulled))(x), -2 * np.sin(x), rtol=1e-15)


def test_pullback_itself_can_be_transformed():
    x = np.array([0.1, 0.2, 0.3])
    _, pullback = fg.vjp(lambda x: fnp.sin(x) * x[0], x)
    jacobian = fg.jacobian(lambda x: fnp.sin(x) * x[0])(x)
    np.testing.assert_allclose(fg.vmap(pullback)(np.eye(3))[0], jacobian, rtol=1e-14)
    np.testing.assert_allclose(fg.jit(pullback)(np.ones(3))[0], jacobian.sum(0), rtol=1e-14)
    # It is linear: its own derivative is itself.
    ct = np.array([1.0, -2.0, 0.5])
    tangent = fg.jvp(pullback, (np.zeros(3),), (ct,))[1]
    np.testing.assert_allclose(tangent[0], ct @ jacobian, rtol=1e-14)
    _, derivative = fg.linearize(lambda x: fnp.sin(x) * x[0], x)
    transposed = fg.linear_transpose(derivative, x)
    np.testing.assert_allclose(transposed(ct)[0], ct @ jacobian, rtol=1e-14)


def test_one_primal_used_twice():
    x = np.ones(2)
    _, pullback = fg.vjp(lambda a, b: a * b * b, x, x)
    ga, gb = pullback(np.ones(2))
    np.testing.assert_array_equal(ga, [1, 1])
    np.testing.assert_array_equal(gb, [2, 2])


# linear_transpose

A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("g", "shape", "matrix"),
    [
        (lambda x: A @ x, (3,), A),
        (lambda x: fnp.dot(A, x), (3,), A),
        (lambda x: 2 * x - x / 4, (3,), 1.75 * np.eye(3)),
        (lambda x: x[::-1], (3,), np.eye(3)[::-1]),
        (lambda x: fnp.cumsum(x), (3,), np.tri(3)),
        (lambda x: fnp.concatenate([x, x]), (2,), np.vstack([np.eye(2)] * 2)),
        (lambda x: x[np.array([0, 0, 1])], (2,), np.array([[1, 0], [1, 0], [0, 1.0]])),
        (lambda x: fg.jvp(lambda y: y * y, (A[0],), (x,))[1], (3,), np.diag(2 * A[0])),
        (fg.jit(lambda x: A @ x), (3,), A),
    ],
)
def test_linear_transpose(g, shape, matrix, rng):
    ct = rng.normal(size=matrix.shape[0])
    for template in (np.ones(shape), fg.ShapeDtypeStruct(shape, float)):
        transposed = fg.linear_transpose(g, template)
        for _ in range(3):
            (result,) = transposed(ct)
            np.testing.assert_allclose(result, ct @ matrix, rtol=1e-14)
            assert type(result) is np.ndarray


def test_linear_transpose_of_trees():
    transposed = fg.linear_transpose(
        lambda t: {"s": t[0] + 2 * t[1]["b"], "d": t[0] * 3}, (1.0, {"b": np.ones(2)})
    )
    (result,) = transposed({"s": np.ones(2), "d": 1.0})
    assert result[0] == 5
    np.testing.assert_array_equal(result[1]["b"], [2, 2])


def test_linear_transpose_of_what_is_not_linear():
    with pytest.raises((fg.MissingRuleError, TypeError)):
        fg.linear_transpose(lambda x: fnp.sin(x), 1.0)(1.0)
    with pytest.raises((fg.MissingRuleError, TypeError)):
        fg.linear_transpose(lambda x: x * x, 1.0)(1.0)


def test_linear_transpose_keeps_captured_arrays_as_they_were_and_copies_them_once():
    x, written = np.ones(3), np.arange(3.0)
    constant = np.arange(3.0)
    constant.flags.writeable = False
    transposed = fg.linear_transpose(lambda x: x * written + x * constant, x)
    written[:] = 100.0
    np.testing.assert_array_equal(transposed(np.ones(3))[0], [0.0, 2.0, 4.0])
    assert any(leaf is constant for leaf in fg.tree.leaves(transposed))  # nobody may write to it


# Types of the pieces


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_cotangents_have_the_dtype_of_their_primals(dtype):
    x = np.ones(3, dtype)
    for g in (
        fnp.sin,
        lambda x: x * np.ones(3),
        lambda x: x.astype(np.complex128),
        lambda x: x[1:],
    ):
        value, pullback = fg.vjp(g, x)
        (ct,) = pullback(np.ones_like(value))
        assert ct.dtype == dtype
        _, tangent = fg.jvp(g, (x,), (x,))
        assert tangent.dtype == value.dtype


def test_pullback_and_derivative_are_pytrees():
    """So a jitted function can return them."""
    f = lambda x: fnp.sin(x) * x
    x = np.arange(3.0)
    for make in (lambda x: fg.vjp(f, x), lambda x: fg.linearize(f, x)):
        value, linear = fg.jit(make)(x)
        expected_value, expected = make(x)
        np.testing.assert_array_equal(value, expected_value)
        ones = np.ones(3)
        for found, wanted in zip(fg.tree.leaves(linear(ones)), fg.tree.leaves(expected(ones))):
            np.testing.assert_array_equal(found, wanted)
        assert all(isinstance(leaf, np.ndarray) for leaf in fg.tree.leaves(linear))
        assert "lambda" in repr(linear)


@pytest.mark.parametrize("inner", ["checkpoint", "cond", "scan"])
def test_linear_transpose_of_the_jvp_of_nested_control_flow(inner):
    # The jvp of a loop is one equation, and so is that of what its body runs; their values are not linear.
    def step(c, r):
        if inner == "checkpoint":
            return fg.checkpoint(lambda u: fnp.sin(u) * r)(c)
        if inner == "cond":
            return fg.lax.cond(r > 0.5, lambda: fnp.sin(c) * r, lambda: c * c)
        return fg.lax.scan(lambda d, s: (fnp.sin(d) * s, None), c, fnp.stack([r, c.sum()]))[0]

    def f(x):
        y = fg.lax.scan(lambda c, r: (step(c, r), c), x, x)[1]
        return fnp.sqrt(1 + y * y).sum(0)

    x, ct = np.linspace(0.2, 0.9, 3), np.array([1.0, -2.0, 0.5])
    found = fg.linear_transpose(lambda t: fg.jvp(f, (x,), (t,))[1], x)(ct)[0]
    np.testing.assert_allclose(found, fg.vjp(f, x)[1](ct)[0], rtol=1e-12)

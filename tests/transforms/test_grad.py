"""`grad` and `value_and_grad`: what goes in, what comes out, and that nothing else is touched."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.transforms.call import programs

FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
COMPLEX = [np.complex64, np.complex128]


def sum_of_squares(x):
    return fnp.sum(x * x)


# Arrays in, arrays out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,), (1, 1, 2)])
def test_gradient_is_an_array_of_the_argument_s_shape_and_dtype(dtype, shape):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    value, g = fg.value_and_grad(sum_of_squares)(x)
    assert type(g) is np.ndarray
    assert (g.shape, g.dtype) == (shape, dtype)
    assert g.flags.writeable
    assert type(value) is dtype
    np.testing.assert_array_equal(g, 2 * x)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (3.0, np.float64),
        (np.float64(3), np.float64),
        (np.float32(3), np.float32),
        (np.array(3.0), np.float64),
        (np.array(3, np.float32), np.float32),
    ],
)
def test_gradient_at_a_number_is_a_numpy_scalar(x, expected):
    value, g = fg.value_and_grad(lambda x: x * x)(x)
    assert type(g) is expected
    assert type(value) is expected
    assert (value, g) == (9, 6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_python_numbers_do_not_change_the_dtype(dtype):
    def f(x):
        y = 2.5 * x + 1
        y = y / 3 - 0.5 * y**2 + 2**y
        return fnp.sum(fnp.sin(y) * 2)

    g = fg.grad(f)(np.ones(3, dtype))
    assert g.dtype == dtype
    assert fg.jit(fg.grad(f))(np.ones(3, dtype)).dtype == dtype


def test_gradient_has_the_dtype_of_the_argument_not_of_the_result():
    x = np.ones(3, np.float32)
    value, g = fg.value_and_grad(lambda x: fnp.sum(x * np.full(3, 2.0)))(x)
    assert value.dtype == np.float64
    assert g.dtype == np.float32
    np.testing.assert_array_equal(g, [2, 2, 2])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.sum(x),
        lambda x: fnp.sum(x * 1),
        lambda x: fnp.sum(x * x),
        lambda x: x[0] * 0 + 1,
        lambda x: fnp.sum(x.reshape(3, 1).T),
        lambda x: 1.0,
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["plain", "jit"])
def test_results_are_writable_and_own_their_memory(f, wrap):
    x, y = np.ones(3), np.ones(3)
    for _ in range(3):  # evaluated, then compiled, then from the cache
        gx, gy = wrap(fg.grad(lambda x, y: f(x) + f(y), (0, 1)))(x, y)
        for g in (gx, gy):
            assert type(g) is np.ndarray
            assert not any(np.shares_memory(g, other) for other in (x, y))
            before = gy.copy() if g is gx else gx.copy()
            g += 100
            np.testing.assert_array_equal(gy if g is gx else gx, before)
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(y, np.ones(3))


def test_results_of_two_calls_are_different_arrays():
    g = fg.grad(lambda x: fnp.sum(x) + 1)
    first = g(np.ones(3))
    first[:] = 7
    np.testing.assert_array_equal(g(np.ones(3)), [1, 1, 1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_arguments_are_never_modified(order):
    x = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    x.setflags(write=False)

    def f(x):
        y = x
        y = y + 1
        y += x
        y *= 2
        y -= fnp.sum(y)
        y /= 3
        return fnp.sum(y**2)

    for _ in range(3):
        fg.grad(f)(x)
        fg.jit(fg.grad(f))(x)
    np.testing.assert_array_equal(x, np.arange(12.0).reshape(3, 4))


def test_augmented_assignment_changes_a_copy():
    def f(x):
        y = x.copy()
        y *= 3.0
        return fnp.sum(x * y)  # 3 x^2

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 2.0])), [6, 12])


def test_strided_and_reversed_arguments():
    base = np.arange(20.0)
    for view in (base[::2], base[::-1], base.reshape(4, 5).T, base.reshape(4, 5)[1:3, ::-2]):
        np.testing.assert_array_equal(fg.grad(sum_of_squares)(view), 2 * view)
        np.testing.assert_array_equal(fg.jit(fg.grad(sum_of_squares))(view), 2 * view)


def test_byte_order_of_the_argument_does_not_matter():
    x = np.array([1.0, 2.0]).astype(">f8")
    g = fg.grad(sum_of_squares)(x)
    np.testing.assert_array_equal(g, [2, 4])
    assert g.dtype.isnative


# argnums


def product(x, y, z):
    return x * y * z


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 15),
        (1, 10),
        (2, 6),
        (-1, 6),
        (-3, 15),
        (np.int64(1), 10),
        ((0,), (15,)),
        ((0, 2), (15, 6)),
        ((2, 0), (6, 15)),
        ([1, 2], (10, 6)),
        ((-1, 0), (6, 15)),
        ((), ()),
    ],
)
def test_argnums(argnums, expected):
    g = fg.grad(product, argnums)(2.0, 3.0, 5.0)
    assert g == expected
    assert type(g) is (tuple if isinstance(expected, tuple) else np.float64)
    value, g = fg.value_and_grad(product, argnums)(2.0, 3.0, 5.0)
    assert (value, g) == (30, expected)


@pytest.mark.parametrize("argnums", [1.5, "x", None, (0, 1.5)])
def test_argnums_must_be_integers(argnums):
    with pytest.raises(TypeError, match="argnums must be an integer or a sequence of integers"):
        fg.grad(product, argnums)


def test_other_arguments_are_passed_as_they_are():
    seen = []

    def f(x, data, flag, *rest, option=None, **more):
        seen.append((type(data), flag, rest, option, more))
        return fnp.sum(x * data)

    data = np.ones(2)
    g = fg.grad(f)(np.zeros(2), data, "flag", None, object, option={"a"}, other=[1])
    np.testing.assert_array_equal(g, data)
    assert seen == [(np.ndarray, "flag", (None, object), {"a"}, {"other": [1]})]


def test_defaults_and_keywords():
    def f(x, scale=2.0, *, power=3):
        return scale * x**power

    assert fg.grad(f)(2.0) == 24
    assert fg.grad(f)(2.0, scale=1.0) == 12
    assert fg.grad(f)(2.0, power=2, scale=3.0) == 12


def test_name_and_documentation_are_those_of_the_function():
    def loss(x):
        """The loss."""
        return x

    for g in (fg.grad(loss), fg.value_and_grad(loss), fg.jit(loss), fg.vmap(loss)):
        assert (g.__name__, g.__doc__) == ("loss", "The loss.")


class Scaled:
    def __init__(self, c):
        self.c = c

    def __call__(self, x):
        return self.c * x

    def method(self, x):
        return self.c * x

    @staticmethod
    def twice(x):
        return 2 * x


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (functools.partial(product, 2.0, 3.0), 6),
        (functools.partial(lambda x, c: c * x, c=4.0), 4),
        (Scaled(5.0), 5),
        (Scaled(6.0).method, 6),
        (Scaled.twice, 2),
        (fnp.sin, 1),
        (np.sin, 1),
        (fg.jit(lambda x: 7 * x), 7),
    ],
)
def test_any_callable(f, expected):
    assert fg.grad(f)(0.0) == expected


# has_aux


def test_aux_holds_anything():
    marker = object()

    def f(x):
        y = x * 3
        return y * y, {"y": y, "x": x, "s": "text", "n": None, "o": marker, "l": [y + 1, 2, (y,)]}

    for g, aux in (fg.grad(f, has_aux=True)(2.0), fg.value_and_grad(f, has_aux=True)(2.0)[::-1]):
        if isinstance(aux, tuple):
            value, aux = aux
            assert value == 36
        assert g == 36
        assert aux == {"y": 6, "x": 2, "s": "text", "n": None, "o": marker, "l": [7, 2, (6,)]}
        assert type(aux["y"]) is np.float64
        assert aux["l"][1].__class__ is int


def test_aux_values_are_arrays_of_their_own():
    x = np.ones(3)
    _, (same, reshaped, plain) = fg.grad(
        lambda x: (fnp.sum(x), (x, x.reshape(3, 1), np.arange(2))), has_aux=True
    )(x)
    for a in (same, reshaped, plain):
        assert type(a) is np.ndarray
        assert not np.shares_memory(a, x)
    same[:] = 5
    np.testing.assert_array_equal(reshaped, np.ones((3, 1)))


def test_aux_of_integers_and_of_values_that_do_not_depend_on_the_argument():
    def f(x, n):
        return fnp.sum(x) * n, (x > 0, fnp.argmax(x), n)

    g, (positive, where, n) = fg.grad(f, has_aux=True)(np.array([1.0, -1.0]), 3)
    np.testing.assert_array_equal(g, [3, 3])
    np.testing.assert_array_equal(positive, [True, False])
    assert (where, n) == (0, 3)


def test_aux_through_two_gradients():
    def inner(x):
        return x**3, {"cube": x**3}

    def outer(x):
        g, aux = fg.grad(inner, has_aux=True)(x)
        return g, (aux, "done")

    assert fg.grad(outer, has_aux=True)(2.0) == (12, ({"cube": 8}, "done"))
    assert fg.jit(fg.grad(lambda x: fg.grad(inner, has_aux=True)(x)[0]))(2.0) == 12


def test_aux_of_outer_tracers():
    def f(x):
        _, aux = fg.grad(lambda y: (y * y, x * 2 + y), has_aux=True)(3.0)
        return aux * x

    assert fg.grad(f)(5.0) == 23  # x (2x + 3)


# Integers, booleans


def test_allow_int_gives_float0():
    g = fg.grad(lambda n, x: x * n, (0, 1), allow_int=True)(np.arange(0, 3)[2], 5.0)
    assert g[0].dtype == fg.float0
    assert g[0].shape == ()
    assert g[1] == 2
    tree = {"n": np.arange(3), "b": np.ones((2, 2), bool), "x": np.ones(3)}
    g = fg.grad(lambda t: fnp.sum(t["x"] * t["n"]) + t["b"].sum(), allow_int=True)(tree)
    assert (g["n"].dtype, g["n"].shape) == (fg.float0, (3,))
    assert (g["b"].dtype, g["b"].shape) == (fg.float0, (2, 2))
    np.testing.assert_array_equal(g["x"], [0, 1, 2])


# Complex numbers: a step dz changes a real f by Re(g dz), so g is 2 df/dz; JAX's convention.

Z = 1.5 - 0.75j


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: fnp.abs(z) ** 2, 2 * np.conj(Z)),
        (lambda z: fnp.real(z), 1),
        (lambda z: fnp.imag(z), -1j),
        (lambda z: z.real * z.imag, Z.imag - 1j * Z.real),
        (lambda z: fnp.real(z * fnp.conj(z)), 2 * np.conj(Z)),
        (lambda z: fnp.real(z**3), 3 * Z**2),
        (lambda z: fnp.imag(z**2), -1j * 2 * Z),
        (lambda z: fnp.abs(z), np.conj(Z) / abs(Z)),
        (lambda z: fnp.angle(z), -1j / Z),
        (lambda z: fnp.real(fnp.exp(2j * z)), 2j * np.exp(2j * Z)),
        (lambda z: fnp.real((2 - 1j) * z), 2 - 1j),
        (lambda z: fnp.real(fnp.conj(z) * (2 - 1j)), 2 + 1j),
    ],
)
def test_complex_argument_of_a_real_function(f, expected, dtype):
    z = dtype(Z)
    g = fg.grad(f)(z)
    assert type(g) is dtype
    np.testing.assert_allclose(g, expected, rtol=1e-5 if dtype == np.complex64 else 1e-13)
    # Along any direction: f(z + h d) = f(z) + h Re(g d).
    d, h = 0.6 + 0.8j, 1e-6
    slope = (np.asarray(f(Z + h * d)) - np.asarray(f(Z - h * d))) / (2 * h)
    np.testing.assert_allclose(slope, (expected * d).real, rtol=1e-7)


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (lambda z: z**3, lambda z: 3 * z**2),
        (lambda z: fnp.exp(z), np.exp),
        (lambda z: fnp.sin(z) / z, lambda z: np.cos(z) / z - np.sin(z) / z**2),
        (lambda z: fnp.sqrt(z), lambda z: 0.5 / np.sqrt(z)),
        (lambda z: fnp.log(z) * 1j, lambda z: 1j / z),
        (lambda z: fnp.tanh(z), lambda z: 1 - np.tanh(z) ** 2),
    ],
)
def test_holomorphic(f, derivative):
    g = fg.grad(f, holomorphic=True)(Z)
    assert type(g) is np.complex128
    np.testing.assert_allclose(g, derivative(Z), rtol=1e-13)


def test_real_argument_of_a_function_that_goes_through_the_complex_numbers():
    def f(x):
        return fnp.abs(fnp.exp(1j * x) + 2) ** 2  # 5 + 4 cos x

    g = fg.grad(f)(0.3)
    assert type(g) is np.float64
    np.testing.assert_allclose(g, -4 * np.sin(0.3), rtol=1e-13)


# Nesting


def test_third_derivative_and_perturbation_confusion():
    third = fg.grad(fg.grad(fg.grad(lambda x: x**5)))
    assert third(2.0) == 240
    assert fg.jit(third)(2.0) == 240
    np.testing.assert_array_equal(fg.vmap(third)(np.array([1.0, 2.0])), [60, 240])

    # d/dx (x d/dy (x + y)) = 1, and 2 where the two infinitesimals are confused.
    assert fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert fg.grad(lambda x: x * fg.grad(lambda y: x * y)(2.0))(3.0) == 6
    # The inner derivative is constant in y.
    assert fg.grad(lambda x: fg.grad(lambda y: x * x)(x))(3.0) == 0
    assert fg.grad(lambda x: fg.grad(lambda y: x * y * y)(x))(3.0) == 12  # d/dx 2x^2


NESTINGS = [
    lambda d: d,
    lambda d: lambda f: fg.jit(d(f)),
    lambda d: lambda f: d(fg.jit(f)),
    lambda d: lambda f: lambda x: fg.vmap(d(f), axis_size=1, in_axes=None)(x)[0],
    lambda d: lambda f: lambda x: d(lambda y: fg.vmap(f)(fnp.reshape(y, (1,)))[0])(x),
]
DERIVATIVES = {
    "grad": fg.grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
}


@pytest.mark.parametrize("nest", NESTINGS, ids=["plain", "jit.d", "d.jit", "vmap.d", "d.vmap"])
@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_derivatives_of_closures_over_outer_arguments(outer, inner, nest):
    d_outer, d_inner = nest(DERIVATIVES[outer]), nest(DERIVATIVES[inner])

    def f(x):
        # d/dy (x^2 y^3) = 3 x^2 y^2 at y = 2x + 1; the derivative of x times that is
        # 3 (3 x^2 (2x+1)^2 + x^3 4 (2x+1)).
        return x * d_inner(lambda y: x * x * y**3)(2 * x + 1)

    x = 0.5
    expected = 3 * (3 * x**2 * (2 * x + 1) ** 2 + x**3 * 4 * (2 * x + 1))
    np.testing.assert_allclose(d_outer(f)(x), expected, rtol=1e-13)


def test_grad_inside_jit_inside_vmap_closing_over_all():
    def f(a):  # mapped
        @fg.jit
        def g(b):
            return fg.grad(lambda c: a * b * fnp.sin(c * a))(b)  # a^2 b cos(ab)

        return fg.grad(lambda b: g(b) * a)(a)  # a^3 (cos(ab) - ab sin(ab)), b = a

    a = np.array([0.3, 0.7, 1.1])
    expected = a**3 * (np.cos(a * a) - a * a * np.sin(a * a))
    np.testing.assert_allclose(fg.vmap(f)(a), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(a), expected, rtol=1e-12)
    np.testing.assert_allclose([f(x) for x in a], expected, rtol=1e-12)


def test_mixed_partial_derivatives_commute():
    def f(x, y):
        return fnp.sin(x * y) * fnp.exp(x)

    xy = fg.grad(fg.grad(f, 0), 1)(0.7, 1.3)
    yx = fg.grad(fg.grad(f, 1), 0)(0.7, 1.3)
    np.testing.assert_allclose(xy, yx, rtol=1e-13)


def test_stop_gradient():
    def f(x):
        return fnp.sum(x * fg.stop_gradient(x))

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(fg.grad(f)(x), x)
    np.testing.assert_array_equal(fg.jit(fg.grad(f))(x), x)
    np.testing.assert_array_equal(fg.stop_gradient(x), x)
    tree = {"a": x, "b": (1, None)}
    assert fg.stop_gradient(tree)["b"] == (1, None)
    assert fg.grad(lambda x: fg.grad(lambda y: fg.stop_gradient(x * y) * y)(x))(3.0) == 0


# The program of a trace is cached by its structure: what is not structure must not leak into it.


def test_functions_of_equal_structure_and_other_constants():
    gradients = [fg.grad(lambda x, c=c: c * x * x + c)(3.0) for c in (1.0, 2.0, -5.0, 0.0, np.nan)]
    np.testing.assert_array_equal(gradients, [6, 12, -30, 0, np.nan])
    arrays = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    for a in (*arrays, *arrays):
        np.testing.assert_array_equal(fg.grad(lambda x, a=a: fnp.sum(a * x))(np.ones(2)), a)


def test_functions_of_equal_operations_and_other_wiring():
    def f(x, y, swap):
        a, b = (y, x) if swap else (x, y)
        return a - b * b

    for swap in (False, True, False, True):
        expected = (1, -6) if not swap else (-4, 1)
        assert fg.grad(lambda x, y: f(x, y, swap), (0, 1))(2.0, 3.0) == expected  # noqa: B023


def test_the_same_array_captured_twice_and_two_equal_arrays():
    a = np.array([1.0, 2.0])
    b = a.copy()
    for p, q in ((a, a), (a, b), (b, a), (a, 3 * a)):
        g = fg.grad(lambda x: fnp.sum(p * x + q * x * x))(np.ones(2))  # noqa: B023
        np.testing.assert_array_equal(g, p + 2 * q)


@pytest.mark.parametrize("swap", [False, True])
def test_a_captured_number_is_not_an_argument(swap):
    # Both programs return their only input; of one it is an argument, of the other a captured number.
    constant = [
        lambda: fg.grad(lambda t: 7.0)({}) == {},
        lambda: fg.jvp(lambda t: 7.0, ({},), ({},)) == (7, 0),
        lambda: fg.vjp(lambda: 7.0)[1](1.0) == (),
        lambda: fg.linearize(lambda: 7.0)[1]() == 0,
        lambda: fg.vmap(lambda: 7.0, axis_size=1)() == 7,
    ]
    identity = [
        lambda: fg.grad(lambda x: x)(7.0) == 1,
        lambda: fg.jvp(lambda x: x, (7.0,), (2.0,)) == (7, 2),
        lambda: fg.vjp(lambda x: x, 7.0)[1](2.0) == (2,),
        lambda: fg.linearize(lambda x: x, 7.0)[1](2.0) == 2,
        lambda: fg.vmap(lambda x: x)(np.array([7.0])) == 7,
    ]
    for pair in zip(constant, identity):
        programs.clear()
        for check in pair[:: -1 if swap else 1]:
            assert check()


@pytest.mark.parametrize("order", [(2.0, np.float32(2)), (np.float32(2), 2.0)])
def test_a_float32_and_a_float64_scalar_are_different_constants(order):
    x = np.ones(2, np.float32)
    for c in (*order, *order):
        assert fg.grad(lambda x: fnp.sum(c * x))(x).dtype == np.float32  # noqa: B023
        value = fg.value_and_grad(lambda x: fnp.sum(np.float64(c) * x))(x)[0]  # noqa: B023
        assert value.dtype == np.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda axes: fg.grad(np.sin, reduce_axes=axes)(1.0),
        lambda axes: fg.value_and_grad(np.sin, reduce_axes=axes)(1.0)[1],
        lambda axes: fg.vjp(np.sin, 1.0, reduce_axes=axes)[1](1.0)[0],
        lambda axes: fg.linear_transpose(lambda x: x * np.cos(1.0), 1.0, reduce_axes=axes)(1.0)[0],
    ],
)
def test_reduce_axes_is_empty(call):
    assert call(()) == np.cos(1.0)
    with pytest.raises(NotImplementedError, match="reduce_axes must be empty, as in JAX"):
        call(("i",))

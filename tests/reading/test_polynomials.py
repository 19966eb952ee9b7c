"""`numpy.polynomial` of traced coefficients and places: its own Python is read."""

import importlib

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial

import fungrad as fg
from fungrad.test_util import check_grads

C = np.array([1.0, -2.0, 0.5, 0.3])
AT = np.array([0.3, 1.2, 2.6])
XS = np.linspace(0, 3, 8)
YS = np.sin(XS) ** 2 + XS
MODULES = {
    name: importlib.import_module(f"numpy.polynomial.{module}")
    for name, module in (
        ("poly", "polynomial"), ("cheb", "chebyshev"), ("leg", "legendre"),
        ("herm", "hermite"), ("herme", "hermite_e"), ("lag", "laguerre"),
    )
}  # fmt: skip
CLASSES = (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)


def functions(name):
    """Return functions of a module, each of one array, with the array."""
    module = MODULES[name]

    def of(function):
        return getattr(module, name + function)

    return {
        "val x": (lambda x: of("val")(x, C), AT),
        "val c": (lambda c: of("val")(AT, c), C),
        "der": (lambda c: of("der")(c, 2), C),
        "int": (lambda c: of("int")(c, k=[1.0]), C),
        "vander": (lambda x: of("vander")(x, 3) @ C, AT),
        "mul": (lambda c: of("mul")(c, C[:3]), C),
        "add": (lambda c: of("add")(c, C[:2]), C),
        "sub": (lambda c: of("sub")(C[:2], c), C),
        "pow": (lambda c: of("pow")(c, 2), C),
        "div": (lambda c: of("div")(c, [1.0, 2.0])[0], C),
        "fit": (lambda y: of("fit")(XS, y, 3), YS),
        "roots": (lambda c: np.real(np.sum(of("roots")(c) ** 2)), C),
        "fromroots": (lambda r: of("fromroots")(r), C),
    }


def objects(cls):
    outside = cls(C, domain=[0, 3])
    return {
        "outside": (lambda x: outside(x), AT),
        "inside": (lambda c: cls(c)(AT), C),
        "domain": (lambda c: cls(c, domain=[0, 3])(AT), C),
        "arithmetic": (lambda c: (cls(c) * cls([1, 2.0]) - cls(c) ** 2 + 1)(AT), C),
        "operands": (lambda c: (2 - outside * c[0] + c[1])(AT), C),
        "deriv": (lambda c: cls(c).deriv().coef, C),
        "integ": (lambda c: cls(c).integ(k=1.0)(2.0), C),
        "roots": (lambda c: np.real(np.sum(cls(c).roots() ** 2)), C),
        "fit": (lambda y: cls.fit(XS, y, 3)(AT), YS),
        "linspace": (lambda c: cls(c).linspace(5)[1], C),
    }


ROWS = {
    **{f"{name}{f}": row for name in MODULES for f, row in functions(name).items()},
    **{f"{cls.__name__} {f}": row for cls in CLASSES for f, row in objects(cls).items()},
}


@pytest.mark.parametrize("name", ROWS)
def test_as_numpy_and_differences(name):
    f, x = ROWS[name]
    expected = f(x)
    for found in (fg.vjp(f, x)[0], fg.jit(f)(x)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([x, x]))[1], expected, rtol=1e-12, atol=1e-12)
    t, step = np.cos(np.arange(x.size)), 1e-6
    numeric = (f(x + step * t) - f(x - step * t)) / (2 * step)
    scale = np.max(np.abs(numeric))
    for g in (fg.jacobian(f), fg.jit(fg.jacobian(f))):
        np.testing.assert_allclose(g(x) @ t, numeric, rtol=1e-6, atol=1e-7 * scale)


def test_coefficients_that_are_zero_have_derivatives():
    c = np.array([1.0, 0.0, 0.0])
    f = lambda c: Polynomial(c * 2 + 1) * Polynomial(c) + Polynomial(c)
    for g in (fg.jacobian(lambda c: f(c)(2.0)), fg.jit(fg.jacobian(lambda c: f(c)(2.0)))):
        np.testing.assert_allclose(
            g(c), (2 * 1 + (2 * c + 1) @ [1, 2, 4] + 1) * np.array([1, 2, 4])
        )
    program = fg.jit(lambda c: f(c).coef).lower(fg.ShapeDtypeStruct((3,), float))
    assert program.out_info.shape == (5,)  # the program asks for no values


def test_second_derivatives():
    slope = fg.grad(fg.grad(lambda x: Chebyshev(C * x)(x)))
    np.testing.assert_allclose(
        slope(0.4), 2 * Chebyshev(C).deriv()(0.4) + 0.4 * Chebyshev(C).deriv(2)(0.4)
    )


def test_plain_polynomials_stay_numpys():
    p = Polynomial(C)
    f = lambda x: x * (p * p)(2.0)
    assert fg.grad(f)(1.0) == (p * p)(2.0)


def test_operators_of_a_class_that_is_called_as_an_attribute():
    def product(a):
        return (np.polynomial.Polynomial([1.0, 2.0]) * a[0])(a[1])

    def number_first(a):
        return (a[0] * np.polynomial.Polynomial([1.0, 2.0]))(a[1])

    for f in (product, number_first):
        np.testing.assert_allclose(fg.grad(f)(np.array([1.0, 2.0])), [5.0, 2.0])
        np.testing.assert_allclose(fg.jit(fg.grad(f))(np.array([1.0, 2.0])), [5.0, 2.0])


@pytest.mark.parametrize("name", ["poly", "cheb", "leg", "lag", "herm", "herme"])
def test_polynomials_of_several_variables(name):
    home = {"poly": "polynomial", "cheb": "chebyshev", "leg": "legendre", "lag": "laguerre"}
    module = getattr(np.polynomial, home.get(name, {"herm": "hermite"}.get(name, "hermite_e")))
    c = np.arange(1.0, 13).reshape(3, 2, 2)
    x, y, z = np.array([0.2, 0.5]), np.array([0.3, -0.4]), np.array([0.1, 0.6])
    calls = {
        f"{name}val2d": (x, y, c[..., 0]), f"{name}val3d": (x, y, z, c),
        f"{name}grid2d": (x, y, c[..., 0]), f"{name}grid3d": (x, y, z, c),
    }  # fmt: skip
    for function, arguments in calls.items():
        f = getattr(module, function)
        np.testing.assert_allclose(fg.jit(lambda *a, f=f: f(*a))(*arguments), f(*arguments))
        check_grads(lambda *a, f=f: f(*a), arguments, order=1)

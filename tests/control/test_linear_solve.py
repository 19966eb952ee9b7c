"""`custom_linear_solve` and `custom_root`: against closed forms under every transform."""

import numpy as np
import pytest
import scipy.sparse.linalg

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.config import setting
from fungrad.programs.solvers.linear_solve import MAX_DENSE, custom_linear_solve
from fungrad.programs.solvers.root import custom_root
from fungrad.test_util import check_agreement

A = np.array([[2.0, 0.3], [0.5, 1.5]])
B = np.array([1.0, -2.0])


def cramer(a, b):
    """The solution of two equations."""
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return (
        fnp.stack([a[1, 1] * b[0] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0]]) / determinant
    )


def until_converged(matvec, b):
    x = b
    while abs(matvec(x) - b).max() > 1e-14:
        x = x + 0.5 * (b - matvec(x))
    return x


def by_scipy(matvec, b):
    operator = scipy.sparse.linalg.LinearOperator((2, 2), matvec, dtype=b.dtype)
    return scipy.sparse.linalg.gmres(operator, b, rtol=1e-14)[0]


def unrolled(matvec, b):
    x = b
    for _ in range(60):
        x = x + 0.5 * (b - matvec(x))
    return x


def by_columns(matvec, b):
    """What uses `matvec` under another transform."""
    return cramer(fg.vmap(matvec, out_axes=1)(np.eye(2)), b)


@pytest.mark.parametrize("solve", [until_converged, by_scipy, unrolled, by_columns])
def test_linear_solve_agrees_with_the_closed_form(solve):
    def f(a, b):
        return custom_linear_solve(lambda x: fnp.dot(a, x), b, solve, solve)

    check_agreement(f, cramer, (A, B))


@pytest.mark.parametrize("solve", [until_converged, unrolled])
def test_linear_solve_symmetric(solve):
    def f(d, b):
        return custom_linear_solve(lambda x: d * x, b, solve, symmetric=True)

    check_agreement(f, lambda d, b: b / d, (np.array([1.5, 0.7]), B))


def test_linear_solve_of_complex_numbers():
    def f(a, b):
        return custom_linear_solve(lambda x: fnp.dot(a, x), b, until_converged, until_converged)

    check_agreement(f, cramer, (A + 0.2j * A.T, B * (1 + 0.5j)))


def test_solver_may_close_over_what_is_traced_if_it_needs_no_values():
    def f(a, b):
        return custom_linear_solve(
            lambda x: fnp.dot(a, x), b, lambda _, y: cramer(a, y), lambda _, y: cramer(a.T, y)
        )

    check_agreement(f, cramer, (A, B))


def test_linear_solve_of_trees_with_aux():
    b = {"x": np.ones(2), "y": np.float32(3.0)}

    def solve(matvec, b):
        return {"x": b["x"] / 2, "y": b["y"] / 4}, {"steps": 1, "residual": matvec(b)["x"] - b["x"]}

    def f(b):
        return custom_linear_solve(
            lambda v: {"x": 2 * v["x"], "y": 4 * v["y"]}, b, solve, has_aux=True
        )

    x, aux = f(b)
    assert x["y"].dtype == np.float32
    assert x["y"] == 0.75
    assert aux["steps"] == 1
    np.testing.assert_array_equal(aux["residual"], np.ones(2))
    np.testing.assert_array_equal(fg.jvp(f, (b,), (b,), has_aux=True)[1]["x"], [0.5, 0.5])


def test_integers_among_what_is_closed_over():
    n, places = np.array(2), np.array([1, 0])

    def f(b, n, places):
        return custom_linear_solve(
            lambda x: n * x[places][places], b, until_converged_slowly, symmetric=True
        )

    def until_converged_slowly(matvec, b):
        x = b
        while abs(matvec(x) - b).max() > 1e-14:
            x = x + 0.25 * (b - matvec(x))
        return x

    np.testing.assert_allclose(fg.jacrev(f)(B, n, places), np.eye(2) / 2)
    np.testing.assert_allclose(fg.jit(fg.jacrev(f))(B, n, places), np.eye(2) / 2)


def test_reverse_mode_needs_transpose_solve():
    def f(b):
        return custom_linear_solve(lambda x: 2.0 * x, b, lambda _, y: y / 2.0)

    np.testing.assert_allclose(fg.jacfwd(f)(B), np.eye(2) / 2)
    with pytest.raises(TypeError, match="pass transpose_solve, or symmetric=True"):
        fg.jacrev(f)(B)


def looks(a):
    return lambda matvec, b: until_converged(lambda x: fnp.dot(a, x), b)


@pytest.mark.parametrize(
    ("matvec", "solve", "error", "match"),
    [
        (lambda x: x[:1], unrolled, TypeError, r"matvec must return an array of the type it takes"),
        (
            lambda x: (x, x),
            unrolled,
            TypeError,
            "matvec must return a tree of the structure it takes",
        ),
        (lambda x: x, lambda m, b: b[:1], TypeError, r"solve must return an array of shape \(2,\)"),
        (lambda x: x, lambda m, b: (b, b), TypeError, "solve must return a tree of structure"),
        (lambda x: x, lambda m, b: b.astype("f4"), TypeError, "solve must return an array of type"),
        (lambda x: x if x[0] > 0 else -x, unrolled, fg.ConcretizationError, "matvec"),
    ],
)
def test_errors_of_functions(matvec, solve, error, match):
    with pytest.raises(error, match=match):
        custom_linear_solve(matvec, B, solve)


def test_b_must_be_inexact():
    with pytest.raises(TypeError, match="b must hold floating-point or complex arrays; got int64"):
        custom_linear_solve(lambda x: x, np.arange(2), unrolled)


def test_solver_that_asks_for_values_must_not_close_over_what_is_traced():
    def f(a):
        def solve(matvec, b):
            x = fnp.dot(a, b)
            return until_converged(matvec, x)

        return custom_linear_solve(lambda x: fnp.dot(a, x), B, solve)

    with pytest.raises(fg.ConcretizationError, match="Use only its arguments in it"):
        fg.jacfwd(f)(A)

    def later(a):
        def solve(matvec, b):
            return fnp.dot(a, b) if b[0] > 0 else b

        return custom_linear_solve(lambda x: fnp.dot(a, x), B, solve)

    with (
        setting(reading=False),
        pytest.raises(fg.ConcretizationError, match="Use only its arguments in it"),
    ):
        fg.jacfwd(later)(A)


def test_solver_with_a_branch_may_close_over_what_is_traced():
    def f(a):
        def solve(matvec, b):
            return fnp.linalg.solve(a, b) if b[0] > 0 else -fnp.linalg.solve(a, -b)

        return custom_linear_solve(lambda x: fnp.dot(a, x), B, solve)

    expected = fg.jacfwd(lambda a: fnp.linalg.solve(a, B))(A)
    np.testing.assert_allclose(fg.jacfwd(f)(A), expected, atol=1e-12)


def test_aux_of_a_solver_that_asks_for_values():
    def solve(matvec, b):
        return until_converged(matvec, b), 1

    with pytest.raises(fg.ConcretizationError, match="Return the solution alone"):
        custom_linear_solve(lambda x: x, B, solve, has_aux=True)


def newton(f, x):
    while abs(f(x)) > 1e-13:
        x = x - f(x) / fg.grad(f)(x)
    return x


def halvings(f, x):
    low, high = 0.0 * x, 10.0 + 0.0 * x
    for _ in range(60):
        middle = (low + high) / 2
        below = f(middle) < 0
        low, high = fnp.where(below, middle, low), fnp.where(below, high, middle)
    return (low + high) / 2


@pytest.mark.parametrize("solve", [newton, halvings])
@pytest.mark.parametrize(
    "tangent_solve",
    [lambda g, y: y / g(1.0), lambda g, y: y / float(g(np.array(1.0)))],
    ids=["traced", "on values"],
)
def test_root_agrees_with_the_closed_form(solve, tangent_solve):
    def f(a):
        return custom_root(lambda x: x * x - a, 1.0, solve, tangent_solve)

    check_agreement(f, fnp.sqrt, (2.5,))


@pytest.mark.parametrize("on_values", [False, True])
def test_root_of_several_variables(on_values):
    def tangent_solve(g, y):
        if on_values and y[0] == y[0]:
            return np.linalg.solve(fg.jacfwd(g)(y), y)
        return cramer(fg.jacfwd(g)(y), y)

    def solve(f, x):
        for _ in range(8):
            x = x - cramer(fg.jacfwd(f)(x), f(x))
        return x

    def f(a, b):  # the root is (cbrt(a), b - cbrt(a))
        return custom_root(
            lambda x: fnp.stack([x[0] ** 3 - a, x[0] + x[1] - b]), np.ones(2), solve, tangent_solve
        )

    def reference(a, b):
        return fnp.stack([fnp.cbrt(a), b - fnp.cbrt(a)])

    check_agreement(f, reference, (1.5, 2.0))


def test_root_with_aux_and_trees():
    def f(a):
        return custom_root(
            lambda x: {"r": x["r"] ** 2 - a},
            {"r": np.ones(2)},
            lambda f, x: ({"r": halvings(lambda r: f({"r": r})["r"], x["r"])}, {"steps": 60}),
            lambda g, y: {"r": y["r"] / g({"r": np.ones(2)})["r"]},
            has_aux=True,
        )

    x, aux = f(np.array([1.0, 4.0]))
    np.testing.assert_allclose(x["r"], [1.0, 2.0])
    assert aux["steps"] == 60
    jacobian, _ = fg.jacrev(lambda a: (f(a)[0]["r"], f(a)[1]), has_aux=True)(np.array([1.0, 4.0]))
    np.testing.assert_allclose(jacobian, [[0.5, 0.0], [0.0, 0.25]])


def test_root_has_no_derivative_by_the_guess():
    def f(a, guess):
        return custom_root(lambda x: x * x - a, guess, newton, lambda g, y: y / g(1.0))

    assert fg.grad(f, 1)(4.0, 1.5) == 0.0


@pytest.mark.parametrize(
    ("f", "tangent_solve", "match"),
    [
        (lambda x: x[:1], lambda g, y: y, "f must return an array of the type it takes"),
        (lambda x: x, lambda g, y: y[:1], r"tangent_solve must return an array of shape \(2,\)"),
        (lambda x: x, lambda g, y: y.astype("f4"), "tangent_solve must return an array of type"),
    ],
)
def test_errors_of_root(f, tangent_solve, match):
    with pytest.raises(TypeError, match=match):
        custom_root(f, B, lambda f, x: x, tangent_solve)


def test_systems_within_systems():
    def inner(a, v):
        return custom_linear_solve(lambda w: 2 * w * a, v, until_converged, symmetric=True)

    def f(a, b):
        return custom_linear_solve(lambda v: a * v + inner(a, v), b, unrolled, symmetric=True)

    check_agreement(f, lambda a, b: b / (a + 1 / (2 * a)), (np.array([0.6, 0.8]), B))


def test_the_same_programs_are_found_again():
    from fungrad.transforms.call import programs

    def derivative():
        return fg.grad(
            lambda a: custom_linear_solve(lambda x: a * x, B, until_converged, symmetric=True)[0]
        )(np.array([1.5, 0.7]))

    derivative()
    misses = programs.info().misses
    derivative()
    assert programs.info().misses == misses


def test_dense_systems_have_a_limit():
    from fungrad.programs.solvers.linear_solve import Dense

    with pytest.raises(ValueError, match="use custom_root with a tangent_solve"):
        Dense()(np, lambda x: x, (), [np.ones(MAX_DENSE + 1)])


@pytest.mark.parametrize("name", ["f", "solve", "tangent_solve"])
def test_what_root_is_given_must_be_functions(name):
    given = {"f": lambda x: x, "solve": newton, "tangent_solve": lambda g, y: y} | {name: None}
    with pytest.raises(TypeError, match=f"custom_root: {name} takes a function, not None"):
        custom_root(given["f"], B, given["solve"], given["tangent_solve"])


@pytest.mark.parametrize("name", ["matvec", "solve", "transpose_solve"])
def test_what_a_linear_solve_is_given_must_be_functions(name):
    given = {"matvec": lambda x: x, "solve": unrolled, "transpose_solve": unrolled} | {name: 3}
    with pytest.raises(TypeError, match=f"custom_linear_solve: {name} takes a function, not 3"):
        custom_linear_solve(b=B, **given)


SINGLE = np.ones(2, np.float32)
WRONG = {
    "another shape": (
        np.ones(3),
        r"float64\[3\]\. The function takes arrays like .*: float32\[2\]",
    ),
    "another structure": (
        (SINGLE, SINGLE),
        r"\(float32\[2\], float32\[2\]\)\. The function takes arrays like .*: float32\[2\]",
    ),
    "complex for real": (SINGLE * 1j, r"complex64\[2\]\. The function takes arrays like .*:"),
    "no array": ("text", r"text\. The function takes arrays like .*:"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("looks", [False, True], ids=["traced", "on values"])
def test_solvers_that_call_their_function_with_something_else(name, looks):
    x, message = WRONG[name]

    def solve(f, y):
        return f(x) if not looks or y[0] > -9 else y

    with pytest.raises(TypeError, match=f"custom_linear_solve: solve called .* {message}"):
        custom_linear_solve(lambda x: 2 * x, SINGLE, solve, symmetric=True)
    root = lambda a, s, t: custom_root(lambda x: x - a, SINGLE, s, t).sum()
    with pytest.raises(TypeError, match=f"custom_root: solve called .* {message}"):
        root(SINGLE, solve, lambda g, y: y)
    with pytest.raises(TypeError, match=f"custom_root: tangent_solve called .* {message}"):
        fg.grad(root)(SINGLE, lambda f, x: x, solve)


def test_solvers_may_call_their_function_with_numbers_of_another_precision():
    def f(a):
        return custom_root(
            lambda x: x * x - a, a, lambda _, x: fnp.sqrt(x), lambda g, y: y / g(np.ones(2))
        )

    for transform in (lambda f: f, fg.jit, fg.grad):
        found = transform(lambda a: f(a).sum())(4 * SINGLE)
        assert found.dtype == np.float32
    np.testing.assert_allclose(found, 0.25)


def test_a_loop_in_a_solver_of_tangents_is_to_solve_a_linear_equation():
    def richardson(g, y):
        return lax.while_loop(
            lambda s: s[1] < 200, lambda s: (s[0] - 0.1 * (g(s[0]) - y), s[1] + 1), (y * 0, 0)
        )[0]

    def newton(f, x):
        return lax.fori_loop(0, 30, lambda i, x: x - f(x) / fg.grad(f)(x), x)

    def root(tangent_solve):
        return lambda a: custom_root(lambda x: x * x - a, 1.0, newton, tangent_solve)

    with pytest.raises(fg.MissingRuleError, match=r"custom_linear_solve if that is linear") as e:
        fg.grad(root(richardson))(4.0)
    assert "as in the tangent_solve of custom_root" in str(e.value)
    as_it_says = root(lambda g, y: custom_linear_solve(g, y, richardson, symmetric=True))
    for f in (as_it_says, fg.jit(as_it_says)):
        np.testing.assert_allclose(fg.grad(f)(4.0), 0.25, rtol=1e-9)

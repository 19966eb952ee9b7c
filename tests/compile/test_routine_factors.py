"""Systems of more equations within routines: LAPACK's factors, and triangles that are solved for."""

import ctypes

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.linalg as fsl
from fungrad.compile import lapack
from fungrad.compile.fallback import Rerun
from fungrad.compile.targets import host, host_kernels
from fungrad.core.config import compilation
from tests.compile.compiling import check, compare, in_mode, needs_compiler, routines

has_lapack = pytest.mark.skipif(
    not lapack.available(), reason="SciPy's LAPACK takes integers of 64 bits"
)
pytestmark = [needs_compiler, has_lapack]
TRIANGLES = [(lower, unit, trans) for lower in (0, 1) for unit in (0, 1) for trans in (0, 1)]


def matrix(rng, n, dtype=float):
    return (rng.normal(size=(n, n)) / 4 + 2 * np.eye(n)[rng.permutation(n)]).astype(dtype)


def everything(c, a, *bs):
    m, eye = a * c, fnp.eye(a.shape[0], dtype=a.dtype)
    found = [fnp.linalg.solve(m, b) for b in bs]
    found += [fnp.linalg.inv(m), fnp.linalg.det(m / 2)]
    return *found, *fnp.linalg.slogdet(m), fnp.linalg.cholesky(m.T @ m + eye)


def loop(body):
    """Return a loop of two steps that computes something of matrices, other ones each time."""

    def function(a, *rest):
        one = fnp.asarray(1.25, a.dtype)
        return fg.lax.scan(lambda c, _: (c * 0.75, body(c, a, *rest)), one, length=2)[1]

    return function


@in_mode("eager")
@pytest.mark.parametrize(
    ("n", "dtype"),
    [
        *[(n, "f4") for n in (13, 57, lapack.LARGEST)],
        *[(n, "f8") for n in (13, 32, lapack.LARGEST)],
    ],
)
def test_systems(n, dtype, mode, made, rng):
    bs = [rng.normal(size=(n, columns)).astype(dtype) for columns in (1, 3, 17)]
    check(made, loop(everything), matrix(rng, n, dtype), *bs, ulps=64 * n)


@in_mode("eager")
def test_beyond_they_are_left_to_numpy(mode, rng):
    n = lapack.LARGEST + 1
    found = routines(loop(everything), (matrix(rng, n), np.ones((n, 1))))
    assert not any("scan" in text or "inv" in text for text in found)


@in_mode("eager")
@pytest.mark.parametrize(("n", "dtype"), [(13, "f8"), (39, "f4")])
@pytest.mark.parametrize(("lower", "unit", "trans"), TRIANGLES)
def test_triangular_systems(lower, unit, trans, n, dtype, mode, made, rng):
    options = {"lower": lower, "unit_diagonal": unit, "trans": trans}
    solve = lambda c, a, *bs: [fsl.solve_triangular(a * c, b, **options) for b in bs]
    a = (rng.normal(size=(n, n)) / 16 + 2 * np.eye(n)).astype(dtype)
    hidden = np.triu(np.full((n, n), np.nan, dtype), 1)  # what does not count
    a += hidden if lower else hidden.T
    bs = [rng.normal(size=(n, columns)).astype(dtype) for columns in (1, 2, 5, 8, 70)]
    (text,) = check(made, loop(solve), a, *bs, ulps=64)
    assert text.count("= triangular_solve[") == len(bs)


@in_mode("eager")
@pytest.mark.parametrize("name", ["solve", "inv", "cholesky", "det"])
def test_stacks(name, mode, made, rng):
    a = np.stack([matrix(rng, 14) for _ in range(6)]).reshape(2, 3, 14, 14)
    a = a @ a.swapaxes(-1, -2) if name == "cholesky" else a
    b = [rng.normal(size=(2, 3, 14, 4))] if name == "solve" else []
    function = getattr(fnp.linalg, name)
    check(made, loop(lambda c, a, *b: function(a * c, *b)), a, *b, ulps=1000)


@in_mode("eager")
@pytest.mark.parametrize("turn", [lambda x: x.T, lambda x: x[::-1, ::-1], lambda x: x[:, ::-1]])
@pytest.mark.parametrize("columns", [1, 4])
def test_matrices_that_lie_otherwise(columns, turn, mode, made, rng):
    body = lambda c, a, b: everything(c, turn(a), turn(b) if columns > 1 else b)
    n = 20 if columns == 1 else 16
    b = rng.normal(size=(n, n))[:, :columns] if columns == 1 else rng.normal(size=(n, n))
    check(made, loop(body), matrix(rng, n), b, ulps=64 * n)


@in_mode("eager")
@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_systems_of_one_matrix_share_its_factors(dtype, columns, mode, made, rng):
    def both(c, a, b):
        return fnp.linalg.solve(a * c, b), fnp.linalg.solve((a * c).T, b)

    a, b = matrix(rng, 25, dtype), rng.normal(size=(25, columns)).astype(dtype)
    (text,) = check(made, loop(both), a, b, ulps=64 * 25)
    assert text.count("= factorize") == 1
    assert text.count("= solve_factored") == 2
    check(made, lambda a, b: fnp.stack(both(1.5, a, b)).sum(0), a, b, ulps=64 * 25)


@in_mode("eager")
def test_a_filter_and_its_gradient(mode, made, rng):
    n, m = 24, 16  # rests of vectors, which take LLVM long, are in others
    f, h = 0.9 * np.eye(n) + 0.01 * rng.normal(size=(n, n)), rng.normal(size=(m, n)) / n

    def likelihood(f, h, ys):
        def step(c, y):
            x, p = f @ c[0], f @ c[1] @ f.T + fnp.eye(n) / 10
            s, e = h @ p @ h.T + fnp.eye(m), y - h @ x
            k = fnp.linalg.solve(s, h @ p).T
            cost = e @ fnp.linalg.solve(s, e) + fnp.linalg.slogdet(s)[1]
            return (x + k @ e, p - k @ h @ p), cost

        return fnp.sum(fg.lax.scan(step, (fnp.zeros(n), fnp.eye(n)), ys)[1])

    ys = rng.normal(size=(12, m))
    check(made, likelihood, f, h, ys, ulps=1000)
    check(made, fg.grad(likelihood, (0, 1)), f, h, ys, ulps=100_000)


@in_mode("eager")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: np.copyto(a[3], 0),
        lambda a: np.copyto(a[:, 3], 0),
        lambda a: np.copyto(a[5], a[2]),
        lambda a: np.copyto(a[:, 5], a[:, 2]),
        lambda a: np.copyto(a[4], a[1] + a[2]),
        lambda a: np.copyto(a[4], np.nan),
        lambda a: np.copyto(a[:, 4], np.inf),
    ],
)
@pytest.mark.parametrize("name", ["solve", "inv", "cholesky", "slogdet"])
def test_what_has_no_solution_is_for_numpy_to_say(name, spoil, mode, made, rng):
    n = 18
    a, b = matrix(rng, n), [np.ones((n, 2))] if name == "solve" else []
    if name == "cholesky":
        a = a @ a.T + np.eye(n)
    body = lambda c, a, *b: getattr(fnp.linalg, name)(a * c, *b)
    g = fg.jit(lambda *given: loop(body)(*given))
    g(a, *b)
    tier = made[-1]
    assert tier.native is not None
    spoil(a)

    def result(function):
        try:
            with np.errstate(all="ignore"):
                return fg.tree.leaves(function(a, *b))
        except np.linalg.LinAlgError as error:
            return str(error)

    token = compilation.set("off")
    try:
        expected = result(fg.jit(loop(body)))
    finally:
        compilation.reset(token)
    found = result(g)
    assert type(found) is type(expected)
    if tier.failures or name != "cholesky":  # which reads one triangle, so it may be positive still
        assert tier.failures == 1
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    else:
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-12)


@in_mode("eager")
@pytest.mark.parametrize("n", [13, 20])
def test_singular_matrices_never_have_solutions(n, mode, made, rng):
    g = fg.jit(lambda a: fg.lax.fori_loop(0, 1, lambda i, c: fnp.linalg.inv(c), a))
    g(np.eye(n) + 0.1)
    native, counts = made[-1].native.function, {}
    for k in range(300):
        rank = n - k % 2
        a = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
        a = a if k % 3 else rng.integers(-1, 2, size=(n, n)).astype(float)
        if k % 3 == 0 and k % 2:
            a[:, 2] = a[:, 0] + a[:, 1]
        try:
            expected = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            expected = None
        try:
            (found,) = native(a)
        except Rerun:
            found = None
        assert expected is not None or found is None
        if found is not None and (condition := np.linalg.cond(a)) < 1e10:
            error = np.abs(found - expected).max() / np.abs(expected).max()
            assert error <= 1e-15 * n * condition
        key = found is None, expected is None
        counts[key] = counts.get(key, 0) + 1
    assert counts[True, True] > 0
    assert counts[False, False] > 100


@in_mode("eager")
def test_determinants_whose_factors_underflow(mode):
    for d in ([1e-200, 1e-200, 1e300, 1.0], [1e300, 1.0, 1e-200, 1e-200], [1e-200, 1e300, 1e-200]):
        for n in (len(d), 20):
            a = np.diag(np.concatenate([d, np.ones(n - len(d))]))
            g = fg.jit(lambda a: fnp.linalg.det(a) * 1e100)
            np.testing.assert_allclose(g(a), 1, rtol=1e-10)


@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("n", [5, 20, 120])
def test_solutions_lie_as_those_of_numpys_functions(n, columns, rng):
    a, b = matrix(rng, n) + 4 * np.eye(n), rng.normal(size=(n, columns))
    for function in (
        lambda a, b: fnp.sin(fsl.solve_triangular(a, b)) * 2,
        lambda a, b: fnp.linalg.solve(a, b) * 2 + fnp.linalg.solve(a.T, b),
        lambda a, b: fg.lax.fori_loop(0, 2, lambda i, x: fsl.solve_triangular(a, x) + 1, b),
    ):
        compare(function, (a, b), 1000)
        orders = []
        for mode in ("off", "eager"):
            token = compilation.set(mode)
            try:
                orders.append(fg.jit(lambda *x: function(*x))(a, b).flags.c_contiguous)  # noqa: B023
            finally:
                compilation.reset(token)
        assert orders[0] == orders[1]


def test_what_is_called_has_the_signature_that_is_expected(monkeypatch):
    find = lapack.address.__wrapped__
    assert find("dgetrf") == lapack.address("dgetrf") != 0
    wide = lapack.SIGNATURES["dgetrf"].replace("int *", "int64_t *")
    monkeypatch.setitem(lapack.SIGNATURES, "dgetrf", wide)
    assert find("dgetrf") == 0
    monkeypatch.setitem(lapack.SIGNATURES, "dnone", "void (int *)")
    assert find("dnone") == 0


@in_mode("eager")
def test_without_lapack_numpys_functions_compute(mode, monkeypatch, rng):
    monkeypatch.setattr(lapack, "address", lambda name: 0)
    a, b = matrix(rng, 20), rng.normal(size=(20, 3))
    solve = loop(lambda c, a, b: fnp.linalg.solve(a * c, b))
    assert not any("solve" in text for text in routines(solve, (a, b)))
    compare(solve, (a, b), 0)
    triangular = loop(lambda c, a, b: fsl.solve_triangular(a + 5 * fnp.eye(20), b * c))
    assert routines(triangular, (a, b))


def test_addresses_are_not_part_of_what_is_kept(rng):
    lowered = fg.jit(loop(everything)).lower(matrix(rng, 20), np.ones((20, 1)))
    (routine,) = lowered.kernels
    text, table = host_kernels.assembly(routine)
    for name in lapack.SIGNATURES:
        assert f"lapack {name}" in table.places
        assert str(lapack.address(name)) not in text
        assert ctypes.c_void_p(host._address(f"lapack {name}")).value == lapack.address(name)

"""NumPy's own functions make arrays of what is traced, while that is on, and are NumPy's otherwise."""

import functools
import math
import operator
import pickle
import sys
import threading
from math import sin as sine

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.special
import scipy.stats
from numpy import full as imported_full

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compat.numpy import install, scipys, stand_ins, tracing, uninstall
from fungrad.core.config import setting
from fungrad.core.tracer import Tracer
from tests.compat import scipy_walk
from tests.compat.processes import start

HELD = {name: getattr(np, name) for name in ("zeros", "array", "asarray", "arange", "full")}


def filled(x):
    z = np.zeros(3)
    z[0] = x
    z[1:] += x * x
    return z.sum()


def filled_by_another(x):
    def fill(a):
        a[1] = np.sin(x)

    z = np.ones((2, 2))
    fill(z)
    np.fill_diagonal(z, x)
    return (z @ z).sum()


def filled_list(x):
    a = np.array([1.0, 2.0, 3.0])
    a[::2] *= x
    return np.prod(a)


def masked(x):
    a = np.empty((2, 3))
    a[:] = np.array([[x, 1.0, 2.0], [x * x, x, 0.5]])
    a[a > 1.5] = x**3
    return a.sum()


def of_matrix(x):
    a = np.eye(3)
    for i in range(3):
        for j in range(3):
            a[i, j] += x * i * j
    return np.linalg.det(a)


def of_integers(x):
    index = np.array([2, 0, 1])
    table = {i: 0.5 * i for i in range(3)}
    order = np.zeros(3, int)
    order[1] = 2
    values = np.full(3, x) ** np.arange(3)
    return values[index][order] @ np.array([table[i] for i in index])


FUNCTIONS = {
    "zeros": filled,
    "filled by another function": filled_by_another,
    "array": filled_list,
    "masks": masked,
    "eye": of_matrix,
    "integers": of_integers,
    "nested lists": lambda x: np.array([[x, 1.0], (2.0, x * x)]).prod(),
    "asarray": lambda x: np.asarray([x, 2 * x], dtype=np.float64) @ np.ones(2),
    "ascontiguousarray": lambda x: np.ascontiguousarray([x, 2 * x]).sum(),
    "full": lambda x: np.full((2, 3), x).sum() + imported_full(2, x * x).sum(),
    "full_like": lambda x: np.full_like(np.ones(3), x).sum(),
    "linspace": lambda x: (np.linspace(0, x, 4) ** 2).sum(),
    "r_": lambda x: np.r_[x, 1.0, [x, x * x]] @ np.arange(4),
    "c_": lambda x: np.c_[np.ones(2), np.array([x, x * x])].prod(),
    "atleast_2d": lambda x: np.atleast_2d([x, 2.0]).sum(),
    "copy": lambda x: np.copy([x, 2.0]).sum(),
    "fromiter": lambda x: np.fromiter((i * x for i in range(4)), float).sum(),
    "require": lambda x: np.require([x, 2.0], float, ["C", "W"]).sum(),
    "asarray_chkfinite": lambda x: np.asarray_chkfinite([x, 1.0]).sum(),
    "vectorize": lambda x: np.vectorize(lambda t: t * t + 1)(np.array([x, 2 * x])).sum(),
    "lists": lambda x: np.sum([x, 1.0]) * np.linalg.norm([x, 2.0]) + np.dot([x, x * x], [1.0, 2.0]),
    "where of lists": lambda x: (
        np.where([True, False], [x, 1.0], [0.0, x * x]).max() + np.mean([x, x**2])
    ),
    "zeros in a comprehension": lambda x: sum([np.add(np.zeros(2), x).sum() for _ in range(2)]),
}


def slope(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


def test_numpys_functions_take_what_is_traced(subtests):
    """All in one block: to enter one is to look through all modules."""
    plain = {name: (f(1.3), f(0.7)) for name, f in FUNCTIONS.items()}
    with tracing():
        for name, f in FUNCTIONS.items():
            with subtests.test(function=name):
                assert (f(1.3), f(0.7)) == plain[name]
                value, gradient = fg.value_and_grad(f)(1.3)
                jitted, tangent = fg.jit(f)(1.3), fg.jvp(f, (1.3,), (1.0,))[1]
                mapped = fg.vmap(f)(np.array([1.3, 0.7]))
                twice = fg.grad(fg.grad(f))(1.3)
                np.testing.assert_allclose([value, jitted, mapped[0]], plain[name][0], rtol=1e-14)
                np.testing.assert_allclose(mapped[1], plain[name][1], rtol=1e-14)
                np.testing.assert_allclose([gradient, tangent], slope(f, 1.3), rtol=1e-7)
                np.testing.assert_allclose(twice, slope(fg.grad(f), 1.3), rtol=1e-6, atol=1e-8)


def test_arange_with_traced_ends_has_a_length_that_is_known():
    f = lambda x: np.arange(0.0, x).sum() * x
    with tracing():
        assert fg.grad(f)(3.5) == f(3.5) / 3.5
        assert fg.jit(f)(3.5) == f(3.5)
        with setting(reading=False), pytest.raises(fg.ConcretizationError):
            fg.jit(f)(3.5)


def test_constants_of_a_traced_function_have_values():
    def f(x):
        z = np.zeros(4)
        z[1] = 2
        steps = 0
        if z[1] > 1:
            steps = int(z[1])
        assert [10, 11, 12][np.zeros(1, int)[0]] == 10
        assert math.sqrt(z[1] * 2) == 2.0
        assert float(z[1]) == 2.0
        assert f"{z[0]:.1f}" == "0.0"
        assert np.ones(3)[np.zeros(2, int)].tolist() == [1.0, 1.0]
        assert np.searchsorted(np.arange(4.0), z).tolist() == [0, 2, 0, 0]
        assert scipy.special.struve(0, z).shape == (4,)  # it has no rule for traced arrays
        spline = scipy.interpolate.CubicSpline(np.arange(4.0), z)  # compiled code
        return spline(0.5) * x**steps

    with tracing():
        for transformed in (fg.grad(f), fg.jit(f), lambda x: fg.vmap(f)(np.ones(2))):
            transformed(3.0)
        assert fg.grad(f)(3.0) == 6.0 * f(1.0)


def test_what_has_a_derivative_is_not_made_plain(as_written):
    def by_attribute(x):
        return scipy.stats.rankdata(np.array([x, 1.0]), method="ordinal").sum() + math.fsum([x])

    with tracing():
        with pytest.raises(fg.LostDerivativeError, match=r"fnp\.sqrt|math"):
            fg.grad(by_attribute)(2.0)
        with pytest.raises(fg.LostDerivativeError):  # SciPy's Python writes float(...)
            fg.grad(lambda x: scipy.spatial.distance.dice(np.array([x, 0.3]), np.ones(2)))(0.5)
        with pytest.raises(TypeError):
            fg.grad(lambda x: memoryview(np.array([x, 1.0])))(2.0)


def names_of_numpy():
    return {name: id(value) for name, value in vars(np).items()}


def test_everything_is_put_back():
    before, call = names_of_numpy(), vars(np.vectorize)["__call__"]
    scipys = {name: id(value) for name, value in vars(scipy.linalg).items()}
    finders, quantiles = list(sys.meta_path), scipy.stats.norm.ppf.__func__
    with tracing():
        assert np.zeros is not HELD["zeros"]
        assert imported_full is not HELD["full"]
        with pytest.raises(ZeroDivisionError), tracing():
            1 / 0
        assert np.zeros is not HELD["zeros"]
        install()
    assert np.zeros is not HELD["zeros"]
    uninstall()
    assert names_of_numpy() == before
    assert vars(np.vectorize)["__call__"] is call
    assert {name: id(value) for name, value in vars(scipy.linalg).items()} == scipys
    assert imported_full is HELD["full"]
    assert sys.meta_path == finders
    assert scipy.stats.norm.ppf.__func__ is quantiles
    assert "ppf" not in vars(type(scipy.stats.norm))
    assert scipy.interpolate.CubicSpline(np.arange(4.0), np.ones(4))(0.5) == 1.0
    with pytest.raises(RuntimeError, match="not installed"):
        uninstall()


def test_what_ends_the_exchange_halfway_undoes_it(monkeypatch):
    before, made = names_of_numpy(), list(stand_ins.stand_ins())

    def interrupted():
        yield from made[:5]
        raise KeyboardInterrupt

    monkeypatch.setattr(stand_ins, "stand_ins", interrupted)
    with pytest.raises(KeyboardInterrupt), tracing():
        pass
    monkeypatch.undo()
    monkeypatch.setattr(scipys, "numbers", interrupted)
    with pytest.raises(KeyboardInterrupt), tracing():
        pass
    assert names_of_numpy() == before
    with pytest.raises(RuntimeError):
        uninstall()


def test_without_a_trace_results_are_numpys():
    calls = [
        functools.partial(operator.call, *args)
        for args in [
            (np.zeros, 3), (np.zeros, (2, 2), int, "F"), (np.array, [1, 2.5]), (np.arange, 4),
            (np.full, 2, 1), (np.asarray, [True]), (np.linspace, 0, 1, 3), (np.eye, 2), (np.fromiter, [1], int),
        ]
    ]  # fmt: skip
    expected = [call() for call in calls]
    with tracing():
        x = np.ones(3)
        assert np.asarray(x) is x
        assert np.zeros.__name__ == "zeros"
        assert np.zeros.__module__ == "numpy"
        assert pickle.loads(pickle.dumps(np.zeros)) is np.zeros
        fresh = [getattr(np, call.args[0].__name__)(*call.args[1:]) for call in calls]
        with pytest.raises(TypeError, match="missing"):
            np.full(3)
    for a, b in zip(expected, fresh, strict=True):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        assert a.flags.f_contiguous == b.flags.f_contiguous
        np.testing.assert_array_equal(a, b)


def test_other_threads_see_numpys_results():
    found = []

    def elsewhere():
        found.append((type(np.zeros(2)), type(np.array([1.0]))))

    def f(x):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert type(np.zeros(2)) is Tracer
        return x

    with tracing():
        fg.grad(f)(1.0)
    assert found == [(np.ndarray, np.ndarray)]


def test_libraries_and_callbacks_get_plain_arrays():
    def host(x):
        z = np.zeros(2)
        z[0] = x
        assert type(z) is np.ndarray
        return np.asarray(z)

    def f(x):
        inside = scipy.signal.get_window("hamming", 5)
        assert type(inside) is np.ndarray
        y = fg.pure_callback(host, fg.ShapeDtypeStruct((2,), float), fg.lax.stop_gradient(x))
        return x * inside.sum() + y[0]

    with tracing():
        assert fg.grad(f)(2.0) == scipy.signal.get_window("hamming", 5).sum()
        fg.jit(f)(2.0)


def compiled(x):
    return np.concatenate(
        [np.sin(x), np.cos(x) * 2]
    )  # it is computed in its place, made by `empty`


def test_compiled_programs_get_plain_arrays():
    jitted, plain = fg.jit(compiled), np.ones(20_000)

    def f(x):
        y = jitted(plain)
        assert type(y) is np.ndarray
        return x * y.sum()

    assert "np.empty" in jitted.lower(plain).source
    with tracing():
        for _ in range(3):
            assert fg.grad(f)(2.0) == jitted(plain).sum()


def assembled(x):
    K = scipy.sparse.coo_array(([4 * x, x * x, 1.0, 3.0], ([0, 0, 1, 1], [0, 1, 0, 1]))).tocsr()
    K = K + scipy.sparse.eye_array(2) * x
    u = scipy.sparse.linalg.spsolve(K, np.array([1.0, x]))
    whole = scipy.sparse.block_diag([K, scipy.sparse.csr_array([[x]])], format="csr")
    return u @ (K.T @ u) + whole.sum() + (K @ K).toarray()[0, 1] + K[0, 1]


SCIPYS = {
    "sparse assembly": assembled,
    "SciPy's sparse matrices": lambda x: (scipy.sparse.csr_array(np.eye(2)) @ np.array([x, x * x])).sum(),
    "products from the left": lambda x: (np.array([x, x * x]) @ scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]])).sum(),
    "sparse.linalg.cg": lambda x: scipy.sparse.linalg.cg(scipy.sparse.diags_array([x, x * x]), np.ones(2), rtol=1e-13)[0].sum(),
    "norm.logpdf": lambda x: scipy.stats.norm.logpdf(np.array([1.0, 2.0]), x, 2.0).sum(),
    "a frozen distribution": lambda x: scipy.stats.gamma(x, scale=x).cdf(1.5),
    "a distribution that fungrad lacks": lambda x: scipy.stats.burr12.logpdf(1.2, x, 2.0),
    "its quantiles": lambda x: scipy.stats.burr12.ppf([0.2, 0.7], x, 2.0, loc=x, scale=2 * x).sum(),
    "its survival function": lambda x: scipy.stats.levy.isf(0.3, scale=x) * scipy.stats.levy.sf(2.0, x),
    "toeplitz": lambda x: scipy.linalg.toeplitz([x, 1.0, 2.0], [x, x * x, 3.0])[0] @ np.arange(3),
    "block_diag": lambda x: scipy.linalg.det(scipy.linalg.block_diag([[x, 1.0], [0.0, x]], 2.0)),
    "cho_factor": lambda x: scipy.linalg.cho_solve(scipy.linalg.cho_factor(np.array([[x, 0.1], [0.1, 2.0]])), [1.0, x]).sum(),
    "simpson": lambda x: scipy.integrate.simpson([x, 1.0, x * x], dx=0.5),
    "trapezoid": lambda x: scipy.integrate.trapezoid([x, 1.0, x * x]),
    "quad": lambda x: scipy.integrate.quad(lambda t: np.exp(-x * t), 0.0, 1.0)[0],
    "rosen": lambda x: scipy.optimize.rosen([x, 1.0, x * x]),
    "brentq": lambda x: scipy.optimize.brentq(lambda t: t**3 - x, 0.0, 2.0),
    "lfilter": lambda x: scipy.signal.lfilter([x, 1.0], [1.0, 0.5], [1.0, 2.0, x]).sum(),
    "CubicSpline": lambda x: scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 4.0], [x, 1.0, x * x, 0.0])(0.7),
    "distances": lambda x: scipy.spatial.distance.cosine([x, 1.0], [0.3, x * x]),
    "odeint": lambda x: scipy.integrate.odeint(lambda t, y, k: -k * y, [x], [0.0, 1.0], (x,), tfirst=True)[1, 0],
    "fsolve": lambda x: scipy.optimize.fsolve(lambda t: t**3 - x, np.ones(2)).sum(),
    "logsumexp": lambda x: scipy.special.logsumexp([x, 1.0, x * x]),
}  # fmt: skip


def test_scipys_functions(subtests):
    with tracing():
        for name, f in SCIPYS.items():
            with subtests.test(function=name):
                np.testing.assert_allclose(fg.grad(f)(1.1), slope(f, 1.1, 1e-5), rtol=2e-6)
                twice = fg.grad(fg.grad(f))(1.1)
                expected = slope(fg.grad(f), 1.1, 1e-5)
                np.testing.assert_allclose(twice, expected, rtol=1e-5, atol=1e-7)


def test_distributions_of_one_class_keep_their_supports():
    with tracing():
        f = lambda x: scipy.stats.vonmises_line.pdf(4.0, x)
        assert f(2.0) == fg.value_and_grad(f)(2.0)[0] == 0.0


@pytest.mark.parametrize("module", ["integrate", "optimize"])
def test_walk(module, as_written):
    rows = scipy_walk.walk((module,))
    before, after = (sum(not row[i] for row in rows) for i in (1, 2))
    assert before <= 3
    assert after >= 0.8 * len(rows)
    assert not [row for row in rows if row.before == "" and row.after]
    assert not [row for row in rows if row.after.startswith("differs")]


PROGRAM = """
import numpy as np
import fungrad as fg
import fungrad.numpy as fnp
print(fg.grad(lambda x: np.array([x, x * x]).sum())(3.0))
import scipy.linalg
print(fg.grad(lambda x: scipy.linalg.toeplitz([x, x * x]).sum())(3.0))
"""


def test_programs_and_modules_imported_later():
    done = start("-m", "fungrad.compat.numpy", "-c", PROGRAM)
    assert done.stdout.split() == ["7.0", "14.0"], done.stderr


def test_constants_are_refused_where_it_is_off(as_written):
    """NumPy's copy would not show what is assigned later."""
    f = lambda x: np.asarray(fnp.zeros(2)).sum() * x
    with tracing():
        assert fg.grad(f)(1.0) == 0.0
    with pytest.raises(fg.LostDerivativeError):
        fg.grad(f)(1.0)


def test_functions_of_math_in_ones_own_code():
    """By the module, and by names that were imported before."""
    with tracing():
        slope = fg.grad(lambda x: math.sin(x) * math.sqrt(x) * math.log(x, 2) + sine(x))(2.0)
        assert math.sqrt(4.0) == 2.0
    expected = fg.grad(lambda x: np.sin(x) * np.sqrt(x) * np.log2(x) + np.sin(x))(2.0)
    np.testing.assert_allclose(slope, expected, rtol=1e-14)
    assert math.sin is sine
    with setting(reading=False), pytest.raises(fg.LostDerivativeError):
        fg.grad(math.sin)(2.0)


READ_FIRST_INSIDE = """
import math
import numpy as np
import scipy.special
import fungrad as fg
from fungrad.core.config import setting
from fungrad.compat.numpy import tracing
f = lambda x: np.array([math.sin(x), x]).sum() + scipy.special.logsumexp([x, 1.0])
with tracing():
    inside = fg.grad(f)(2.0)
print(inside == fg.grad(f)(2.0), math.cos(2.0) + 1.0 + 1 / (1 + math.exp(-1.0)) - inside < 1e-14)
"""


def test_functions_that_are_read_first_in_a_block_are_read_after_it(tmp_path):
    """The table of what stands for functions is made in the block, where others stand in their places."""
    program = tmp_path / "program.py"
    program.write_text(READ_FIRST_INSIDE)
    done = start(str(program))
    assert done.stdout.split() == ["True", "True"], done.stderr

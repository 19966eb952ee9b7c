"""Functions that are recorded as one equation."""

import pickle
import threading
import warnings

import numpy as np
import pytest
import scipy.special
import scipy.stats

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.extend import Primitive
from fungrad.numpy import composites
from fungrad.numpy.composites import as_one
from fungrad.scipy import special, stats
from fungrad.transforms.composite import Composite

X, S = np.linspace(0.2, 2.0, 5), np.float64(1.7)


def rule(x, s):
    """A function with a view, a constant, and results that the derivative needs."""
    y = fnp.broadcast_to(fnp.reshape(x, (1, -1)), (2, x.shape[0])) / s
    return fnp.sum(fnp.exp(-y * y) * np.array([[1.0], [2.0]]), axis=0) - fnp.log(s)


def one(x, s):
    return as_one("rule", (), rule, (x, s))


def total(function):
    return lambda x, s: fnp.sum(function(x, s) * x) ** 2


TRANSFORMS = {
    "grad": lambda f: fg.grad(f, (0, 1)),
    "grad by one": lambda f: fg.grad(f, 1),
    "value_and_grad": lambda f: fg.value_and_grad(f, (0, 1)),
    "vjp": lambda f: lambda x, s: fg.vjp(f, x, s)[1](1.0),
    "jvp": lambda f: lambda x, s: fg.jvp(f, (x, s), (x, s)),
    "linearize": lambda f: lambda x, s: fg.linearize(f, x, s)[1](x, s),
    "jit": fg.jit,
    "jit of grad": lambda f: fg.jit(fg.grad(f, (0, 1))),
    "grad of jit": lambda f: fg.grad(fg.jit(f), (0, 1)),
    "hessian": lambda f: fg.hessian(f, (0, 1)),
    "grad of grad": lambda f: fg.grad(lambda x, s: fg.grad(f, 1)(x, s)),
    "vmap": lambda f: lambda x, s: fg.vmap(f, (0, None))(np.stack([x, 2 * x]), s),
    "vmap of grad": lambda f: lambda x, s: fg.vmap(fg.grad(f), (None, 0))(x, np.array([s, 2.0])),
    "grad of vmap": lambda f: fg.grad(
        lambda x, s: fnp.sum(fg.vmap(f, (None, 0))(x, fnp.stack([s, 2 * s]))), (0, 1)
    ),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f), (0, 1)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    found, expected = TRANSFORMS[name](total(one)), TRANSFORMS[name](total(rule))
    for _ in range(3):  # evaluated, then compiled
        for a, b in zip(fg.tree.leaves(found(X, S)), fg.tree.leaves(expected(X, S)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_complex():
    def f(function):
        return lambda z: fnp.abs(fnp.sum(function(z, S) * z)) ** 2

    z = X + 0.3j * X[::-1]
    np.testing.assert_allclose(fg.grad(f(one))(z), fg.grad(f(rule))(z), rtol=1e-13)
    np.testing.assert_allclose(
        fg.grad(lambda z: fnp.abs(special.logsumexp(z)) ** 2)(z),
        fg.vjp(lambda z: fnp.abs(fnp.log(fnp.sum(fnp.exp(z)))) ** 2, z)[1](1.0)[0],
        rtol=1e-12,
    )


def test_one_equation_that_is_the_same_each_time():
    made = [fg.make_expr(lambda x: one(x, S) + one(x, 2.0))(X) for _ in range(2)]
    first, second = [[e.primitive for e in expr.equations] for expr in made]
    assert len(first) == 3
    assert all(a is b for a, b in zip(first, second, strict=True))
    assert first[0] is not first[1]  # a Python number is weak
    assert "multiply" in str(made[0])


def test_what_is_recorded_for_distributions():
    def equations(f, *args):
        return [e.primitive.name for e in fg.make_expr(f)(*args).equations]

    def inside(f, *args):
        (equation,) = fg.make_expr(f)(*args).equations
        return [e.primitive.name for e in equation.primitive.callee.equations]

    assert equations(stats.norm.logpdf, X, X, X) == ["norm.logpdf"]
    assert equations(lambda x: special.logsumexp(x, axis=0), X) == ["logsumexp"]
    of_data = inside(lambda m: stats.norm.logpdf(X, m, 0.5), X)
    assert "select" not in of_data  # the data are finite, and the scale is positive
    standard = inside(stats.norm.logpdf, X)
    assert not {"divide", "log", "greater"} & set(standard)
    assert "greater" in inside(lambda s: stats.norm.logpdf(X, 0.0, s), S)
    student = inside(lambda x: stats.t.logpdf(x, 4.0), X)
    assert student.count("select") < inside(lambda d: stats.t.logpdf(X, d), S).count("select")


def test_what_is_decided_by_values_is_not_shared():
    """The same types, and other values: masks for what is outside, for scales that are not valid."""
    g = scipy.stats.gamma.logpdf
    with np.errstate(all="ignore"):
        for x in (X, X - 1.0, X * np.nan):
            for scale in (np.float64(0.5), np.float64(-0.5), np.float64(1.0)):
                for loc in (0.0, -0.0, 0.1):
                    found = fg.jit(lambda a: stats.gamma.logpdf(x, a, loc, scale))(S)  # noqa: B023
                    np.testing.assert_allclose(found, g(x, S, loc, scale), rtol=1e-12)
    for df in (np.array([3.0, np.inf]), np.array([3.0, 4.0]), np.inf, 3.0, np.float64(np.inf)):
        found = fg.jit(lambda x: stats.t.logpdf(x, df))(S)  # noqa: B023
        np.testing.assert_allclose(found, scipy.stats.t.logpdf(S, df), rtol=1e-12)
    for loc in (np.zeros(3), np.ones(3)):  # of another shape than x
        assert fg.jit(lambda x: stats.norm.pdf(x, loc))(S).shape == (3,)  # noqa: B023


def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [(w.lineno, str(w.message)) for w in found]


def test_warnings_name_the_users_line():
    def f(m):
        return stats.norm.logpdf(np.float64(1e200), m, 1.0) + 0.0  # <- here

    line = f.__code__.co_firstlineno + 1
    for transform in (fg.value_and_grad, fg.jit, lambda f: fg.jit(fg.value_and_grad(f))):
        called = transform(f)
        for _ in range(3):
            found = warned(lambda: called(1.0))  # noqa: B023
            assert found
            assert all(at == line and "overflow" in text for at, text in found), found


def test_errors_name_the_users_line():
    def f(c):
        return stats.multivariate_normal.logpdf(X[:2], X[:2], c)

    for transform in (lambda f: lambda c: fg.grad(lambda c: f(c))(c), fg.jit):
        for _ in range(2):
            with pytest.raises(np.linalg.LinAlgError) as caught:
                transform(f)(-np.eye(2))
            assert "test_composites.py" in "".join(caught.value.__notes__)


@primitive
class WithoutRules(Primitive):
    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x

    def impl(self, xp, x):
        return xp.sqrt(x)


def test_a_missing_rule_names_the_users_line():
    def f(x):
        return as_one("without rules", (), lambda x: WithoutRules()(x), (x,))  # <- here

    with pytest.raises(fg.MissingRuleError, match="<- here"):
        fg.grad(lambda x: fnp.sum(f(x)))(X)


def test_values_are_there_when_asked_for():
    def f(x):
        y = stats.norm.logpdf(x, 0.0, S)
        return y * 2 if y > -2.0 else y * 3

    for x in (0.1, 5.0):
        slope = -x / S**2
        np.testing.assert_allclose(fg.grad(f)(x), slope * (2 if x < 1 else 3), rtol=1e-14)


def test_pickled():
    f = pickle.loads(pickle.dumps(fg.make_expr(one)(X, S)))
    np.testing.assert_array_equal(f.equations[0].primitive(X, S), rule(X, S))


def test_threads_share_it():
    composites._known.clear()
    found, barrier = [], threading.Barrier(4)

    def run():
        barrier.wait()
        found.append(fg.grad(lambda x: fnp.sum(one(x, S)))(X))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x in found:
        np.testing.assert_array_equal(x, found[0])
    assert len(found) == 4


def test_settings():
    with fg.checking():
        fg.grad(total(one), (0, 1))(X * 1.1, S)
    named = pytest.raises(FloatingPointError, match=r"test_composites\.py")
    with fg.debug_nans(), np.errstate(invalid="ignore"), named:
        fg.grad(lambda s: fnp.sum(one(X, s)))(np.float64(-1.0))
    with fg.strict_dependence(), pytest.raises(fg.LostDerivativeError):
        fg.grad(stats.poisson.logpmf)(3.0, S)
    with fg.disable_jit():
        np.testing.assert_allclose(fg.grad(total(one))(X, S), fg.grad(total(rule))(X, S))


def test_cuts_are_made_once():
    (equation,) = fg.make_expr(one)(X, S).equations
    call = equation.primitive
    assert isinstance(call, Composite)
    assert call.cut((True, False)) is call.cut((True, False))
    forward = call.cut((True, True)).forward.callee
    assert not any(t.shape == (2, 5) and v in forward.inputs for v, t in enumerate(forward.types))


def test_logsumexp_takes_lists_of_axes_and_numbers():
    x = np.arange(6.0).reshape(2, 3)
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            found = fg.jit(lambda x: special.logsumexp(x, axis, keepdims=keepdims))(x)  # noqa: B023
            expected = scipy.special.logsumexp(x, axis, keepdims=keepdims)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
    found = fg.grad(lambda b: special.logsumexp([1.0, 2.0], b=b))(np.ones(2))
    np.testing.assert_allclose(found, np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum())
    found = fg.grad(lambda a: special.logsumexp([a, 2.0]))(1.0)
    np.testing.assert_allclose(found, 1 / (1 + np.e))

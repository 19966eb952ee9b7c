"""`fungrad.extend`: the primitives of CONTRIBUTING.md, declared outside of the package, under the checks of our own."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import extend
from fungrad.experimental import checkify
from fungrad.test_util import check_agreement
from tests.check import CHECKS, checks_of
from tests.samples.row import Sample, reals

GUIDE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text("utf-8")
EXAMPLE: dict = {"__name__": "example"}
for block in re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL):
    exec(block, EXAMPLE)

LOWER, DIAGONAL, UPPER, B = reals(3), reals(4, low=2, high=3), reals(3, seed=1), reals(4, seed=2)


def matrix(lower, diagonal, upper):
    return fnp.diag(diagonal) + fnp.diag(lower, -1) + fnp.diag(upper, 1)


def by_elimination(lower, diagonal, upper, b):
    return fnp.linalg.solve(matrix(lower, diagonal, upper), b)


SAMPLE = Sample(
    EXAMPLE["SolveTridiagonal"](),
    (LOWER, DIAGONAL, UPPER, B),
    by_elimination,
    linear=((3,),),
    matrices=True,
)


@pytest.mark.parametrize("name", checks_of(SAMPLE))
def test_rules_of_the_example(name):
    CHECKS[name](SAMPLE)


def test_the_example_under_every_transform():
    solve = EXAMPLE["solve_tridiagonal"]
    check_agreement(solve, by_elimination, (LOWER, DIAGONAL, UPPER, B))


def test_the_example_raises_errors_where_they_can_be_caught():
    def f(d):
        try:
            return EXAMPLE["solve_tridiagonal"](LOWER, d, UPPER, B).sum()
        except np.linalg.LinAlgError:
            return d[0] * 2

    assert list(fg.grad(lambda d: f(d * np.zeros(4)) + d[0])(DIAGONAL)) == [1, 0, 0, 0]


def test_a_ufunc():
    def sine(x):
        return fnp.sin(x * np.pi / 180)

    check_agreement(EXAMPLE["sindg"], sine, (np.array([10.0, 50.0]),))
    check_agreement(EXAMPLE["cosdg"], lambda x: sine(90 + x), (np.array([[10.0], [50.0]]),))
    assert fg.grad(scipy.special.sindg)(60.0) == pytest.approx(np.pi / 360)
    assert fg.jit(EXAMPLE["sindg"])(np.float32(30.0)).dtype == np.float32


def test_a_ufunc_without_derivatives():
    import fungrad.numpy.rules as rules

    try:
        whole = extend.elementwise(scipy.special.round, name="whole")
        assert fg.grad(lambda x: x * whole(x))(2.3) == 2.0
        assert "whole" in str(fg.make_expr(whole)(1.0))
    finally:
        del rules.traced_functions[scipy.special.round]
        rules.ready.discard(scipy.special.round)


def test_names():
    assert all(getattr(extend, name).__doc__ for name in extend.__all__)
    for name in extend.__all__:
        assert f"`{name}`" in extend.__doc__ or name == "MissingRuleError"


def test_missing_rules_are_named():
    @extend.primitive
    class Bare(extend.Primitive):
        def abstract_eval(self, x):
            return x

        def impl(self, xp, x):
            return x + 1

    assert Bare()(1.0) == 2.0
    assert fg.jit(Bare())(1.0) == 2.0
    with pytest.raises(extend.MissingRuleError, match="`bare` has no `jvp` rule"):
        fg.grad(Bare())(1.0)
    with pytest.raises(extend.MissingRuleError, match="`bare` has no `batch` rule"):
        fg.vmap(Bare())(np.ones(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: extend.elementwise(scipy.linalg.solve),
            "takes a ufunc with one result, not <func",
        ),
        (lambda: extend.elementwise(np.modf), "takes a ufunc with one result"),
        (lambda: extend.elementwise(np.add, None), "add has 2 operands, so it takes 2 derivatives"),
        (
            lambda: extend.elementwise(np.sin, name="a b"),
            "needs a name that can stand in a program",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@extend.primitive
class Checked(extend.Primitive):
    """The operand, if no element is negative."""

    name: str

    def abstract_eval(self, x):
        return x

    def impl(self, xp, x):
        if (x < 0).any():
            raise ValueError("negative")
        return x

    def batch(self, size, batched, x):
        return self(x)


@pytest.mark.parametrize("name", ["square", "remainder"])
def test_a_primitive_may_have_the_name_of_one_of_ours(name):
    checked = Checked(name)

    def f(x):
        return fg.lax.while_loop(lambda x: x > 1, lambda x: checked(x) - 1, x)

    # Of calls that are done it is not computed; and it divides by nothing.
    np.testing.assert_array_equal(fg.vmap(f)(np.array([-1.0, 3.0])), [-1, 1])
    error, _ = checkify.checkify(lambda x: checked(x) + 1, errors=checkify.all_checks)(2.0)
    error.throw()

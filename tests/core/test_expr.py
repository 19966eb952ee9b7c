"""The checker of programs finds every way in which one can be malformed."""

import dataclasses
import sys

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.config import check_exprs, checking
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import array_type
from fungrad.primitives.elementwise import add, neg
from fungrad.primitives.shaping import Reshape
from fungrad.primitives.sorting import Sort

F = array_type((2,), np.dtype(float))
I = array_type((2,), np.dtype(np.int64))
S = array_type((), np.dtype(float))

# c = a + b; d = -c
GOOD = Expr(
    inputs=(0, 1),
    equations=(Equation(add, (0, 1), (2,)), Equation(neg, (2,), (3,))),
    outputs=(3, 0),
    types=(F, F, F, F),
)


def test_a_good_one_is_returned():
    assert GOOD.check() is GOOD
    assert GOOD.input_types == (F, F)
    assert GOOD.output_types == (F, F)
    Expr((), (), (), ()).check()
    Expr((0,), (), (0, 0), (F,)).check()
    Expr((), (Equation(neg, (0,), (1,)),), (1,), (F, F), {0: np.ones(2)}).check()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inputs": (0, 0)}, "an input or a constant is defined twice"),
        ({"constants": {0: np.ones(2)}}, "an input or a constant is defined twice"),
        (
            {"inputs": (0,), "constants": {1: np.ones(3)}},
            r"constant 1 has type float64\[3\] but is declared float64\[2\]",
        ),
        ({"inputs": (0,), "constants": {1: np.ones(2, int)}}, "but is declared"),
        ({"inputs": (0,)}, r"equation 0, add: variables \[1\] are used before their definition"),
        ({"equations": GOOD.equations[::-1]}, r"equation 0, negative: variables \[2\] are used"),
        ({"equations": GOOD.equations[:1]}, r"the outputs \[3\] are never defined"),
        ({"equations": ()}, r"the outputs \[3\] are never defined"),
        ({"types": (F, F, F, S)}, r"equation 1, negative: outputs have types .*float64\[\]"),
        ({"types": (F, F, I, F)}, "equation 0, add: outputs have types"),
        ({"types": (F, F, F, F.update(weak=True))}, "equation 1, negative: outputs have types"),
        (
            {"equations": (GOOD.equations[0], Equation(neg, (2,), (2,)))},
            "equation 1, negative: an output is defined twice",
        ),
        (
            {"equations": (GOOD.equations[0], Equation(neg, (0,), (1,)))},
            "equation 1, negative: an output is defined twice",
        ),
        ({"equations": (Equation(add, (0, 1), (2, 3)),)}, "equation 0, add: outputs have types"),
        ({"equations": (Equation(add, (0, 1), ()),)}, "equation 0, add: outputs have types"),
        (
            {"equations": (Equation(Sort(0), (0, 1), (2, 2)),), "outputs": (2,)},
            "equation 0, sort.*: an output is defined twice",
        ),
        ({"sources": (None,)}, "sources and equations differ in length"),
        (
            {"equations": (Equation(Sort(0), (0, 1), (2,)),), "outputs": (2,)},
            "equation 0, sort.*: outputs have types",
        ),
    ],
)
def test_malformed(changes, words):
    with pytest.raises(fg.ExprError, match=words):
        dataclasses.replace(GOOD, **changes).check()


@pytest.mark.parametrize(
    ("equation", "error"),
    [
        (Equation(add, (0, 2), (3,)), TypeError),  # shapes differ
        (Equation(Reshape((5,)), (0,), (3,)), ValueError),
    ],
)
def test_what_a_rule_refuses(equation, error):
    types = (F, F, S, F)
    with pytest.raises(error):
        Expr((0, 1, 2), (equation,), (3,), types).check()


def test_wrong_rules_are_found_where_they_run():
    """A transpose that gives another shape is found when the transposed program is made."""
    from fungrad.core.primitive import Primitive, primitive

    @primitive
    class First(Primitive):
        linear = (0,)

        def abstract_eval(self, x):
            return x.update(shape=())

        def impl(self, xp, x):
            return x[0]

        def batch(self, size, batched, x):
            return x  # wrong: this has an axis too many

    first = First()
    x = np.ones((3, 2))
    assert fg.vmap(lambda x: add(first(x), first(x)))(x).shape == (3, 2)  # unnoticed

    def wrong_types():
        expr = fg.make_expr(lambda x: first(x))(x[0])
        return dataclasses.replace(expr, types=(F, F))

    with pytest.raises(fg.ExprError, match="first"):
        wrong_types().check()


def test_checking_is_local_to_the_block():
    assert check_exprs.get() is False
    with checking():
        assert check_exprs.get() is True
        with checking(False):
            assert check_exprs.get() is False
        assert check_exprs.get() is True
    with pytest.raises(ZeroDivisionError), checking():
        1 / 0
    assert check_exprs.get() is False


def test_checking_in_other_threads():
    import threading

    found = []
    with checking():
        thread = threading.Thread(target=lambda: found.append(check_exprs.get()))
        thread.start()
        thread.join()
    assert found == [bool(getattr(sys.flags, "thread_inherit_context", False))]

"""Simplified programs are smaller and give the same results, bit for bit."""

import dataclasses

import hypothesis
import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import pipeline
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.share import share
from fungrad.compile.pipeline import PASSES, Way, prepared, simplify
from fungrad.core.errors import ExprError
from fungrad.core.evaluate import evaluate
from fungrad.core.primitive import primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import PYTHON_SCALARS, array_type, type_of
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.elementwise import Cast, add, div, log, mul, neg, sin, sub
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.shaping import Broadcast, ReduceSum, Reshape, full
from fungrad.primitives.slices import Slice
from fungrad.primitives.sorting import Sort
from fungrad.primitives.ufunc import Elementwise
from tests.compile.random_programs import assert_same, programs, reference

X = np.array([0.5, -0.0, np.nan, np.inf, 3.0])
ONE = np.float64(1)


def names(f, *args):
    """Return the primitives of the simplified program of `f`, after comparing the results."""
    expr = record_expr("f", f, map(type_of, args))
    simple = simplify(expr).check()
    with np.errstate(all="ignore"):
        assert_same(evaluate(simple, args), evaluate(expr, args))
    assert simplify(simple).equations == simple.equations
    assert len(simple.sources) == len(simple.equations)
    return [e.primitive.name for e in simple.equations]


SIMPLIFYING = [x for x in PASSES if not x.ways]


@pytest.mark.parametrize("place", range(len(SIMPLIFYING) + 1))
def test_a_pass_that_changes_nothing_changes_no_program(place, monkeypatch):
    def f(x):
        y = add(mul(x, x), mul(x, x))
        sin(y)
        return [y]

    expr = record_expr("f", f, (type_of(X),))
    expected = simplify(expr).equations
    idle = pipeline.Pass("idle", lambda expr: expr)
    passes = (*SIMPLIFYING[:place], idle, *SIMPLIFYING[place:])
    monkeypatch.setattr(pipeline, "_SIMPLIFYING", passes)
    assert simplify(expr).equations == expected


@hypothesis.settings(max_examples=200)
@hypothesis.given(programs(length=25))
def test_random_programs(case):
    expr, arguments, _ = case
    simple = simplify(expr).check()
    assert len(simple.equations) <= len(expr.equations)
    with np.errstate(all="ignore"):
        assert_same(reference(simple, arguments), reference(expr, arguments), signs=False)
    assert simplify(simple).equations == simple.equations
    assert simple.input_types == expr.input_types
    assert [(t.shape, t.dtype) for t in simple.output_types] == [
        (t.shape, t.dtype) for t in expr.output_types
    ]


def test_dead_code():
    def f(x):
        sin(add(x, x))
        sin(np.float64(3))
        return [neg(x)]

    assert names(f, X) == ["negative"]
    expr = without_dead_code(record_expr("f", lambda x: [x, add(x, np.ones(5))][:1], [type_of(X)]))
    assert expr.constants == {}
    assert expr.equations == ()


def test_all_results_of_an_equation_are_kept_if_one_is_needed():
    assert names(lambda x: [Sort(0)(x, neg(x))[1]], X) == ["negative", "sort"]
    assert names(lambda x: [Sort(0)(x, neg(x)) and x], X) == []


def test_common_subexpressions():
    assert names(lambda x: [add(sin(x), sin(x))], X) == ["sin", "add"]
    assert names(lambda x: [mul(sin(neg(x)), sin(neg(x)))], X) == ["negative", "sin", "multiply"]
    assert names(lambda x: [*Sort(0)(x), *Sort(0)(x)], X) == ["sort"]
    assert names(lambda x: [Sort(0, 1, True)(x)[0], Sort(0, 1, False)(x)[0]], X) == ["sort"] * 2


def test_what_commutes():
    f = lambda g: lambda x, y: [g(x, y), g(y, x)]
    assert names(f(add), X, X) == ["add"]
    assert names(f(mul), X, X) == ["multiply"]
    assert names(f(sub), X, X) == ["subtract"] * 2
    assert names(f(div), X, X) == ["divide"] * 2


def test_casts_of_one_value_to_types_that_are_equal_in_python():
    f = lambda x: [Cast(np.dtype(np.float32))(x), Cast(np.dtype(float))(x), Cast(np.dtype(bool))(x)]
    assert names(f, X) == ["cast"] * 3


@pytest.mark.parametrize("one", [ONE, np.float64(1.0)])
def test_products_with_one(one):
    assert names(lambda x: [mul(x, one)], 2.0 * ONE) == []
    assert names(lambda x: [mul(one, x)], 2.0 * ONE) == []
    ones = lambda: full(type_of(X), one)
    assert names(lambda x: [mul(x, ones())], X) == []
    assert names(lambda x: [mul(Reshape((5, 1))(ones()), Reshape((5, 1))(x))], X) == ["reshape"]
    assert names(lambda x: [mul(mul(x, ones()), ones())], X) == []


def test_products_with_what_is_not_one():
    assert names(lambda x: [mul(x, np.True_)], np.False_) == ["multiply"]  # x and True
    assert names(lambda x: [mul(x, np.float64(1 + 1e-15))], 2.0 * ONE) == ["multiply"]
    assert names(lambda x: [add(x, np.float64(0))], -0.0 * ONE) == ["add"]  # -0.0 + 0.0 is 0.0
    assert names(lambda x: [mul(x, np.float64(0))], np.inf * ONE) == ["multiply"]


def test_constants_are_folded():
    assert names(lambda x: [add(x, sin(mul(np.float64(2), np.float64(3))))], ONE) == ["add"]
    chain = lambda: neg(neg(neg(np.float64(2))))
    assert names(lambda x: [add(x, chain()), chain()], ONE) == ["add"]


def constant_program(primitive, *values):
    """Return the program of a call on constants alone, which recording would run at once."""
    from fungrad.core.expr import Equation, Expr

    types = [type_of(v) for v in values]
    n = len(types)
    types += primitive.infer(tuple(types))
    equation = Equation(primitive, tuple(range(n)), (n,))
    return Expr((), (equation,), (n,), tuple(types), dict(enumerate(values))).check()


def test_folding():
    simple = simplify(constant_program(add, np.float64(2), np.float64(3))).check()
    assert simple.equations == ()
    assert simple.constants[simple.outputs[0]] == 5.0
    # Not arrays, and nothing that warns or raises: the program may never be run.
    assert simplify(constant_program(add, np.ones(2), np.ones(2))).equations
    assert simplify(constant_program(log, np.float64(0))).equations
    assert simplify(constant_program(div, np.float64(1), np.float64(0))).equations


def test_folding_leaves_errors_where_they_are():
    @primitive
    class Failing(Elementwise):
        def result_dtype(self, *dtypes):
            return dtypes[0]

        def impl(self, xp, x):
            raise ValueError("no")

    expr = simplify(constant_program(Failing(), ONE))
    assert len(expr.equations) == 1
    with pytest.raises(ValueError, match="no"):
        evaluate(expr, [])


def test_constants_of_one_value_and_different_types():
    def f(x, y):
        return [
            add(x, np.float64(1)),
            add(y, np.float32(1)),
            mul(x, np.float64(-0.0)),
            mul(x, np.float64(0.0)),
        ]

    assert names(f, ONE, np.float32(2)) == ["add", "add", "multiply", "multiply"]
    nan = np.float64(np.nan)
    assert names(lambda x: [add(x, nan), add(x, nan)], ONE) == ["add"]


def test_weak_and_strong_constants_are_apart():
    expr = record_expr("f", lambda x: [add(x, 2.0), add(x, np.float64(2))], [PYTHON_SCALARS[float]])
    simple = simplify(expr).check()
    assert [t.weak for t in simple.output_types] == [t.weak for t in expr.output_types]


def test_types_of_results_are_kept():
    weak = PYTHON_SCALARS[float]
    expr = record_expr("f", lambda x: [mul(x, ONE)], [weak])
    assert expr.output_types[0].weak is False
    assert simplify(expr).output_types == expr.output_types


def test_broadcasts_of_broadcasts():
    f = lambda x: [Broadcast((2, 3, 5, 4), (0, 3))(Broadcast((3, 5), (0,))(x))]
    assert names(f, X) == ["broadcast"]
    g = lambda x: [
        Broadcast((3, 2, 5), (1,))(Broadcast((3, 5), (0,))(x)),
        Broadcast((3, 5), (0,))(x),
    ]
    assert names(g, X) == ["broadcast"] * 2


INDEX = type_of(np.int64(0))


def test_axes_of_length_1_are_dropped_by_the_slice_itself():
    def rows(x, i):
        row = Reshape((3,))(Slice((1, 0), (2, 3), (1, 1))(x))
        element = Reshape(())(Slice((2,), (3,), (1,))(row))
        column = DynamicSlice((1,), (1,), (3,))(x, i)
        again = Reshape((1, 3, 1))(Reshape((3, 1))(Slice((2, 0), (3, 3), (1, 1), (0,))(x)))
        return [row, element, Reshape((3,))(column), Reshape((1, 3))(again), again]

    x = np.arange(12.0).reshape(3, 4)
    assert [
        e.primitive for e in simplify(record_expr("f", rows, [type_of(x), INDEX])).equations
    ] == [
        Slice((1, 0), (2, 3), (1, 1), (0,)),
        Slice((2,), (3,), (1,), (0,)),
        DynamicSlice((1,), (1,), (3,), (1,)),
        Slice((2, 0), (3, 3), (1, 1), (0,)),
        Slice((2, 0), (3, 3), (1, 1)),
        Reshape((1, 3, 1)),
    ]


def test_axes_of_length_1_are_not_put_into_what_is_written():
    def updates(x, row, value, i):
        row, value = Reshape((1, 4))(row), Reshape((1, 1))(value)
        x = UpdateSlice((1, 0), (2, 4), (1, 1))(x, row)
        x = UpdateSlice((2, 3), (3, 4), (1, 1), "add")(x, value)
        return [DynamicUpdateSlice((0,), (1,), (2,))(x, row, i)]

    x = np.arange(12.0).reshape(3, 4)
    types = [type_of(x), type_of(x[0]), type_of(x[0, 0]), INDEX]
    assert [e.primitive for e in simplify(record_expr("f", updates, types)).equations] == [
        UpdateSlice((1, 0), (2, 4), (1, 1), "set", (0,)),
        UpdateSlice((2, 3), (3, 4), (1, 1), "add", (0, 1)),
        DynamicUpdateSlice((0,), (1,), (2,), "set", (0,)),
    ]


def test_a_slice_is_not_taken_later_than_its_array_is_overwritten():
    def updated(x):
        y = neg(x)
        first = Slice((0,), (1,), (1,))(y)
        z = UpdateSlice((0,), (1,), (1,))(y, Slice((1,), (2,), (1,))(x))
        return [add(Broadcast((4,), (0,))(Reshape(())(first)), z)]

    program = Program(record_expr("f", updated, [type_of(np.ones(4))]))
    text = program.source.text
    assert "c = b[0]\n" in text
    assert "b[0:1] = d\n" in text
    assert_same(program(np.arange(1.0, 5.0)), [np.array([1.0, -3.0, -4.0, -5.0])])


def test_inputs_and_outputs_stay():
    expr = record_expr("f", lambda x, y: [x, x, mul(x, np.ones(5)), neg(neg(x))], [type_of(X)] * 2)
    simple = simplify(expr)
    assert simple.inputs == expr.inputs
    assert len(simple.outputs) == 4
    assert simple.captured == expr.captured


def test_sums_of_one_are_not_one():
    ones = array_type((3,), np.dtype(float))
    found = names(lambda x: [mul(x, ReduceSum((0,))(full(ones, 1)))], 2.0 * ONE)
    assert found == ["broadcast", "reduce_sum", "multiply"]


def test_share_keeps_dead_code_but_not_copies_of_it():
    expr = record_expr("f", lambda x: [sin(x), sin(x)][:1], [type_of(X)])
    assert len(share(expr).equations) == 1
    assert array_type((5,), np.dtype(float)) is expr.types[0]


def test_passes_can_be_looked_at():
    def f(x):
        y = fnp.zeros(3)
        y[1] = x
        return fnp.sum(y * 1.0 * x)

    lowered = fg.jit(fg.grad(f)).lower(2.0)
    after = dict(lowered.passes)
    assert str(after["dead code"]) == str(lowered.simplified)
    assert [name for name, _ in lowered.passes][:2] == [x.name for x in PASSES][:2]
    assert len(after["share"].equations) < len(lowered.expr.equations)
    assert str(after["fuse"]) == str(prepared(lowered.simplified, Way.KERNELS))
    assert dict(lowered.passes_on_device).keys() == after.keys() - {
        *("libraries", "spell out", "take apart", "outline", "fuse")
    } | {"outline loops", "write out for devices", "outline the rest", "fuse for devices"}


@pytest.mark.parametrize("way", Way)
def test_programs_are_checked_after_each_pass(way, monkeypatch):
    def broken(expr):
        *rest, last = expr.equations
        return dataclasses.replace(expr, equations=(last, *rest))

    passes = tuple(x._replace(rewrite=broken) if x.name == "write out" else x for x in PASSES)
    monkeypatch.setattr(pipeline, "_PREPARING", {way: passes[4:]})
    expr = record_expr("f", lambda x: [sin(x) * sin(x)], [type_of(X)])
    with fg.checking(), pytest.raises(ExprError, match="equation 0"):
        prepared(expr, way)


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x, y: x.T.T + y, ["add"]),
        (lambda x, y: x.T @ y, ["dot_general"]),
        (lambda x, y: x @ y.T, ["dot_general"]),
        (lambda x, y: x[0].T @ y.T, ["slice", "dot_general"]),
        (lambda x, y: (x @ y.T).T, ["dot_general", "permute"]),
        (lambda x, y: fnp.tensordot(x[None].T, y[:, None], ((1,), (0,))), None),
        (
            lambda x, y: fnp.transpose(fnp.transpose(x[None], (1, 2, 0)), (1, 2, 0)) + 1,
            ["permute", "add"],
        ),
        (lambda x, y: fnp.transpose(fnp.transpose(x[None], (1, 2, 0)), (2, 0, 1)) + 1, ["add"]),
        (lambda x, y: fnp.matmul(x[None], y[None].transpose(0, 2, 1)), None),
    ],
)
def test_transposes(f, left):
    x, y = np.random.default_rng(0).normal(size=(2, 4, 4))
    expr = fg.jit(f).lower(x, y).simplified.check()
    found, expected = fg.jit(f)(x, y), f(x, y)
    np.testing.assert_array_equal(found, expected)
    assert found.strides == expected.strides
    if left is not None:
        assert [
            e.primitive.name
            for e in expr.equations
            if e.primitive.name not in ("reshape", "broadcast")
        ] == left


def test_transposes_that_do_not_commute():
    x = np.arange(24.0).reshape(2, 3, 4)
    f = lambda x: fnp.transpose(fnp.transpose(x, (1, 2, 0)), (1, 0, 2)) + 1
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))


def test_a_product_with_a_complex_1_stays():
    z = np.array([complex(np.inf, 1.0), complex(1.0, -0.0)])
    assert names(lambda z: [mul(z, full(type_of(z), 1 + 0j))], z) == ["broadcast", "multiply"]
    with np.errstate(invalid="ignore"):
        found, expected = fg.jit(lambda z: z * np.complex128(1))(z), z * np.complex128(1)
    assert found.tobytes() == expected.tobytes()


def test_what_is_set_in_zeros_is_added_to_what_these_are_added_to():
    def f(x, u, i):
        return x + fg.lax.dynamic_update_slice(fnp.zeros(5), u, (i,))

    x, u = np.arange(5.0), np.array([10.0, 20.0])
    np.testing.assert_array_equal(fg.jit(f)(x, u, 2), [0, 1, 12, 23, 4])


def test_the_last_assignment_to_a_place_counts():
    again = fg.jit(lambda x, y: x.at[1:].set(y).at[1:].set(2 * y))
    np.testing.assert_array_equal(again(np.zeros(3), np.ones(2)), [0.0, 2.0, 2.0])
    f = fg.jit(lambda x: x.at[0].set(5.0).at[2].set(7.0).at[0].set(6.0))
    np.testing.assert_array_equal(f(np.zeros(3)), [6.0, 0.0, 7.0])
    g = fg.jit(lambda x, i, j: x.at[i].set(5.0).at[j].set(7.0))
    np.testing.assert_array_equal(g(np.zeros(3), 1, 2), [0.0, 5.0, 7.0])


def test_constants_of_the_same_bits_and_other_dtypes_are_two():
    def f(x, i):
        return fnp.where(x > 1, x, np.float64(0)), fnp.where(i > 1, i, np.int64(0))

    x, i = np.array([0.5, 2.0]), np.array([1, 5])
    assert names(f, x, i).count("select") == 2
    simple = simplify(record_expr("f", f, map(type_of, (x, i))))
    assert {simple.types[v].dtype.kind for v in simple.constants} >= {"f", "i"}

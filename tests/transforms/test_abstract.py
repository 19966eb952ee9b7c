"""`make_expr`, `eval_shape`, `ShapeDtypeStruct`: functions without running them."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

S = fg.ShapeDtypeStruct


def names(expr):
    return [e.primitive.name for e in expr.equations]


def test_make_expr_of_a_small_function():
    expr = fg.make_expr(lambda x, y: (fnp.sin(x) * y, x))(np.ones(3), np.ones(3))
    assert names(expr) == ["sin", "multiply"]
    assert [str(t) for t in expr.input_types] == ["float64[3]"] * 2
    assert [str(t) for t in expr.output_types] == ["float64[3]"] * 2
    assert expr.check() is expr
    text = str(expr)
    assert "sin" in text
    assert "float64[3]" in text
    assert fg.make_jaxpr is fg.make_expr


def test_values_are_not_needed_nor_known(as_written):
    expr = fg.make_expr(lambda x: x * 2)(S((4,), np.float32))
    assert [str(t) for t in expr.output_types] == ["float32[4]"]
    with pytest.raises(fg.ConcretizationError):
        fg.make_expr(lambda x: x if x > 0 else -x)(1.0)
    with pytest.raises(fg.ConcretizationError):
        fg.eval_shape(lambda x: float(x), 1.0)


def test_captured_arrays_are_constants_of_trace_time():
    c = np.ones(3)
    expr = fg.make_expr(lambda x: x * c)(np.ones(3))
    c[:] = 5
    assert (len(expr.inputs), expr.captured) == (1, 0)
    (kept,) = expr.constants.values()
    np.testing.assert_array_equal(kept, [1, 1, 1])


def test_make_expr_of_transformed_functions():
    f = lambda x: fnp.sum(fnp.sin(x))
    for g in (fg.grad(f), fg.vmap(fnp.sin), fg.jit(f), lambda x: fg.jvp(f, (x,), (x,))[1]):
        expr = fg.make_expr(g)(np.ones(3))
        assert expr.check() is expr
        assert expr.equations
    assert "cos" in names(fg.make_expr(fg.grad(f))(np.ones(3)))


def test_make_expr_takes_trees_and_keywords():
    expr = fg.make_expr(lambda t, *, k: {"s": t["a"] + k})({"a": np.ones(2)}, k=2.0)
    assert len(expr.inputs) == 2
    assert [t.shape for t in expr.output_types] == [(2,)]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x, y: x @ y, (np.ones((2, 3)), np.ones((3, 4), np.float32))),
        (lambda x: {"a": x.sum(), "b": (x > 0, [x.T])}, (np.ones((2, 3), np.float32),)),
        (lambda x: x * 2.0, (np.ones(3, int),)),
        (lambda x: x * 2, (np.float32(1),)),
        (lambda x: fg.grad(lambda y: fnp.sum(y * y))(x), (np.ones(3, np.float16),)),
        (lambda x: fg.jacobian(lambda y: y * y)(x), (np.ones(3),)),
        (lambda x: fg.vmap(fnp.sum)(x), (np.ones((0, 3)),)),
        (lambda x, y=None: (x, y, 3.0), (np.ones(2), None)),
    ],
)
def test_eval_shape_agrees_with_running(f, args):
    shapes = fg.eval_shape(f, *args)
    structs = fg.tree.map(lambda x: S(np.shape(x), np.asarray(x).dtype), args)
    assert fg.eval_shape(f, *structs) == shapes
    leaves, structure = fg.tree.flatten(shapes)
    found, found_structure = fg.tree.flatten(f(*args))
    assert structure == found_structure
    for s, x in zip(leaves, found):
        assert type(s) is S
        assert (s.shape, s.dtype) == (np.shape(x), np.asarray(x).dtype)


def test_eval_shape_with_keywords_and_inside_other_transforms():
    assert fg.eval_shape(lambda x, *, n: x * n, S((2,), float), n=3) == S((2,), float)

    def f(x):
        assert fg.eval_shape(lambda y: y * x, np.ones((2, 3))) == S((2, 3), float)
        return fnp.sum(x * x)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), [2, 2, 2])
    assert fg.eval_shape(fg.grad(f), S((3,), float)) == S((3,), float)


def test_eval_shape_takes_no_memory_and_runs_nothing():
    big = S((10**6, 10**6), float)
    assert fg.eval_shape(lambda x: fnp.sin(x @ x) + 1, big) == big


def test_shape_dtype_struct():
    s = S([2, 3], "float32")
    assert (s.shape, s.dtype, s.ndim, s.size) == ((2, 3), np.float32, 2, 6)
    assert s == S((2, 3), np.float32)
    assert s != S((2, 3), float)
    assert s != S((3, 2), np.float32)
    assert s != "other"
    assert hash(s) == hash(S((2, 3), np.float32))
    assert repr(s) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
    assert S((), int).size == 1
    assert isinstance(S((0, 3), int).size, int)


def test_results_that_are_no_arrays():
    with pytest.raises(TypeError, match="must return arrays"):
        fg.eval_shape(lambda x: "text", 1.0)
    with pytest.raises(TypeError, match="must return arrays"):
        fg.make_expr(lambda x: "text")(1.0)


def test_checking_checks_every_program():
    with fg.checking():
        f = fg.jit(fg.vmap(fg.grad(lambda x: fnp.sum(fnp.sin(x) * x))))
        np.testing.assert_allclose(
            f(np.ones((2, 3))), np.full((2, 3), np.sin(1) + np.cos(1)), rtol=1e-14
        )

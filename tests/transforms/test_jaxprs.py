"""Programs with JAX's attributes, and the types that stand for arrays."""

import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend import core
from fungrad.scipy import stats

S = fg.ShapeDtypeStruct


def function(x, y):
    table = np.arange(3.0)
    total, steps = lax.scan(lambda c, z: (c + z * y, c * z), 0.0, x)
    return {"a": fnp.sin(x) * table, "b": (fg.jit(lambda z: z - 2.0)(total), steps)}


ARGS = (np.array([1.0, 2.0, 4.0]), 3.0)


def leaves(x):
    return fg.tree.leaves(x)


def test_running_a_jaxpr_is_calling_the_function():
    closed, shapes = fg.make_jaxpr(function, return_shape=True)(*ARGS)
    expected = leaves(function(*ARGS))
    assert shapes == fg.eval_shape(function, *ARGS)
    run = core.jaxpr_as_fun(closed)
    assert len(closed.consts) == len(closed.jaxpr.constvars) == 1
    same = closed.replace(consts=closed.consts)
    for f in (
        run,
        fg.jit(run),
        same.program,
        core.jaxpr_as_fun(same),
        pickle.loads(pickle.dumps(closed)).program,
    ):
        for x, y in zip(f(*ARGS), expected, strict=True):
            np.testing.assert_array_equal(x, y)
    gradient = fg.grad(lambda x: fnp.sum(run(x, 3.0)[0]))(ARGS[0])
    np.testing.assert_allclose(gradient, np.cos(ARGS[0]) * np.arange(3.0))
    assert fg.vmap(run, (0, None))(np.ones((5, 3)), 2.0)[0].shape == (5, 3)


def test_attributes():
    closed = fg.make_jaxpr(function)(*ARGS)
    assert isinstance(closed, core.ClosedJaxpr)
    assert isinstance(closed, fg.Expr)
    assert closed.in_avals == [core.ShapedArray((3,), float), core.ShapedArray((), float, True)]
    assert [a.shape for a in closed.out_avals] == [(3,), (), (3,)]
    assert (closed.literals, closed.effects) == (closed.consts, frozenset())
    names = [eqn.primitive.name for eqn in closed.eqns]
    assert set(names) >= {"sin", "mul", "scan", "jit"}
    for eqn in closed.eqns:
        assert all(isinstance(v, (core.Var, core.Literal)) for v in eqn.invars)
        assert [v.aval for v in eqn.outvars]
        assert eqn.primitive == getattr(core.primitives, f"{eqn.primitive.name}_p")
        assert hash(eqn.primitive) == hash(getattr(core.primitives, f"{eqn.primitive.name}_p"))
    jit, scan = closed.eqns[names.index("jit")], closed.eqns[names.index("scan")]
    assert [e.primitive.name for e in jit.params["jaxpr"].eqns] == ["sub"]
    assert len(list(core.subjaxprs(closed.jaxpr))) == 2
    assert next(core.jaxprs_in_params(scan.params)) is scan.params["jaxpr"].jaxpr
    assert "test_jaxprs.py" in str(fg.core.errors.describe_source(jit.source_info))
    for text in (str(closed.jaxpr), str(closed)):
        assert "sin" in text
        assert "scan" in text
    core.check_jaxpr(closed.jaxpr)
    broken = closed.jaxpr.replace(eqns=closed.jaxpr.eqns[::-1])
    with pytest.raises(core.JaxprTypeError, match="are used before their definition"):
        core.check_jaxpr(broken)
    with pytest.raises(TypeError, match="takes 2 arguments and 1 constants; got 1 and 0"):
        core.eval_jaxpr(closed.jaxpr, [], 1.0)


def test_unused_results_and_effects():
    closed = fg.make_jaxpr(lambda x: lax.scan(lambda c, z: (c + z, z), 0.0, x)[0])(np.ones(3))
    (scan,) = (e for e in closed.eqns if e.primitive.name == "scan")
    assert type(scan.outvars[1]) is core.DropVar
    closed = fg.make_jaxpr(lambda x: fg.debug.print("x = {}", x))(1.0)
    assert len(closed.effects) == 1


def test_what_is_captured_is_a_constant():
    consts = []

    def f(x):
        closed = fg.make_jaxpr(lambda y: y * x + np.arange(3.0))(np.ones(3))
        consts.append(len(closed.consts))
        return fnp.sum(core.eval_jaxpr(closed.jaxpr, closed.consts, 2 * np.ones(3))[0])

    assert f(2.0) == 15
    assert fg.grad(f)(2.0) == fg.jit(fg.grad(f))(2.0) == 6
    assert consts == [1, 2, 2]  # a number is written where it is used
    np.testing.assert_array_equal(fg.vmap(f)(np.arange(2.0)), [3, 9])


def test_rewritten_by_hand():
    """As interpreters of programs do: each sine becomes a cosine."""
    closed = fg.make_jaxpr(lambda x: fnp.sin(fnp.sin(x) * 2))(np.ones(2))
    swap = lambda e: e.replace(primitive=core.primitives.cos_p) if e.primitive.name == "sin" else e
    changed = closed.map_jaxpr(lambda j: j.replace(eqns=[swap(e) for e in j.eqns]))
    x = np.array([0.1, 0.2])
    np.testing.assert_array_equal(core.jaxpr_as_fun(changed)(x)[0], np.cos(np.cos(x) * 2))
    with pytest.raises(NotImplementedError, match="call the function that it is a part of"):
        core.primitives.made_up_p.bind(1.0)
    with pytest.raises(AttributeError, match="not the name of a primitive"):
        core.primitives.sin


def test_options_of_make_jaxpr():
    power = lambda x, n, *, k=1: k * x**n
    closed = fg.make_jaxpr(power, static_argnums=1)(2.0, 3, k=2.0)
    assert len(closed.in_avals) == 2
    assert core.jaxpr_as_fun(closed)(2.0, 2.0) == [16.0]
    closed = fg.make_jaxpr(power, static_argnums=(-1,))(2.0, 3)
    assert core.jaxpr_as_fun(closed)(2.0) == [8.0]
    closed = fg.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert [e.primitive.name for e in closed.eqns] == ["psum"]
    with pytest.raises(NameError, match="unbound axis name"):
        fg.make_jaxpr(lambda x: lax.psum(x, "i"))(1.0)


def test_shape_dtype_struct():
    s = S([2, 3], np.float32, sharding="here")
    assert (s.shape, s.ndim, s.size, s.nbytes, len(s)) == ((2, 3), 2, 6, 24, 2)
    assert (s.sharding, s.vma, s.weak_type) == ("here", frozenset(), False)
    assert s.update(shape=(4,)) == S((4,), np.float32, sharding="here")
    assert s != S((2, 3), np.float32)
    assert S((), float) != S((), float, weak_type=True)
    assert S.like(np.ones(3)) == S((3,), float) == S.like(S((3,), float))
    assert S.like(1.0).weak_type
    assert "weak_type=True" in repr(S.like(1.0))
    assert fg.eval_shape(lambda x: (2 * x, x + fnp.ones(2)), 1.0) == (S.like(1.0), S((2,), float))
    assert fg.make_expr(lambda x: x)(S((), float, weak_type=True)).input_types[0].weak
    assert fg.eval_shape(lambda: (S((2,), int), 1.0)) == (S((2,), int), S.like(1.0))
    for wrong in (lambda: len(S((), float)), lambda: len(core.ShapedArray((), float))):
        with pytest.raises(TypeError, match="len"):
            wrong()
    with pytest.raises(ValueError, match="give a dtype"):
        S((), None)


def test_types_of_arrays():
    assert fg.typeof(np.ones((2, 3), np.int8)) == core.ShapedArray((2, 3), np.int8)
    aval = fg.typeof(2)
    assert (aval.weak_type, aval.strip_weak_type().weak_type) == (True, False)
    assert aval.to_tangent_aval().dtype == fg.float0
    assert core.ShapedArray((2,), np.float32).to_tangent_aval().dtype == np.float32
    assert fg.typeof(aval) is aval
    assert (aval.str_short(), aval.vma, aval.size, aval.nbytes) == ("int64[]", frozenset(), 1, 8)
    seen = []
    fg.jit(lambda x: seen.append(fg.typeof(x)) or x)(np.ones(3))
    assert seen == [core.ShapedArray((3,), float)]
    assert fg.eval_shape(lambda x: x.T, core.ShapedArray((2, 3), float)).shape == (3, 2)
    assert {core.ShapedArray((), float): 1}[core.ShapedArray((), float)] == 1
    assert core.mapped_aval(3, -1, core.ShapedArray((2, 3), float)).shape == (2,)
    assert core.unmapped_aval(3, 1, core.ShapedArray((2,), float)).shape == (2, 3)
    assert core.mapped_aval(3, None, aval) is core.unmapped_aval(3, None, aval) is aval
    with pytest.raises(ValueError, match="has not the length 4"):
        core.mapped_aval(4, 0, core.ShapedArray((2,), float))
    with pytest.raises(TypeError, match="is not an array or a number"):
        fg.typeof("x")


def test_small_ones(as_written):
    assert core.trace_state_clean()
    fg.jit(lambda x: x if not core.trace_state_clean() else 1 / 0)(1.0)
    with pytest.raises(fg.ConcretizationError, match="a value is needed"):
        fg.jit(lambda x: core.concrete_or_error(float, x))(1.0)
    assert fg.grad(lambda x: x * core.concrete_or_error(float, x))(3.0) == 3
    tops = []
    fg.grad(lambda x: tops.append(core.find_top_trace([x])) or x)(1.0)
    assert tops[0] is not None
    assert core.find_top_trace() is None
    assert core.primal_dtype_to_tangent_dtype(np.int32) == fg.float0
    eqn = core.new_jaxpr_eqn([], [], core.primitives.sin_p, {}, set())
    assert eqn.primitive.name == "sin"
    assert not core.nonempty_axis_env()


def test_an_array_is_one_constant_where_it_is_used_several_times(as_written):
    """In the order of use, whether arrays or tracers are closed over: functions that are alike have constants that are."""
    a, b = np.array([2.0]), np.ones(3)

    def constants(x, y):
        return fg.make_jaxpr(lambda z: z * x + y + np.float32(1) - z * y + z * x)(1.0).consts

    assert [c.shape for c in constants(a, b)] == [(1,), (3,)]
    shapes = []
    fg.jit(lambda x: shapes.append([c.shape for c in constants(a, x)]) or x)(b)
    fg.jit(lambda x: shapes.append([c.shape for c in constants(x, b)]) or x)(a)
    assert shapes == [[(1,), (3,)]] * 2

    def writes(z):
        x = np.zeros(2)
        y = z + x
        x[0] = 5
        return y * x

    assert [c.tolist() for c in fg.make_jaxpr(writes)(1.0).consts] == [[0, 0], [5, 0]]


def test_numbers_are_literals_of_equations_of_elements_alone():
    def f(x):
        return fnp.where(x > 1, 2.0 * x, 0.5), fnp.concatenate([x, fnp.full(2, 7.0)])

    closed = fg.make_jaxpr(f)(np.arange(3.0))
    kinds = {eqn.primitive.name: [type(v) for v in eqn.invars] for eqn in closed.eqns}
    assert kinds["gt"] == [core.Var, core.Literal]
    assert kinds["mul"] == [core.Literal, core.Var]
    assert kinds["select_n"] == [core.Var] * 3  # as in JAX, of one shape
    assert kinds["concatenate"] == [core.Var] * 2
    same = closed.replace(consts=closed.consts)
    for run in (core.jaxpr_as_fun(closed), core.jaxpr_as_fun(same), same.program):
        for x, y in zip(run(np.arange(3.0)), f(np.arange(3.0)), strict=True):
            np.testing.assert_array_equal(x, y)


def test_branches_are_programs_among_the_parameters():
    f = lambda x: lax.cond(x > 0, lambda y: lax.cond(y > 1, fnp.sin, fnp.cos, y), fnp.exp, x)
    (eqn,) = [e for e in fg.make_jaxpr(f)(1.0).eqns if e.primitive.name == "cond"]
    assert all(isinstance(branch, core.ClosedJaxpr) for branch in eqn.params["branches"])
    assert len(list(core.jaxprs_in_params(eqn.params))) == 2
    for x in (-1.0, 0.5, 2.0):
        assert core.jaxpr_as_fun(fg.make_jaxpr(f)(1.0))(x) == [f(x)]


def test_primitives_of_equations_are_those_that_are_looked_up():
    sin_p = core.primitives.sin_p
    (eqn,) = fg.make_jaxpr(fnp.sin)(np.ones(2)).eqns
    assert eqn.primitive is sin_p is core.primitives.sin_p is pickle.loads(pickle.dumps(sin_p))
    with pytest.raises(NotImplementedError, match=r"lacking_p.bind: call the function"):
        core.primitives.lacking_p.bind(1.0)
    (power,) = fg.make_jaxpr(lambda x: x**3)(np.ones(2)).eqns
    assert power.primitive.bind(np.float64(2.0), y=5) == 32
    with pytest.raises(
        TypeError, match=r"norm.logpdf.bind: an equation of it has other parameters"
    ):
        fg.make_jaxpr(stats.norm.logpdf)(np.ones(2)).eqns[0].primitive.bind(np.ones(2), wrong=1)

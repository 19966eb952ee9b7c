"""Primitives declared as JAX's are, under every transform: each rule of the package's is called, and what it says is done."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend import ad, api_util, batching, core, linear_util, mlir
from fungrad.extend import partial_eval as pe

X = np.array([0.5, 1.0, 2.0])


def cube(lowered):
    """``scale * x**3``, of which only these rules know anything."""
    p = core.Primitive("cube")
    rule = lambda x, *, scale: scale * x**3
    p.def_abstract_eval(lambda x, *, scale: x)
    if lowered:
        mlir.register_lowering(p, mlir.lower_fun(rule, multiple_results=False))
        p.def_impl(functools.partial(mlir.apply_primitive, p))
    else:
        p.def_impl(rule)
    ad.defjvp(p, lambda t, x, *, scale: 3 * scale * x**2 * t)
    batching.defvectorized(p)
    return lambda x: p.bind(x, scale=2.0)


TRANSFORMS = {
    "value": lambda f: f,
    "jit": fg.jit,
    "grad": lambda f: fg.grad(lambda x: fnp.sum(f(x))),
    "jit grad": lambda f: fg.jit(fg.grad(lambda x: fnp.sum(f(x)))),
    "grad jit": lambda f: fg.grad(lambda x: fnp.sum(fg.jit(f)(x))),
    "hessian": lambda f: fg.hessian(lambda x: fnp.sum(f(x))),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.cos(x),)),
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](x),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](x),
    "vmap": lambda f: fg.vmap(f),
    "vmap of rows": lambda f: lambda x: fg.vmap(f, 1, 1)(fnp.outer(x, x)),
    "vmap grad": lambda f: fg.vmap(fg.grad(f)),
    "grad of branches": lambda f: fg.grad(lambda x: fnp.sum(lax.cond(x[0] > 0, f, fnp.sin, x))),
    "checkpoint": lambda f: fg.grad(lambda x: fnp.sum(fg.checkpoint(f)(x))),
    "scan": lambda f: lambda x: lax.scan(lambda c, z: (f(c) * 0.1 + z, c), 1.0, x),
    "grad scan": lambda f: fg.grad(
        lambda x: lax.scan(lambda c, z: (f(c) * 0.1 + z, c), x[0], x)[0]
    ),
    "jit vmap scan": lambda f: fg.jit(
        fg.vmap(lambda s: lax.scan(lambda c, z: (f(c) * 0.1 + z, c), s, X)[0])
    ),
    "while": lambda f: fg.jit(
        lambda x: lax.while_loop(lambda y: fnp.sum(y) < 9, lambda y: f(y) + 1, x)
    ),
}


@pytest.mark.parametrize("lowered", [False, True], ids=["impl", "lowering"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, lowered):
    found, expected = (TRANSFORMS[name](f)(X) for f in (cube(lowered), lambda x: 2.0 * x**3))
    for x, y in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)
        assert (type(x), np.shape(x)) == (type(y), np.shape(y))


def linear():
    """A linear primitive of two results, whose rules note what they are given."""
    notes = []
    p = core.Primitive("parts")
    p.multiple_results = True
    p.def_impl(lambda x, y, *, k: [x[:k] + y, x[k:]])
    p.def_abstract_eval(
        lambda x, y, *, k: [core.ShapedArray((k,), x.dtype), x.update(shape=(x.size - k,))]
    )

    def jvp(primals, tangents, *, k):
        notes.append([type(t) is ad.Zero for t in tangents])
        return p.bind(*primals, k=k), p.bind(*map(ad.instantiate_zeros, tangents), k=k)

    def transpose(cts, x, y, *, k):
        notes.append([type(ct) is ad.Zero for ct in cts])
        assert ad.is_undefined_primal(x)
        assert x.aval.shape == (3,)
        a, b = map(ad.instantiate_zeros, cts)
        return fnp.concatenate([a, b]), a if ad.is_undefined_primal(y) else None

    ad.primitive_jvps[p], ad.primitive_transposes[p] = jvp, transpose
    return notes, lambda x, y: p.bind(x, y, k=2)


def test_several_results_and_zeros():
    notes, f = linear()
    y = np.ones(2)
    assert isinstance(f(X, y), list)
    np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(f(x, y)[0] ** 2))(X), [3, 4, 0])
    assert notes == [[False, True], [False, True]]
    (gx, gy) = fg.grad(lambda x, y: f(x, y)[1][0] * f(x, y)[0][1], (0, 1))(X, y)
    np.testing.assert_array_equal(gx, [0, 2, 2])
    np.testing.assert_array_equal(gy, [0, 2])
    assert fg.linear_transpose(lambda x: f(x, np.zeros(2)), X)([y, np.ones(1)])[0].shape == (3,)


def test_declarations():
    minus = core.Primitive("minus")
    minus.def_impl(lambda x, y: x - y)
    minus.def_abstract_eval(lambda x, y: x)
    ad.deflinear(minus, lambda ct: [ct, -ct])
    assert fg.grad(lambda x: minus.bind(x**2, 3 * x))(2.0) == 1
    assert fg.grad(lambda x: minus.bind(x**2, 3.0))(2.0) == 4
    batching.defbroadcasting(minus)
    np.testing.assert_array_equal(fg.vmap(minus.bind, (0, None))(X, 1.0), X - 1)
    times = core.Primitive("times")
    times.def_impl(lambda x, y: x * y)
    times.def_abstract_eval(lambda x, y: x)
    ad.defbilinear(times, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
    assert fg.grad(lambda x: times.bind(x, fnp.sin(x)))(2.0) == np.sin(2.0) + 2 * np.cos(2.0)
    floor = core.Primitive("floor")
    floor.def_impl(np.floor)
    floor.def_abstract_eval(lambda x: x)
    ad.defjvp_zero(floor)
    assert fg.grad(lambda x: x * floor.bind(x))(2.5) == 2
    root = core.Primitive("root")
    root.def_impl(np.sqrt)
    root.def_abstract_eval(lambda x: x)
    ad.defjvp2(root, lambda t, out, x: t / (2 * out))
    assert fg.grad(root.bind)(4.0) == 0.25
    total = core.Primitive("total")
    total.def_impl(lambda x, *, axes: x.sum(axes))
    total.def_abstract_eval(
        lambda x, *, axes: x.update(shape=tuple(np.delete(x.shape, axes).tolist()))
    )
    batching.defreducer(total)
    found = fg.vmap(lambda x: total.bind(x, axes=(0,)), 1)(np.ones((3, 5, 2)))
    np.testing.assert_array_equal(found, np.full((5, 2), 3.0))


def test_batching_rules_say_where_the_batch_is():
    sees = []
    p = core.Primitive("sees")
    p.multiple_results = True
    p.def_impl(lambda x, y: [x + y, np.ones(2)])
    p.def_abstract_eval(lambda x, y: [x, core.ShapedArray((2,), float)])

    def rule(operands, dims):
        sees.append(dims)
        x, y = operands[0], operands[1][:, None]
        x = batching.bdim_at_front(x, dims[0], len(y))
        return [fnp.moveaxis(x + y, 0, -1), fnp.ones(2)], [-1, None]

    batching.primitive_batchers[p] = rule
    xs = np.arange(6.0).reshape(3, 2)
    first, second = fg.vmap(p.bind, (0, 0), [0, None])(xs, np.arange(3.0))
    np.testing.assert_array_equal(first, xs + np.arange(3.0)[:, None])
    np.testing.assert_array_equal(second, [1, 1])
    assert sees == [(0, 0)]
    # What is not mapped stays so in the body of a loop, too.
    step = lambda c, y: (p.bind(y, y[0])[1], p.bind(c, y[0])[0])
    found = fg.vmap(lambda ys: lax.scan(step, np.ones(2), ys)[1])(np.ones((4, 3, 2)))
    assert found.shape == (4, 3, 2)
    assert {*sees} == {(0, 0), (None, 0)}


@pytest.mark.parametrize("table", ["axis_primitive_batchers", "fancy_primitive_batchers"])
def test_rules_that_are_given_the_axis(table):
    p = core.Primitive("size")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)

    def fancy(axis, operands, dims):
        assert axis.name == "i"
        return operands[0] * axis.size, dims[0]

    plain = lambda size, name, _, *rest: fancy(batching.AxisData(name, size), *rest)
    getattr(batching, table)[p] = fancy if table.startswith("fancy") else plain
    np.testing.assert_array_equal(fg.vmap(p.bind, axis_name="i")(np.ones(3)), [3, 3, 3])


def test_unmapped_results_reach_branches():
    """As of equinox's ``unvmap_any``: whether any of the calls needs it."""
    p = core.Primitive("any_call")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    batching.primitive_batchers[p] = lambda operands, dims: (fnp.any(operands[0]), None)
    ran = []

    def f(x):
        def costly(y):
            fg.debug.callback(lambda: ran.append(1))
            return 2 * y

        return lax.cond(p.bind(x > 1), costly, lambda y: y, x)

    np.testing.assert_array_equal(fg.jit(fg.vmap(f))(X), 2 * X)
    assert len(ran) in (1, 3)
    ran.clear()
    np.testing.assert_array_equal(fg.jit(fg.vmap(f))(X / 4), X / 4)
    assert not ran


def test_parameters():
    traced = []
    p = core.Primitive("holds")
    p.def_impl(lambda x, *, what: x)
    p.def_abstract_eval(lambda x, *, what: traced.append(what) or x)
    for what in (1, 1.0, True, {"not": ["hashable"]}, np.ones(2), "text"):
        closed = fg.make_jaxpr(lambda x, what=what: p.bind(x, what=what))(X)
        assert closed.eqns[0].params["what"] is what
        assert traced[-1] is what
        assert closed.eqns[0].primitive is p
    assert "holds[what=text]" in str(closed)
    np.testing.assert_array_equal(core.jaxpr_as_fun(closed)(X)[0], X)


def test_effects_are_kept():
    seen = []
    p = core.Primitive("tell")
    p.multiple_results = True
    p.def_impl(lambda x: seen.append(x) or [])
    p.def_effectful_abstract_eval(lambda x: ([], {core.Effect()}))
    f = fg.jit(lambda x: (p.bind(x), 2 * x)[1])
    assert f(1.0) == f(1.0) == 2
    assert seen == [1.0, 1.0]


def test_errors():
    p = core.Primitive("bare")
    with pytest.raises(
        NotImplementedError, match="`bare` cannot be run: give it a function with def_impl"
    ):
        p.bind(1.0)
    with pytest.raises(NotImplementedError, match="`bare` cannot be traced: give it"):
        fg.jit(p.bind)(1.0)
    p.def_impl(lambda x: x[:1])
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(TypeError, match=r"`bare` gave an array of type float64\[1\], and its rule"):
        fg.jit(p.bind)(X)
    with pytest.raises(fg.MissingRuleError, match="`bare` has no `jvp` rule"):
        fg.grad(lambda x: fnp.sum(p.bind(x)))(X)
    with pytest.raises(fg.MissingRuleError, match="`bare` has no `batch` rule"):
        fg.vmap(p.bind)(X)
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(*xs), p.bind(*ts))
    with pytest.raises(fg.MissingRuleError, match="`bare` has no `transpose` rule"):
        fg.grad(lambda x: fnp.sum(p.bind(x)))(X)
    with pytest.raises(NotImplementedError, match="no lowering that is made by lower_fun"):
        mlir.apply_primitive(p, 1.0)
    mlir.register_lowering(p, lambda ctx, x: x)  # XLA's own: there is none
    assert p.bind(X).shape == (1,)


def test_zeros_pass_through_transforms():
    """As equinox has them: a rule of tangents is mapped, and they are among its arguments."""
    zero = ad.Zero(core.ShapedArray((2,), float))
    found = fg.vmap(lambda x, t: (2 * x, t), (0, None), (0, None))(X, zero)
    assert isinstance(found[1], ad.Zero)
    assert fg.tree.leaves((zero, ad.UndefinedPrimal(zero.aval))) == []
    assert ad.instantiate_zeros(zero).tolist() == [0, 0]
    assert ad.instantiate_zeros(ad.Zero.from_primal_value(3)).dtype == fg.float0
    assert ad.add_tangents(zero, 1.0) == ad.add_tangents(1.0, zero) == 1
    assert ad.add_tangents(1.0, 2.0) == 3


def test_a_primitive_that_calls_what_it_is_given():
    """As equinox's filtered primitives: functions among the parameters, rules that bind the primitive again."""
    p = core.Primitive("apply")
    p.multiple_results = True
    call = lambda *xs, fun: [fun(*xs)]
    p.def_impl(call)
    p.def_abstract_eval(lambda *xs, fun: [fg.typeof(fg.eval_shape(fun, *xs))])
    mlir.register_lowering(p, mlir.lower_fun(call))

    def jvp(primals, tangents, *, fun):
        tangents = [ad.instantiate_zeros(t) for t in tangents]
        n = len(primals)
        moved = lambda *both: fg.jvp(fun, both[:n], both[n:])[1]
        return p.bind(*primals, fun=fun), p.bind(*primals, *tangents, fun=moved)

    def transpose(cts, *operands, fun):
        at = [i for i, x in enumerate(operands) if ad.is_undefined_primal(x)]

        def pulled(ct, *known):
            rest = iter(known)
            full = lambda *linear: fun(
                *[linear[at.index(i)] if i in at else next(rest) for i in range(len(operands))]
            )
            return fg.linear_transpose(full, *[operands[i].aval for i in at])(ct)

        known = [x for x in operands if not ad.is_undefined_primal(x)]
        found = iter(pulled(cts[0], *known))
        return [next(found) if i in at else None for i in range(len(operands))]

    def batch(operands, dims, *, fun):
        return p.bind(*operands, fun=fg.vmap(fun, tuple(dims))), [0]

    ad.primitive_jvps[p], ad.primitive_transposes[p] = jvp, transpose
    batching.primitive_batchers[p] = batch
    g = lambda x, y: fnp.sin(x) * y
    f = lambda x, y: p.bind(x, y, fun=g)[0]
    cases = {
        "grad": lambda f: fg.grad(f, (0, 1))(0.5, 2.0),
        "jit grad": lambda f: fg.jit(fg.grad(f, (0, 1)))(0.5, 2.0),
        "hessian": lambda f: fg.hessian(f)(0.5, 2.0),
        "vmap grad": lambda f: fg.vmap(fg.grad(f), (0, None))(X, 2.0),
        "grad vmap": lambda f: fg.grad(lambda y: fnp.sum(fg.vmap(f, (0, None))(X, y)))(2.0),
        "scan": lambda f: fg.grad(lambda y: lax.scan(lambda c, x: (f(c, x), c), y, X)[0])(2.0),
    }
    for name, case in cases.items():
        for a, b in zip(fg.tree.leaves(case(f)), fg.tree.leaves(case(g)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, err_msg=name)


def test_tracing_of_what_is_not_known():
    unknown = pe.PartialVal.unknown(core.ShapedArray((3,), float))
    known = pe.PartialVal.known(2.0)
    f = lambda x, y: (x * y, fnp.zeros(2) + y, fnp.ones(3) + x)
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(linear_util.wrap_init(f), [unknown, known])
    assert [p.is_known() for p in outs] == [False, True, False]
    np.testing.assert_array_equal(outs[1].get_known(), [2, 2])
    assert [p.get_aval().shape for p in outs] == [(3,), (2,), (3,)]
    np.testing.assert_array_equal(core.eval_jaxpr(jaxpr, consts, X), [2 * X, 1 + X])
    jaxpr, avals, _ = pe.trace_to_jaxpr_dynamic(
        linear_util.wrap_init(f), [core.ShapedArray((3,), float), fg.typeof(1.0)]
    )
    assert (len(jaxpr.invars), len(avals)) == (2, 3)


def test_what_is_traced_outside_alone_is_known():
    def f(x):
        unknown = pe.PartialVal.unknown(core.ShapedArray((), float))
        _, outs, _ = pe.trace_to_jaxpr_nounits(lambda y: [x * y, 2 * x], [unknown])
        assert [p.is_known() for p in outs] == [False, True]
        return outs[1].get_known()

    assert fg.jit(f)(3.0) == 6


def test_wrapped_functions():
    tree = ({"a": 1.0, "b": 2.0}, [3.0])
    leaves, structure = fg.tree.flatten((tree, {}))
    fun = linear_util.wrap_init(lambda x, y, k=1.0: {"s": x["a"] * k, "y": y}, {"k": 2.0})
    flat, out_tree = api_util.flatten_fun(fun, structure)
    with pytest.raises(linear_util.StoreException, match="has not been called yet"):
        out_tree()
    assert flat.call_wrapped(*leaves) == [2.0, 3.0]
    assert fg.tree.unflatten(out_tree(), [5, 6]) == {"s": 5, "y": [6]}
    with pytest.raises(linear_util.StoreException, match="has a value already"):
        flat.call_wrapped(*leaves)

    @linear_util.transformation_with_aux
    def negated(*args):
        result = yield [-x for x in args], {}
        yield result, len(args)

    @linear_util.transformation
    def halved(by, *args):
        yield (yield [x / by for x in args], {})

    base = linear_util.wrap_init(lambda *xs: list(xs))
    fun, aux = negated(base)
    assert halved(fun, 2).call_wrapped(4.0, 6.0) == [-2.0, -3.0]
    assert aux() == 2
    assert halved(base, 2) != halved(base, 3)
    assert hash(halved(base, 2)) == hash(halved(base, 2))
    assert linear_util.merge_linear_aux(out_tree, lambda: linear_util.Store().val)[0]
    calls = []
    remembered = linear_util.cache(lambda fun, x: calls.append(x) or fun.call_wrapped(x))
    assert remembered(base, 1) == remembered(base, 1) == [1]
    assert calls == [1]
    rest, given = api_util.argnums_partial(
        linear_util.wrap_init(lambda x, y, z: x - y * z), (0, -1), (1, 2, 3)
    )
    assert (given, rest.call_wrapped(10, 4)) == ((1, 3), 2)
    assert api_util.flatten_axes("vmap", fg.tree.structure(tree), (0, None)) == [0, 0, None]
    assert api_util.donation_vector((1,), (), fg.tree.structure((tree, {}))) == (False, False, True)
    assert api_util.rebase_donate_argnums((1, 3), (0, 3)) == (0,)
    assert api_util.safe_map(max, [1, 2], [0, 5]) == [1, 5]
    assert api_util.shaped_abstractify(1.0).weak_type
    assert "f for jit" in api_util.debug_info("jit", test_wrapped_functions, (), {}).replace(
        "test_wrapped_functions", "f"
    )


def test_compiled_programs_see_what_lowered_primitives_do():
    source = fg.jit(cube(True)).source(X)
    assert "np." in source
    assert "cube" not in source
    assert "cube" in fg.jit(cube(False)).source(X)
    f = cube(True)
    loop = fg.jit(lambda x: lax.scan(lambda c, z: (f(c) * 0.1 + z, c), x, np.arange(50.0)))
    assert "cube" not in loop.source(1.0)
    assert [e.primitive.name for e in fg.make_jaxpr(f)(X).eqns] == ["cube"]


def test_what_cannot_be_mapped_stays_in_the_steps_of_a_loop():
    """A long loop is cut into what can be run for many steps at once; rules of other packages may refuse that."""

    def refuse(operands, dims):
        raise RuntimeError("not to be mapped")

    p = core.Primitive("alone")
    p.def_impl(lambda x: x * 2)
    p.def_abstract_eval(lambda x: x)
    batching.primitive_batchers[p] = refuse
    f = fg.jit(lambda x: lax.scan(lambda c, z: (c + p.bind(z), fnp.sin(z)), 0.0, x))
    x = np.arange(300.0)
    assert f(x)[0] == 2 * x.sum()
    with pytest.raises(RuntimeError, match="not to be mapped"):
        fg.vmap(p.bind)(x)


def test_lowerings_that_ask_for_values():
    """Then what `def_impl` was given runs, which may; and without it, the error says what is asked for."""
    p = core.Primitive("asks")
    asks = lambda x: x if x > 0 else -x
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(asks, multiple_results=False))
    with pytest.raises(fg.ConcretizationError, match="if"):
        fg.jit(p.bind)(-2.0)
    q = core.Primitive("asks")
    q.def_impl(asks)
    q.def_abstract_eval(lambda x: x)
    mlir.register_lowering(q, mlir.lower_fun(asks, multiple_results=False))
    assert fg.jit(q.bind)(-2.0) == 2


def test_lowerings_of_other_types():
    p = core.Primitive("narrow")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: fnp.float32(1) * x[:1], False))
    with pytest.raises(
        TypeError, match=r"gave an array of type float64\[1\], and its rule .* float64\[3\]"
    ):
        fg.jit(p.bind)(X)
    weak = core.Primitive("weak")
    weak.def_abstract_eval(lambda x: x.strip_weak_type())
    mlir.register_lowering(weak, mlir.lower_fun(lambda x: 2 * x, False))
    with fg.checking():
        assert fg.jit(lambda x: weak.bind(x) + np.float32(1))(2.0).dtype == np.float64

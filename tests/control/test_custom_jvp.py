"""`custom_jvp`: functions whose rule is right agree with plain ones under every transform; the rule is what is used."""

import functools
import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug, lax
from fungrad.core.config import setting
from fungrad.programs.loops.loops import scan
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.rules import SymbolicZero
from fungrad.test_util import check_agreement

A = np.array([0.3, -1.2, 2.0])


@custom_jvp
def log1pexp(x):
    """Softplus."""
    return fnp.log1p(fnp.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + fnp.exp(x))) * t


@custom_jvp
def branching(x):
    return x * x if x > 0 else -x


@branching.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return (branching(x), 2 * x * t) if x > 0 else (branching(x), -t)


def safe_norm_plain(x, y):
    return fnp.sqrt(x @ x + y * y)


safe_norm = custom_jvp(safe_norm_plain)


@safe_norm.defjvp
def _(primals, tangents):
    n = safe_norm(*primals)
    inverse = fnp.where(n > 0, 1 / fnp.where(n > 0, n, 1.0), 0.0)
    return n, inverse * (primals[0] @ tangents[0] + primals[1] * tangents[1])


def pieces_plain(tree, count):
    return {"sum": tree["a"].sum() * count, "parts": (fnp.sin(tree["b"]), tree["a"] * tree["b"])}


pieces = custom_jvp(pieces_plain)


@pieces.defjvp
def _(primals, tangents):
    (tree, count), (moved, t_count) = primals, tangents
    assert t_count.dtype == fg.float0
    out = pieces(tree, count)
    t_out = {
        "sum": moved["a"].sum() * count,
        "parts": (
            fnp.cos(tree["b"]) * moved["b"],
            moved["a"] * tree["b"] + tree["a"] * moved["b"],
        ),
    }
    return out, t_out


def of_pieces(function):
    def f(a, b):
        out = function({"a": a, "b": b}, 3)
        return out["sum"] + out["parts"][0] * out["parts"][1].sum()

    return f


product = custom_jvp(lambda x, y: x * fnp.exp(y))
product.defjvps(lambda t, out, x, y: t * fnp.exp(y), lambda t, out, x, y: out * t)


@functools.partial(custom_jvp, nondiff_argnums=(0, 2))
def apply(f, x, power=2):
    return f(x) ** power


@apply.defjvp
def _(f, power, primals, tangents):
    (x,), (t,) = primals, tangents
    y, t_y = fg.jvp(f, (x,), (t,))
    return apply(f, x, power), power * y ** (power - 1) * t_y


PROGRAMS = {
    "scalar": (log1pexp, lambda x: fnp.log1p(fnp.exp(x)), (0.3,)),
    "array": (log1pexp, lambda x: fnp.log1p(fnp.exp(x)), (A,)),
    "jitted": (fg.jit(log1pexp), lambda x: fnp.log1p(fnp.exp(x)), (A,)),
    "norm": (safe_norm, safe_norm_plain, (A, 0.5)),
    "trees": (of_pieces(pieces), of_pieces(pieces_plain), (A, A + 1.0)),
    "defjvps": (product, lambda x, y: x * fnp.exp(y), (A, A / 2)),
    "nondiff": (lambda x: apply(fnp.sin, x, power=3), lambda x: fnp.sin(x) ** 3, (A,)),
    "nested": (lambda x: log1pexp(product(x, log1pexp(x))), None, (A,)),
}
plain = lambda x: fnp.log1p(fnp.exp(x))
PROGRAMS["nested"] = (PROGRAMS["nested"][0], lambda x: plain(x * fnp.exp(plain(x))), (A,))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_rule_changes_nothing(name):
    f, reference, args = PROGRAMS[name]
    check_agreement(f, reference, args)


def test_in_a_loop():
    def looped(f):
        return lambda x: scan(lambda c, _: (f(c) - 0.3, f(c)), x, None, 3)[1].sum()

    check_agreement(looped(log1pexp), looped(plain), (0.4,))


@pytest.mark.parametrize("x", [1.5, -1.5])
def test_branches_on_values(x):
    reference = (lambda y: y * y) if x > 0 else (lambda y: -y)
    with fg.checking():
        check_agreement(branching, reference, (x,), jit=False, vmap=False)


def test_branches_in_the_middle_of_a_program():
    def f(x):
        y = fnp.exp(x)
        return fnp.sin(branching(y) * branching(-y))

    def reference(x):
        return fnp.sin(fnp.exp(x) ** 3)

    check_agreement(f, reference, (0.2,), jit=False, vmap=False)


def test_a_rule_that_looks_at_values_is_only_an_error_where_it_is_needed():
    @custom_jvp
    def f(x):
        return 2 * x

    f.defjvp(lambda p, t: (f(*p), t[0] if p[0] > 0 else -t[0]))
    assert fg.jit(f)(3.0) == 6.0
    assert fg.vmap(f)(A) == pytest.approx(2 * A)
    words = "under `the rule of custom_jvp function f`"
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match=words):
        fg.grad(fg.jit(f))(3.0)
    assert [fg.grad(fg.jit(f))(x) for x in (3.0, -3.0)] == [1, -1]
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="under `jit"):
        fg.jit(fg.grad(f))(3.0)
    g = fg.jit(fg.grad(f))
    assert [g(3.0), g(-3.0), g(4.0)] == [1, -1, 1]


WRONG = custom_jvp(lambda x: x)
WRONG.defjvp(lambda p, t: (WRONG(*p), 10 * p[0] * t[0]))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: fg.grad(WRONG)(3.0), 30.0),
        (lambda: fg.jit(fg.grad(WRONG))(3.0), 30.0),
        (lambda: fg.grad(fg.jit(WRONG))(3.0), 30.0),
        (lambda: fg.jvp(WRONG, (3.0,), (2.0,))[1], 60.0),
        (lambda: fg.linearize(WRONG, 3.0)[1](2.0), 60.0),
        (lambda: fg.vjp(WRONG, 3.0)[1](2.0)[0], 60.0),
        (lambda: fg.grad(fg.grad(WRONG))(3.0), 10.0),
        (lambda: fg.vmap(fg.grad(WRONG))(np.array([3.0]))[0], 30.0),
        (lambda: fg.grad(lambda x: fg.vmap(WRONG)(x * np.ones(2)).sum())(3.0), 60.0),
        (lambda: fg.jit(fg.vmap(fg.grad(fg.grad(WRONG))))(np.array([3.0]))[0], 10.0),
        (lambda: fg.linear_transpose(WRONG, 3.0)(2.0)[0], 2.0),
    ],
)
def test_the_rule_is_what_is_used(found, expected):
    assert found() == pytest.approx(expected)


def test_derivatives_of_higher_order_than_there_are_transforms():
    """A program that is differentiated later than it was traced."""
    program = fg.jit(log1pexp)
    program(0.3)
    third = fg.grad(fg.grad(fg.grad(program)))(0.3)
    assert third == pytest.approx(fg.grad(fg.grad(fg.grad(plain)))(0.3))


def test_a_rule_that_calls_itself_with_another_setting():
    @functools.partial(custom_jvp, nondiff_argnums=(0,))
    def sine(n, x):
        return fnp.sin(x + n * np.pi / 2)

    sine.defjvp(lambda n, p, t: (sine(n, *p), sine(n + 1, *p) * t[0]))
    check_agreement(lambda x: sine(0, x), fnp.sin, (A,))


def test_rules_that_read_changed_globals_are_run_anew():
    slope = [2.0]

    @custom_jvp
    def f(x):
        return x * 1.0

    f.defjvp(lambda p, t: (f(*p), slope[0] * t[0]))

    def batch(x):
        return fg.vmap(f)(x * np.ones(2)).sum()

    assert (fg.grad(f)(1.0), fg.grad(batch)(1.0)) == (2.0, 4.0)
    slope[0] = 5.0
    assert (fg.grad(f)(1.0), fg.grad(batch)(1.0)) == (5.0, 10.0)


def test_functions_made_anew_find_their_programs():
    from fungrad.transforms.call import programs

    def loss(x):
        @custom_jvp
        def f(y):
            return y * 2.0

        f.defjvp(lambda p, t: (p[0] * 2.0, 2.0 * t[0]))
        return f(fnp.sin(x)) + fg.vmap(f)(x * np.ones(2)).sum()

    fg.grad(loss)(1.0)
    misses = programs.misses
    fg.grad(loss)(1.5)
    assert programs.misses == misses


def test_arguments():
    class Model:
        scale = 3.0

        @custom_jvp
        def call(self, x, *, shift=0.0):
            return self.scale * x

    Model.call.defjvp(lambda p, t: (p[0].call(p[1]), p[0].scale * 10 * t[1]))
    assert fg.grad(lambda x: Model().call(x))(1.0) == 30.0
    with pytest.raises(TypeError, match=r"the function takes by name only; got \['shift'\]"):
        Model().call(1.0, shift=1.0)

    @functools.partial(custom_jvp, nondiff_argnames="mode")
    def f(x, mode="double", y=1.0):
        return x * y * (2 if mode == "double" else 3)

    f.defjvp(lambda mode, p, t: (f(p[0], mode, p[1]), (2 if mode == "double" else 3) * t[0] * p[1]))
    assert f.__name__ == "f"
    assert log1pexp.__doc__ == "Softplus."
    assert f(1.0, mode="triple") == 3.0
    assert fg.grad(lambda x: f(x, y=2.0, mode="triple"))(1.0) == 6.0
    assert fg.jit(fg.grad(lambda x: f(mode="triple", x=x)))(1.0) == 3.0
    assert fg.grad(lambda y: f(3.0, y=y))(1.0) == 0.0


def test_methods():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @functools.partial(custom_jvp, nondiff_argnums=(0,))
        def call(self, x):
            return self.scale * x

        @call.defjvp
        def call_jvp(self, primals, tangents):
            return self.call(*primals), 10 * self.scale * tangents[0]

    assert pickle.loads(pickle.dumps(log1pexp)) is log1pexp
    model = Model(3.0)
    assert model.call(2.0) == 6.0
    assert fg.grad(model.call)(2.0) == 30.0
    assert fg.jit(fg.grad(model.call))(2.0) == 30.0


def test_traced_settings_are_constants():
    @functools.partial(custom_jvp, nondiff_argnums=(0,))
    def f(n, x):
        return n * x

    f.defjvp(lambda n, p, t: (f(n, *p), 10 * n * t[0]))
    assert fg.grad(lambda n: f(n, 2.0))(3.0) == 0.0
    assert fg.grad(lambda n: f(n, n))(3.0) == 30.0
    assert fg.jit(fg.grad(lambda n: f(n, n)))(3.0) == 30.0


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_symbolic_zeros(transform):
    seen = []

    @custom_jvp
    def f(x, y, n):
        return x * y, x

    def rule(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        x, y, _ = primals
        t = tangents[0]
        assert (tangents[2].shape, tangents[2].dtype) == ((), fg.float0)
        return f(*primals), (t * y, SymbolicZero.from_primal_value(x))

    f.defjvp(rule, symbolic_zeros=True)
    assert transform(fg.grad(lambda x: sum(f(x, 3.0, 1))))(2.0) == 3.0
    assert seen[0] == [False, True, True] if transform is not fg.jit else seen


def test_a_value_the_rule_closes_over():
    def loss(a, x):
        f = custom_jvp(lambda y: a * y)
        f.defjvp(lambda p, t: (f(*p), a * t[0]))
        return f(x) + fg.vmap(f)(x * np.ones(1))[0]

    assert fg.grad(loss, 1)(2.0, 3.0) == 4.0
    assert fg.jit(fg.grad(loss, 1))(2.0, 3.0) == 4.0
    for call in [fg.grad(loss, (0, 1)), fg.jit(fg.grad(loss, (0, 1)))]:
        with pytest.raises(
            TypeError, match=r"uses a traced value.*test_custom_jvp.py.*Pass that value as an"
        ):
            call(2.0, 3.0)


def test_constants_made_in_rules():
    @custom_jvp
    def f(x):
        return x * fnp.ones(3)

    @f.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        grid = fnp.arange(3.0)
        out = fnp.zeros(3)
        out[:] = t
        return fnp.ones(3) * x, out + 0 * grid

    check_agreement(f, lambda x: x * fnp.ones(3), (2.0,))


def test_symbolic_zeros_cannot_be_computed_with():
    zero = SymbolicZero.from_primal_value(A)
    assert repr(zero) == "SymbolicZero(float64[3])"
    for compute in [
        lambda: A * zero,
        lambda: zero + 1,
        lambda: fg.grad(lambda x: (x * zero)[0])(A),
    ]:
        with pytest.raises(TypeError, match="SymbolicZero"):
            compute()


def test_effects_of_rules(capsys):
    @custom_jvp
    def f(x):
        return x * 2

    @f.defjvp
    def _(primals, tangents):
        debug.print("{} {}", primals[0], tangents[0])
        return primals[0] * 2, tangents[0] * 2

    for g in (f, fg.jit(f)):
        assert fg.grad(g)(3.0) == 2.0
        assert capsys.readouterr().out == ""  # no tangent has a value in reverse mode
        assert fg.jvp(g, (3.0,), (5.0,)) == (6.0, 10.0)
        assert capsys.readouterr().out == "3.0 5.0\n"


ERRORS = {
    "no pair": (lambda p, t: p[0], "must return a pair of the result and its tangent"),
    "structure": (lambda p, t: (p[0], (t[0], t[0])), "tangent of the structure of the result"),
    "shape": (lambda p, t: (p[0], fnp.zeros(2)), r"has type float64\[\], and its tangent must"),
    "dtype": (lambda p, t: (p[0], t[0].astype("f4")), r"got float32\[\]"),
    "not an array": (lambda p, t: (p[0], "t"), "got 't' of type str"),
    "from tangents": (lambda p, t: (p[0] + t[0], t[0]), "from the primals alone"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_rules(name):
    rule, message = ERRORS[name]
    f = custom_jvp(lambda x: x)
    f.defjvp(rule)
    with pytest.raises(TypeError, match=message):
        fg.grad(f)(1.0)


def test_errors():
    f = custom_jvp(lambda x: x)
    with pytest.raises(AttributeError, match=r"no rule: define it with <lambda>.defjvp"):
        f(1.0)
    f.defjvp(lambda p, t: ((p[0], p[0]), (t[0], t[0])))
    with pytest.raises(TypeError, match="must return, first, what the function returns"):
        fg.grad(fg.jit(f))(1.0)
    f.defjvps(None, None)
    with pytest.raises(TypeError, match="defjvps was given 2 functions, and the call has 1 arg"):
        fg.grad(f)(1.0)
    with pytest.raises(TypeError, match="custom_jvp takes a function, not 3"):
        custom_jvp(3)
    with pytest.raises(TypeError, match="<lambda>: defjvp takes a function, not None"):
        f.defjvp(None)
    with pytest.raises(
        ValueError, match=r"nondiff_argnames has 'y', but its parameters are \['x'\]"
    ):
        custom_jvp(lambda x: x, nondiff_argnames=("y",))
    with pytest.raises(
        TypeError, match=r"nondiff_argnums takes positions .* Names go into nondiff_argn"
    ):
        custom_jvp(lambda x: x, nondiff_argnums="x")
    with pytest.raises(ValueError, match="must count from 0"):
        custom_jvp(lambda x: x, nondiff_argnums=-1)
    g = custom_jvp(lambda x: x, nondiff_argnums=(0,))
    with pytest.raises(TypeError, match="defjvps cannot be used with nondiff_argnums"):
        g.defjvps(None)


LOOPS = {
    "scan": lambda x: lax.scan(lambda c, r: (c * r, c), x, x)[1].sum(0),
    "scan to a carry": lambda x: lax.scan(lambda c, r: (fnp.sin(c) * r, c), x, x)[0],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + i, x),
    "while_loop": lambda x: lax.while_loop(lambda c: c.sum() < 5, lambda c: c * 2 + x, x),
    "cond": lambda x: lax.cond(x.sum() > 0, lambda: fg.jit(lambda u: u * x)(x), lambda: x),
    "map": lambda x: lax.map(lambda r: fnp.tanh(x + r), x).sum(0),
    "checkpoint": fg.checkpoint(lambda x: fnp.sin(x) * x),
    "carries that steer tangents": lambda x: (
        lax.fori_loop(0, 2, lambda i, c: fnp.where(x > c, c * x, x), 0 * x + 0.5) ** 2
    ),
    "checkpoint in a loop": lambda x: fnp.prod(
        lax.fori_loop(0, 2, lambda i, c: fg.checkpoint(lambda u: fnp.sin(u) * x)(c * 1.0), x)
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_rule_may_be_the_jvp_of_a_function_with_control_flow(name):
    # There results and tangents come of one equation, of which results alone must be had.
    f = LOOPS[name]
    g = custom_jvp(f)
    g.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    x, t = np.linspace(0.2, 0.9, 3), np.array([1.0, -2.0, 0.5])
    transforms = [
        lambda h: lambda x: fg.jvp(h, (x,), (t,)),
        lambda h: fg.jit(lambda x: fg.jvp(h, (x,), (t,))),
        lambda h: lambda x: fg.linearize(h, x)[1](t),
        lambda h: lambda x: fg.linearize(fg.jit(h), x)[1](t),
        lambda h: lambda x: fg.vmap(fg.jacfwd(fg.jit(h)))(np.stack([x, x * 0.9])),
        lambda h: fg.jacfwd(lambda x: lax.map(h, fnp.stack([x, x * 0.9]))),
    ]
    if name != "while_loop":
        transforms += [
            fg.jacrev,
            lambda h: fg.jacrev(fg.jit(h)),
            lambda h: fg.jacrev(lambda x: lax.map(h, fnp.stack([x, x * 0.9]))),
            lambda h: fg.jit(fg.jacfwd(fg.jacrev(h))),
        ]
    for transform in transforms:
        found, expected = transform(g)(x), transform(f)(x)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)


C = np.array([1.0, 2.0, 4.0])
OF_CONSTANTS = {
    "map": lambda g: lambda x: lax.map(g, fnp.stack([x, x])).sum(0),
    "scan": lambda g: lambda x: lax.scan(lambda c, r: (c + 1, g(r)), 0, fnp.stack([x, x]))[1][0],
    "scan of sums": lambda g: (
        lambda x: lax.scan(lambda c, r: (c + g(r), None), 0.0, fnp.stack([x, x]))[0]
    ),
    "fori_loop": lambda g: lambda x: lax.fori_loop(0, 2, lambda i, c: c + g(x), 0.0),
    "while_loop": lambda g: (
        lambda x: lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + g(c[2]), c[2] * 2), (0, 0.0, x)
        )[1]
    ),
    "cond": lambda g: lambda x: lax.cond(x[0] > 0, g, lambda y: 2 * g(y), x),
    "switch": lambda g: lambda x: lax.switch(fnp.argmax(x), [lambda y: 2 * g(y), g, g], x),
    "checkpoint": fg.checkpoint,
    "jit": fg.jit,
    "vmap": lambda g: lambda x: fg.vmap(g)(fnp.stack([x, x]))[0],
}


@pytest.mark.parametrize("inner", ["map", "scan of sums", "while_loop", "cond"])
@pytest.mark.parametrize("outer", OF_CONSTANTS)
@pytest.mark.parametrize(
    "body", [lambda r: fnp.var(C), lambda r: (r > r.max()).sum() * 1.0], ids=["constant", "integer"]
)
def test_a_rule_may_be_the_jvp_of_control_flow_whose_results_do_not_move(inner, outer, body):
    # Its loops and branches are then given tangents that nothing in them reads.
    f = OF_CONSTANTS[outer](OF_CONSTANTS[inner](body))
    x = np.array([0.5, 0.2, 0.1])
    within = custom_jvp(body)
    around = custom_jvp(f)
    within.defjvp(lambda primals, tangents: fg.jvp(body, primals, tangents))
    around.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    transforms = [
        lambda h: lambda x: fg.jvp(h, (x,), (x,)),
        lambda h: lambda x: fg.jvp(lambda x: fg.jvp(h, (x,), (x,)), (x,), (x,)),
        lambda h: lambda x: fg.vjp(lambda y: (y, h(y)), x, has_aux=True)[2],
        lambda h: lambda x: fg.linearize(h, x)[1](x),
        fg.grad,
        lambda h: fg.grad(fg.jit(h)),
        lambda h: fg.grad(lambda x: lax.map(h, fnp.stack([x, x])).sum()),
    ]
    with fg.checking():
        for g in (OF_CONSTANTS[outer](OF_CONSTANTS[inner](within)), around):
            for transform in transforms:
                found, expected = transform(g)(x), transform(f)(x)
                for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("inner", ["checkpoint", "jit", "vmap", "scan"])
def test_a_rule_that_calls_a_custom_vjp_function_has_its_gradient(inner):
    # The result alone is computed at the call: the tangent of the function within cannot be.
    f = OF_CONSTANTS[inner](lambda x: fnp.sin(x).sum())
    reverse_alone = fg.custom_vjp(f)
    reverse_alone.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * 3 * fnp.cos(x),))
    g = custom_jvp(reverse_alone)
    g.defjvp(lambda primals, tangents: fg.jvp(reverse_alone, primals, tangents))
    np.testing.assert_allclose(fg.grad(g)(A), 3 * np.cos(A), rtol=1e-14)

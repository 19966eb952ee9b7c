"""When the rules of custom_jvp and custom_vjp functions run: if the function is differentiated, and only then."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.custom_vjp import CustomVJPPrimal, custom_vjp
from fungrad.programs.rules.rules import SymbolicZero

A = np.array([0.3, -1.2, 2.0])


class Counted:
    """A function whose rule counts how often it runs."""

    def __init__(self, kind, symbolic_zeros=False):
        self.runs, self.perturbed = 0, []
        self.f = kind(lambda x, y: fnp.sin(x) * y)
        if kind is custom_jvp:
            self.f.defjvp(self.jvp, symbolic_zeros=symbolic_zeros)
        else:
            self.f.defvjp(
                self.fwd, lambda r, g: (g * r[0], g * r[1]), symbolic_zeros=symbolic_zeros
            )

    def jvp(self, primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        self.runs += 1
        self.perturbed.append(tuple([not isinstance(t, SymbolicZero) for t in tangents]))
        terms = [fnp.cos(x) * y * tx] if self.perturbed[-1][0] else []
        terms += [fnp.sin(x) * ty] if self.perturbed[-1][1] else []
        return self.f(x, y), sum(terms)

    def fwd(self, x, y):
        self.runs += 1
        if isinstance(x, CustomVJPPrimal):
            self.perturbed.append((x.perturbed, y.perturbed))
            x, y = x.value, y.value
        return self.f(x, y), (fnp.cos(x) * y, fnp.sin(x))


NOT_DIFFERENTIATED = {
    "jit": lambda f: fg.jit(f)(1.0, 2.0),
    "jit in jit": lambda f: fg.jit(lambda x: fg.jit(f)(x, x))(1.0),
    "eval_shape": lambda f: fg.eval_shape(f, 1.0, 2.0),
    "make_expr": lambda f: fg.make_expr(f)(1.0, 2.0),
    "vmap": lambda f: fg.vmap(f)(A, A),
    "jit of vmap": lambda f: fg.jit(fg.vmap(f))(A, A),
    "scan under jit": lambda f: fg.jit(
        lambda x: lax.scan(lambda c, _: (f(c, x), None), x, length=2)[0]
    )(1.0),
    "cond under jit": lambda f: fg.jit(lambda p, x: lax.cond(p > 0, f, lambda x, y: x, x, x))(
        1.0, 1.0
    ),
    "constants": lambda f: fg.grad(lambda x: f(1.0, 2.0) * x)(3.0),
    "mapped constants": lambda f: fg.grad(lambda x: (fg.vmap(f)(A, A) * x).sum())(3.0),
    "integers": lambda f: fg.grad(lambda x: f(fnp.floor(x).astype(int), 2) * x)(3.0),
    "stop_gradient": lambda f: fg.grad(lambda x: f(fg.lax.stop_gradient(x), 2.0) * x)(3.0),
    "stopped in vmap": lambda f: fg.grad(
        lambda x: fg.vmap(f, (0, None))(A, fg.lax.stop_gradient(x)).sum() * x
    )(3.0),
    "another's gradient": lambda f: fg.grad(lambda x: fg.grad(lambda y: f(2.0, 1.0) * y)(x))(3.0),
    "jit of another's gradient": lambda f: fg.jit(fg.grad(lambda x: f(1.0, 2.0) * x))(3.0),
    "a jitted function of constants": lambda f: fg.grad(lambda x: fg.jit(f)(1.0, 2.0) * x)(3.0),
    "forward mode": lambda f: fg.jvp(lambda x: x * f(1.0, 2.0), (1.0,), (1.0,)),
    "jet": lambda f: fg.jet(lambda x: x * f(1.0, fg.lax.stop_gradient(x)), (1.0,), ([1.0, 0.0],)),
}


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
@pytest.mark.parametrize("name", NOT_DIFFERENTIATED)
def test_rules_do_not_run_where_nothing_is_differentiated(name, kind):
    counted = Counted(kind)
    NOT_DIFFERENTIATED[name](counted.f)
    assert counted.runs == 0


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
@pytest.mark.parametrize("symbolic_zeros", [False, True])
def test_what_is_not_differentiated_has_the_values_of_the_function(kind, symbolic_zeros):
    f = Counted(kind, symbolic_zeros).f
    plain = lambda x, y: fnp.sin(x) * y
    for by in (f, fg.jit(f), lambda x, y: fg.vmap(f, (0, None))(x[None], y)[0]):
        for loss in (
            lambda h: lambda x: h(fg.lax.stop_gradient(x), x) * h(x, fg.lax.stop_gradient(x)),
            lambda h: lambda x: fg.grad(lambda y: h(x, y) * h(x, 2.0))(x),
            lambda h: lambda x: fg.grad(lambda y: h(fg.lax.stop_gradient(y), x) * y)(x),
        ):
            found, wanted = [fg.grad(loss(h))(np.float64(0.7)) for h in (by, plain)]
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
def test_results_of_what_is_not_differentiated_take_traced_elements(kind):
    f = kind(lambda x: x + 1)
    if kind is custom_jvp:
        f.defjvp(lambda p, t: (f(*p), t[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, g: (g,))

    def assigned(x):
        a = f(fg.lax.stop_gradient(x))
        a[0] = x[1] ** 2
        return a.sum()

    np.testing.assert_array_equal(fg.grad(assigned)(np.array([2.0, 3.0])), [0.0, 6.0])


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
def test_symbolic_zeros_say_what_is_differentiated(kind):
    counted = Counted(kind, symbolic_zeros=True)
    f = counted.f
    h = lambda x, y: fg.jit(lambda x, y: f(x, y))(x, y)  # anew, so that nothing is remembered
    sums = lambda f, axes: lambda x, y: fg.vmap(f, axes)(x, y).sum()
    for transformed, expected in (
        (lambda: fg.grad(h)(2.0, 3.0), (True, False)),
        (lambda: fg.grad(h, 1)(2.0, 3.0), (False, True)),
        (lambda: fg.grad(h, (0, 1))(2.0, 3.0), (True, True)),
        (lambda: fg.jit(fg.grad(h))(2.0, 3.0), (True, False)),
        (lambda: fg.grad(fg.jit(sums(f, (0, 0))))(A, A), (True, False)),
        (lambda: fg.grad(sums(h, (0, None)))(A, 2.0), (True, False)),
        (lambda: fg.grad(sums(f, (0, 0)), 1)(A, A), (False, True)),
        (lambda: fg.grad(lambda x: f(x, fg.lax.stop_gradient(x)))(2.0), (True, False)),
    ):
        counted.perturbed.clear()
        transformed()
        if kind is custom_vjp or len(counted.perturbed) == 1:
            assert counted.perturbed == [expected]


def test_a_rule_that_calls_its_function_with_a_tracer_it_closes_over_is_an_error():
    def f(x):
        @custom_jvp
        def g(y):
            return x + y

        g.defjvp(lambda p, t: (g(x), 2 * t[0]))
        return g(1.0)

    kept = []

    @custom_jvp
    def h(x):
        return x

    h.defjvp(lambda p, t: (h(kept[-1]), t[0]))

    def with_kept(x):
        kept.append(x)
        return h(x)

    for loss in (f, with_kept):
        for transform in (fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (1.0,))):
            with pytest.raises(
                fg.LeakedTracerError, match="calls the function with a tracer of that"
            ):
                transform(loss)(3.0)


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
def test_rules_of_functions_that_are_jitted_anew_are_run_anew(kind):
    factor = [1.0]
    f = kind(lambda x: x)
    if kind is custom_jvp:
        f.defjvp(lambda p, t: (f(*p), factor[0] * t[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, g: (factor[0] * g,))
    for form in (
        lambda x: fg.jit(lambda x: f(x))(x),
        lambda x: fg.jit(lambda y: f(x * y))(1.0),
        lambda x: fg.vmap(f)(x[None])[0],
        lambda x: lax.scan(lambda c, _: (f(c), None), x, length=1)[0],
    ):
        for factor[0] in (1.0, 2.0, 3.0):
            assert fg.grad(form)(np.float64(1.0)) == factor[0]


WITHIN = {
    "scan": lambda f: lambda x: lax.scan(lambda c, r: (c + f(r), None), 0.0, x[None])[0],
    "nested scan": lambda f: (
        lambda x: lax.map(lambda r: lax.map(lambda r: f(r), r[None])[0], x[None])[0]
    ),
    "carries of a scan": lambda f: (
        lambda x: lax.scan(lambda c, _: ((f(c[1]), c[1]), None), (0.0, x), length=2)[0][0]
    ),
    "checkpoint": fg.checkpoint,
    "cond": lambda f: lambda x: lax.cond(x > 0, fg.checkpoint(f), lambda y: 2 * f(y), x),
    "switch": lambda f: lambda x: lax.switch(0 * x.astype(int), [f, f], x),
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(x[None])[0],
}


@pytest.mark.parametrize("name", WITHIN)
@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
def test_a_rule_has_a_say_though_the_result_does_not_depend_on_the_argument(kind, name):
    f = kind(lambda x: fnp.asarray(2.0))
    if kind is custom_jvp:
        f.defjvp(lambda p, t: (f(*p), 7.0 * t[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, g: (7.0 * g,))
    g, x = WITHIN[name](f), np.float64(1.5)
    for transform in (
        fg.grad,
        lambda g: fg.grad(fg.jit(g)),
        lambda g: fg.jit(fg.grad(g)),
        lambda g: lambda x: fg.vmap(fg.grad(g))(x[None])[0],
        lambda g: fg.grad(lambda x: fg.vmap(g)(x[None])[0]),
        lambda g: fg.grad(lambda x: fg.checkpoint(lambda x: lax.map(g, x[None])[0])(x)),
    ):
        assert transform(g)(x) == 7.0


def test_a_rule_has_a_say_in_a_while_loop_though_the_result_does_not_depend_on_the_argument():
    f = custom_jvp(lambda x: fnp.asarray(2.0))
    f.defjvp(lambda p, t: (f(*p), 7.0 * t[0]))

    def loop(x):
        return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + f(x)), (0, 0.0))[1]

    assert fg.jvp(fg.jit(loop), (1.5,), (1.0,)) == (4.0, 14.0)
    assert fg.jit(lambda x: fg.jvp(fg.vmap(loop), (x,), (x,)))(np.ones(1)) == (4.0, 14.0)

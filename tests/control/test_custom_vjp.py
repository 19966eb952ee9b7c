"""`custom_vjp`: functions whose rule is right agree with plain ones in reverse mode; forward mode is an error."""

import functools
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug
from fungrad.core.config import setting
from fungrad.programs.loops.cond import cond
from fungrad.programs.loops.loops import scan
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.custom_vjp import CustomVJPPrimal, custom_vjp
from fungrad.programs.rules.rules import SymbolicZero
from tests.backends.fake_cupy import make_module

A = np.array([0.3, -1.2, 2.0])


def check_reverse(f, reference, args, jit=True, vmap=True):
    """Compare two functions of arrays to an array under reverse mode to second order, vmap and jit."""
    every = tuple(range(len(args)))
    directions = [np.cos(1.0 + np.arange(np.size(x))).reshape(np.shape(x)) for x in args]

    def gradient(function):
        def loss(*xs):
            y = function(*xs)
            return (y * np.cos(np.arange(y.size)).reshape(y.shape)).sum()

        return fg.grad(loss, every)

    def second(function):
        return fg.grad(
            lambda *xs: sum((d * g).sum() for d, g in zip(directions, gradient(function)(*xs))),
            every,
        )

    transforms = {"value": lambda g: g, "grad": gradient, "second": second}
    transforms["jacrev"] = fg.jacrev
    for name, transform in transforms.items():
        expected = transform(reference)(*args)
        with fg.checking():
            close(transform(f)(*args), expected, name)
            if jit:
                close(fg.jit(transform(f))(*args), expected, f"jit of {name}")
                close(transform(fg.jit(f))(*args), expected, f"{name} of jit")
    if not vmap:
        return
    batches = [np.stack([x, 1.1 * np.asarray(x)]) for x in args]
    for chosen in [every, *[(i,) for i in every]]:
        axes = tuple(0 if i in chosen else None for i in every)
        given = [b if i in chosen else x for i, (x, b) in enumerate(zip(args, batches))]
        for name in ("value", "grad", "second"):
            transform = transforms[name]
            mapped, expected = fg.vmap(transform(f), axes), fg.vmap(transform(reference), axes)
            close(mapped(*given), expected(*given), f"vmap over {chosen} of {name}")
            outside = transform(fg.vmap(f, axes))(*given)
            close(outside, transform(fg.vmap(reference, axes))(*given), f"{name} of vmap {chosen}")
        if jit:
            found = fg.jit(fg.vmap(second(f), axes))(*given)
            close(found, fg.vmap(second(reference), axes)(*given), "jit of vmap of second")


def close(found, expected, what):
    fg.test_util.assert_allclose(found, expected, rtol=1e-8, atol=1e-10, err_msg=what)


def plain_affine(w, x):
    return fnp.sin(w * x) + x


affine = custom_vjp(plain_affine)
affine.defvjp(
    lambda w, x: (affine(w, x), (w, x)),
    lambda res, g: (
        fnp.cos(res[0] * res[1]) * res[1] * g,
        (fnp.cos(res[0] * res[1]) * res[0] + 1) * g,
    ),
)


@custom_vjp
def branching(x):
    return x * x if x > 0 else -x


def branching_fwd(x):
    return (branching(x), 2 * x) if x > 0 else (branching(x), x * 0 - 1)


branching.defvjp(branching_fwd, lambda slope, g: (slope * g,))


def plain_pieces(tree, count):
    return {"sum": tree["a"].sum() * count, "parts": (fnp.sin(tree["b"]), count), "empty": None}


pieces = custom_vjp(plain_pieces)


def pieces_bwd(b, g):
    assert g["parts"][1].dtype == fg.float0
    ones = np.ones(b.shape)
    return {"a": 3 * g["sum"] * ones, "b": fnp.cos(b) * g["parts"][0]}, None


pieces.defvjp(lambda tree, count: (pieces(tree, count), tree["b"]), pieces_bwd)


def of_pieces(function):
    def f(a, b):
        out = function({"a": a, "b": b}, 3)
        return out["sum"] * out["parts"][0] + out["parts"][1]

    return f


@functools.partial(custom_vjp, nondiff_argnums=(0, 2))
def fixed_point(f, a, steps):
    x = a * 0
    for _ in range(steps):
        x = f(a, x)
    return x


def fixed_point_fwd(f, a, steps):
    x = fixed_point(f, a, steps)
    return x, (a, x)


def fixed_point_bwd(f, steps, res, g):
    # x = f(a, x): the cotangent u solves u = g + u df/dx, and that of a is u df/da.
    a, x = res
    _, by_x = fg.vjp(lambda x: f(a, x), x)
    u = g
    for _ in range(steps):
        u = g + by_x(u)[0]
    return (fg.vjp(lambda a: f(a, x), a)[1](u)[0],)


fixed_point.defvjp(fixed_point_fwd, fixed_point_bwd)


def halving(a, x):
    return 0.5 * (x + a) / (1 + 0.1 * x)


def unrolled(a):
    x = a * 0
    for _ in range(30):
        x = halving(a, x)
    return x


PROGRAMS = {
    "two arguments": (affine, plain_affine, (A, A + 1)),
    "scalars": (affine, plain_affine, (0.3, 0.7)),
    "nested": (
        lambda x: affine(affine(x, x), x * 2),
        lambda x: plain_affine(plain_affine(x, x), x * 2),
        (A,),
    ),
    "trees": (of_pieces(pieces), of_pieces(plain_pieces), (A, A - 1)),
    "of custom_jvp": (
        lambda x: affine(HALF(x), x),
        lambda x: plain_affine(x / 2, x),
        (A,),
    ),
}
HALF = custom_jvp(lambda x: x / 2)
HALF.defjvps(lambda t, out, x: t / 2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_rule_changes_nothing(name):
    f, reference, args = PROGRAMS[name]
    check_reverse(f, reference, args)


def test_fixed_point_by_the_implicit_function_theorem():
    f = functools.partial(fixed_point, halving, steps=30)
    check_reverse(lambda a: f(a), unrolled, (np.array([0.5, 1.5]),), vmap=False)


@pytest.mark.parametrize("x", [1.5, -1.5])
def test_branches_on_values(x):
    reference = (lambda y: y * y) if x > 0 else (lambda y: -y)
    check_reverse(branching, reference, (np.float64(x),), jit=False, vmap=False)


def test_branches_in_the_middle_of_a_program():
    check_reverse(
        lambda x: fnp.sin(branching(fnp.exp(x)) * branching(-fnp.exp(x))),
        lambda x: fnp.sin(fnp.exp(3 * x)),
        (0.2,),
        jit=False,
        vmap=False,
    )


def test_in_loops_and_branches():
    def looped(f):
        return lambda w, x: scan(lambda c, _: (f(w, c), None), x, None, 3)[0]

    check_reverse(looped(affine), looped(plain_affine), (A, A))

    def chosen(f):
        return lambda w, x: cond(x[0] > 0, lambda: f(w, x), lambda: f(x, w) * 2)

    check_reverse(chosen(affine), chosen(plain_affine), (A, A))
    check_reverse(chosen(affine), chosen(plain_affine), (A, -A), vmap=False)


@pytest.mark.parametrize("kind", [custom_jvp, custom_vjp])
def test_rules_of_programs_that_are_mapped_and_differentiated_later(kind):
    """The rules of the calls in the rules of a jitted function are traced when they are needed."""
    x = np.linspace(0.1, 1.0, 6).reshape(2, 3)
    f = kind(lambda x: fnp.log1p(fnp.exp(x)))
    if kind is custom_jvp:
        f.defjvp(lambda p, t: (f(*p), t[0] * (1 - fnp.exp(-f(*p)))))
    else:
        f.defvjp(lambda x: (f(x), x), lambda x, g: (g * (1 - fnp.exp(-f(x))),))

    def third(function):
        first = fg.grad(lambda x: (function(x) * x).sum())
        second = fg.grad(lambda x: (first(x) * x).sum())
        return fg.grad(lambda x: (second(x) * x).sum())

    reference = third(lambda x: fnp.log1p(fnp.exp(x)))(x)
    for mapped in [
        fg.vmap(fg.vmap(fg.jit(f))),
        fg.jit(fg.vmap(fg.vmap(fg.jit(f)))),
        fg.vmap(fg.jit(fg.vmap(f))),
    ]:
        np.testing.assert_allclose(third(mapped)(x), reference)


@pytest.mark.parametrize("jitted", [False, True])
def test_on_cupy(monkeypatch, jitted):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    forward = custom_jvp(lambda x, y, n: x * y * n)
    forward.defjvp(lambda p, t: (p[0] * p[1] * p[2], t[0] * p[1] * p[2] + p[0] * p[2] * t[1]))
    on_values = custom_vjp(lambda x: x * 2.0)
    on_values.defvjp(lambda x: (x * 2.0, x), lambda x, g: (2 * g if float(g[0]) > 0 else g,))

    def loss(x, y):
        z = affine(forward(x, y, 2), y) + forward(y, x, 3) + on_values(x)
        return (z * np.array([1.0, 2.0, 3.0])).sum()

    def plain(x, y):
        z = plain_affine(2 * x * y, y) + 3 * x * y + 2 * x
        return (z * np.array([1.0, 2.0, 3.0])).sum()

    for argnums in (0, (0, 1)):
        gradient = fg.jit(fg.grad(loss, argnums)) if jitted else fg.grad(loss, argnums)
        found = gradient(cupy.asarray(A), cupy.asarray(A + 1))
        for x, y in zip(fg.tree.leaves(found), fg.tree.leaves(fg.grad(plain, argnums)(A, A + 1))):
            assert isinstance(x, cupy.ndarray)
            np.testing.assert_allclose(x.get(), y)


def test_effects_of_rules(capsys):
    @custom_vjp
    def f(x):
        return x * 2

    def fwd(x):
        debug.print("fwd {}", x)
        return x * 2, None

    def bwd(_, g):
        debug.print("bwd {}", g)
        return (g * 2,)

    f.defvjp(fwd, bwd)
    for g in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f))):
        assert g(3.0) == 2.0
        assert capsys.readouterr().out == "fwd 3.0\nbwd 1.0\n"


# Rules that say something else than the derivative


@functools.partial(custom_vjp, nondiff_argnums=(1,))
def clip_gradient(x, bound):
    return x


clip_gradient.defvjp(lambda x, bound: (x, None), lambda bound, _, g: (fnp.clip(g, -bound, bound),))

straight_through = custom_vjp(lambda x: fnp.round(x))
straight_through.defvjp(lambda x: (fnp.round(x), None), lambda _, g: (g,))


@custom_vjp
def by_values(x):
    return 3 * x


by_values.defvjp(
    lambda x: (3 * x, x), lambda x, g: (g * 30 if g > 0 and float(x) > 0 else np.sin(float(g)),)
)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: fg.grad(lambda x: 5 * clip_gradient(x, 1.0))(2.0), 1.0),
        (lambda: fg.jit(fg.grad(lambda x: 5 * clip_gradient(x, 1.0)))(2.0), 1.0),
        (lambda: fg.vmap(fg.grad(lambda x: x * clip_gradient(x, 1.0)))(A), A + np.clip(A, -1, 1)),
        (lambda: fg.grad(lambda x: (A * straight_through(x)).sum())(A), A),
        (lambda: fg.grad(lambda x: fg.vmap(straight_through)(x).sum())(A), np.ones(3)),
        (lambda: fg.grad(by_values)(2.0), 30.0),
        (lambda: fg.jit(fg.grad(by_values))(2.0), 30.0),
        (lambda: fg.grad(fg.jit(by_values))(2.0), 30.0),
        (lambda: fg.vjp(by_values, 2.0)[1](-1.0)[0], np.sin(-1.0)),
        (lambda: fg.vmap(fg.grad(by_values))(A), [30, np.sin(1), 30]),
        (lambda: fg.grad(lambda x: fg.vmap(by_values)(x).sum())(A), [30, np.sin(1), 30]),
        (lambda: fg.linear_transpose(by_values, 1.0)(2.0)[0], 6.0),
    ],
)
def test_the_rule_is_what_is_used(found, expected):
    np.testing.assert_allclose(found(), expected)


def test_a_backward_pass_that_looks_at_values_has_no_derivative():
    for call in [fg.grad(fg.grad(by_values)), fg.jit(fg.grad(fg.grad(fg.jit(by_values))))]:
        with pytest.raises(TypeError, match="bwd of custom_vjp function by_values needs values"):
            call(2.0)


def test_a_backward_pass_that_looks_at_values_cannot_close_over_traced_arrays():
    def loss(x, a):
        f = custom_vjp(lambda y: y)
        f.defvjp(lambda y: (y, None), lambda _, g: (a * g if a * g > 0 else g,))
        return f(x)

    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="Make them residuals"):
        fg.jit(fg.grad(loss))(1.0, 2.0)
    assert fg.grad(loss)(1.0, 2.0) == 2.0
    jitted = fg.jit(fg.grad(loss))
    assert [jitted(1.0, a) for a in (2.0, -2.0)] == [2, 1]


FORWARD = {
    "jvp": lambda: fg.jvp(affine, (A, A), (A, A)),
    "jacfwd": lambda: fg.jacfwd(affine)(A, A),
    "jit": lambda: fg.jit(fg.jacfwd(affine))(A, A),
    "of jit": lambda: fg.jacfwd(fg.jit(affine))(A, A),
    "linearize": lambda: fg.linearize(affine, A, A)[1](A, A),
    "of vmap": lambda: fg.jvp(fg.vmap(affine), (A, A), (A, A)),
    "grad of jvp": lambda: fg.grad(lambda x: fg.jvp(affine, (x, x), (x, x))[1])(1.0),
}


@pytest.mark.parametrize("name", FORWARD)
def test_forward_mode_is_an_error(name):
    with pytest.raises(TypeError, match="`plain_affine` has a rule for reverse mode only") as e:
        FORWARD[name]()
    if name != "grad of jvp":
        assert "test_custom_vjp.py" in "".join(e.value.__notes__)
    assert "jacrev" in str(e.value)


def test_forward_over_reverse_differentiates_the_passes():
    expected = fg.hessian(plain_affine, (0, 1))(0.3, 0.7)
    close(fg.hessian(affine, (0, 1))(0.3, 0.7), expected, "hessian")
    close(fg.jit(fg.hessian(affine, (0, 1)))(0.3, 0.7), expected, "jit of hessian")


def test_rules_that_read_changed_globals_are_run_anew():
    slope = [2.0]
    f = custom_vjp(lambda x: x * 1.0)
    f.defvjp(lambda x: (f(x), None), lambda _, g: (slope[0] * g,))

    def batch(x):
        return fg.vmap(f)(x * np.ones(2)).sum()

    assert (fg.grad(f)(1.0), fg.grad(batch)(1.0)) == (2.0, 4.0)
    slope[0] = 5.0
    assert (fg.grad(f)(1.0), fg.grad(batch)(1.0)) == (5.0, 10.0)


def test_functions_made_anew_find_their_programs():
    from fungrad.transforms.call import programs

    def loss(x):
        f = custom_vjp(lambda y: y * 2.0)
        f.defvjp(lambda y: (y * 2.0, y), lambda y, g: (2.0 * g,))
        return f(fnp.sin(x)) + fg.vmap(f)(x * np.ones(2)).sum()

    fg.grad(loss)(1.0)
    misses = programs.misses
    fg.grad(loss)(1.5)
    assert programs.misses == misses


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_symbolic_zeros(transform):
    seen = {}

    @custom_vjp
    def f(x, y, n):
        return x * y, x + y, n

    def fwd(x, y, n):
        assert all(isinstance(v, CustomVJPPrimal) for v in (x, y, n))
        seen.setdefault("perturbed", []).append((x.perturbed, y.perturbed, n.perturbed))
        return f(x.value, y.value, n.value), (x.value, y.value)

    def bwd(res, cts):
        seen["zero"] = tuple([isinstance(c, SymbolicZero) for c in cts])
        _, y = res
        first = 0.0 if seen["zero"][0] else cts[0]
        second = 0.0 if seen["zero"][1] else cts[1]
        return first * y + second, SymbolicZero.from_primal_value(y), None

    f.defvjp(fwd, bwd, symbolic_zeros=True, optimize_remat=True)
    assert transform(fg.grad(lambda x: f(x, 3.0, 1)[0]))(2.0) == 3.0
    assert seen.pop("perturbed")[0] == (True, False, False)
    assert seen["zero"] == (False, True, True)
    assert transform(fg.grad(lambda x: f(x, 3.0, 1)[1]))(2.0) == 1.0
    assert seen["zero"] == (True, False, True)
    assert transform(fg.grad(lambda x: sum(f(x, x, 1))))(2.0) == 3.0
    assert seen["perturbed"][-1] == (True, True, False)
    assert seen["zero"] == (False, False, True)
    batch = transform(fg.grad(lambda x: fg.vmap(f, (0, None, None))(x, 3.0, 1)[0].sum()))
    np.testing.assert_allclose(batch(A), np.full(3, 3.0))


def test_a_value_the_rule_closes_over():
    def loss(a, x):
        f = custom_vjp(lambda y: a * y)
        f.defvjp(lambda y: (f(y), a), lambda a, g: (a * g,))
        return f(x) + fg.vmap(f)(x * np.ones(1))[0]

    assert fg.grad(loss, 1)(2.0, 3.0) == 4.0
    assert fg.jit(fg.grad(loss, 1))(2.0, 3.0) == 4.0
    for call in [fg.grad(loss, (0, 1)), fg.jit(fg.grad(loss, (0, 1)))]:
        with pytest.raises(
            TypeError, match=r"uses a traced value.*test_custom_vjp.py.*Pass that value as an"
        ):
            call(2.0, 3.0)


def test_arguments_of_forward_passes_cannot_be_overwritten():
    f = custom_vjp(lambda x: x)

    def fwd(x):
        x *= 2
        return x, None

    f.defvjp(fwd, lambda _, g: (g,))
    with pytest.raises((ValueError, TypeError), match="read-only"):
        fg.grad(lambda x: f(fnp.sin(x)).sum())(A)


def test_integers_and_methods():
    class Model:
        @functools.partial(custom_vjp, nondiff_argnums=(0,))
        def call(self, x, n):
            return x[n] * 2

        call.defvjp(
            lambda self, x, n: (self.call(x, n), (x, n)),
            lambda self, res, g: (fg.at(fnp.zeros_like(res[0]))[res[1]].add(20 * g), None),
        )

    model = Model()
    for n in (1, np.int64(1)):
        assert list(fg.grad(model.call)(A, n)) == [0, 20, 0]
        assert list(fg.jit(fg.grad(model.call))(A, n)) == [0, 20, 0]
    mapped = fg.vmap(fg.grad(model.call), (None, 0))(A, np.array([2, 0]))
    assert mapped.tolist() == [[0, 0, 20], [20, 0, 0]]


ERRORS = {
    "no pair": (lambda x: x, None, "fwd of .* must return a pair of the result and the residuals"),
    "residuals": (lambda x: (x["w"], "mode"), None, "of its residuals, one is 'mode' of type str"),
    "no tuple": (None, lambda r, g: g, "tuple with a cotangent for each of the 1 arguments, None"),
    "too many": (
        None,
        lambda r, g: (g, g),
        "each of the 1 arguments, None for zero; got a tuple of length 2",
    ),
    "structure": (None, lambda r, g: (g,), r"leaves `x`\['w'\] must have its structure"),
    "key": (None, lambda r, g: ({"v": g},), r"must have its structure, .*'w'.*; got .*'v'"),
    "shape": (
        None,
        lambda r, g: ({"w": fnp.ones(2)},),
        r"argument `x`\['w'\] must have the type of the argument, float64\[\]; got float64\[2\]",
    ),
    "dtype": (None, lambda r, g: ({"w": g * 1j},), r"got complex128\[\]"),
    "no array": (None, lambda r, g: ({"w": "g"},), r"got 'g' of type str"),
}


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: fg.jit(f)], ids=["plain", "jit"])
@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_rules(name, transform):
    fwd, bwd, message = ERRORS[name]
    f = custom_vjp(lambda x: x["w"])
    f.defvjp(fwd or (lambda x: (x["w"], None)), bwd or (lambda r, g: ({"w": g},)))
    with pytest.raises(TypeError, match=message):
        fg.grad(transform(f))({"w": 1.0})


def test_errors():
    f = custom_vjp(lambda x: x)
    with pytest.raises(AttributeError, match=r"no rule: define it with <lambda>.defvjp"):
        f(1.0)
    with pytest.raises(TypeError, match="<lambda>: bwd takes a function, not None"):
        f.defvjp(lambda x: (x, None), None)
    f.defvjp(lambda x: ((x, x), None), lambda r, g: (g,))
    with pytest.raises(TypeError, match=r"fwd of .* must return, first, what the function returns"):
        fg.grad(fg.jit(f))(1.0)
    with pytest.raises(
        TypeError, match="`bound` is in nondiff_argnums, and traced arrays cannot be"
    ):
        fg.grad(clip_gradient, 1)(1.0, 2.0)


def test_effects_of_a_forward_pass_happen_once(capsys):
    @custom_vjp
    def f(x):
        fg.debug.print("primal")
        return fnp.sin(x)

    def forward(x):
        fg.debug.print("forward")
        return fnp.sin(x), fnp.cos(x)

    f.defvjp(forward, lambda cosine, g: (g * cosine,))

    def asked(x):
        y = fg.jit(f)(x)
        return 3 * y if y > 0 else y

    for function, slope in ((fg.jit(f), 1), (asked, 3), (lambda x: 2 * f(x), 2)):
        for transform in (fg.grad, lambda g: fg.grad(fg.jit(g))):
            if function is asked and transform is not fg.grad:
                continue  # it looks at a value
            assert transform(function)(1.0) == pytest.approx(slope * np.cos(1.0))
            assert capsys.readouterr().out == "forward\n"
    assert fg.grad(fg.grad(asked))(1.0) == pytest.approx(-3 * np.sin(1.0))


@pytest.mark.parametrize("ct", [np.float64(2.0), np.int64(2), 2.0, np.float16(2.0)])
@pytest.mark.parametrize(
    "transform", [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))]
)
def test_cotangents_of_another_precision_take_the_dtype_of_the_argument(ct, transform):
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (ct,))
    found = transform(f)(np.float32(1.0))
    assert (found, found.dtype) == (2.0, np.float32)


def test_complex_cotangents_of_real_arguments_are_refused():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (2j * g,))
    with pytest.raises(
        TypeError, match=r"must have the type of the argument, float32\[\]; got complex"
    ):
        fg.grad(f)(np.float32(1.0))


def closing_over(c_in_fwd, c_in_bwd):
    def h(x):
        c = fg.lax.stop_gradient(x)

        @custom_vjp
        def f(y):
            return c * y * y

        def fwd(y):
            return (f(y) if c_in_fwd else y * y * y), y

        f.defvjp(fwd, lambda y, g: ((c if c_in_bwd else 1.0) * 2 * y * g,))
        return f(x)

    return h


@pytest.mark.parametrize("c_in_fwd", [False, True])
@pytest.mark.parametrize("c_in_bwd", [False, True])
def test_functions_made_inside_may_close_over_what_is_not_differentiated(c_in_fwd, c_in_bwd):
    h = closing_over(c_in_fwd, c_in_bwd)
    slope = 18.0 if c_in_bwd else 6.0
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))):
        assert transform(h)(3.0) == slope
        # One level down, `f` has its rule too; without a call of it, the forward pass is differentiated.
        outer = transform(lambda x: fg.value_and_grad(h)(x)[0])(3.0)
        assert outer == (slope if c_in_fwd else 27.0)
        # The derivative of the backward pass, in which c stays.
        assert transform(fg.grad(h))(3.0) == (6.0 if c_in_bwd else 2.0)


@pytest.mark.parametrize("jitted", [False, True])
def test_rules_that_close_over_traced_values_of_jit_are_traced_with_them(jitted):
    def h(x, a):
        c = a * 2

        @custom_vjp
        def f(y):
            return y

        f.defvjp(lambda y: (y, None), lambda _, g: (c * g,))
        return f(x)

    loss = fg.jit(h) if jitted else h
    assert fg.grad(loss)(1.0, 5.0) == fg.jit(fg.grad(loss))(1.0, 5.0) == 10.0
    np.testing.assert_array_equal(fg.vmap(fg.grad(loss))(np.ones(2), np.arange(2.0)), [0.0, 2.0])


def test_a_backward_rule_may_do_what_can_fail():
    # Operations that can fail are computed when they are recorded; those of the rule are not there yet.
    f = lambda x: fnp.linalg.inv(3 * fnp.eye(2) + x)
    g = fg.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: fg.vjp(f, x)[1](ct))
    x, ct = np.array([[0.2, 0.9], [0.5, -0.3]]), np.array([[1.0, 2.0], [-0.5, 0.7]])
    for _ in range(3):
        np.testing.assert_allclose(fg.vjp(g, x)[1](ct)[0], fg.vjp(f, x)[1](ct)[0], rtol=1e-12)


@pytest.mark.parametrize(
    "transform", [fg.grad, lambda h: fg.jit(fg.grad(h)), lambda h: fg.grad(fg.jit(h)), fg.jacrev]
)
def test_a_rule_that_asks_for_values_and_closes_over_what_is_traced(transform):
    def h(a):
        @fg.custom_vjp
        def f(x):
            return x * 2

        f.defvjp(lambda x: (x * 2, x), lambda r, g: (a * g if g > 0 else g,))
        return f(a * 1.0)

    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="Make them residuals"):
        transform(h)(2.0)
    with pytest.raises(
        TypeError, match="uses a traced value from outside, which is being differentiated"
    ):
        transform(h)(2.0)


def test_a_tangent_that_does_not_depend_on_tangents_is_zero():
    """A rule may compute zeros; what follows is not differentiated by them, in one mode or the other."""

    @fg.custom_jvp
    def constant(x):
        return fnp.zeros_like(x)

    @constant.defjvp
    def _(primals, tangents):
        return fnp.zeros_like(primals[0]), np.zeros_like(primals[0])

    @fg.custom_vjp
    def scaled(x):
        return 1.5 * x

    scaled.defvjp(lambda x: (1.5 * x, None), lambda _, ct: (1.5 * ct,))
    x = np.array([1.0, 2.0])
    f = lambda x: scaled(constant(x))
    for g in (f, fg.jit(f)):
        _, pull = fg.vjp(g, x)
        np.testing.assert_array_equal(pull(np.ones(2))[0], [0, 0])
        np.testing.assert_array_equal(fg.grad(lambda x, g=g: fnp.sum(g(x)))(x), [0, 0])


def test_a_cotangent_may_be_an_array():
    c = np.array([0.1, 0.2, 0.3])
    f = lambda x: fnp.sin(c)
    g = fg.custom_vjp(f)
    g.defvjp(lambda x: (f(x), fg.vjp(f, x)[1]), lambda pull, ct: pull(ct))
    h = fg.jit(lambda x: fg.vmap(g)(fnp.stack([x, x])))
    for _ in range(3):
        np.testing.assert_array_equal(
            fg.grad(lambda x: h(x).sum())(np.ones((2, 2))), np.zeros((2, 2))
        )


def test_truth_values_among_residuals_stay_pythons_own():
    """So that the backward pass can ask which arguments are differentiated, also under `jit` and `vmap`."""
    f = fg.custom_vjp(lambda x, y: x * y)
    f.defvjp(
        lambda x, y: (x.value * y.value, {"y": y.value, "by": (x.perturbed, y.perturbed)}),
        lambda res, ct: (7 * ct if res["by"][0] and not res["by"][1] else res["y"] * ct, None),
        symbolic_zeros=True,
    )
    xs = np.array([3.0, 4.0])
    assert fg.grad(f)(3.0, 2.0) == fg.jit(fg.grad(f))(3.0, 2.0) == fg.grad(fg.jit(f))(3.0, 2.0) == 7
    np.testing.assert_array_equal(fg.vmap(fg.grad(f), (0, None))(xs, 2.0), [7, 7])
    np.testing.assert_array_equal(
        fg.grad(lambda x: fg.vmap(f, (0, None))(x, 2.0).sum())(xs), [7, 7]
    )
    assert fg.grad(lambda x: f(x, x))(3.0) == 3


def test_the_function_within_its_rule_may_look_at_values():
    """Also where it returns arrays that are made while a function is traced, as zeros are."""

    @fg.custom_vjp
    def f(x):
        sign = fnp.where(x > 0, fnp.ones(()), -1.0)
        if sign == 0:
            raise ValueError
        return sign * x, fnp.zeros(2)

    f.defvjp(lambda x: (f(x), x), lambda res, ct: (7 * ct[0],))
    assert fg.value_and_grad(lambda x: f(x)[0])(-2.0) == (2.0, 7.0)
    assert fg.grad(fg.grad(lambda x: f(x)[0] * x))(-2.0) == 14


def test_a_derivative_by_what_is_closed_over_is_an_error_still():
    def g(y):
        f = fg.custom_vjp(lambda x: x * y)
        f.defvjp(lambda x: (f(x), None), lambda res, ct: (ct,))
        return f(2.0)

    with pytest.raises(TypeError, match="closes over"):
        fg.grad(g)(3.0)


def test_none_stands_for_all_leaves_of_an_argument():
    f = custom_vjp(lambda tree, y: (tree["a"] + tree["b"]) * y)
    f.defvjp(lambda tree, y: (f(tree, y), tree), lambda tree, ct: (None, 7 * ct))
    of_tree, of_y = fg.grad(f, (0, 1))({"a": 2.0, "b": 3.0}, 4.0)
    assert (of_tree, of_y) == ({"a": 0.0, "b": 0.0}, 7.0)

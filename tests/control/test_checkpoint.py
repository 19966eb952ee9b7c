"""`checkpoint` changes what is kept, and nothing else."""

import re
import tracemalloc
from functools import partial

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import debug, lax
from fungrad.ad_checkpoint import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    print_saved_residuals,
    remat,
    saved_residuals,
)
from fungrad.callback import io_callback, pure_callback
from fungrad.compile.lower import Program
from fungrad.core.config import setting
from fungrad.experimental.jet import jet
from fungrad.primitives.contraction import DotGeneral

RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 3))
X = np.array([0.4, -0.3, 0.7])
XS = np.stack([X, -1.5 * X])


def block(x):
    h = checkpoint_name(fnp.tanh(W @ x), "h")
    return checkpoint_name(fnp.sin(W @ h) * x, "out")


# Each takes `checkpoint`, or the identity in its place, and returns a function of a vector.
FUNCTIONS = {
    "plain": lambda c: c(block),
    "chain": lambda c: lambda x: c(block)(c(block)(x)),
    "part": lambda c: lambda x: fnp.cos(c(block)(fnp.exp(x))) * x,
    "nested": lambda c: c(lambda x: c(block)(x) * fnp.sin(c(block)(2 * x))),
    "closure": lambda c: lambda x: c(lambda y: fnp.sin(y * x) * x)(X),
    "tree": lambda c: lambda x: c(lambda p, s: p["a"] * fnp.sin(p["b"] * s))(
        {"a": x, "b": x[0]}, s=3.0
    ),
    "in scan": lambda c: lambda x: lax.scan(lambda y, r: (c(block)(y) + r, y * r), x, W)[0],
    "of scan": lambda c: c(lambda x: lax.scan(lambda y, r: (block(y) + r * x, y), x, W)[1].sum(0)),
    "of while": lambda c: c(lambda x: lax.fori_loop(0, 3, lambda i, y: block(y) + i * x, x)),
    "of cond": lambda c: c(lambda x: lax.cond(x[0] > 0, block, lambda x: x * x, x)),
    "in cond": lambda c: lambda x: lax.cond(x.sum() > 0, c(block), lambda x: c(fnp.cos)(x), x),
    "of jit": lambda c: c(fg.jit(block)),
    "in jit": lambda c: fg.jit(c(block)),
    "of grad": lambda c: c(fg.grad(lambda x: block(x).sum())),
    "of vmap": lambda c: c(lambda x: fg.vmap(block)(fnp.stack([x, 2 * x])).sum(0)),
    "integers": lambda c: lambda x: c(lambda n, y: y * n)(3, x) + c(lambda y: (y > 0) * y)(x),
    "unused": lambda c: lambda x: c(lambda y, z: fnp.sin(y))(x, fnp.exp(x)),
    "values": lambda c: lambda x: peeked(c(block)(x)),
    "values, constants": lambda c: lambda x: peeked(c(lambda y, z: fnp.sin(y @ W) * z * y)(fnp.sin(x), X)),
}  # fmt: skip


def peeked(y):
    """Ask for a value where there is one."""
    try:
        return y * 2 if float(y[0]) > -100 else y
    except fg.ConcretizationError:
        return y * 2


def weighted(f):
    return lambda x: fnp.sum(f(x) * fnp.arange(1.0, 4.0))


TRANSFORMS = {
    "call": lambda f: f(X),
    "grad": lambda f: fg.grad(weighted(f))(X),
    "jit grad": lambda f: fg.jit(fg.grad(weighted(f)))(X),
    "grad jit": lambda f: fg.grad(fg.jit(weighted(f)))(X),
    "vjp": lambda f: fg.vjp(f, X)[1](np.ones(3)),
    "linearize": lambda f: fg.linearize(f, X)[1](XS[1]),
    "jvp": lambda f: fg.jvp(f, (X,), (XS[1],)),
    "jacfwd": lambda f: fg.jacfwd(f)(X),
    "jacrev": lambda f: fg.jacrev(f)(X),
    "hessian": lambda f: fg.hessian(weighted(f))(X),
    "reverse over reverse": lambda f: fg.jacrev(fg.grad(weighted(f)))(X),
    "vmap grad": lambda f: fg.vmap(fg.grad(weighted(f)))(XS),
    "jit grad of vmap": lambda f: fg.jit(fg.grad(lambda x: fg.vmap(f)(x).sum()))(XS),
}

POLICIES = {
    "none": None,
    "nothing": checkpoint_policies.nothing_saveable,
    "everything": checkpoint_policies.everything_saveable,
    "dots": checkpoint_policies.dots_saveable,
    "names": checkpoint_policies.save_only_these_names("h"),
    "except": checkpoint_policies.save_anything_except_these_names("h"),
}

identity = lambda f, **_: f


def close(found, expected):
    fg.test_util.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_without_checkpoint(name, transform):
    expected = TRANSFORMS[transform](FUNCTIONS[name](identity))
    with fg.checking():
        close(TRANSFORMS[transform](FUNCTIONS[name](checkpoint)), expected)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["chain", "nested", "in scan", "of scan", "values"])
def test_results_with_policies(name, policy):
    c = partial(checkpoint, policy=POLICIES[policy])
    for transform in ("grad", "jit grad", "reverse over reverse", "vmap grad"):
        expected = TRANSFORMS[transform](FUNCTIONS[name](identity))
        with fg.checking():
            close(TRANSFORMS[transform](FUNCTIONS[name](c)), expected)


def test_values_asked_for_with_arguments_that_are_not_differentiated():
    def f(c):
        def call(x):
            y = c(lambda y, z: fnp.sin(checkpoint_name(y * z, "h")) * z)(x, W)
            return y.sum() if y[0, 0] > 0 else -y.sum()

        return call

    for policy in POLICIES.values():
        found = fg.grad(f(partial(checkpoint, policy=policy)))(X)
        close(found, fg.grad(f(identity))(X))


def test_dtypes_and_python_numbers_stay():
    x = np.float32([1, 2])
    f = checkpoint(lambda a, x: a * x)
    assert fg.grad(lambda x: f(2.0, x).sum())(x).dtype == np.float32
    assert fg.grad(lambda x: (checkpoint(lambda a: a * 3)(2.0) * x).sum())(x).dtype == np.float32


def test_without_tracing_the_function_is_called():
    given = []
    checkpoint(given.append)(3)
    assert given == [3]
    assert remat is checkpoint
    assert checkpoint(block).__name__ == "block"


# What is kept


def kept(policy, f=block, x=X):
    """Return the beginnings of the reasons why arrays other than arguments are kept."""
    found = saved_residuals(checkpoint(f, policy=policy), x)
    reasons = [source.split(",")[0] for _, source in found]
    return [reason for reason in reasons if not reason.startswith("from ")]


def dot(x):
    return fnp.sin(W @ fnp.cos(W @ x))


p = checkpoint_policies


@pytest.mark.parametrize(
    ("policy", "f", "expected"),
    [
        (None, block, []),
        (p.nothing_saveable, block, []),
        (p.save_only_these_names("h"), block, ["named 'h'"]),
        (p.save_only_these_names("no such"), block, []),
        (p.save_any_names_but_these("other"), block, ["named 'h'"]),
        (p.save_any_names_but_these("h"), block, []),
        (p.dots_saveable, dot, ["output of dot_general"] * 2),
        (p.checkpoint_dots, dot, ["output of dot_general"] * 2),
        (p.dots_with_no_batch_dims_saveable, dot, ["output of dot_general"] * 2),
        (p.checkpoint_dots_with_no_batch_dims, dot, ["output of dot_general"] * 2),
        (p.everything_saveable, dot, ["output of negative", "output of cos"]),
        (
            p.save_from_both_policies(p.save_only_these_names("h"), p.dots_saveable),
            block,
            ["named 'h'", "output of dot_general"],
        ),
        (lambda prim, *types, **params: prim.name == "tanh", block, ["output of tanh"]),
        (lambda prim, *types, **params: params.get("label") == "h", block, ["named 'h'"]),
    ],
)  # fmt: skip
def test_policies(policy, f, expected):
    assert sorted(kept(policy, f)) == sorted(expected)


def test_names_not_to_save():
    def f(x):
        h = checkpoint_name(fnp.exp(x) + x, "h")
        return h * h

    both = p.save_from_both_policies(p.save_anything_except_these_names("h"), p.dots_saveable)
    assert kept(p.everything_saveable, f) == ["output of exp", "named 'h'"]
    assert kept(p.save_anything_except_these_names("other"), f) == kept(p.everything_saveable, f)
    assert kept(p.save_anything_except_these_names("h"), f) == ["output of exp"]
    assert kept(both, f) == ["output of exp"]


def test_stacks_of_products_are_told_apart():
    f = lambda x: fnp.sin(fnp.matmul(x, fnp.sin(x)))
    stack = np.stack([W, W])
    assert kept(p.dots_saveable, f, stack) == ["output of dot_general"]
    assert kept(p.dots_with_no_batch_dims_saveable, f, stack) == []


def test_policies_made_of_names_are_equal():
    assert p.save_only_these_names("a", "b") == p.save_only_these_names("b", "a")
    assert p.save_only_these_names("a") != p.save_any_names_but_these("a")


# What happens once


def test_effects_happen_once(capsys):
    def f(x):
        debug.print("here")
        return fnp.sin(x) * lax.scan(body, x, None, length=2)[0]

    def body(c, _):
        debug.print("step")
        return fnp.sin(c), None

    for policy in POLICIES.values():
        for transform in (
            fg.grad,
            lambda f: fg.jit(fg.grad(f)),
            lambda f: lambda x: fg.vjp(f, x)[1](1.0),
        ):
            transform(checkpoint(f, policy=policy))(0.5)
            assert capsys.readouterr().out == "here\nstep\nstep\n"


def test_the_second_run_happens_in_the_backward_pass():
    calls = []
    out = fg.ShapeDtypeStruct((), float)

    def f(x):
        y = pure_callback(lambda x: calls.append("run") or np.sin(x), out, fg.stop_gradient(x))
        return y * x

    _, pullback = fg.vjp(checkpoint(f), 0.5)
    assert calls == ["run"]
    pullback(1.0)
    assert calls == ["run", "run"]


STEPS = 7


def by_loop(step, x):
    for _ in range(STEPS):
        x = step(x)
    return x


def by_scan(step, x):
    return lax.scan(lambda c, _: (step(c), None), x, None, length=STEPS)[0]


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["un-jitted", "jit"])
@pytest.mark.parametrize("steps", [by_loop, by_scan])
def test_steps_that_run_again_are_counted(steps, transform):
    calls = []
    out = fg.ShapeDtypeStruct((), float)

    def step(x):
        y = pure_callback(lambda x: calls.append("run") or np.sin(x), out, fg.stop_gradient(x))
        return fnp.sin(x) * y

    def runs(step):
        calls.clear()
        transform(fg.value_and_grad(lambda x: steps(step, x)))(0.5)
        return len(calls)

    assert runs(step) == STEPS
    assert runs(checkpoint(step)) == 2 * STEPS
    assert runs(checkpoint(step, policy=p.everything_saveable)) == STEPS


# Memory


def layer(weights, x):
    v, w = weights
    return x + fnp.tanh(fnp.tanh(x @ v) @ w)


def peak(f, *args):
    """Return the bytes that a call allocates at once, once everything is compiled."""
    f(*args), f(*args)
    tracemalloc.start()
    f(*args)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


LAYERS = 50
WEIGHTS = [
    (0.1 * RNG.normal(size=(32, 128)), 0.1 * RNG.normal(size=(128, 32))) for _ in range(LAYERS)
]
BATCH = RNG.normal(size=(64, 32))
for parameter in [BATCH, *(p for layer_weights in WEIGHTS for p in layer_weights)]:
    parameter.flags.writeable = False  # or they would be copied, with and without checkpoints


def network(layer):
    def loss(weights, x):
        for w in weights:
            x = layer(w, x)
        return fnp.sum(x * x)

    return loss


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["un-jitted", "jit"])
def test_a_deep_network_takes_a_third_of_the_memory(transform):
    weights, x = WEIGHTS, BATCH
    without, with_ = (transform(fg.grad(network(f), 1)) for f in (layer, checkpoint(layer)))
    close(with_(weights, x), without(weights, x))
    assert peak(without, weights, x) > 3 * peak(with_, weights, x)


def test_what_a_deep_network_keeps_is_told_with_lines(capsys):
    def reported(layer):
        print_saved_residuals(network(layer), WEIGHTS, BATCH)
        *lines, _ = capsys.readouterr().out.splitlines()
        return [line for line in lines if "from the argument" not in line]

    place = rf"from test_checkpoint\.py:{layer.__code__.co_firstlineno + 2} \(in layer.*\): return x \+ fnp\.tanh"
    without, with_ = reported(layer), reported(checkpoint(layer))
    assert len(without) > 3 * LAYERS
    assert len(with_) == LAYERS
    # What goes from each layer to the next is left, and the last result.
    for line in [*without, *with_]:
        assert re.search(place, line) or "in loss" in line, line
    assert all(line.startswith("float64[64,32] output of add") for line in with_)


# Errors


def choosing(x):
    return x if x[0] > 0 else -x


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: checkpoint(3), TypeError, "checkpoint takes a function, not 3"),
        (lambda: checkpoint(block, policy="dots"), TypeError, r"checkpoint\(block\): policy must be one of"),
        (
            lambda: checkpoint(block, static_argnums=1),
            ValueError,
            "checkpoint: static_argnums=1 is out of range for block, which takes 1 positional",
        ),
        (
            lambda: checkpoint(block, static_argnums="x"),
            TypeError,
            "checkpoint: static_argnums takes positions .*; got 'x'. Names go into static_argnames",
        ),
        (
            lambda: checkpoint(block, static_argnames="z"),
            ValueError,
            r"checkpoint: static_argnames has \['z'\], but block takes \['x'\]",
        ),
        (lambda: checkpoint(block, concrete=True), NotImplementedError, "concrete=True is not supported"),
        (lambda: checkpoint_name(X, 3), TypeError, "checkpoint_name: the name must be a string, got 3"),
        (lambda: p.save_only_these_names(["a"]), TypeError, r"save_only_these_names takes names.*\['a'\]"),
        (lambda: p.save_from_both_policies(1, 2), TypeError, "policy_1 must be one of .*got 1"),
        (lambda: checkpoint(block, policy=p.save_only_these_names), TypeError, "of names: call it first"),
        (lambda: kept(lambda *_, **__: "yes"), TypeError, "must return True or False, .*got 'yes'"),
        (
            lambda: fg.grad(lambda x: checkpoint(lambda x, how: x)(x, "fast"))(1.0),
            TypeError,
            r"checkpoint\(<lambda>\): argument 1.*static_argnums",
        ),
        (lambda: p.offload_dot_with_no_batch_dims, AttributeError, "stay in the memory"),
        (lambda: p.no_such_policy, AttributeError, "has no attribute 'no_such_policy'"),
    ],
    ids=lambda x: None if callable(x) else str(x)[:30],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_branch_in_a_checkpoint():
    gradient = fg.grad(lambda x: checkpoint(choosing)(x)[0])
    for x in (X, -X):
        np.testing.assert_array_equal(gradient(x), np.sign(x[0]) * np.eye(len(X))[0])
    words = "(?s)test_checkpoint.py.*without values, under grad too.*fungrad.lax.cond"
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match=words):
        gradient(X)


def test_static_arguments():
    def f(x, how, *, power=1):
        return (fnp.sin(x) if how == "sin" else x) ** (power if power > 1 else 1)

    for kwargs in ({"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "how"}):
        g = checkpoint(f, **kwargs)
        assert fg.grad(lambda x, g=g: g(x, "sin"))(0.0) == 1
    g = checkpoint(f, static_argnums=(1,), static_argnames=("power",))
    assert fg.grad(lambda x: g(x, "none", power=3))(2.0) == 12
    traced_power = fg.grad(lambda x: checkpoint(f, static_argnums=1)(x, "none", power=3))
    assert traced_power(2.0) == 12
    with setting(reading=False), pytest.raises(fg.ConcretizationError):
        traced_power(2.0)


def test_policy_gets_types_and_parameters():
    seen = []

    def policy(prim, *types, **params):
        seen.append((prim, types, params))
        return False

    fg.grad(lambda x: checkpoint(block, policy=policy)(x).sum())(X)
    primitive, types, params = next(s for s in seen if isinstance(s[0], DotGeneral))
    assert str(types[0]) == "float64[3,3]"
    assert params["contracting"] == primitive.contracting


def test_taylor_mode():
    series = ((X, 0 * X, 0 * X),)
    found = jet(checkpoint(block), (X,), series)
    close(found, jet(block, (X,), series))


def test_unused_results_are_not_computed():
    def two(x, y):
        return fnp.sin(x), fnp.cos(y)

    program = Program(fg.make_expr(lambda x, y: checkpoint(two)(x, y)[1])(X, X))
    (equation,) = program.expr.equations
    assert [e.primitive.name for e in equation.primitive.program.expr.equations] == ["cos"]
    assert equation.inputs == program.expr.inputs[1:]


def test_a_function_that_closes_over_what_is_differentiated():
    def loss(c):
        return lambda w: c(lambda x: fnp.sin(w @ x).sum())(X)

    close(fg.grad(loss(checkpoint))(W), fg.grad(loss(identity))(W))


def test_results_of_effects_are_kept():
    calls = []

    def draw():
        calls.append(1)
        return np.float64(len(calls))

    f = checkpoint(lambda x: fnp.sin(x * io_callback(draw, np.float64(0))))
    assert fg.jit(fg.grad(f))(0.5) == np.cos(0.5)
    assert len(calls) == 1

"""`check_grads` and its parts accept right derivatives and refuse wrong ones."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import test_util as tu
from fungrad.core.config import setting

X = np.array([0.3, 0.7])
CASES = {
    "elementwise": (lambda x, y: fnp.sin(x) * y, (X, 2.0)),
    "tree": (lambda t: {"s": fnp.sum(t["a"]) ** 3, "b": t["b"] * t["a"]}, ({"a": X, "b": 2.0},)),
    "complex": (lambda z: fnp.exp(z) * z, (X + 1j,)),
    "conjugate": (lambda z: fnp.abs(z) ** 2, (X + 1j,)),
    "linalg": (fnp.linalg.inv, (np.array([[2.0, 1.0], [0.5, 3.0]]),)),
    "infinite": (lambda x: (x, fnp.full(2, np.inf)), (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_right_derivatives(name):
    function, args = CASES[name]
    tu.check_grads(function, args, order=2, modes=("fwd", "rev", "lin"))
    tu.check_grads(fg.jit(function), list(args), order=1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float32, None), (np.float16, {np.float16: 1})]
)
def test_narrow_dtypes(dtype, tolerance):
    tu.check_grads(lambda x: x * x, (X.astype(dtype),), 2, atol=tolerance, rtol=tolerance, eps=0.01)


def test_integers_do_not_move():
    tu.check_grads(lambda x, n: (x * n, n), (X, np.array([2, 3])), order=1)


def wrong(x):
    return x**3


wrong = fg.custom_jvp(wrong)
wrong.defjvp(lambda primals, tangents: (primals[0] ** 3, 2.9 * primals[0] ** 2 * tangents[0]))


@fg.custom_jvp
def wrong_twice(x):
    return x * x


@fg.custom_jvp
def wrong_slope(x):
    return 2 * x


wrong_twice.defjvp(lambda x, t: (wrong_twice(*x), wrong_slope(*x) * t[0]))
wrong_slope.defjvp(lambda x, t: (wrong_slope(*x), 2.1 * t[0]))


@pytest.mark.parametrize(
    ("mode", "said"),
    [("fwd", "JVP tangent"), ("rev", "VJP cotangent"), ("lin", "LIN tangent")],
)
def test_wrong_derivatives(mode, said):
    with pytest.raises(AssertionError, match=said):
        tu.check_grads(wrong, (X,), 1, modes=(mode,))
    tu.check_grads(wrong, (X,), 1, modes=(mode,), atol=0.1, rtol=0.1)
    tu.check_grads(wrong_twice, (X,), 1, modes=(mode,))
    first = said.split()[0]
    with pytest.raises(AssertionError, match=f"{first} of {said}"):
        tu.check_grads(wrong_twice, (X,), 2, modes=(mode,))


def test_parts():
    f = fnp.sin
    tu.check_jvp(f, functools.partial(fg.jvp, f), (X,))
    tu.check_vjp(f, functools.partial(fg.vjp, f), (X,))
    with pytest.raises(AssertionError, match="mine primal"):
        tu.check_jvp(f, lambda x, t: (fnp.cos(*x), t[0]), (X,), err_msg="mine")
    with pytest.raises(
        AssertionError,
        match=r"primal is not the result of the function: shape: found \(1,\), expected \(2,\)",
    ):
        tu.check_vjp(f, lambda x: (fnp.sin(x)[:1], None), (X,))
    with pytest.raises(
        AssertionError,
        match="tangent disagrees with differences:\n  along a random direction: structure: expected a leaf, got a tuple",
    ):
        tu.check_jvp(f, lambda x, t: (fnp.sin(*x), t), (X,))
    with pytest.raises(ValueError, match="modes are a tuple of some of"):
        tu.check_grads(f, (X,), 1, modes="forward")


# What a failure says


@fg.custom_vjp
def planted(x, y, z):
    return fnp.sum(x * y + fnp.sin(z))


def planted_bwd(residuals, ct):
    x, y, z = residuals
    return ct * y, ct * x * np.array([1.0, 0.5]), ct * fnp.cos(z)  # wrong by y[1]


planted.defvjp(lambda *args: (planted(*args), args), planted_bwd)


def failure(check, *args, **options):
    with pytest.raises(AssertionError) as caught:
        check(*args, **options)
    return str(caught.value)


def test_the_wrong_argument_element_and_mode_are_named():
    said = failure(tu.check_grads, planted, (X, X + 1, X + 2), 1, ("rev",))
    assert said.startswith(
        "check_grads(planted), order 1 (reverse mode): VJP cotangent disagrees with differences:\n"
    )
    assert "by argument: wrong by y (off by " in said
    assert "); right by x, z\n" in said
    assert "worst element: y[1]: float64[] differs: found " in said
    assert ", 50 % (allowed" in said
    assert "steps 0.0002, 0.0001, 5e-05 (order 0.0)" in said
    assert "so the derivative rule is wrong" in said


def test_second_order_names_what_it_is_of():
    said = failure(tu.check_grads, wrong_twice, (X,), 2, modes=("fwd",))
    assert said.startswith(
        "check_grads(wrong_twice), order 2 (forward mode of forward mode): JVP of JVP tangent"
    )
    assert "wrong by x (off by " in said
    assert "right by the tangent of x" in said


@pytest.mark.parametrize(
    ("f", "args", "options", "said"),
    [
        (lambda x: fnp.maximum(x, 2 * x) * x, (0.0,), {}, "(order 1.0): the error shrinks"),
        (lambda x: fnp.where(x >= 0, 3 * x, x), (0.0,), {}, "the function has a kink there (slopes"),
        (lambda x: fnp.where(x >= 0, x + 1, x), (0.0,), {}, "the function has a jump there"),
        (lambda x: fnp.sin(1e4 * x), (0.3,), {}, "(order 1.8): the error shrinks with the step"),
        (lambda x: 1e6 * x, (np.float32(1),), {"eps": 1e-6}, "differences at such steps are rounded"),
        (lambda x: fnp.sin(1e3 * x), (0.3,), {"eps": 0.01}, "differences do not agree with one"),
    ],
)  # fmt: skip
def test_functions_that_are_not_smooth_and_steps_that_do_not_suit_are_told_from_wrong_rules(
    f, args, options, said
):
    assert said in failure(tu.check_grads, f, args, 1, **options)


def test_cotangents_must_look_like_arguments():
    said = failure(tu.check_vjp, fnp.sin, lambda x: (fnp.sin(x), lambda ct: (ct[:1],)), (X,))
    assert said == "cotangent is unlike the arguments: [0]: shape: found (1,), expected (2,)"


# Trees


DIFFERENT = [
    ({"w": [X, 1.0]}, {"w": [X, 1.5]}, "['w'][1]: float64[] differs: found 1, expected 1.5, off by 0.5, 33.3 % (allowed 3e-07)"),
    ({"w": X}, {"w": X, "b": 1}, "structure: the dict lacks the keys ['b']"),
    ([X], (X,), "structure: expected a tuple of length 1, got a list of length 1"),
    (X, X[:1], "shape: found (2,), expected (1,)"),
    (X, X.astype("f"), "dtype: found float64, expected float32"),
    (np.array([1, np.nan]), np.array([1, 2.0]), "worst at [1]: found nan, expected 2"),
    (np.int64(2**60), np.int64(2**60 + 1), "found 1152921504606846976, expected 1152921504606846977, off by 1"),
    (np.array([np.inf, 0]), np.array([-np.inf, 0]), "worst at [0]: found inf, expected -inf"),
    (np.eye(2), np.array([[1, 3], [0.1, 1]]), "2 of 4 elements of float64[2,2] differ; worst at [0, 1]: found 0, expected 3, off by 3, 100 %"),
    (1 + 1j, 1 + 2j, "found 1+1j, expected 1+2j, off by 1, 44.7 %"),
    (np.arange(4) * 100, np.arange(4), "3 of 4 elements of int64[4] differ; worst at [3]: found 300, expected 3, off by 297"),
    (True, False, "found True, expected False, off by 1"),
    (np.array(["a"]), np.array(["b"]), "found a, expected b"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "expected", "said"), DIFFERENT)
def test_trees_that_differ(found, expected, said):
    message = failure(tu.assert_allclose, found, expected)
    assert message.startswith("assert_allclose: ")
    assert said in message
    assert failure(tu.assert_allclose, found, expected, err_msg="mine").startswith("mine: ")


def test_worst_leaf_comes_first_and_few_are_shown():
    zeros = [0.0] * 9
    said = failure(tu.assert_allclose, [0.0, 1.0, 3.0, *[0.5] * 6], zeros)
    assert said.startswith(
        "assert_allclose: [2]: float64[] differs: found 3, expected 0, off by 3 ("
    )
    assert said.endswith("... and 4 more leaves differ")


def test_trees_that_are_equal():
    tu.assert_allclose({"a": (X, None), "n": 3}, {"a": (X * (1 + 1e-9), None), "n": 3})
    tu.assert_allclose([np.nan, np.inf, 1e-9], [np.nan, np.inf, 0.0])
    tu.assert_allclose(X, X.astype("f"), check_dtypes=False)
    tu.assert_allclose(1e-3, 0.0, atol=1e-2)
    with pytest.raises(AssertionError, match="allowed 0"):
        tu.assert_allclose(1.0, 1.0 + 1e-15, rtol=0, atol=0)


# Transforms


@fg.custom_batching.custom_vmap
def wrong_batch(x, y):
    return x * y


@wrong_batch.def_vmap
def _(size, batched, x, y):
    return (x * y if not batched[1] else x * y + 1), True


def test_wrong_vmap_rule():
    ones = np.ones((3, 2))
    tu.check_vmap(wrong_batch, (ones, ones[0]), in_axes=(0, None))
    said = failure(tu.check_vmap, wrong_batch, (ones, ones * np.array([[1], [1], [0.01]])))
    assert said.startswith(
        "check_vmap(wrong_batch): vmap and a loop differ in element 2 of the batch: "
    )
    assert "found 1.01, expected 0.01" in said
    assert said.endswith("\n  mapped over x alone: they agree; over y alone: they differ")


def test_vmap_over_other_axes_and_trees():
    f = lambda p, x: {"y": p["w"] * x, "n": fnp.argmax(x)}
    args = ({"w": np.ones((2, 3)), "b": 1}, np.arange(6.0).reshape(3, 2))
    tu.check_vmap(f, args, in_axes=({"w": None, "b": None}, -1), out_axes={"y": 1, "n": 0})
    tu.check_vmap(lambda x: 1.0, (np.ones(3),), out_axes=None)


def test_wrong_under_jit():
    calls = []

    def impure(x):
        calls.append(x)
        return x * len(calls)

    said = failure(tu.check_jit, impure, (X,))
    assert "check_jit(impure): the function is not pure" in said
    assert "found 0.2, expected 0.1" not in said
    assert "expected 0.7, off by 0.7, 100 %" in said
    other = lambda x: x * 2 if isinstance(x, np.ndarray) else x * 3
    tu.check_jit(other, (X,))
    with setting(reading=False):  # what is traced is no array of NumPy's
        said = failure(tu.check_jit, other, (X,))
    assert "the first call of the jitted function differs from the function: 2 of 2" in said
    single = lambda x: x.astype("f") if isinstance(x, np.ndarray) else x
    tu.check_jit(single, (X,))
    with setting(reading=False):
        assert "dtype: found float64, expected float32" in failure(tu.check_jit, single, (X,))
    tu.check_jit(lambda x, n: x * n, (X, 3), static_argnums=1)


@pytest.mark.parametrize("name", [*CASES, "integers"])
def test_all_of_functions_that_are_right(name):
    f, args = {**CASES, "integers": (lambda x, n: (x * n, fnp.argmax(x)), (X, np.arange(2)))}[name]
    tu.check_all(f, args)


def test_all_finds_what_is_wrong():
    args = (X, X + 1, X + 2)
    said = failure(tu.check_all, planted, args, modes=("rev",))
    assert said.startswith("check_grads(planted), order 1 (reverse mode): VJP cotangent")
    tu.check_all(planted, args, 0, modes=("rev",))  # wrong in the same way everywhere
    said = failure(tu.check_all, wrong_batch, (X, X))
    assert said.startswith("check_vmap(wrong_batch): vmap and a loop differ in element")
    other = lambda x: x * 2 if isinstance(x, np.ndarray) else x * 3
    tu.check_all(other, (X,))  # as it is read, a tracer is an array
    kept = lambda x: x if type(x) is np.ndarray else x + 1
    tu.check_all(kept, (np.arange(2),), vmap=False)
    with setting(reading=False):
        with pytest.raises(AssertionError, match="JVP primal is not the result of the function"):
            tu.check_all(other, (X,))
        said = failure(tu.check_all, kept, (np.arange(2),), vmap=False)
    assert said.startswith("check_jit(<lambda>): the first call")


def test_agreement():
    tu.check_agreement(fnp.square, lambda x: x * x, (X,))
    tu.check_agreement(lambda n: n // 2, lambda n: n >> 1, (np.arange(3),))
    said = failure(tu.check_agreement, wrong, lambda x: x**3, (X,))
    assert said.startswith("check_agreement(wrong, <lambda>): jvp: [1][0]: 2 of 2 elements")


# Traces


def test_trace_counts():
    f = fg.jit(lambda x, flag: x + 1, static_argnums=1)
    with tu.assert_trace_count(f, 0), tu.assert_no_retrace(f):
        pass
    with tu.assert_trace_count(f, 1), tu.assert_no_retrace():
        f(X, 1), f(X, 1)
    with pytest.raises(AssertionError) as caught, tu.assert_trace_count(f, 1):
        f(X, 2), f(X[:1], 2)
    first, *lines = str(caught.value).split("\n")
    assert first == "assert_trace_count: <jit(<lambda>)> was traced 2 times, not 1"
    assert lines[0].strip() == "1. retraced jit(<lambda>): static argument flag changed from 1 to 2"
    assert "(in test_trace_counts): f(X, 2), f(X[:1], 2)" in lines[1]
    assert lines[2].endswith("argument x went from float64[2] to float64[1]")
    with pytest.raises(KeyError), tu.assert_trace_count(f, 5):
        raise KeyError
    with (
        pytest.raises(TypeError, match="takes functions that `jit` returns; got <built-in"),
        tu.assert_no_retrace(len),
    ):
        pass


def test_methods_that_are_jitted():
    class Model:
        @fg.jit
        def step(self, x):
            return x + 1

    model = fg.tree_util.Partial(Model.step, 1.0)
    with tu.assert_trace_count(model, 1):
        model(X)


def test_jit_in_a_loop_and_captured_tracers():
    with pytest.raises(AssertionError, match="1 trace too many") as caught, tu.assert_no_retrace():
        [fg.jit(lambda x: x + 1)(X) for _ in range(2)]
    assert "has made a new function, as it did before" in str(caught.value)
    with pytest.raises(AssertionError, match="is traced anew in each call"), tu.assert_no_retrace():
        fg.grad(lambda x: fg.jit(lambda y: y * x)(2.0))(3.0)


def test_traces_are_noted_and_not_logged(caplog):
    f = fg.jit(lambda x: x)
    with tu.assert_trace_count(f, 1):
        f(X)
    assert not caplog.records
    with fg.explain_cache_misses():
        f(X[:1])
    assert "retraced" in caplog.text


# Programs


def program(f, *args):
    return fg.make_expr(f)(*args)


def looped(k):
    return lambda x: fg.lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * k * 2, x)


def test_equal_programs():
    f = lambda x: (fnp.sin(x) * CONSTANT, x)
    tu.assert_equal_exprs(program(f, X), fg.jit(f).lower(X + 1))
    tu.assert_equal_exprs(program(looped(2.0), 1.0), program(looped(2.0), 1.0))


CONSTANT = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("f", "g", "said"),
    [
        (lambda x: fnp.sin(x) * 2, lambda y: fnp.cos(y) * 2, "first in equation 1\n"),
        (lambda x: fnp.sin(x) + x, lambda x: fnp.sin(x), "first in equation 2\n"),
        (lambda x: (x, x * 2), lambda x: (x * 2, x), "first in equation 3\n"),
        (lambda x: x * CONSTANT, lambda x: x * (CONSTANT + 1), "first in equation 1\n"),
        (lambda x: fnp.sin(x) * fnp.cos(x), lambda x: fnp.sin(x) * fnp.sin(x), "in equation 2\n"),
        (looped(2.0), looped(3.0), "first in equation "),
    ],
)
def test_programs_that_differ(f, g, said):
    message = failure(tu.assert_equal_exprs, program(f, X), program(g, X))
    assert message.startswith("assert_equal_exprs: the programs differ first in equation ")
    assert said in message
    assert "    actual:   " in message
    assert ("      at test_test_util.py:" in message) == ("actual:   return" not in message)


def test_programs_of_other_arguments():
    f = lambda x: x * 2
    message = failure(tu.assert_equal_exprs, program(f, X), program(f, X.astype("f")))
    assert (
        "differ in the arguments\n  actual:   { lambda a:float64[2] .\n  expected: { lambda a:float32[2] ."
        in message
    )
    with pytest.raises(TypeError, match=r"fungrad.make_expr\(f\)\(\*args\) makes one"):
        tu.assert_equal_exprs(f, f)

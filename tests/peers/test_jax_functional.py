"""Programs of JAX's users under fungrad, after changing their imports: what JAX makes of them."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad.core import tree  # noqa: E402
from tests.peers.functional_programs import table  # noqa: E402
from tests.programs import assert_close, weighted  # noqa: E402

PROGRAMS = table()
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""What JAX compiles runs once."""
NAMES = list(PROGRAMS)
BOTH_MODES = [name for name in NAMES if PROGRAMS[name].reverse and PROGRAMS[name].forward]


def halves(args):
    """Return the leaves that have derivatives, the others, and what puts them together again."""
    leaves, structure = tree.flatten(args)
    inexact = [np.asarray(x).dtype.kind in "fc" for x in leaves]

    def together(floats, others):
        floats, others = iter(floats), iter(others)
        return tree.unflatten(structure, [next(floats if f else others) for f in inexact])

    split = lambda which: [x for x, f in zip(leaves, inexact, strict=True) if f is which]
    return split(True), split(False), together


def value_and_derivative(f, args, lib, np_, reverse):
    """Return a function of the leaves: the result, and a gradient or a directional derivative."""
    floats, others, together = halves(args)
    directions = [np.cos(np.arange(np.size(x))).reshape(np.shape(x)) for x in floats]

    def run(floats, others):
        loss = lambda floats: weighted(f, np_)(*together(floats, others))
        value = f(*together(floats, others))
        if reverse:
            return value, lib.grad(loss)(floats)
        along = [d.astype(x.dtype) for d, x in zip(directions, floats, strict=True)]
        return value, lib.jvp(loss, (floats,), (along,))[1]

    return run, floats, others


def stacked(examples):
    return tree.map(lambda *xs: np.stack(xs), *examples)


@functools.cache
def expected(name):
    """Return values and derivatives of the two examples, stacked, as JAX has them."""
    theirs, _, examples, _, reverse = PROGRAMS[name][:5]
    run, *_ = value_and_derivative(theirs, examples[0], jax, jax.numpy, reverse)
    floats, others, _ = halves(stacked(examples))
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(run), compiler_options=QUICKLY)(floats, others))


def of_example(name, i):
    return tree.map(lambda x: x[i], expected(name))


@pytest.mark.parametrize("name", NAMES)
def test_value(name):
    program = PROGRAMS[name]
    f = fg.jit(program.ours) if program.needs_jit else program.ours
    for i, args in enumerate(program.examples):
        assert_close(f(*args), of_example(name, i)[0], 1e-9, f"value {i}")


@pytest.mark.parametrize("how", ["as it is", "jit"])
@pytest.mark.parametrize("name", NAMES)
def test_derivative(name, how):
    _, ours, examples, needs_jit, reverse = PROGRAMS[name][:5]
    f = fg.jit(ours) if needs_jit else ours
    for i, args in enumerate(examples):
        run, floats, others = value_and_derivative(f, args, fg, fnp, reverse)
        run = fg.jit(run) if how == "jit" else run
        assert_close(run(floats, others), of_example(name, i), 1e-8, f"example {i}")


@pytest.mark.parametrize("name", NAMES)
def test_batch(name):
    _, ours, examples, _, reverse = PROGRAMS[name][:5]
    run, *_ = value_and_derivative(ours, examples[0], fg, fnp, reverse)
    floats, others, _ = halves(stacked(examples))
    assert_close(fg.vmap(run)(floats, others), expected(name), 1e-8, "vmap")


@pytest.mark.parametrize("name", BOTH_MODES)
def test_forward_mode_agrees_with_reverse_mode(name):
    ours, examples, needs_jit = PROGRAMS[name][1:4]
    f = fg.jit(ours) if needs_jit else ours
    run, floats, others = value_and_derivative(f, examples[0], fg, fnp, reverse=False)
    terms = [
        np.real(np.sum(g * np.cos(np.arange(g.size)).reshape(g.shape)))
        for g in of_example(name, 0)[1]
    ]
    assert_close(run(floats, others)[1], np.sum(terms), 1e-8, "jvp")


def single(x):
    """Return an array in single precision, if it holds no integers."""
    return x.astype({"f": np.float32, "c": np.complex64}.get(x.dtype.kind, x.dtype))


def kind(x):
    return x.dtype if x.dtype.kind in "fc" else x.dtype.kind.replace("u", "i")


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_what_it_is(name):
    """As in JAX without its 64-bit mode, where all is of single precision."""
    theirs, ours, examples, *_ = PROGRAMS[name]
    args = tree.map(lambda x: single(np.asarray(x)), examples[0])
    if PROGRAMS[name].widens:
        with pytest.raises(TypeError, match=r"float32.* +float64.* <- differ"):
            fg.eval_shape(ours, *args)
        return
    with jax.enable_x64(False):
        expected = tree.leaves(jax.eval_shape(theirs, *args))
    assert [kind(x) for x in tree.leaves(fg.eval_shape(ours, *args))] == list(map(kind, expected))

"""Programs of JAX's users under fungrad, after changing their imports: what JAX makes of them."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad.core import tree  # noqa: E402
from tests.peers.functional_programs import table  # noqa: E402
from tests.programs import assert_close, weighted  # noqa: E402

PROGRAMS = table()
NAMES = list(PROGRAMS)
QUICKLY = {
    "xla_backend_optimization_level": 1,
    "xla_cpu_use_fusion_emitters": False,
    "xla_llvm_disable_expensive_passes": True,
}
"""How JAX is to compile what runs once."""


def halves(args):
    """Return the leaves that have derivatives, the others, and what puts them together again."""
    leaves, structure = tree.flatten(args)
    inexact = [np.asarray(x).dtype.kind in "fc" for x in leaves]

    def together(floats, others):
        floats, others = iter(floats), iter(others)
        return tree.unflatten(structure, [next(floats if f else others) for f in inexact])

    split = lambda which: [x for x, f in zip(leaves, inexact, strict=True) if f is which]
    return split(True), split(False), together


def stacked(examples):
    return tree.map(lambda *xs: np.stack(xs), *examples)


def direction(x):
    return np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype)


def with_derivative(f, args, lib, np_, reverse):
    """Return a function of the leaves: the result, and its gradient or a directional derivative."""
    floats, others, together = halves(args)
    along = [direction(np.asarray(x)) for x in floats]

    def run(floats, others):
        def loss(floats):
            result = f(*together(floats, others))
            return weighted(lambda: result, np_)(), result

        if reverse:
            derivative, value = lib.grad(loss, has_aux=True)(floats)
        else:
            _, derivative, value = lib.jvp(loss, (floats,), (along,), has_aux=True)
        return value, derivative

    return run, floats, others


@pytest.mark.parametrize("name", NAMES)
def test_as_jax(name):
    program = PROGRAMS[name]
    examples, reverse = program.examples, program.reverse
    run, *_ = with_derivative(program.theirs, examples[0], jax, jax.numpy, reverse)
    floats, others, _ = halves(stacked(examples))
    theirs = jax.jit(jax.vmap(run), compiler_options=QUICKLY)(floats, others)
    theirs = jax.tree.map(np.asarray, theirs)

    f = fg.jit(program.ours) if program.needs_jit else program.ours
    for i, args in enumerate(examples):
        expected = tree.map(lambda x, i=i: x[i], theirs)
        assert_close(f(*args), expected[0], 1e-9, f"value of example {i}")
        run, *leaves = with_derivative(f, args, fg, fnp, reverse)
        assert_close(run(*leaves), expected, 1e-8, f"derivative of example {i}")
        assert_close(fg.jit(run)(*leaves), expected, 1e-8, f"jit of example {i}")
        if reverse and program.forward and expected[1]:
            total = sum(np.real(np.sum(g * direction(g))) for g in expected[1])
            run, *leaves = with_derivative(f, args, fg, fnp, reverse=False)
            assert_close(run(*leaves)[1], total, 1e-8, f"forward mode of example {i}")
    run, *_ = with_derivative(program.ours, examples[0], fg, fnp, reverse)
    assert_close(fg.vmap(run)(floats, others), theirs, 1e-8, "vmap")


def single(x):
    """Return an array in single precision, if it holds no integers."""
    x = np.asarray(x)
    return x.astype({"f": np.float32, "c": np.complex64}.get(x.dtype.kind, x.dtype))


def kind(x):
    return x.dtype if x.dtype.kind in "fc" else x.dtype.kind.replace("u", "i")


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_what_it_is(name):
    """As in JAX without its 64-bit mode, where all is of single precision."""
    program = PROGRAMS[name]
    args = tree.map(single, program.examples[0])
    if program.widens:
        with pytest.raises(TypeError, match=r"float32.* +float64.* <- differ"):
            fg.eval_shape(program.ours, *args)
        return
    with jax.enable_x64(False):
        expected = jax.eval_shape(program.theirs, *args)
    found = fg.eval_shape(program.ours, *args)
    assert list(map(kind, tree.leaves(found))) == list(map(kind, tree.leaves(expected)))

"""`checkpoint` and its policies beside JAX's: values, derivatives, and which arrays are kept."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jax_checkpoint = pytest.importorskip("jax.ad_checkpoint")

import inspect  # noqa: E402

from jax._src.ad_checkpoint import saved_residuals as jax_saved_residuals  # noqa: E402

import fungrad as fg  # noqa: E402
import fungrad.ad_checkpoint as fg_checkpoint  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

LIBRARIES = {"jax": (jnp, jax, jax_checkpoint), "fungrad": (fnp, fg, fg_checkpoint)}
RNG = np.random.default_rng(0)
W, V, X = (RNG.normal(size=shape) for shape in ((4, 3), (5, 4), (3,)))


def network(np_, named):
    def loss(w, v, x):
        h = named(np_.sin(w @ x), "h")
        y = named(np_.cos(v @ h), "y")
        return np_.sum(np_.sin(y) * y)

    return loss


POLICIES = {
    "none": lambda p: None,
    "everything_saveable": lambda p: p.everything_saveable,
    "nothing_saveable": lambda p: p.nothing_saveable,
    "dots_saveable": lambda p: p.dots_saveable,
    "checkpoint_dots": lambda p: p.checkpoint_dots,
    "dots_with_no_batch_dims_saveable": lambda p: p.dots_with_no_batch_dims_saveable,
    "checkpoint_dots_with_no_batch_dims": lambda p: p.checkpoint_dots_with_no_batch_dims,
    "save_only_these_names": lambda p: p.save_only_these_names("h"),
    "save_only_these_names, two": lambda p: p.save_only_these_names("h", "y"),
    "save_any_names_but_these": lambda p: p.save_any_names_but_these("h"),
    "save_anything_except_these_names": lambda p: p.save_anything_except_these_names("h"),
    "save_from_both_policies": lambda p: p.save_from_both_policies(
        p.save_only_these_names("h"), p.dots_saveable
    ),
}


def both(policy, make):
    """Return what `make` gives under JAX and under fungrad."""
    found = []
    for np_, library, checkpoint in LIBRARIES.values():
        transform = library.checkpoint if library is jax else checkpoint.checkpoint
        policies = library.checkpoint_policies if library is jax else checkpoint.checkpoint_policies
        f = transform(network(np_, checkpoint.checkpoint_name), policy=POLICIES[policy](policies))
        found.append(make(f, library, np_))
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients(policy):
    expected, found = both(policy, lambda f, lib, _: lib.grad(f, (0, 1, 2))(W, V, X))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("policy", ["none", "dots_saveable", "save_only_these_names"])
def test_hessians_and_batches(policy):
    def derivatives(f, library, np_):
        in_x = library.hessian(lambda x: f(W, V, x))(X)
        batch = library.vmap(library.grad(f, 2), (None, None, 0))(W, V, np_.stack([X, 2 * X]))
        return in_x, batch

    expected, found = both(policy, derivatives)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "policy",
    [
        *("none", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable"),
        *("save_only_these_names", "save_only_these_names, two", "save_any_names_but_these"),
        "save_from_both_policies",
    ],
)
def test_the_same_arrays_are_kept(policy):
    def shapes(f, library, np_):
        find = jax_saved_residuals if library is jax else fg_checkpoint.saved_residuals
        return sorted(t.shape for t, _ in find(f, W, V, X))

    expected, found = both(policy, shapes)
    assert found == expected


def test_signatures():
    def names(f):
        return list(inspect.signature(f).parameters)

    assert names(fg_checkpoint.checkpoint) == names(jax.checkpoint)
    for name in ("checkpoint_name", "print_saved_residuals"):
        assert names(getattr(fg_checkpoint, name)) == names(getattr(jax_checkpoint, name))
    ours = fg_checkpoint.checkpoint_policies
    theirs = {name for name in dir(jax.checkpoint_policies) if not name.startswith("_")}
    assert {name for name in theirs if "offload" not in name} == set(ours.__all__)

"""float16 and bfloat16 beside float32: losses, norms, statistics, softmaxes and optimizers, their values and gradients.

Operands are rounded first, so that both compute of the same numbers. What float32 gives a number that the dtype holds, the dtype must give too.
"""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import conventions, lax, nn, optim
from fungrad.example_libraries import optimizers
from fungrad.scipy import special
from tests.folding import each

ml_dtypes = pytest.importorskip("ml_dtypes")
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
BRAIN = DTYPES[1]
RNG = np.random.default_rng(0)
HALVES = each("dtype", DTYPES, ids=str)


def tree_map(f, *trees):
    return fg.tree.map(f, *trees)


def wide(x):
    return np.asarray(x).astype(np.float64)


def error(found, exact, dtype, like=None):
    """Return how far a result is from an exact one, in units of the dtype's eps at its largest element; a text if it is no number where it should be one."""
    assert found.dtype == (dtype if like is None else like)
    with np.errstate(over="ignore", invalid="ignore"):
        exact, found = wide(np.asarray(exact).astype(dtype)), wide(found)
    known = np.isfinite(exact)
    exact, found = exact[known], found[known]
    if not np.isfinite(found).all():
        return np.inf
    if not exact.size:
        return 0.0
    limits = ml_dtypes.finfo(dtype)
    away, size = np.abs(found - exact).max(), np.abs(exact).max()
    return max(0, away - 2 * float(limits.smallest_subnormal)) / (float(limits.eps) * size or 1)


def check(f, args, dtype, bound=2.5, of_gradient=4.0, plain=True):
    """Compare ``f(*args)``, traced and, if not by SciPy, plain, and its gradient by the first argument; those of float are rounded."""

    def rounded(x):
        return x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype == float else x

    def total(*xs):
        y = f(*xs)
        weights = np.cos(np.arange(y.size, dtype=np.float32)).reshape(y.shape)
        return fnp.mean(y.astype(np.float32) * weights), y

    short = [rounded(x) for x in args]
    single = [x.astype(np.float32) if getattr(x, "dtype", 0) == dtype else x for x in short]
    with np.errstate(all="ignore"):
        found, exact = [fg.value_and_grad(total, has_aux=True)(*xs) for xs in (short, single)]
        assert error(found[0][1], exact[0][1], dtype) <= bound
        assert error(found[1], exact[1], dtype) <= of_gradient
        assert not plain or error(f(*short), exact[0][1], dtype) <= bound


# Networks

X, Y = RNG.normal(size=(2, 5, 7))
LABELS = nn.softmax(RNG.normal(size=(5, 7)))
CLASSES = np.array([0, 3, 6, 1, 1])
ELEMENTWISE = (
    "celu elu gelu leaky_relu log_sigmoid mish selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus "
    "tanh hard_sigmoid hard_silu hard_tanh relu relu6 softmax log_softmax logmeanexp logsumexp standardize layer_norm rms_norm"
)
OF_TWO = {
    "squared_error l2_loss huber_loss log_cosh cosine_similarity cosine_distance": Y,
    "softmax_cross_entropy poly_loss_cross_entropy safe_softmax_cross_entropy ranking_softmax_loss": LABELS,
    "sigmoid_binary_cross_entropy sigmoid_focal_loss generalized_kl_divergence": LABELS,
    "kl_divergence convex_kl_divergence": LABELS,
    "hinge_loss perceptron_loss": np.sign(Y),
    "multiclass_hinge_loss multiclass_perceptron_loss multiclass_sparsemax_loss": CLASSES,
    "softmax_cross_entropy_with_integer_labels": CLASSES,
    "ntxent": np.array([0, 0, 1, 2, 2]),
}
NETWORKS = (
    dict.fromkeys(ELEMENTWISE.split(), ())
    | {name: (other,) for names, other in OF_TWO.items() for name in names.split()}
    | {"triplet_margin_loss": (Y, LABELS), "kl_divergence_with_log_targets": (np.log(LABELS),)}
)
POSITIVE = {"generalized_kl_divergence", "kl_divergence", "convex_kl_divergence"}


@HALVES
@each("name", list(NETWORKS))
def test_networks(name, dtype):
    x = X / 4 if name in POSITIVE else X * np.array([1, 200, 1, 50, 9])[:, None]
    check(getattr(nn, name), (x, *NETWORKS[name]), dtype, of_gradient=6)


@HALVES
def test_norms_and_dice(dtype):
    check(lambda x: nn.group_norm(x, 2), (RNG.normal(size=(3, 4, 4)) * 300,), dtype)
    check(nn.multiclass_generalized_dice_loss, (X, LABELS), dtype)


# Sums and statistics

LARGE = np.tile([100.0, 300, 500, 220, -410, 250, 330, 120], 30)
MANY = np.tile([1.0, 2.0, 3.0, 0.5], 100)
EDGE = np.array([60000.0, 60000, -60000, -50000])
ROWS = {
    name: getattr(fnp, name)
    for name in [
        "sum",
        "mean",
        "std",
        "var",
        "nansum",
        "nanstd",
        "average",
        "cumsum",
        "trapezoid",
    ]
} | {
    "prod": lambda x: fnp.prod(x[:2] / 8),
    "median": lambda x: fnp.median(x[:3] + fnp.arange(3).astype(x.dtype)),
    "average, weights": lambda x: fnp.average(x, weights=abs(x)),
    "std, where": lambda x: fnp.std(x, where=x > 0),
    "var, dtype": lambda x: fnp.var(x, dtype=x.dtype),
    "std, axis": lambda x: fnp.std(x.reshape(2, -1), axis=0),
    "sum, axis": lambda x: fnp.sum(x.reshape(-1, 2), axis=0),
    "cov": lambda x: fnp.cov(x[:8], x[:8][::-1]),
    "corrcoef": lambda x: fnp.corrcoef(x[:8], x[:8][::-1] - x[:8] / 2),
    "trace": lambda x: fnp.trace(fnp.diag(x[:8])),
    "dot": lambda x: fnp.dot(x, x / x.size),
    "norm": fnp.linalg.norm,
    "norm, 1": lambda x: fnp.linalg.norm(x, 1),
    "norm, 3": lambda x: fnp.linalg.norm(x, 3),
    "norm, axis": lambda x: fnp.linalg.norm(x.reshape(2, -1), axis=0),
    "vector_norm": fnp.linalg.vector_norm,
    "logsumexp": special.logsumexp,
}


@HALVES
@each("name", list(ROWS))
def test_statistics_by_jax(name, dtype):
    """Sums are made in float32, and the result is rounded once."""
    with conventions.promotion("jax"):
        check(ROWS[name], (LARGE,), dtype, of_gradient=8)
        if name in ("sum", "mean", "std", "nanstd", "norm"):
            check(ROWS[name], (EDGE,), dtype, of_gradient=8)


@HALVES
def test_sums_of_programs(dtype):
    """Ones in bfloat16 would add up to 256, and rows in float16 to 2048."""
    x = np.ones((8192, 2), dtype)
    for made in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        slope = made(lambda b: (x + b).sum().astype(np.float32))(np.zeros(2, dtype))
        np.testing.assert_array_equal(wide(slope), 8192)
    for f in (lambda x: x.sum(0), lambda x: lax.reduce_sum(x, (0,))):
        np.testing.assert_array_equal(wide(fg.jit(f)(x)), 8192)
    program = fg.to_source(lambda x: x.sum(0), name="f")(x)
    namespace = {}
    exec(program, namespace)
    np.testing.assert_array_equal(wide(namespace["f"](x)), 8192)


def test_statistics_by_numpy():
    """Without JAX's rules the results are NumPy's, of traced arrays too; where these overflow, a traced one may be right."""
    for x in (np.array([100, 300, 500], np.float16), np.array([1, 3.5, -2], np.float16)):
        for name in ("std", "var", "nanstd", "nanvar", "mean", "nanmean", "sum", "prod"):
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(x)
                assert np.array_equal(getattr(fnp, name)(x), expected)
                traced = fg.jit(getattr(fnp, name))(x)
            assert traced.dtype == np.float16
            if np.isfinite(expected):
                np.testing.assert_allclose(wide(traced), wide(expected), rtol=2e-3, err_msg=name)


@HALVES
def test_softmaxes_of_many(dtype):
    """The sum is beyond float16, and in bfloat16 it would end at 256. Of plain arrays these functions are SciPy's."""
    x = np.linspace(-2, 2, 2**16) + 0.5
    for module in (special, nn):
        for f in (module.log_softmax, module.softmax):
            check(lambda x: f(x)[::9999], (x,), dtype, 2.5, 8, module is nn)  # noqa: B023
        check(module.logsumexp, (x,), dtype, plain=module is nn)
    check(lambda x: special.logsumexp(x, b=x), (x + 3,), dtype, plain=False)


@HALVES
@each("reverse", [False, True])
def test_cumulative_operations_of_lax(reverse, dtype):
    for name in ("cumlogsumexp", "cumsum", "cummax", "cummin"):
        x = MANY if name != "cumlogsumexp" else MANY[:60]
        check(lambda x: getattr(lax, name)(x, reverse=reverse), (x,), dtype, 2.5, 8)  # noqa: B023
    check(lambda x: lax.cumprod(x, reverse=reverse), (np.linspace(0.5, 1.5, 9),), dtype)
    assert fg.vmap(lax.cumlogsumexp)(np.ones((2, 3), dtype)).dtype == dtype


# Optimizers

NAMES = (
    "adabelief adam adamax adamaxw adamw adan amsgrad lamb lars lion nadam nadamw radam yogi fromage sgd sign_sgd signum "
    "optimistic_gradient_descent optimistic_adam_v2 rprop adadelta adafactor adagrad novograd rmsprop sm3"
)
OPTIMIZERS = {name: (lambda name=name: getattr(optim, name)(0.01)) for name in NAMES.split()} | {
    "noisy_sgd": lambda: optim.noisy_sgd(0.01, eta=0.0),
    "polyak_sgd": lambda: optim.polyak_sgd(),
    "lbfgs, one step": lambda: optim.scale_by_lbfgs(),
    "sgd, momentum": lambda: optim.sgd(0.01, momentum=0.9, nesterov=True),
    "rmsprop, centered": lambda: optim.rmsprop(0.01, centered=True, momentum=0.9),
    "rmsprop, corrected": lambda: optim.rmsprop(0.01, bias_correction=True, eps_in_sqrt=False),
    "adafactor, factored": lambda: optim.adafactor(0.01, min_dim_size_to_factor=2),
    "adam, injected": lambda: optim.inject_hyperparams(optim.adam)(learning_rate=0.01),
    "adam, of means": lambda: optim.MultiSteps(optim.adam(0.01), 2),
    "distance": lambda: optim.scale_by_distance_over_gradients(),
    "normalize": lambda: optim.normalize_by_update_norm(),
    "block norm": lambda: optim.chain(optim.scale_by_param_block_norm(), optim.scale(0.01)),
    "block rms": lambda: optim.chain(optim.scale_by_param_block_rms(), optim.scale(0.01)),
    "by norm": lambda: optim.clip_by_global_norm(1.0),
    "by rms": lambda: optim.clip_by_block_rms(1.0),
    "by units": lambda: optim.adaptive_grad_clip(0.01),
    "centralize": lambda: optim.centralize(),
    "deviation": lambda: optim.scale_by_stddev(bias_correction=True),
}
UNSTABLE = {"rmsprop, centered", "deviation", "lbfgs, one step"}
"""They divide by differences of rounded numbers."""
PARAMS = {"w": RNG.normal(size=(4, 5))}
GRADIENTS = {
    "zeros": [0, 0],
    "normal": [1, 1, 0, 1],
    "large": [900, 900],
    "small": [1e-4, 1e-4, 0],
}
"""Sizes of the gradients of some steps; the latter two have squares that float16 does not hold."""
STEPS = [tree_map(lambda p: RNG.uniform(-1, 1, p.shape) + 0.1, PARAMS) for _ in range(4)]


def updates_of(tx, sizes, dtype, computed=None):
    """Return what an optimizer makes of gradients of some sizes, which are rounded to a dtype."""
    rounded = lambda x: x.astype(dtype).astype(computed or dtype)
    params, updates = tree_map(rounded, PARAMS), []
    state = tx.init(params)
    extra = {"value": np.asarray(2, computed or dtype)} if hasattr(tx, "_fields") else {}
    if extra:
        tx = optim.with_extra_args_support(tx)
    for size, step in zip(sizes, STEPS):
        grads = tree_map(lambda x: rounded(x * size), step)  # noqa: B023
        update, after = tx.update(grads, state, params, **extra)
        for old, new in zip(fg.tree.leaves(state), fg.tree.leaves(after)):
            assert np.asarray(old).dtype == np.asarray(new).dtype
        updates, state = [*updates, update], after
    return updates, state


@HALVES
@each("name", list(OPTIMIZERS))
def test_optimizers(name, dtype):
    for of, sizes in [*GRADIENTS.items()][: 2 if dtype == BRAIN else 4]:
        with np.errstate(all="ignore"):
            found, state = updates_of(OPTIMIZERS[name](), sizes, dtype)
            exact, _ = updates_of(OPTIMIZERS[name](), sizes, dtype, np.float32)
        # What float16 remembers of squares of small and large numbers is their sign and that they are large.
        coarse = of in ("large", "small") or name in UNSTABLE
        for leaf in fg.tree.leaves(state):
            assert np.isfinite(wide(leaf)).all(), (of, state)
        for i, (ours, theirs) in enumerate(zip(found, exact)):
            for key in ours:
                if coarse and i:
                    largest = 4 * np.abs(theirs[key]).max() + 4e-3
                    assert np.abs(wide(ours[key])).max() <= largest or name in UNSTABLE, (
                        of,
                        i,
                        key,
                    )
                    assert np.isfinite(wide(ours[key])).all(), (of, i, key)
                else:
                    away = error(ours[key], theirs[key], dtype)
                    assert away <= (1e4 if name in UNSTABLE else 16), (of, i, key)


@HALVES
def test_numbers_of_trees(dtype):
    tree = {"a": np.array([300, 400], dtype), "b": np.zeros(1, dtype)}
    short = 500 * (1 + 2 * float(ml_dtypes.finfo(dtype).eps))
    for f in (optim.global_norm, optim.tree.norm, optimizers.l2_norm):
        assert f(tree).dtype == dtype
        assert 490 < wide(f(tree)) < short
    assert 490 < wide(optim.safe_norm(tree["a"], 1e-3)) < short
    assert 340 < wide(optim.safe_root_mean_squares(tree["a"], 1e-3)) < 360
    rows = {"a": tree["a"][None], "b": tree["b"][None]}
    clipped, _ = optim.per_example_global_norm_clip(rows, 1.0)
    np.testing.assert_allclose(wide(clipped["a"]), [0.6, 0.8], rtol=1e-2)
    np.testing.assert_allclose(wide(optimizers.clip_grads(tree, 1.0)["a"]), [0.6, 0.8], rtol=1e-2)


@HALVES
@each("name", ["adagrad", "rmsprop", "rmsprop_momentum", "adam", "adamax"])
def test_optimizers_of_triples(name, dtype):
    init, update, get_params = getattr(optimizers, name)(0.01)
    state = init(np.ones(3, dtype))
    for size in (0, 1, 0, 1e-3):
        state = update(0, np.array([1, 2, -3]).astype(dtype) * dtype.type(size), state)
    assert np.abs(wide(get_params(state)) - 1).max() < 0.5

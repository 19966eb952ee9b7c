"""fungrad.nn.losses against optax.losses: values and gradients, with masks and at extreme points.

In float64 and float32, to 64 roundings of the largest number and 256 of the largest derivative, unless a test says
otherwise. Derivatives are compared where optax has numbers: its derivatives by labels that are masked are NaN.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad import nn  # noqa: E402

NAMES = [name for name in dir(optax.losses) if name[0] != "_"]
DTYPES = ["float32", "float64"]
RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=(3, 4, 5, 6)) * 2
P = np.exp(Z) / np.exp(Z).sum(-1, keepdims=True)
LOG_P = X - np.log(np.exp(X).sum(-1, keepdims=True))
SIGNS = np.sign(Y)
BITS = (Y > 0).astype(float)
CLASSES = RNG.integers(6, size=(4, 5))
MASK = RNG.random((4, 5, 6)) < 0.6
MASK[0, 0] = False
ROWS = MASK[:, :, 0]
FAR = np.array([-1e4, -100.0, -50.0, -3.0, -1.0, 0.0, 0.5, 20.0, 1e4])
ONES = np.ones_like(FAR)

AXES = [{"axis": -1}, {"axis": 1}, {"axis": (0, 2)}, {"axis": None}]
MASKS = [{"where": MASK}, {"where": MASK, "axis": (1, 2)}]


def case(name, *operands, **options):
    return pytest.param(name, operands, options, id="-".join([name, *map(str, options)]))


CASES = [
    case("squared_error", X),
    case("squared_error", X, Y),
    case("l2_loss", X),
    case("l2_loss", X, Y),
    case("huber_loss", X),
    case("huber_loss", X, Y[0], delta=0.3),
    case("huber_loss", FAR, delta=2),
    case("log_cosh", X, Y[0]),
    case("log_cosh", FAR),
    *[case("cosine_similarity", X, Y, **options) for options in [*AXES, {"epsilon": 40.0}]],
    *[case("cosine_distance", X, Y, **options) for options in AXES],
    case("cosine_distance", X, Y, where=MASK, epsilon=1e-3),
    case("sigmoid_binary_cross_entropy", X, BITS),
    case("sigmoid_binary_cross_entropy", X, P),
    case("sigmoid_binary_cross_entropy", FAR, ONES),
    case("sigmoid_binary_cross_entropy", FAR, 0 * ONES),
    *[case("sigmoid_focal_loss", X, BITS, **o) for o in ({}, {"gamma": 0.5}, {"alpha": 0.3})],
    case("sigmoid_focal_loss", X, P, alpha=0.3, gamma=3),
    case("sigmoid_focal_loss", FAR, ONES),
    case("sigmoid_focal_loss", FAR, 0 * ONES),
    *[case("softmax_cross_entropy", X, P, **o) for o in AXES + MASKS + [{"where": ROWS}]],
    case("softmax_cross_entropy", FAR, np.eye(9)[3]),
    case("safe_softmax_cross_entropy", X, P),
    case("safe_softmax_cross_entropy", np.where(MASK, X, -np.inf)[1:], np.where(MASK, P, 0)[1:]),
    *[case("poly_loss_cross_entropy", X, P, **o) for o in AXES + MASKS + [{"epsilon": -1.0}]],
    *[case("kl_divergence", LOG_P, P, **o) for o in AXES + MASKS],
    case("kl_divergence", LOG_P, BITS),
    *[case("kl_divergence_with_log_targets", LOG_P, np.log(P), **o) for o in AXES + MASKS],
    *[case("generalized_kl_divergence", X, np.exp(Y), **o) for o in AXES + MASKS],
    case("convex_kl_divergence", X, np.exp(Y)),
    case("hinge_loss", X, SIGNS),
    case("hinge_loss", FAR, ONES),
    case("perceptron_loss", X, SIGNS),
    case("perceptron_loss", FAR, -ONES),
    case("ranking_softmax_loss", X, P),
    case("ranking_softmax_loss", X, P, where=MASK),
    case("ranking_softmax_loss", X, P, where=MASK, weights=np.exp(Y)),
    case("ranking_softmax_loss", X, P, where=MASK, reduce_fn=None),
    case("ranking_softmax_loss", X, P, where=np.zeros_like(MASK)),
    *[case("smooth_labels", P, alpha=0.1, **o) for o in [*AXES, {"where": MASK | (Y < 0)}]],
    case("triplet_margin_loss", X, Y, Z),
    case("triplet_margin_loss", X, Y, Z, axis=0, margin=0.2, norm_degree=4, eps=1e-3),
    case("dice_loss", X, BITS),
    case("dice_loss", X, BITS, reduction="sum", ignore_background=True, alpha=0.2, beta=0.7),
    case("dice_loss", X, BITS, reduction="none", class_weights=np.arange(6.0), smooth=0.1),
    case("dice_loss", X, BITS, axis=(0, 1)),
    case("dice_loss", X[..., None], BITS),
    case("multiclass_generalized_dice_loss", X, BITS),
    case("multiclass_generalized_dice_loss", X, BITS, ignore_background=True, smooth=0.1),
    case("binary_dice_loss", X, BITS),
    case("binary_dice_loss", X[..., :1], BITS[..., :1], smooth=0.1),
]


@pytest.fixture(autouse=True)
def no_warnings():
    with np.errstate(all="ignore"):
        yield


def close(ours, theirs, dtype, roundings, derivative=False):
    theirs = np.asarray(theirs)
    assert (np.shape(ours), ours.dtype) == (theirs.shape, np.dtype(dtype))
    finite = np.isfinite(theirs)
    if derivative:
        assert np.isfinite(ours).all()
    else:
        np.testing.assert_array_equal(ours[~finite], theirs[~finite])
    scale = np.abs(theirs[finite]).max(initial=0.1)
    tolerance = roundings * np.finfo(dtype).eps * scale
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=0, atol=tolerance)


def same(f, g, operands, dtype, roundings=64, by=None):
    """Compare values and gradients `by` all operands, or some, as they are and jitted."""
    operands = tuple(np.asarray(x, dtype) for x in operands)
    given = tuple(map(jnp.asarray, operands))
    expected = jax.jit(g)(*given)
    weights = np.linspace(0.5, 1.5, expected.size).reshape(expected.shape).astype(dtype)
    everything = tuple(range(len(operands))) if by is None else by
    slopes = jax.jit(jax.grad(lambda *x: (g(*x) * weights).sum(), everything))(*given)
    ours = fg.value_and_grad(
        lambda *x: (lambda y: ((y * weights).sum(), y))(f(*x)), everything, has_aux=True
    )
    for run in (ours, fg.jit(ours)):
        (_, value), found = run(*operands)
        close(value, expected, dtype, roundings)
        for x, y in zip(found, slopes, strict=True):
            close(x, y, dtype, 4 * roundings, derivative=True)


def test_all_names_are_there():
    assert set(NAMES) == set(nn.losses.__all__) <= set(dir(nn))
    assert [name for name in NAMES if getattr(nn, name) is not getattr(nn.losses, name)] == []


def test_all_names_are_compared():
    compared = {case.values[0] for case in CASES} | {"ctc_loss", "ctc_loss_with_forward_probs"}
    others = {"ntxent", "make_fenchel_young_loss", "sparsemax_loss"}
    assert set(NAMES) - compared - others == set(OF_CLASSES)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "operands", "options"), CASES)
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_loss(name, operands, options, dtype):
    as_jax = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    if "class_weights" in options or "weights" in options:
        options = {k: v.astype(dtype) if k.endswith("weights") else v for k, v in options.items()}
        as_jax = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    f, g = getattr(nn, name), getattr(optax.losses, name)
    # JAX's logsumexp has no derivative by a weight that is 0.
    by = (0,) if name == "sigmoid_focal_loss" and np.isin(operands[1], [0, 1]).any() else None
    same(lambda *x: f(*x, **options), lambda *x: g(*x, **as_jax), operands, dtype, by=by)


def test_the_focal_loss_by_labels_that_are_certain():
    x, y, step = np.array([-3.0, -1.0, 0.2, 0.5, 2.0]), np.array([0.0, 1.0, 1.0, 0.0, 0.0]), 1e-6
    total = lambda y: np.sum(nn.sigmoid_focal_loss(x, y))
    slopes = [(total(y + step * e) - total(y - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(fg.grad(total)(y), slopes, rtol=1e-7)


OF_CLASSES = {
    "softmax_cross_entropy_with_integer_labels": [
        {},
        {"where": MASK},
        {"where": ROWS},
    ],
    "multiclass_hinge_loss": [{}],
    "multiclass_perceptron_loss": [{}],
    "multiclass_sparsemax_loss": [{}],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_loss_of_classes(name, dtype):
    f, g = getattr(nn, name), getattr(optax.losses, name)
    sparsemax = name == "multiclass_sparsemax_loss"
    theirs = jax.vmap(g) if sparsemax else g
    for options in OF_CLASSES[name]:
        as_jax = {k: jnp.asarray(v) for k, v in options.items()}
        for x, labels in ((X, CLASSES), (X * 1e4, CLASSES), (0.1 * X, CLASSES % 2)):
            h = lambda x, y=labels, o=as_jax: theirs(x, jnp.asarray(y), **o)
            if sparsemax:  # optax's is for float64 alone where that is JAX's default
                h = lambda x, h=h: h(x.astype(float)).astype(x.dtype)
            same(lambda x, y=labels, o=options: f(x, y, **o), h, (x,), dtype)


def test_integer_labels_along_other_axes():
    f, g = (
        nn.softmax_cross_entropy_with_integer_labels,
        optax.losses.softmax_cross_entropy_with_integer_labels,
    )
    for axis, labels in ((0, RNG.integers(4, size=(5, 6))), ((2, 0), RNG.integers(24, size=5))):
        for where in (None, MASK):
            theirs = None if where is None else jnp.asarray(where)
            same(
                lambda x, a=axis, y=labels, w=where: f(x, y, axis=a, where=w),
                lambda x, a=axis, y=labels, w=theirs: g(x, jnp.asarray(y), axis=a, where=w),
                (X,),
                "float64",
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparsemax(dtype):
    labels = BITS.astype(int)
    f, g = (lambda x, m=m: m.sparsemax_loss(x, labels) for m in (nn, optax.losses))
    same(f, g, (X,), dtype)


def test_second_derivatives_of_sparsemax_are_those_of_the_projection():
    """optax's rule for the projection, differentiated once more."""
    for x, label in ((X[0, 0], 2), (0.1 * X[1, 1], 0)):
        ours = fg.hessian(lambda x, y=label: nn.multiclass_sparsemax_loss(x, y))(x)
        theirs = jax.hessian(
            lambda x, y=label: optax.losses.multiclass_sparsemax_loss(x[None], jnp.array([y]))[0]
        )(x)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_dice_of_probabilities():
    """optax's check that they are is not for jitted functions."""
    expected = optax.losses.dice_loss(jnp.asarray(P), jnp.asarray(BITS), apply_softmax=False)
    for f in (nn.dice_loss, fg.jit(nn.dice_loss, static_argnames="apply_softmax")):
        np.testing.assert_allclose(f(P, BITS, apply_softmax=False), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fenchel_young(dtype):
    f = nn.make_fenchel_young_loss(nn.logsumexp)
    g = optax.losses.make_fenchel_young_loss(jax.nn.logsumexp)
    same(f, g, (X, P), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2], [0, 1, 2, 3, 0], [1, 1, 1, 1, 1]], ids=str)
def test_ntxent(labels, dtype):
    for options in ({}, {"temperature": 0.5}):
        same(
            lambda x, o=options: nn.ntxent(x, np.array(labels), **o),
            lambda x, o=options: optax.losses.ntxent(x, jnp.array(labels), **o),
            (X[0],),
            dtype,
            256,  # what is divided by the temperature
        )


# Sequences


def spoken(B=4, T=9, N=5, K=6, seed=1):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(B, T, K)) * 2
    frames = np.arange(T) >= np.array([9, 7, 8, 4])[:B, None]
    labels = rng.integers(1, K, size=(B, N))
    labels[0, 1:3] = labels[0, 0]  # again, and again
    absent = np.arange(N) >= np.array([5, 3, 0, 4])[:B, None]
    return logits, frames.astype(float), labels, absent.astype(float)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "change",
    [{}, {"blank_id": 3}, {"log_epsilon": -1e3}, {"labels": -1}, {"labels": 0}, {"scale": 1e3}],
    ids=lambda change: "-".join(change),
)
def test_ctc(change, dtype):
    logits, frames, labels, absent = spoken()
    logits = logits * change.get("scale", 1)
    if "labels" in change:  # what stands where there is none
        labels = np.where(absent == 1, change["labels"], labels)
    options = {k: v for k, v in change.items() if k in ("blank_id", "log_epsilon")}
    rest = frames.astype(dtype), labels, absent.astype(dtype)
    ours = lambda x: nn.ctc_loss_with_forward_probs(x, *rest, **options)
    theirs = lambda x: optax.losses.ctc_loss_with_forward_probs(x, *as_jax, **options)
    as_jax = tuple(map(jnp.asarray, rest))
    given = logits.astype(dtype)
    expected = theirs(jnp.asarray(given))
    for found, values in zip(ours(given), expected, strict=True):
        close(found, values, dtype, 64)
    # Differences of numbers near log_epsilon, of what is impossible, have few digits.
    limit = -0.5 * options.get("log_epsilon", -1e5)
    masks = [abs(np.asarray(values)) < limit for values in expected]
    together = lambda xp, f: (
        lambda x: xp.concatenate(
            [(y * mask).ravel().astype(dtype) for y, mask in zip(f(x), masks, strict=True)]
        )
    )
    same(together(fnp, ours), together(jnp, theirs), (given,), dtype)
    np.testing.assert_array_equal(nn.ctc_loss(given, *rest, **options), ours(given)[0])


def test_where_optax_has_no_number():
    """Weights of 0 times logarithms of 0: optax has NaN, except for `safe_softmax_cross_entropy`."""
    x, p = np.array([0.0, 1.0, -np.inf]), np.array([0.25, 0.75, 0.0])
    safe = optax.losses.safe_softmax_cross_entropy(jnp.asarray(x), jnp.asarray(p))
    assert np.isnan(optax.losses.softmax_cross_entropy(jnp.asarray(x), jnp.asarray(p)))
    np.testing.assert_allclose(nn.softmax_cross_entropy(x, p), safe, rtol=1e-15)
    log_x = nn.log_softmax(x)
    expected = optax.losses.kl_divergence(jnp.asarray(log_x[:2]), jnp.asarray(p[:2]))
    assert np.isnan(optax.losses.kl_divergence(jnp.asarray(log_x), jnp.asarray(p)))
    np.testing.assert_allclose(nn.kl_divergence(log_x, p), expected, rtol=1e-14)
    found = nn.kl_divergence_with_log_targets(log_x, np.log(p, where=p > 0, out=x - np.inf))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    for logit, label in ((np.inf, 1.0), (-np.inf, 0.0)):
        assert nn.sigmoid_binary_cross_entropy(logit, label) == 0
        assert np.isnan(optax.losses.sigmoid_binary_cross_entropy(jnp.array(logit), label))
    assert np.isnan(
        optax.losses.triplet_margin_loss(*map(jnp.asarray, (X, Y, Z)), norm_degree=3)
    ).any()
    assert fnp.isfinite(nn.triplet_margin_loss(X, Y, Z, norm_degree=3)).all()

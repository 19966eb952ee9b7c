"""fungrad.nn.losses, without another library: by brute force and definitions, errors, dtypes, transforms, kernels."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import nn
from tests.compile.compiling import compare, needs_compiler
from tests.optional import BFLOAT16, eps_of

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 5, 7))
P = np.exp(Y) / np.exp(Y).sum(1, keepdims=True)
CLASSES = RNG.integers(7, size=5)
SIGNS = np.sign(Y)
SPOKEN = RNG.normal(size=(2, 6, 4))
HEARD = np.zeros((2, 6)), np.array([[1, 1, 2], [3, 2, 0]]), np.array([[0, 0, 0], [0, 0, 1.0]])

LOSSES = {
    "squared_error": (X, Y),
    "l2_loss": (X, Y),
    "huber_loss": (X, Y),
    "log_cosh": (X, Y),
    "cosine_similarity": (X, Y),
    "cosine_distance": (X, Y),
    "sigmoid_binary_cross_entropy": (X, Y > 0),
    "sigmoid_focal_loss": (X, Y > 0),
    "softmax_cross_entropy": (X, P),
    "softmax_cross_entropy_with_integer_labels": (X, CLASSES),
    "poly_loss_cross_entropy": (X, P),
    "kl_divergence": (nn.log_softmax(X), P),
    "kl_divergence_with_log_targets": (nn.log_softmax(X), np.log(P)),
    "generalized_kl_divergence": (X, np.exp(Y)),
    "hinge_loss": (X, SIGNS),
    "perceptron_loss": (X, SIGNS),
    "sparsemax_loss": (X, Y > 0),
    "multiclass_hinge_loss": (X, CLASSES),
    "multiclass_perceptron_loss": (X, CLASSES),
    "multiclass_sparsemax_loss": (X, CLASSES),
    "triplet_margin_loss": (X, Y, P),
}
"""By rows: one loss, or several, for each row."""

OF_ALL = {
    "ntxent": (X, np.array([0, 0, 1, 2, 2])),
    "ranking_softmax_loss": (X, P),
    "smooth_labels": (P, 0.1),
    "dice_loss": (X[:, None], P[:, None]),
    "binary_dice_loss": (X, P),
    "multiclass_generalized_dice_loss": (X, P),
    "ctc_loss": (SPOKEN, *HEARD),
}


@pytest.mark.parametrize("name", [*LOSSES, *OF_ALL])
@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32])
def test_narrow_dtypes(name, dtype):
    """What is computed of narrow numbers is what float64 gives for them, rounded; jitted it is the same dtype."""
    f = getattr(nn, name)
    floating = lambda x: isinstance(x, np.ndarray) and x.dtype == float
    given = [x.astype(dtype) if floating(x) else x for x in (LOSSES | OF_ALL)[name]]
    exact = f(
        *[x.astype(float) if isinstance(x, np.ndarray) and x.dtype == dtype else x for x in given]
    )
    scale = np.abs(exact).max()
    for found in (f(*given), fg.jit(f)(*given)):
        assert found.dtype == np.dtype(dtype)
        error = np.abs(found.astype(float) - exact).max()
        assert error <= max(eps_of(dtype), 2e-6) * scale


@pytest.mark.parametrize("name", LOSSES)
def test_mapped_is_row_by_row(name):
    f, given = getattr(nn, name), LOSSES[name]
    rows = np.stack([f(*row) for row in zip(*given, strict=True)])
    if name.startswith("multiclass_sparsemax"):
        np.testing.assert_allclose(f(*given), rows, rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(f)(*given), rows, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(*given), f(*given), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("name", OF_ALL)
def test_mapped_gradients_are_those_of_each(name):
    f = getattr(nn, name)
    gradient = fg.grad(lambda *x: fnp.sum(f(*x)))
    first, *others = OF_ALL[name]
    stacked = [np.stack([x, x]) for x in (first, *others)]
    stacked[0] = np.stack([first, first[::-1]])
    expected = np.stack([gradient(first, *others), gradient(first[::-1], *others)])
    for mapped in (fg.vmap(gradient), fg.jit(fg.vmap(gradient))):
        np.testing.assert_allclose(mapped(*stacked), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", [*LOSSES, *OF_ALL])
def test_gradients(name):
    f, given = getattr(nn, name), (LOSSES | OF_ALL)[name]
    first, *others = given
    value = lambda x: float(np.sum(f(x, *others)))
    gradient, direction = (
        fg.grad(lambda x: fnp.sum(f(x, *others)))(first),
        RNG.normal(size=first.shape),
    )
    h = 1e-6
    slope = (value(first + h * direction) - value(first - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.vdot(gradient, direction), slope, rtol=1e-6, atol=1e-8)


@needs_compiler
@pytest.mark.parametrize("name", [*LOSSES, *OF_ALL])
def test_with_kernels(name):
    f, (first, *others) = getattr(nn, name), (LOSSES | OF_ALL)[name]
    compare(fg.value_and_grad(lambda x: fnp.sum(f(x, *others))), (first,), ulps=64)


@pytest.mark.parametrize("far", [1e4, 1e308])
def test_far_out(far):
    """Nothing overflows on the way, and right answers that are certain cost nothing."""
    one = np.array([far, -far, 0.0])
    for f in (nn.softmax_cross_entropy, nn.kl_divergence):
        given = nn.log_softmax(one / 10)
        assert f(given, np.array([1.0, 0.0, 0.0])) == 0
    for label, loss in ((0, 0.0), (1, far), (2, far / 2)):
        f = nn.softmax_cross_entropy_with_integer_labels
        np.testing.assert_allclose(f(one / 2, np.array(label)), loss)
        slope = fg.grad(f)(one / 2, np.array(label))
        np.testing.assert_array_equal(slope, np.eye(3)[0] - np.eye(3)[label])
    f = nn.sigmoid_binary_cross_entropy
    np.testing.assert_array_equal(f(one, np.array([1, 1, 0])), [0.0, far, np.log(2)])
    np.testing.assert_array_equal(fg.grad(lambda x: f(x, 1).sum())(one), [0.0, -1.0, -0.5])
    np.testing.assert_array_equal(fg.grad(lambda x: nn.log_cosh(x).sum())(one), [1.0, -1.0, 0.0])


def test_small_errors_are_exact():
    x = np.array([1e-150, -1e-8, 0.5, -0.999999, 1.000001, 3.0])
    slope = fg.grad(lambda x: nn.log_cosh(x).sum())
    np.testing.assert_allclose(slope(x), np.tanh(x), rtol=4e-16)
    np.testing.assert_allclose(nn.log_cosh(x[2:]), np.log(np.cosh(x[2:])), rtol=1e-14)
    np.testing.assert_allclose(nn.log_cosh(x[:2]), 0.5 * x[:2] ** 2, rtol=1e-15)


def test_masked_classes_have_no_part():
    where = np.array([True, True, False, True, False, True, True])
    parts = where[None]
    labels = np.array([0, 1, 3, 5, 6])
    found = nn.softmax_cross_entropy_with_integer_labels(X, labels, where=parts)
    left = np.searchsorted(np.flatnonzero(where), labels)
    expected = nn.softmax_cross_entropy_with_integer_labels(X[:, where], left)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    rows = np.where(where, nn.one_hot(labels, 7), np.nan)
    np.testing.assert_allclose(nn.softmax_cross_entropy(X, rows, where=parts), expected, rtol=1e-14)
    one_hot, masked = nn.one_hot(labels, 7), np.where(where, X, -np.inf)
    for x, w in ((masked, None), (X, parts)):
        f = nn.softmax_cross_entropy
        slope = fg.grad(lambda x, f=f, w=w: f(x, one_hot, where=w).sum())(x)
        np.testing.assert_array_equal(slope[:, ~where], 0)
        assert np.isfinite(slope).all()


def test_the_projection_of_sparsemax_is_the_nearest_probability():
    for x in (X[0], 0.2 * X[1], np.array([1.0, 1.0, -5.0]), np.array([3.0, -np.inf, 2.9])):
        slope = fg.grad(lambda x: nn.multiclass_sparsemax_loss(x, np.array(0)))(x)
        p = slope + np.eye(len(x))[0]
        finite = np.isfinite(x)
        nearest = minimize(
            lambda q, x=x[finite]: np.sum((q - x) ** 2),
            np.full(finite.sum(), 1 / finite.sum()),
            bounds=[(0, 1)] * finite.sum(),
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(p[finite], nearest.x, atol=1e-5)
        np.testing.assert_array_equal(p[~finite], 0)


def test_fenchel_young_losses():
    """Of the largest score, and of the logarithm of the sum of exponentials with a temperature."""
    one_hot = nn.one_hot(CLASSES, 7)
    loss = nn.make_fenchel_young_loss(fnp.max)
    np.testing.assert_allclose(loss(X, one_hot), nn.multiclass_perceptron_loss(X, CLASSES))
    smooth = nn.make_fenchel_young_loss(lambda x, t: t * nn.logsumexp(x / t))
    slope = fg.grad(lambda x: smooth(x, one_hot, 0.5).sum())(X)
    np.testing.assert_allclose(slope, nn.softmax(X / 0.5) - one_hot, atol=1e-15)
    assert smooth(X.reshape(1, 5, 7), one_hot, t=0.5).shape == (1, 5)


def collapsed(path, blank):
    """What is heard of the classes said in each frame."""
    return [k for k, _ in itertools.groupby(path) if k != blank]


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 3], [3, 1, 3], [1, 1, 1]], ids=str)
def test_ctc_adds_up_all_ways_to_say_it(labels, blank):
    """By brute force over 4^5 ways to say five frames, of seven, two being padding."""
    logits = RNG.normal(size=(7, 4))
    log_p = nn.log_softmax(logits)[:5]
    ways = (p for p in itertools.product(range(4), repeat=5) if collapsed(p, blank) == labels)
    expected = sum(np.exp(log_p[np.arange(5), p].sum()) for p in ways)
    given = np.pad(np.array(labels, int), (0, 3 - len(labels)), constant_values=-1)
    absent = np.arange(3) >= len(labels)
    f = lambda x: nn.ctc_loss(x[None], PADDED, given[None], absent[None], blank_id=blank)[0]
    np.testing.assert_allclose(np.exp(-f(logits)), expected, rtol=1e-9)
    np.testing.assert_array_equal(fg.grad(f)(logits)[5:], 0)


PADDED = np.array([[0.0, 0, 0, 0, 0, 1, 1]])


def test_a_label_that_is_no_class_is_not_taken_for_one():
    padding, labels, absent = HEARD
    with np.errstate(invalid="ignore"):
        loss = nn.ctc_loss(SPOKEN, padding, labels + 1, absent)
    assert np.isnan(loss).tolist() == [False, True]
    with pytest.raises(IndexError):
        nn.softmax_cross_entropy_with_integer_labels(X, CLASSES + 7)


def test_labels_have_no_say_in_the_dtype():
    x = X.astype(np.float32)
    assert nn.softmax_cross_entropy(x, nn.one_hot(CLASSES, 7, dtype=int)).dtype == np.float32
    assert nn.sigmoid_binary_cross_entropy(x, Y).dtype == np.float32
    assert nn.huber_loss(x, 1, delta=2).dtype == np.float32
    assert nn.squared_error(np.array([1, 2])).dtype == np.float64
    assert nn.squared_error(x, Y).dtype == np.float64


def test_means_of_lists():
    where = np.zeros((5, 7), bool)
    assert nn.ranking_softmax_loss(X, P, where=where) == 0
    where[:2] = True
    each = nn.ranking_softmax_loss(X, P, reduce_fn=None)
    np.testing.assert_allclose(nn.ranking_softmax_loss(X, P, where=where), each[:2].mean())
    total = nn.ranking_softmax_loss(X, P, where=where, reduce_fn=np.sum)
    np.testing.assert_allclose(total, each[:2].sum())
    np.testing.assert_allclose(nn.ranking_softmax_loss(X, P, reduce_fn=np.mean), each.mean())
    alike = nn.ranking_softmax_loss(X, P, where=np.arange(7)[None] < 4)
    np.testing.assert_allclose(alike, nn.ranking_softmax_loss(X[:, :4], P[:, :4]))


ERRORS = [
    ("squared_error", lambda: nn.squared_error(X, X[:, :1]), ValueError, "shapes must be equal"),
    ("perceptron_loss", lambda: nn.perceptron_loss(X, X[0]), ValueError, "shapes must be equal"),
    ("huber_loss", lambda: nn.huber_loss(1j * X), TypeError, "real numbers, got complex128"),
    ("softmax_cross_entropy_with_integer_labels",
     lambda: nn.softmax_cross_entropy_with_integer_labels(X, P), TypeError, "labels are integers"),
    ("softmax_cross_entropy_with_integer_labels",
     lambda: nn.softmax_cross_entropy_with_integer_labels(X, CLASSES[:, None]), ValueError, "one label"),
    ("multiclass_hinge_loss", lambda: nn.multiclass_hinge_loss(X, 1.0), TypeError, "integers"),
    ("ntxent", lambda: nn.ntxent(X, CLASSES[:4]), ValueError, "a label for each"),
    ("dice_loss", lambda: nn.dice_loss(X, P, reduction="all"), ValueError, "reduction is one of"),
    ("dice_loss", lambda: nn.dice_loss(X, P, apply_softmax=False), ValueError, "add up to"),
    ("dice_loss", lambda: nn.dice_loss(X, P[0]), ValueError, "shapes must be equal"),
    ("ctc_loss", lambda: nn.ctc_loss(X, *HEARD), ValueError, "batch, frames, classes"),
    ("ctc_loss", lambda: nn.ctc_loss(SPOKEN, *HEARD, blank_id=4), ValueError, "blank_id is 4"),
    ("ctc_loss", lambda: nn.ctc_loss(SPOKEN, HEARD[0][:, :5], *HEARD[1:]), ValueError, "paddings"),
    ("ctc_loss", lambda: nn.ctc_loss(SPOKEN, *HEARD[:2], HEARD[0]), ValueError, "shapes must be equal"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "error", "said"), ERRORS)
def test_errors(name, call, error, said):
    with pytest.raises(error, match=rf"nn\.{name}.*{said}"):
        call()

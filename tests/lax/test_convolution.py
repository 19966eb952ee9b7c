"""Convolutions: against sums written out and SciPy, under all transforms, and errors.

tests/peers/test_jax_convolution.py compares random parameters with JAX.
"""

import itertools

import numpy as np
import pytest
import scipy.signal

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from tests.numpy.checker import check_function


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def by_sums(x, w, strides, pads, of_x, of_w, features, batches):
    """Return a convolution of arrays in canonical order, one element after the other."""
    n, c = x.shape[:2]
    grown = np.zeros((n, c, *[(m - 1) * f + 1 for m, f in zip(x.shape[2:], of_x)]))
    grown[(..., *[slice(None, None, f) for f in of_x])] = x
    x = np.pad(grown, [(0, 0), (0, 0), *pads])
    o, i, *window = w.shape
    places = [
        (m - (k - 1) * f - 1) // s + 1 for m, k, f, s in zip(x.shape[2:], window, of_w, strides)
    ]
    y = np.zeros((n // batches, o, *places))
    for b, q, *at in np.ndindex(*y.shape):
        group = q // (o // (features * batches))
        row = b + (n // batches) * (group if batches > 1 else 0)
        first = i * (group if features > 1 else 0)
        index = [slice(p * s, p * s + k * f, f) for p, s, k, f in zip(at, strides, window, of_w)]
        y[(b, q, *at)] = np.sum(x[(row, slice(first, first + i), *index)] * w[q])
    return y


CASES = {
    "plain": ((2, 3, 5), (2, 3, 2), (1,), [(0, 0)], (1,), (1,), 1, 1),
    "strides and padding": (
        (1, 2, 5, 6),
        (3, 2, 2, 3),
        (2, 1),
        [(1, 0), (2, 1)],
        (1, 1),
        (1, 1),
        1,
        1,
    ),
    "dilated kernels": ((1, 2, 6), (1, 2, 3), (1,), [(0, 1)], (1,), (2,), 1, 1),
    "dilated input": ((1, 2, 4), (2, 2, 3), (2,), [(2, 1)], (3,), (2,), 1, 1),
    "groups of channels": ((2, 4, 5), (6, 2, 2), (1,), [(0, 0)], (1,), (1,), 2, 1),
    "depthwise": ((2, 3, 5, 4), (3, 1, 2, 2), (1, 2), [(1, 1), (0, 0)], (1, 1), (1, 1), 3, 1),
    "groups of the batch": ((4, 2, 5), (4, 2, 2), (1,), [(0, 0)], (1,), (1,), 1, 2),
    "no spatial axes": ((2, 3), (4, 3), (), [], (), (), 1, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_general(name):
    x, w, strides, pads, of_x, of_w, features, batches = CASES[name]

    def convolved(x, w):
        return lax.conv_general_dilated(
            x,
            w,
            strides,
            pads,
            of_x,
            of_w,
            feature_group_count=features,
            batch_group_count=batches,
        )

    check_function(
        convolved,
        lambda x, w: by_sums(x, w, *CASES[name][2:]),
        (numbers(*x), numbers(*w, seed=1)),
        rtol=1e-12,
        checks=("known", "jit", "vmap", "jvp", "vjp"),
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "u1", "?"])
def test_dtypes_stay(dtype):
    x, w = (np.round(3 * numbers(1, 1, 6, seed=s)).astype(dtype) for s in (0, 1))
    w = w[..., :2]
    out = lax.conv(x, w, (1,), "VALID")
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out[0, 0], x[0, 0, :-1] * w[0, 0, 0] + x[0, 0, 1:] * w[0, 0, 1])


def test_booleans_depthwise():
    x, w = numbers(1, 2, 4) > 0, numbers(4, 1, 2, seed=1) > 0
    out = lax.conv_general_dilated(x, w, (1,), [(0, 0)], (2,), feature_group_count=2)
    assert out.dtype == bool
    whole = np.zeros((1, 2, 7), bool)
    whole[..., ::2] = x
    windows = np.stack([whole[0, :, :-1], whole[0, :, 1:]])
    expected = [(windows[:, k // 2] & w[k, 0, :, None]).any(0) for k in range(4)]
    np.testing.assert_array_equal(out[0], expected)


def test_half_precision_sums_in_single():
    x = np.full((1, 3000, 1), 1, np.float16)
    assert lax.conv(x, x, (1,), "VALID").item() == 3000  # in float16, 2048 + 1 is 2048


@pytest.mark.parametrize(
    ("given", "wanted"), [("i1", "i4"), ("i4", "f8"), ("f4", "f8"), ("f2", "f2")]
)
def test_preferred_element_type(given, wanted):
    x = np.full((1, 1, 3), 100, given)
    out = lax.conv(x, x, (1,), "VALID", preferred_element_type=np.dtype(wanted))
    assert out.dtype == wanted
    assert out.item() == 30000


LAYOUTS = [
    ("NHWC", "HWIO", "NHWC"),
    ("CWNH", "WOHI", "HNCW"),
    lax.ConvDimensionNumbers(*[(0, 1, 2, 3)] * 3),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_dimension_numbers(layout):
    x, w = numbers(2, 3, 5, 6), numbers(4, 3, 2, 3, seed=1)
    expected = lax.conv(x, w, (2, 1), "SAME")
    if type(layout) is tuple:
        axes = lax.conv_general_permutations(layout)
        x, w, expected = (np.transpose(z, np.argsort(p)) for z, p in zip((x, w, expected), axes))
    out = lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=layout)
    np.testing.assert_allclose(out, expected, 1e-12)
    assert lax.conv_general_shape_tuple(x.shape, w.shape, (2, 1), "SAME", layout) == out.shape


def test_against_scipy():
    x, w = numbers(20, 21), numbers(4, 3, seed=1)
    out = lax.conv(x[None, None], w[None, None], (1, 1), "VALID")[0, 0]
    np.testing.assert_allclose(out, scipy.signal.correlate2d(x, w, "valid"), 1e-12)


@pytest.mark.parametrize("order", ["C", "last"])
def test_work_in_blocks_gives_the_same(order, monkeypatch):
    x, w = numbers(3, 4, 6, 5), numbers(4, 2, 3, 2, seed=1)
    if order == "last":
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)

    def run(w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=2)

    loss = lambda w: fnp.sum(run(w) ** 3)
    whole = run(w), fg.grad(loss)(w)
    for size in (1, 30, 100, 500):
        monkeypatch.setattr("fungrad.primitives.convolution.BLOCK", size)
        np.testing.assert_allclose(run(w), whole[0], 1e-12)
        np.testing.assert_allclose(fg.grad(loss)(w), whole[1], 1e-12)


def test_vmap_is_one_convolution():
    x, w = numbers(7, 2, 3, 5), numbers(7, 4, 3, 2, seed=1)
    convolved = lambda x, w: lax.conv(x, w, (1,), "VALID")
    for axes in [(0, 0), (0, None), (None, 0)]:
        a, b = (z if axis == 0 else z[0] for z, axis in zip((x, w), axes))
        program = fg.make_expr(fg.vmap(convolved, axes))(a, b)
        names = [equation.primitive.name for equation in program.equations]
        assert names.count("convolution") == 1


def test_gradients_of_a_layer_by_example():
    x, y, w = numbers(3, 2, 6), numbers(3, 4, 5, seed=1), numbers(4, 2, 2, seed=2)

    def loss(w, x, y):
        return fnp.sum((lax.conv(x[None], w, (1,), "VALID")[0] - y) ** 2)

    each = fg.vmap(fg.grad(loss), (None, 0, 0))(w, x, y)
    for k in range(3):
        np.testing.assert_allclose(each[k], fg.grad(loss)(w, x[k], y[k]), 1e-12)
    both = fg.hessian(loss)(w, x[0], y[0])
    t = numbers(4, 2, 2, seed=3)
    hvp = fg.jvp(lambda w: fg.grad(loss)(w, x[0], y[0]), (w,), (t,))[1]
    np.testing.assert_allclose(np.tensordot(both, t, 3), hvp, 1e-10)


def test_operands_of_any_memory_layout():
    x, w = numbers(2, 3, 5), numbers(4, 3, 2, seed=1)
    expected = lax.conv(x, w, (1,), "VALID")
    for xs, ws in itertools.product(
        [x[:, :, ::-1].copy()[:, :, ::-1], np.asfortranarray(x), np.repeat(x, 2, 2)[..., ::2]],
        [w, np.asfortranarray(w), w.transpose(2, 1, 0).copy().transpose(2, 1, 0)],
    ):
        np.testing.assert_allclose(lax.conv(xs, ws, (1,), "VALID"), expected, 1e-12)
    ones = np.broadcast_to(1.0, expected.shape)  # the cotangent of a sum: all strides are zero
    pull = fg.vjp(lambda x, w: lax.conv(x, w, (1,), "VALID"), x, w)[1]
    for found, wanted in zip(pull(ones), pull(np.ones(expected.shape)), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-12)


def test_the_result_is_an_array_of_its_own():
    x = numbers(2, 3)
    eye = np.eye(3)
    for out in (
        lax.conv(x, eye, (), "VALID"),
        lax.conv_general_dilated_patches(x, (), (), "VALID"),
    ):
        assert type(out) is np.ndarray
        assert not np.shares_memory(out, x)


@pytest.mark.parametrize(
    ("strides", "padding"), [((1,), "SAME"), ((2,), "SAME"), ((3,), "VALID"), ((2,), [(1, 2)])]
)
def test_conv_transpose_is_the_transpose(strides, padding):
    """Of a convolution with the kernels, where these are said to be its."""
    y, w = numbers(2, 3, 4), numbers(3, 5, 4, seed=1)  # n, w, c; window of 3 from 5 to 4 channels
    layout = ("NWC", "WIO", "NWC")
    out = lax.conv_transpose(
        y, w, strides, padding, transpose_kernel=True, use_consistent_padding=True
    )

    def forward(x):
        return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout)

    assert out.shape[2] == 5
    (expected,) = fg.vjp(forward, np.zeros(out.shape))[1](y)
    np.testing.assert_allclose(out, expected, 1e-12)
    if isinstance(padding, str):
        kernels = np.swapaxes(w, 1, 2)
        shape = lax.conv_transpose_shape_tuple(y.shape, kernels.shape, strides, padding, layout)
        assert shape == out.shape


def test_patches_and_kernels_for_each_place():
    x, w = numbers(2, 3, 5, 6), numbers(4, 3, 2, 3, seed=1)
    arguments = {"window_strides": (1, 2), "padding": "SAME", "rhs_dilation": (2, 1)}
    patches = lax.conv_general_dilated_patches(x, (2, 3), **arguments)
    expected = lax.conv_general_dilated(x, w, **arguments)
    product = np.tensordot(patches, w.reshape(4, -1), (1, 1))
    np.testing.assert_allclose(np.moveaxis(product, -1, 1), expected, 1e-12)
    same = np.broadcast_to(w.reshape(4, -1, 1, 1), (4, 18, *expected.shape[2:]))
    local = lambda x, w: lax.conv_general_dilated_local(x, w, filter_shape=(2, 3), **arguments)
    np.testing.assert_allclose(local(x, same), expected, 1e-12)
    check_function(
        local,
        local,
        (x[:1, :1, :3, :2], numbers(2, 6, 3, 1)),
        checks=("known", "jit", "vmap", "jvp", "vjp"),
    )


def test_padding_by_name():
    assert lax.padtype_to_pads((5, 6, 7), (2, 3, 4), (2, 3, 1), "SAME") == [(0, 1), (0, 0), (1, 2)]
    assert lax.padtype_to_pads((5, 7), (2, 4), (2, 1), "SAME_LOWER") == [(1, 0), (2, 1)]
    assert lax.padtype_to_pads((5,), (2,), (2,), "valid") == [(0, 0)]
    assert lax.conv_shape_tuple((4, 3, 5, 5), (6, 3, 2, 2), (1, 2), [(0, 0), (1, 1)], 2) == (
        2,
        6,
        4,
        3,
    )


X, W = np.ones((2, 4, 5, 5)), np.ones((6, 4, 2, 2))
GENERAL = lax.conv_general_dilated
ERRORS = {
    "dtypes": (
        lambda: GENERAL(X, W.astype("f4"), (1, 1), "SAME"),
        TypeError,
        "lhs float64.*float32.*astype",
    ),
    "list": (
        lambda: GENERAL([[1.0]], [[1.0]], (), "SAME"),
        TypeError,
        "lhs .*list.*asarray",
    ),
    "axes": (
        lambda: GENERAL(X, W[0], (1, 1), "SAME"),
        TypeError,
        r"equally many axes.*\(4, 2, 2\)",
    ),
    "strides": (
        lambda: GENERAL(X, W, (1,), "SAME"),
        TypeError,
        r"window_strides .* 2 axes, got \(1,\)",
    ),
    "stride 0": (
        lambda: GENERAL(X, W, (1, 0), "SAME"),
        ValueError,
        r"window_strides must be positive, got \(1, 0\)",
    ),
    "a number": (lambda: GENERAL(X, W, 1, "SAME"), TypeError, "window_strides must be a sequence"),
    "padding": (
        lambda: GENERAL(X, W, (1, 1), "FULL"),
        ValueError,
        "padding must be 'VALID'.*'FULL'",
    ),
    "pads": (
        lambda: GENERAL(X, W, (1, 1), [(0, 0)]),
        TypeError,
        r"pair for each of 2 axes, got \[\(0, 0\)\]",
    ),
    "pad": (lambda: GENERAL(X, W, (1, 1), 1), TypeError, "a string or a sequence.*got 1"),
    "cut": (
        lambda: GENERAL(X, W, (1, 1), [(-3, -3), (0, 0)]),
        ValueError,
        r"cuts off more .* \(5, 5\)",
    ),
    "dilation": (
        lambda: GENERAL(X, W, (1, 1), "SAME", (2, 2)),
        ValueError,
        "'SAME' has no meaning.*conv_transpose",
    ),
    "channels": (
        lambda: GENERAL(X, W[:, :3], (1, 1), "SAME"),
        ValueError,
        "take 3 input channels, but lhs has 4",
    ),
    "groups": (
        lambda: GENERAL(X, W, (1, 1), "SAME", feature_group_count=3),
        ValueError,
        "input channels, 4, cannot be divided into 3",
    ),
    "groups of outputs": (
        lambda: GENERAL(X, W[:3], (1, 1), "SAME", batch_group_count=2),
        ValueError,
        "output channels, 3, cannot be divided into 2",
    ),
    "both groups": (
        lambda: GENERAL(X, W, (1, 1), "SAME", feature_group_count=2, batch_group_count=2),
        ValueError,
        "call it for each group",
    ),
    "no groups": (
        lambda: GENERAL(X, W, (1, 1), "SAME", feature_group_count=0),
        ValueError,
        "positive, got 0",
    ),
    "no elements": (
        lambda: GENERAL(X, W[..., :0], (1, 1), "SAME"),
        ValueError,
        r"\(6, 4, 2, 0\), have no elements",
    ),
    "narrow": (
        lambda: lax.conv(X, W, (1, 1), "SAME", preferred_element_type=np.float32),
        TypeError,
        "float32 cannot hold sums of float64",
    ),
    "sharding": (
        lambda: GENERAL(X, W, (1, 1), "SAME", out_sharding=1),
        TypeError,
        "out_sharding.*leave it out",
    ),
    "letters": (
        lambda: GENERAL(X, W, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHD", "NCHW")),
        TypeError,
        "same letters for spatial axes",
    ),
    "twice": (
        lambda: GENERAL(X, W, (1, 1), "SAME", dimension_numbers=("NCHH", "OIHW", "NCHW")),
        TypeError,
        "lhs_spec 'NCHH' must have 4 different letters.*N and C",
    ),
    "three": (
        lambda: GENERAL(X, W, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW")),
        TypeError,
        "dimension_numbers are three",
    ),
    "one string": (
        lambda: GENERAL(X, W, (1, 1), "SAME", dimension_numbers="NCHW"),
        TypeError,
        "three strings.*'NCHW'",
    ),
    "positions": (
        lambda: GENERAL(
            X, W, (1, 1), "SAME", dimension_numbers=[(0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3)]
        ),
        TypeError,
        r"lhs_spec \(0, 1, 2, 2\) are not the axes",
    ),
    "default layout": (
        lambda: lax.conv_transpose(np.ones((1,) * 6), np.ones((1,) * 6), (1,) * 4, "SAME"),
        ValueError,
        "6 axes; give dimension_numbers",
    ),
    "transposed padding": (
        lambda: lax.conv_transpose(X, W, (1, 1), "SAME_LOWER"),
        ValueError,
        "'SAME', 'VALID' or .* 'SAME_LOWER'",
    ),
    "kernels of places": (
        lambda: lax.conv_general_dilated_local(X, W, (1, 1), "VALID", (2, 2)),
        ValueError,
        r"windows of 16 elements at places \(4, 4\), but rhs has kernels of 4 at \(2, 2\)",
    ),
    "padding type": (
        lambda: lax.padtype_to_pads((5,), (2,), (1,), [(1, 1)]),
        TypeError,
        "padding must be 'VALID'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=f"(?s){message}"):
        call()

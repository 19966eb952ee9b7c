"""Convolutions in routines: place by place, as the products of matrices that NumPy's functions compute."""

import itertools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.targets import host
from fungrad.core.config import compilation
from tests.compile.compiling import check, compare, emitting, in_mode, needs_compiler, routines, run

pytestmark = needs_compiler

RNG = np.random.default_rng(8)


def arrays(x, w, dtype="f4"):
    return RNG.normal(size=x).astype(dtype), RNG.normal(size=w).astype(dtype)


def conv(padding="SAME", stride=None, dilation=None):
    def f(x, w):
        d = x.ndim - 2
        return lax.conv_general_dilated(
            x, w, stride or (1,) * d, padding, rhs_dilation=dilation or (1,) * d
        )

    return f


def both_gradients(f):
    """Return the gradients of a function of x and w by both, which are convolutions of what is around with one of them."""

    def gradients(x, w):
        y, back = fg.vjp(f, x, w)
        return back(fnp.sin(y))

    return gradients


def held(f, *args):
    """Check a function of convolutions with routines against itself without, and return how many there are in routines."""
    for a, b in zip(*compare(f, args, 64), strict=True):
        assert a.strides == b.strides
    return sum([text.count("convolution[") for text in routines(f, args)])


@pytest.mark.parametrize(
    ("width", "dtype"),
    [
        *[(n, "f4") for n in (1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 47, 64, 70)],
        *[(n, "f8") for n in (1, 3, 5, 8, 15, 17, 33, 64)],  # in other numbers of vectors
    ],
)
def test_widths(width, dtype):
    x, w = arrays((2, 3, 6, width), (4, 3, 3, min(3, width)), dtype)
    f = conv()
    assert held(f, x, w) == 1
    assert held(both_gradients(f), x, w) >= 2


@pytest.mark.parametrize(("outputs", "inputs"), [*itertools.product([1, 3, 4, 9], [1, 2, 4, 7])])
def test_channels(outputs, inputs):
    x, w = arrays((3, inputs, 7, 12), (outputs, inputs, 2, 3))
    f = conv("VALID")
    # With so few channels NumPy's functions compute sums of products, and what multiplies x stays one of weights.
    assert held(f, x, w) == 1
    assert held(both_gradients(f), x, w) >= 1


@pytest.mark.parametrize(
    ("shape", "window", "options"),
    [
        ((2, 3, 30), (5, 3, 4), {}),
        ((2, 3, 5, 6, 7), (4, 3, 2, 3, 2), {}),
        ((1, 3, 20, 20), (4, 3, 3, 3), {"stride": (2, 1)}),
        ((1, 3, 20, 20), (4, 3, 3, 3), {"dilation": (2, 3)}),
        ((1, 3, 20, 20), (4, 3, 1, 1), {}),
        ((1, 4, 9, 9), (4, 4, 9, 9), {"padding": "VALID"}),
        ((1, 4, 9, 9), (4, 4, 3, 3), {"padding": ((2, 0), (0, 3))}),
        ((1, 4, 12, 12), (4, 4, 3, 3), {"padding": ((-1, 0), (0, -2))}),
    ],
)
def test_axes_steps_and_padding(shape, window, options):
    x, w = arrays(shape, window, "f8")
    f = conv(**options)
    assert held(f, x, w) == 1
    held(both_gradients(f), x, w)


@pytest.mark.parametrize(
    ("f", "dtype"),
    [
        (conv(stride=(1, 2)), "f4"),
        (conv(), "c8"),
        (conv(), "f2"),
        (conv(), "i4"),
        (
            lambda x, w: lax.conv_general_dilated(
                x, w[:, :2], (1, 1), "SAME", feature_group_count=2
            ),
            "f4",
        ),
        (lambda x, w: conv()(x, fnp.tile(w, (1, 1, 1, 4))), "f4"),
    ],
)
def test_what_is_left_to_products_of_matrices(f, dtype):
    x, w = arrays((2, 4, 20, 20), (4, 4, 3, 3), "f8")
    x, w = (np.round(4 * z).astype(dtype) for z in (x, w))
    assert held(f, x, w) == 0


@pytest.mark.parametrize(
    "order",
    [
        lambda z: z[::-1, :, ::-1],
        lambda z: z[..., ::-1],
        lambda z: np.repeat(z, 2, -1)[..., ::2],
        np.asfortranarray,
        lambda z: np.ascontiguousarray(z.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
    ],
)
def test_orders_in_memory(order):
    x, w = arrays((2, 4, 9, 10), (5, 4, 3, 3))
    for a, b in ((order(x), w), (x, order(w)), (order(x), order(w))):
        held(conv(), a, b)
        held(both_gradients(conv()), a, b)


def test_channels_last():
    x, w = arrays((2, 9, 10, 4), (3, 3, 4, 5))
    f = lambda x, w: lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    held(f, x, w)
    held(both_gradients(f), x, w)


def test_in_loops_and_batches(made):
    w = RNG.normal(size=(3, 3, 3, 3)) / 5
    smooth = lambda x, w: fnp.tanh(conv()(x, w)) + x
    check(made, emitting(lambda x, w: smooth(x, w)), RNG.normal(size=(2, 3, 6, 7)), w, ulps=64)
    x = RNG.normal(size=(4, 2, 3, 6, 7))
    compare(fg.vmap(smooth, (0, None)), (x, w), 64)
    compare(fg.vmap(both_gradients(smooth), (0, None)), (x, w), 64)
    loss = lambda w: fnp.sum(lax.fori_loop(0, 3, lambda i, c: smooth(c, w), x[0]) ** 2)
    compare(fg.grad(loss), (w,), 256)
    tangent = RNG.normal(size=w.shape)
    compare(lambda w: fg.jvp(fg.grad(loss), (w,), (tangent,))[1], (w,), 1024)


def test_a_network():
    def loss(params, x, y):
        for w in params[:2]:
            x = lax.reduce_window(
                fnp.maximum(conv()(x, w), 0), -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
            )
        return fnp.mean((x.reshape(len(x), -1) @ params[2] - y) ** 2)

    params = [RNG.normal(size=s) / 4 for s in ((8, 1, 3, 3), (12, 8, 3, 3), (12 * 7 * 7, 5))]
    args = params, RNG.normal(size=(6, 1, 28, 28)), RNG.normal(size=(6, 5))
    assert held(fg.value_and_grad(loss), *args) >= 4


@in_mode("eager")
@pytest.mark.parametrize("f", [conv(), both_gradients(conv())])
def test_the_number_of_threads_changes_nothing(f, mode, monkeypatch):
    x, w = arrays((9, 16, 64, 64), (24, 16, 3, 3))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(host, "threads", lambda threads=threads: threads)
        found.append(fg.tree.leaves(fg.jit(lambda x, w: f(x, w))(x, w)))
    for others in found[1:]:
        for a, b in zip(others, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_rounding_is_that_of_sums():
    x, w = arrays((1, 64, 20, 40), (8, 64, 5, 5))
    exact = conv()(x.astype("f8"), w.astype("f8"))
    token = compilation.set("eager")
    found = fg.jit(conv())(x, w)
    compilation.reset(token)
    size = conv()(abs(x).astype("f8"), abs(w).astype("f8"))
    assert (abs(found - exact) <= 64 * np.finfo("f4").eps * size).all()


def test_nothing_is_multiplied_by_zero_but_what_is_around():
    x, w = arrays((1, 4, 6, 20), (4, 4, 3, 3))
    x[0, 1, 2, 3] = np.inf
    x[0, 0, 0, 0] = np.nan
    (found,), (expected,) = (run(conv(), (x, w), mode)[0] for mode in ("eager", "off"))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    fine = np.isfinite(expected)
    np.testing.assert_allclose(found[fine], expected[fine], rtol=1e-4, atol=1e-4)

"""scipy.ndimage for tracers: against SciPy."""

import numpy as np
import pytest
import scipy.ndimage

import fungrad as fg
from fungrad.scipy import ndimage
from tests.numpy.checker import check_function

RNG = np.random.default_rng(0)
V = RNG.normal(size=7)
A = RNG.normal(size=(5, 4))
B = RNG.normal(size=(3, 4, 2))
C = A + 1j * A[::-1]
I = RNG.integers(-9, 9, (5, 4))
W = np.array([0.5, -1.0, 2.0])
K = RNG.normal(size=(3, 2))
MODES = (
    "reflect",
    "grid-mirror",
    "mirror",
    "nearest",
    "wrap",
    "grid-wrap",
    "constant",
    "grid-constant",
)
# Away from the integers and their halves, where derivatives jump, inside and far outside of the image.
COORDINATES = np.stack([RNG.uniform(-9, 13, (4, 3)), RNG.uniform(-9, 12, (4, 3))]).round(1) + 0.03
F32 = A.astype(np.float32)

CASES = [
    *[(name, (V, W), {"mode": m, "cval": 0.3}) for name in ("correlate1d", "convolve1d") for m in MODES],
    *[
        (name, (x, w), {"axis": axis, "origin": origin})
        for name in ("correlate1d", "convolve1d")
        for x, axis in [(A, 0), (B, -2), (C, 1), (F32, 1)]
        for w, origin in [(W, 0), (W, -1), (np.append(W, 1.5), 1)]
    ],
    *[(name, (A, W + 1j), {}) for name in ("correlate1d", "convolve1d")],
    *[(name, (A, K), {"mode": m, "cval": 0.3}) for name in ("correlate", "convolve") for m in MODES],
    *[
        (name, args, kwargs)
        for name in ("correlate", "convolve")
        for args, kwargs in [
            ((A, K), {"origin": (-1, 0)}),
            ((C, K), {}),
            ((A, K * 1j), {}),
            ((B, K[..., None]), {}),
            ((B, K), {"axes": (2, 0)}),
            ((V, np.tile(W, 5)), {}),
        ]
    ],
    *[("gaussian_filter1d", (V, 1.3), {"order": k}) for k in (0, 1, 2, 3)],
    *[("gaussian_filter", (x, 0.7), {"mode": "wrap"}) for x in (A, B, F32)],
    ("gaussian_filter", (A, (0.7, 0), (0, 1)), {"truncate": 2.0}),
    ("gaussian_filter", (A, 0.8), {"radius": (2, 1), "mode": ("wrap", "nearest")}),
    ("gaussian_filter", (B, 0.7), {"axes": (1,)}),
    *[("uniform_filter1d", (A, n), {"axis": 0}) for n in (1, 2, 3, 9)],
    ("uniform_filter1d", (C, 3), {"origin": 1}),
    ("uniform_filter", (A,), {}),
    ("uniform_filter", (B, (2, 3, 1)), {"origin": (0, 1, 0)}),
    *[(name, (x,), {}) for name in ("sobel", "prewitt", "laplace") for x in (A, B, F32)],
    ("sobel", (A, 0), {"mode": "constant"}),
    *[("map_coordinates", (A, COORDINATES), {"order": k, "mode": m, "cval": 0.3}) for k in (0, 1, 2, 3) for m in MODES],
    *[("map_coordinates", (A, COORDINATES), {"order": k, "mode": "mirror"}) for k in (4, 5)],
    ("map_coordinates", (A, COORDINATES), {"prefilter": False, "mode": "reflect"}),
    ("map_coordinates", (C, COORDINATES), {"mode": "reflect"}),
    ("map_coordinates", (F32, COORDINATES), {"mode": "reflect"}),
    ("map_coordinates", (I, COORDINATES), {"order": 1}),
    ("map_coordinates", (V, COORDINATES[:1]), {}),
    ("map_coordinates", (V[:1], COORDINATES[:1]), {"order": 1, "mode": "reflect"}),
    ("map_coordinates", (B, RNG.uniform(0, 1, (3, 5))), {}),
    *[("map_coordinates", (A, np.mgrid[-9:14, -8:12][:, ::2]), {"order": 1, "mode": m}) for m in MODES],
    *[("spline_filter1d", (x,), {"order": k, "axis": 0}) for k in (0, 1, 2, 3, 5) for x in (A, F32)],
    ("spline_filter1d", (C,), {"output": complex}),
    *[("spline_filter1d", (A,), {"mode": m}) for m in ("reflect", "grid-wrap")],
    ("spline_filter", (A,), {"order": 2}),
    ("shift", (A, (0.7, -1.2)), {"mode": "nearest"}),
    ("shift", (A, 0.4), {"order": 1}),
    ("zoom", (A, 1.7), {"mode": "reflect"}),
    ("zoom", (A, (2, 0.5)), {"order": 1, "mode": "grid-constant", "grid_mode": True}),
    ("rotate", (A, 33.0), {"mode": "nearest"}),
    ("rotate", (B, 71.0), {"axes": (2, 0), "order": 1, "mode": "nearest"}),
    ("rotate", (A, 33.0), {"reshape": False, "mode": "mirror"}),
    ("affine_transform", (A, np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, -0.2])), {"mode": "mirror"}),
    ("affine_transform", (A, np.array([[0.9, 0.2, 0.3], [-0.1, 1.1, 0.1]])), {"output_shape": (3, 6), "mode": "nearest"}),
    ("affine_transform", (A, np.array([0.9, 1.2]), 0.13), {"order": 1, "mode": "nearest"}),
]  # fmt: skip


def label(case):
    def text(x):
        return f"{x.dtype}{list(x.shape)}" if hasattr(x, "shape") else str(x)

    name, args, kwargs = case
    return (
        f"{name}({', '.join([*map(text, args), *(f'{k}={text(x)}' for k, x in kwargs.items())])})"
    )


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=map(label, CASES))
def test_as_scipy(name, args, kwargs):
    # SciPy filters single precision in double precision; splines are solved in another way.
    single = any(getattr(x, "dtype", None) == np.float32 for x in args)
    ours, scipys = getattr(ndimage, name), getattr(scipy.ndimage, name)
    check_function(ours, scipys, args, kwargs, rtol=1e-5 if single else 1e-9)


def test_every_name_is_checked():
    assert {name for name, _, _ in CASES} == set(ndimage.__all__)
    with pytest.raises(
        AttributeError, match=r"scipy\.ndimage\.median_filter works on plain arrays"
    ):
        ndimage.median_filter
    with pytest.raises(AttributeError, match="did you mean 'gaussian_filter'"):
        ndimage.gausian_filter


def test_sigma_has_a_derivative():
    def blurred(sigma):
        return ndimage.gaussian_filter(A, sigma, order=(0, 1), radius=3)

    eps = 1e-6
    numeric = (blurred(0.9 + eps) - blurred(0.9 - eps)) / (2 * eps)
    np.testing.assert_allclose(fg.jacobian(blurred)(0.9), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sigma", [0.9, 1.4, np.array([0.7, 1.3])])
def test_the_radius_follows_the_value_of_sigma(sigma):
    def blurred(sigma):
        return (ndimage.gaussian_filter(A, sigma, truncate=3.0) * A).sum()

    jitted = fg.jit(fg.grad(blurred))
    np.testing.assert_allclose(
        fg.jit(blurred)(sigma),
        (scipy.ndimage.gaussian_filter(A, sigma, truncate=3.0) * A).sum(),
        rtol=1e-12,
    )
    for s in (sigma, 1.01 * sigma, 2.0 * sigma):
        t, eps = np.cos(np.arange(np.size(s))).reshape(np.shape(s)), 1e-6
        numeric = (blurred(s + eps * t) - blurred(s - eps * t)) / (2 * eps)
        for slope in (fg.grad(blurred), jitted):
            np.testing.assert_allclose(np.sum(slope(s) * t), numeric, rtol=1e-6, atol=1e-8)
    both = np.stack([sigma, 2 * np.asarray(sigma)])
    np.testing.assert_allclose(fg.vmap(blurred)(both), [blurred(s) for s in both], rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.rotate(A, x, reshape=False, mode="mirror"),
        lambda x: ndimage.shift(A, (x, 0.1), mode="mirror"),
    ],
)
def test_parameters_of_transformations_have_derivatives(f):
    eps = 1e-6
    numeric = (f(0.37 + eps) - f(0.37 - eps)) / (2 * eps)
    np.testing.assert_allclose(fg.jacobian(f)(0.37), numeric, rtol=1e-5, atol=1e-7)


def test_output():
    def f(x):
        out = fg.numpy.zeros_like(x)
        assert ndimage.gaussian_filter(x, 1.0, output=out) is out
        assert ndimage.gaussian_filter(x, 1.0, 0, out) is out
        return (
            out,
            ndimage.laplace(x, output=np.float32),
            ndimage.correlate1d(x > 0, [1, 1], output=float),
        )

    out, single, double = fg.jit(f)(A)
    np.testing.assert_allclose(out, scipy.ndimage.gaussian_filter(A, 1.0))
    np.testing.assert_allclose(single, scipy.ndimage.laplace(A), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(double, scipy.ndimage.correlate1d(A > 0, [1, 1], output=float))
    assert single.dtype == np.float32
    with pytest.raises(TypeError, match="cannot be written into `out`"):
        fg.jit(lambda x: ndimage.laplace(x, output=np.zeros_like(A)))(A)


ERRORS = [
    ("correlate1d", (V, W), {"origin": 2}, ValueError, "Invalid origin"),
    ("correlate1d", (V, W[:0]), {}, RuntimeError, "no filter weights given"),
    ("correlate1d", (V, W), {"mode": "mirrored"}, RuntimeError, "boundary mode not supported"),
    ("correlate", (A, W), {}, RuntimeError, r"weights\.ndim \(1\) must match"),
    ("map_coordinates", (A, COORDINATES[:1]), {}, RuntimeError, "invalid shape for coordinate array"),
    ("map_coordinates", (A, COORDINATES), {"order": 6}, RuntimeError, "spline order not supported"),
    ("rotate", (V, 3.0), {}, ValueError, "at least 2D"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs", "error", "message"), ERRORS)
def test_errors(name, args, kwargs, error, message):
    for transform in (lambda f: f, fg.jit):
        with pytest.raises(error, match=message):
            transform(lambda x: getattr(ndimage, name)(x, *args[1:], **kwargs))(args[0])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("convolve", (np.array(3.0), np.array(2.0))),
        ("correlate", (np.array(3.0), np.array(2.0))),
        ("convolve", (np.zeros((0, 3)), np.ones((3, 3)))),
        ("gaussian_filter", (np.zeros((0, 3)), 1.0)),
        ("uniform_filter", (np.zeros((0, 3)), 3)),
        ("sobel", (np.zeros((0, 3)),)),
        ("laplace", (np.zeros((0, 3)),)),
    ],
)
def test_numbers_and_empty_images(name, args):
    check_function(getattr(ndimage, name), getattr(scipy.ndimage, name), args, static=[1])


@pytest.mark.parametrize(
    "f",
    [
        lambda nd, x: nd.gaussian_filter([[x, 1.0], [2.0, x]], 1.0),
        lambda nd, x: nd.uniform_filter([[x, 1.0], [2.0, x]], 3),
        lambda nd, x: nd.sobel([[x, 1.0], [2.0, x]]),
        lambda nd, x: nd.shift([[x, 1.0], [2.0, x]], 0.5),
        lambda nd, x: nd.zoom([[x, 1.0], [2.0, x]], 2),
        lambda nd, x: nd.rotate([[x, 1.0], [2.0, x]], 30.0),
        lambda nd, x: nd.affine_transform([[x, 1.0], [2.0, x]], np.eye(2)),
    ],
)
def test_lists_that_hold_tracers(f):
    check_function(
        lambda x: f(ndimage, x), lambda x: f(scipy.ndimage, x), (np.float64(1.5),), vmap=False
    )

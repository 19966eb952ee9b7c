"""scipy.signal for tracers: against SciPy."""

import numpy as np
import pytest
import scipy.signal

import fungrad as fg
from fungrad.scipy import signal
from tests.numpy.checker import check_function

RNG = np.random.default_rng(0)
V = RNG.normal(size=7)
W = RNG.normal(size=3)
X = RNG.normal(size=23)
A = RNG.normal(size=(5, 4))
K = RNG.normal(size=(2, 3))
D = RNG.normal(size=(3, 2, 4))
S = RNG.normal(size=(2, 16))
I = RNG.integers(-9, 9, 8)
Z = V + 1j * V[::-1]
F32 = A.astype(np.float32)
MODES = ("full", "same", "valid")
LOW_B, LOW_A = scipy.signal.butter(3, 0.3)
SOS = scipy.signal.butter(4, 0.3, output="sos")
STFT = RNG.normal(size=(5, 4)) + 1j * RNG.normal(size=(5, 4))
WINDOW = scipy.signal.get_window("hamming", 6)

CASES = [
    *[
        (name, (x, y, mode), {"method": method})
        for name in ("convolve", "correlate")
        for method in ("direct", "fft", "auto")
        for mode in MODES
        for x, y in [(V, W), (A, K), (K, A), (Z, W)]
        if not (mode == "valid" and x is A)
    ],
    *[
        (name, (x, y), {})
        for name in ("convolve", "correlate")
        for x, y in [(D, D[:, :1]), (V, V[:4]), (F32, F32[:2]), (np.float64(2.0), np.float64(3.0))]
    ],
    *[(name, (x, y), {"method": "direct"}) for name in ("convolve", "correlate") for x, y in [(I, I[:3]), (W, Z)]],
    ("convolve", (I, I[:3]), {"method": "fft"}),
    *[(name, (V, W, mode), {}) for name in ("fftconvolve", "oaconvolve") for mode in MODES],
    *[(name, (A, A[:3]), {"axes": 0}) for name in ("fftconvolve", "oaconvolve")],
    ("fftconvolve", (A, A[:1, :3], "same"), {"axes": [1]}),
    ("fftconvolve", (Z, W), {}),
    ("fftconvolve", (V[:0], W), {}),
    *[
        (name, (A, K, mode), {"boundary": boundary, "fillvalue": 0.3})
        for name in ("convolve2d", "correlate2d")
        for mode in MODES
        for boundary in ("fill", "wrap", "symm")
    ],
    *[(name, (K, A[:, :3], mode), {}) for name in ("convolve2d", "correlate2d") for mode in MODES],
    *[(name, (A, A[:4, :4] * 1j, "same"), {}) for name in ("convolve2d", "correlate2d")],
    *[("detrend", (x,), {"type": t, "axis": 0}) for t in ("linear", "constant") for x in (A, F32, D)],
    ("detrend", (X,), {"bp": [5, 11]}),
    ("lfilter", (LOW_B, LOW_A, X), {}),
    ("lfilter", (W, np.array([2.0, 0.3]), A), {"axis": 0}),
    ("lfilter", (W, np.array([2.0]), A), {}),
    ("lfilter", (np.array([0.7]), np.append(3.0, W), D), {"axis": 1}),
    ("lfilter", (W, np.array([2.0, 0.3j]), V), {}),
    ("lfilter", (W.astype(np.float32), np.float32([2, 0.5]), F32), {}),
    ("lfilter", (LOW_B, LOW_A, X), {"zi": W}),
    ("lfilter", (LOW_B, LOW_A, V[:2]), {"zi": W}),
    ("lfilter", (W, np.array([2.0]), A), {"axis": 0, "zi": A[:2, :1]}),
    ("lfilter_zi", (LOW_B, LOW_A), {}),
    ("lfilter_zi", (W, np.array([2.0, 0.3])), {}),
    ("filtfilt", (LOW_B, LOW_A, X), {}),
    ("filtfilt", (LOW_B, LOW_A, S), {"padtype": "even", "padlen": 5}),
    ("filtfilt", (LOW_B, LOW_A, S.T), {"axis": 0, "padtype": "constant", "padlen": 4}),
    ("filtfilt", (LOW_B, LOW_A, X), {"padtype": None}),
    ("sosfilt", (SOS, S), {}),
    ("sosfilt", (SOS, A), {"axis": 0, "zi": np.stack([A[:2], A[1:3]])}),
    ("sosfilt_zi", (SOS,), {}),
    ("sosfiltfilt", (SOS, S), {"padlen": 6}),
    ("sosfiltfilt", (SOS, X), {}),
    *[("savgol_filter", (X, 7, 2), {"mode": m}) for m in ("interp", "mirror", "nearest", "wrap", "constant")],
    ("savgol_filter", (S, 4, 2), {"deriv": 1, "delta": 0.5}),
    ("savgol_filter", (A, 3, 1), {"axis": 0}),
    *[("hilbert", (x,), {}) for x in (V, X[:6], A, F32)],
    ("hilbert", (A, 7), {"axis": 0}),
    *[("resample", (x, num), {}) for x in (V, X[:6], Z, Z[:6]) for num in (1, 2, 5, 6, 7, 9, 12)],
    ("resample", (A, 6), {"axis": 1, "window": "hann"}),
    ("resample", (Z, 6), {"window": ("kaiser", 2.0), "domain": "freq"}),
    ("resample", (X, 6), {"t": np.arange(23.0)}),
    *[("welch", (X,), {"nperseg": n, "nfft": nfft}) for n, nfft in [(8, None), (7, 11)]],
    ("welch", (D,), {"axis": 0, "nperseg": 3, "fs": 3.0, "detrend": "linear", "scaling": "spectrum"}),
    ("welch", (X, 2.0, WINDOW), {"noverlap": 5, "average": "median"}),
    ("welch", (Z,), {"nperseg": 4, "detrend": False, "return_onesided": False}),
    ("csd", (X, V), {"nperseg": 6}),
    ("csd", (S, S[::-1]), {"nperseg": 5, "average": "median"}),
    ("periodogram", (X,), {}),
    ("periodogram", (S, 2.0, "hann"), {"nfft": 11, "scaling": "spectrum"}),
    ("periodogram", (S,), {"nfft": 20, "axis": 1}),
    ("coherence", (X, X[::-1] ** 2), {"nperseg": 6}),
    *[("stft", (X,), {"nperseg": 6, "boundary": b}) for b in ("zeros", "even", "odd", "constant", None)],
    ("stft", (S,), {"nperseg": 5, "noverlap": 4, "nfft": 8, "padded": False, "scaling": "psd", "fs": 2.0}),
    ("stft", (D,), {"nperseg": 2, "axis": 0, "detrend": "constant", "window": "boxcar"}),
    ("stft", (X, 1.0, WINDOW), {"nperseg": 6}),
    *[
        ("spectrogram", (X,), {"nperseg": 6, "mode": m})
        for m in ("psd", "complex", "magnitude", "angle", "phase")
    ],
    ("spectrogram", (S,), {"nperseg": 6, "noverlap": 2, "axis": 1}),
    ("istft", (STFT,), {}),
    ("istft", (STFT, 2.0), {"nperseg": 9, "scaling": "psd"}),
    ("istft", (STFT,), {"input_onesided": False, "noverlap": 3}),
    ("istft", (np.stack([STFT, STFT**2]),), {"time_axis": 1, "freq_axis": 2, "boundary": False, "window": "boxcar"}),
    *[(name, (n, *r, 0.3), {"btype": b, "output": o}) for name, r in (("butter", ()), ("cheby1", (1.0,)), ("cheby2", (20.0,)), ("ellip", (1.0, 20.0)), ("bessel", ()))
      for n, b, o in ((1, "low", "ba"), (2, "high", "sos"), (3, "low", "sos"), (3, "high", "ba"), (4, "low", "ba"))],
    ("butter", (3, 5.0), {"analog": True}),
    ("butter", (3, 5.0), {"analog": True, "output": "sos"}),
    ("butter", (3, 5.0), {"fs": 30.0}),
    ("bessel", (3, 0.3), {"norm": "mag"}),
]  # fmt: skip

# Of these the tables below say which arguments are plain.
STATIC = {
    "istft": (2,),
    "resample": ("t", "window"),
    **dict.fromkeys(("butter", "bessel"), (0,)),
    **dict.fromkeys(("cheby1", "cheby2"), (0, 1)),
    "ellip": (0, 1, 2),
}


def label(case):
    def text(x):
        return f"{x.dtype}{list(x.shape)}" if hasattr(x, "shape") else str(x)

    name, args, kwargs = case
    return (
        f"{name}({', '.join([*map(text, args), *(f'{k}={text(x)}' for k, x in kwargs.items())])})"
    )


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=map(label, CASES))
def test_as_scipy(name, args, kwargs):
    single = any(getattr(x, "dtype", None) == np.float32 for x in args)
    # Coefficients of a filter in another order may make it unstable.
    plain = (0, 1) if name in ("filtfilt", "lfilter_zi") else (0,) if name.startswith("sos") else ()
    ours, scipys = getattr(signal, name), getattr(scipy.signal, name)
    check_function(
        ours,
        scipys,
        args,
        kwargs,
        static=STATIC.get(name, plain),
        rtol=1e-5 if single else 1e-9,
    )


def test_every_name_is_checked():
    assert {name for name, _, _ in CASES} == set(signal.__all__)
    with pytest.raises(AttributeError, match=r"scipy\.signal\.iirdesign works on plain arrays"):
        signal.iirdesign
    with pytest.raises(AttributeError, match="did you mean 'fftconvolve'"):
        signal.fftconvolv


@pytest.mark.parametrize("name", ["filtfilt", "sosfiltfilt", "sosfilt", "lfilter_zi", "sosfilt_zi"])
def test_coefficients_have_derivatives(name):
    coefficients = (SOS,) if name.startswith("sos") else (LOW_B, LOW_A)
    rest = {"sosfiltfilt": (X, -1, "odd", 5), "filtfilt": (X,), "sosfilt": (X,)}.get(name, ())
    directions = [RNG.normal(size=c.shape) * 0.1 for c in coefficients]
    for d in directions:
        d[..., len(d) // 2 if d.ndim == 1 else 3] = (
            0  # the leading coefficient of a section stays 1
        )

    def f(*coefficients):
        return getattr(signal, name)(*coefficients, *rest)

    eps = 1e-6
    ahead = f(*[c + eps * d for c, d in zip(coefficients, directions)])
    behind = f(*[c - eps * d for c, d in zip(coefficients, directions)])
    tangent = fg.jvp(f, coefficients, tuple(directions))[1]
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * eps), rtol=1e-5, atol=1e-6)


def test_window_has_a_derivative():
    def power(window):
        return signal.welch(X, window=window)[1]

    eps = 1e-6
    numeric = (power(WINDOW * (1 + eps)) - power(WINDOW * (1 - eps))) / (2 * eps)
    np.testing.assert_allclose(fg.jvp(power, (WINDOW,), (WINDOW,))[1], numeric, atol=1e-8)


def test_stft_is_inverted():
    def there_and_back(x):
        _, _, spectra = signal.stft(x, nperseg=8)
        return signal.istft(spectra, nperseg=8)[1]

    np.testing.assert_allclose(fg.jacobian(there_and_back)(S[0]), np.eye(16), atol=1e-12)


ERRORS = [
    ("convolve", (A, V), {}, ValueError, "same dimensionality"),
    ("convolve", (V, W), {"mode": "middle"}, ValueError, "cceptable mode flags|mode flags"),
    ("convolve", (V, W), {"method": "slow"}, ValueError, "cceptable method flags"),
    ("convolve", (A, A.T), {"mode": "valid"}, ValueError, "one must be at least as large"),
    ("fftconvolve", (A, A[:3, :3]), {"axes": 0}, ValueError, "incompatible shapes"),
    ("convolve2d", (A, V), {}, ValueError, "must both be 2-D"),
    ("convolve2d", (A, K), {"boundary": "torus"}, ValueError, "cceptable boundary flags"),
    ("lfilter", (I, I, I), {}, NotImplementedError, "not supported"),
    ("lfilter", (LOW_B, LOW_A, X), {"zi": W[:1]}, ValueError, "parameter zi|shape of zi|zi"),
    ("filtfilt", (LOW_B, LOW_A, V), {}, ValueError, "must be greater than padlen"),
    ("detrend", (V,), {"type": "cubic"}, ValueError, "Trend type must be"),
    ("hilbert", (Z,), {}, ValueError, "x must be real"),
    ("savgol_filter", (W, 5, 2), {}, ValueError, "window_length must be less than or equal"),
    ("welch", (X,), {"nperseg": 4, "noverlap": 4}, ValueError, "must be less than"),
    ("stft", (X,), {"nperseg": 4, "boundary": "odd one"}, ValueError, "Unknown boundary option"),
    ("istft", (V,), {}, ValueError, "at least 2d"),
    ("istft", (A,), {"time_axis": 5}, IndexError, "out of |can not be applied"),
    ("fftconvolve", (X, X), {"axes": 3}, ValueError, "out of bounds|exceeds dimensionality"),
    ("fftconvolve", (X, X), {"axes": (0, 0)}, ValueError, "repeated axis|must be unique"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs", "error", "message"), ERRORS)
def test_errors(name, args, kwargs, error, message):
    for transform in (lambda f: f, fg.jit):
        with pytest.raises(error, match=message):
            transform(lambda x: getattr(signal, name)(x, *args[1:], **kwargs))(args[0])


def test_coefficients_that_are_integers():
    sos, x = np.array([[1, 2, 1, 1, 0, 0]]), np.arange(20) % 3 == 0
    check_function(signal.sosfilt_zi, scipy.signal.sosfilt_zi, (sos,), vmap=False)
    for sections, samples in ((sos, x.astype(float)), (sos.astype(float), x)):
        check_function(
            signal.sosfiltfilt,
            scipy.signal.sosfiltfilt,
            (sections, samples),
            {"padlen": 3},
            vmap=False,
            rtol=1e-12,
            checks=("eager", "known", "jit"),
        )


def test_convolution_turns_the_kernel_and_correlation_does_not():
    x, kernel = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    convolve, correlate = fg.jit(signal.convolve2d), fg.jit(signal.correlate2d)
    np.testing.assert_array_equal(convolve(x, kernel)[:2, :2], kernel)
    np.testing.assert_array_equal(correlate(x, kernel)[:2, :2], kernel[::-1, ::-1])
    same = fg.jit(lambda x, y: signal.fftconvolve(x, y, "same"))(
        np.arange(1.0, 5), np.array([1.0, 10.0])
    )
    np.testing.assert_allclose(same, [1, 12, 23, 34], rtol=1e-14)


@pytest.mark.parametrize("output", ["ba", "sos"])
@pytest.mark.parametrize("band", ["bandpass", "bandstop"])
@pytest.mark.parametrize("name", ["butter", "cheby1", "cheby2", "ellip", "bessel"])
def test_bands(name, band, output):
    ripples = {"cheby1": (1.0,), "cheby2": (20.0,), "ellip": (1.0, 20.0)}.get(name, ())
    ends, t = np.array([0.2, 0.5]), np.array([0.3, -0.7])
    for n in (1, 2, 3):

        def f(w, library=scipy.signal, n=n):
            found = getattr(library, name)(n, *ripples, w, band, output=output)
            return np.concatenate([x.ravel() for x in (found if output == "ba" else [found])])

        expected = f(ends)
        for g in (f, lambda w, f=f: f(w, signal)):
            np.testing.assert_allclose(fg.jit(g)(ends), expected, rtol=1e-9, atol=1e-12)
        numeric = (f(ends + 1e-6 * t) - f(ends - 1e-6 * t)) / 2e-6
        for slope in (fg.jvp(f, (ends,), (t,))[1], fg.jit(fg.jacobian(f))(ends) @ t):
            np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-7)


def test_designed_filters_have_derivatives_by_their_frequency():
    def energy(w):
        b, a = scipy.signal.butter(3, [w, 0.6], "bandpass")
        return np.sum(scipy.signal.lfilter(b, a, X) ** 2)

    numeric = (energy(0.2 + 1e-6) - energy(0.2 - 1e-6)) / 2e-6
    for slope in (fg.grad(energy), fg.jit(fg.grad(energy))):
        np.testing.assert_allclose(slope(0.2), numeric, rtol=1e-6)
    zeros, poles, gain = fg.jit(lambda w: signal.butter(2, w, output="zpk"))(0.3)
    for found, expected in zip(
        (zeros, poles, gain), scipy.signal.butter(2, 0.3, output="zpk"), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda w: signal.butter(3, w + 1), "must be 0 < Wn < 1"),
        (
            lambda w: signal.butter(3, w, "bandpass"),
            "a bandpass filter has 2 critical frequencies, got 1",
        ),
        (lambda w: signal.butter(3, w, "nonsense"), "invalid bandtype"),
        (lambda w: signal.butter(3, 0.3, fs=w), "only Wn may be traced"),
        (lambda w: signal.cheby1(3, w, 0.3), "cheby1: only Wn may be traced"),
    ],
)
def test_designs_that_are_refused(f, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fg.vjp(f, 0.3)

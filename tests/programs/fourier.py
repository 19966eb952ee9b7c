"""Programs with Fourier transforms."""

import numpy as np


def convolution_theorem(x, y):
    n = len(x) + len(y) - 1
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(y, n), n) - np.convolve(x, y) ** 2


def spectral_derivative(x):
    k = np.fft.fftfreq(len(x), d=1 / len(x))
    return np.real(np.fft.ifft(2j * np.pi * k * np.fft.fft(x)))


def low_pass(x, sharpness):
    f = np.fft.rfftfreq(len(x))
    return np.fft.irfft(np.fft.rfft(x) / (1 + (f * sharpness) ** 2), len(x))


def power_spectrum(x):
    window = np.hanning(len(x))
    return np.abs(np.fft.fft(x * window)) ** 2


def log_spectrum_in_decibels(x):
    spectrum = np.fft.rfft(x - x.mean())
    return 10 * np.log10(spectrum.real**2 + spectrum.imag**2 + 1e-3)


def autocorrelation(x):
    n = len(x)
    d = x - x.mean()
    f = np.fft.fft(d, 2 * n)
    r = np.fft.ifft(f * np.conj(f)).real[:n]
    return r / r[0]


def image_blurred(image, width):
    ky, kx = np.meshgrid(
        np.fft.fftfreq(image.shape[0]), np.fft.fftfreq(image.shape[1]), indexing="ij"
    )
    kernel = np.exp(-2 * (np.pi * width) ** 2 * (kx**2 + ky**2))
    return np.fft.ifft2(np.fft.fft2(image) * kernel).real


def phase_correlation(a, b):
    r = np.fft.fft2(a) * np.fft.fft2(b).conj()
    return np.fft.fftshift(np.fft.ifft2(r / np.abs(r)).real)


def poisson_by_transform(f):
    k = 2 * np.sin(np.pi * np.fft.fftfreq(len(f)))
    denominator = k[:, None] ** 2 + k**2
    denominator[0, 0] = 1
    u = np.fft.fftn(f) / denominator
    u[0, 0] = 0
    return np.fft.ifftn(u).real


def hilbert_envelope(x):
    n = len(x)
    h = np.zeros(n)
    h[0] = h[n // 2] = 1
    h[1 : n // 2] = 2
    return np.abs(np.fft.ifft(np.fft.fft(x) * h))


def cosine_transform(x):
    n = len(x)
    extended = np.concatenate([x, x[::-1]])
    shift = np.exp(-0.5j * np.pi * np.arange(n) / n)
    return (np.fft.fft(extended)[:n] * shift).real / 2


def transform_by_hand(z):
    # Radix 2, decimation in time, in place: Cooley & Tukey 1965.
    a, n = z.copy(), len(z)
    a = a[[int(f"{i:0{n.bit_length() - 1}b}"[::-1], 2) for i in range(n)]]
    half = 1
    while half < n:
        twiddle = np.exp(-1j * np.pi * np.arange(half) / half)
        for start in range(0, n, 2 * half):
            even, odd = a[start : start + half], a[start + half : start + 2 * half]
            t = twiddle * odd
            odd[:] = even - t
            even += t
        half *= 2
    return a


def chirp_multiplied(z, rate):
    t = np.arange(len(z))
    spectrum = np.fft.fftshift(np.fft.fft(z * np.exp(1j * rate * t**2), norm="ortho"))
    return np.angle(spectrum) * np.abs(spectrum)


def split_step(psi, potential, dt=0.1, steps=2):
    # The Schrödinger equation: half a step of the potential, one of the kinetic energy, half.
    k = 2 * np.pi * np.fft.fftfreq(len(psi))
    for _ in range(steps):
        psi = psi * np.exp(-0.5j * dt * potential)
        psi = np.fft.ifft(np.exp(-0.5j * dt * k**2) * np.fft.fft(psi))
        psi = psi * np.exp(-0.5j * dt * potential)
    return psi


def hermitian_spectrum(z):
    return np.fft.hfft(z) + np.fft.irfft(z, 6).sum() - np.abs(np.fft.ihfft(np.abs(z))).sum()


def inputs(rng):
    n = rng.normal
    z = n(size=8) + 1j * n(size=8)
    return {
        "convolution_theorem": (n(size=5), n(size=3)),
        "spectral_derivative": (n(size=6),),
        "low_pass": (n(size=7), np.float64(3.0)),
        "power_spectrum": (n(size=6),),
        "log_spectrum_in_decibels": (n(size=6),),
        "autocorrelation": (n(size=6),),
        "image_blurred": (n(size=(4, 5)), np.float64(0.4)),
        "phase_correlation": (n(size=(3, 4)), n(size=(3, 4))),
        "poisson_by_transform": (n(size=(4, 4)),),
        "hilbert_envelope": (n(size=8),),
        "cosine_transform": (n(size=5),),
        "transform_by_hand": (z,),
        "chirp_multiplied": (z, np.float64(0.05)),
        "split_step": (z, n(size=8)),
        "hermitian_spectrum": (z[:4],),
    }


NOT_OVERRIDABLE = {}
LOOKS_AT_VALUES = {}

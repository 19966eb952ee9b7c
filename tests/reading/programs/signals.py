"""Signals: transforms by loops, filters, spectra."""

import math

import numpy as np
from scipy import signal

from tests.reading.programs.program import Program

RECORD = np.array([0.2, 0.9, 1.1, 0.4, -0.6, -1.2, -0.7, 0.3, 0.8, 0.6])


def dft_power(x):
    """Share of the power below a frequency, by a transform of two loops."""
    N = len(x)
    power = []
    for k in range(N):
        re = im = 0.0
        for n in range(N):
            angle = 2 * math.pi * k * n / N
            re += x[n] * math.cos(angle)
            im -= x[n] * math.sin(angle)
        power.append(re**2 + im**2)
    return sum(power[:2]) / sum(power)


def goertzel(x):
    """Power of one tone in a record by Goertzel's recursion."""
    freq, gain = x
    coeff = 2 * np.cos(2 * np.pi * freq)
    s1, s2 = 0.0, 0.0
    for sample in RECORD:
        s0 = gain * sample + coeff * s1 - s2
        s2 = s1
        s1 = s0
    return s1**2 + s2**2 - coeff * s1 * s2


def convolve_loops(kernel):
    """Convolution by a double loop, with what would be outside left out."""
    n, m = len(RECORD), len(kernel)
    out = np.zeros(n)
    for i in range(n):
        for j in range(m):
            k = i + j - m // 2
            if 0 <= k < n:
                out[i] += kernel[j] * RECORD[k]
    return np.sum((out - RECORD) ** 2)


def smooth_exponential(alpha):
    """Errors of forecasts by exponential smoothing."""
    level = RECORD[0]
    error = 0.0
    for value in RECORD[1:]:
        error += (value - level) ** 2
        level = alpha * value + (1 - alpha) * level
    return error / (len(RECORD) - 1)


def biquad(x):
    """A resonant low-pass filter of second order, sample by sample."""
    cutoff, Q = x
    w = 2 * math.pi * cutoff
    alpha = math.sin(w) / (2 * Q)
    b = [(1 - math.cos(w)) / 2, 1 - math.cos(w), (1 - math.cos(w)) / 2]
    a = [1 + alpha, -2 * math.cos(w), 1 - alpha]
    y = np.zeros_like(RECORD)
    for n in range(len(RECORD)):
        acc = 0.0
        for k in range(3):
            if n - k >= 0:
                acc += b[k] * RECORD[n - k]
                if k > 0:
                    acc -= a[k] * y[n - k]
        y[n] = acc / a[0]
    return np.sqrt(np.mean(y**2))


def iir_scipy(a1):
    """A filter of first order by SciPy."""
    y = signal.lfilter([1 - a1], [1.0, -a1], RECORD)
    return np.sum(y**2) + y[-1]


def savgol_peak(x):
    """Slope of smoothed samples, by a least-squares parabola in each window."""
    half = 2
    t = np.arange(-half, half + 1)
    A = np.vander(t, 3, increasing=True)
    weights = np.linalg.pinv(A)
    slopes = []
    for i in range(half, len(x) - half):
        window = x[i - half : i + half + 1]
        slopes.append(weights[1] @ window)
    return np.max(np.array(slopes)) + np.mean(slopes)


def despike(x):
    """Energy of a record in which samples far from the median are replaced."""
    med = np.median(x)
    mad = np.median(np.abs(x - med))
    clean = x.copy()
    for i in range(len(x)):
        if np.abs(x[i] - med) > 3 * mad:
            clean[i] = med
    return np.dot(clean, clean)


def autocorrelation_lag(x):
    """Autocorrelation summed until it is negative."""
    x = x - np.mean(x)
    var = np.sum(x * x)
    total = 1.0
    for lag in range(1, len(x)):
        r = np.sum(x[lag:] * x[:-lag]) / var
        if r < 0:
            break
        total += 2 * r
    return total + np.log(var)


def windowed_spectrum(x):
    """Centroid of a spectrum by the FFT, after a window of one's own."""
    n = len(x)
    w = np.array([0.5 - 0.5 * np.cos(2 * np.pi * (i + 0.5) / n) for i in range(n)])
    X = np.fft.rfft(w * x)
    P = np.abs(X) ** 2
    f = np.fft.rfftfreq(n, d=0.1)
    return np.sum(f * P) / np.sum(P)


def compressor(x):
    """A compressor of loudness with attack and release."""
    threshold, ratio = x
    env = 0.0
    out = []
    for s in RECORD:
        level = abs(s)
        c = 0.6 if level > env else 0.1
        env = env + c * (level - env)
        gain = 1.0
        if env > threshold:
            gain = (threshold + (env - threshold) / ratio) / env
        out.append(gain * s)
    return np.linalg.norm(out)


PROGRAMS = (
    Program(
        dft_power,
        [1.0, 0.5, -0.3, 0.8, 0.1],
        ([1, 1, 1, 1, 0.5], [0, 1, 0, -1, 0.2], [2, -1, 2, -1, 2]),
    ),
    Program(goertzel, [0.11, 1.0], ([0.02, 2.0], [0.3, 0.5], [0.45, -1.0])),
    Program(convolve_loops, [0.25, 0.5, 0.25], ([0.1, 0.8, 0.2], [1.0, -1, 0.3], [0.4, 0.3, 0.4])),
    Program(smooth_exponential, 0.4, (0.05, 0.9, 1.4)),
    Program(biquad, [0.12, 0.7], ([0.05, 2.0], [0.3, 0.5], [0.2, 5.0])),
    Program(iir_scipy, 0.6, (0.1, -0.5, 0.95)),
    Program(
        savgol_peak,
        [0.0, 0.3, 1.0, 1.4, 1.1, 0.9, 0.2],
        ([0, 1, 0, 2, 0, 3, 0.5], [5, 4, 3, 2, 1, 0.5, 0.1], [1, 1.2, 1, 3, 3.5, 3, 2]),
    ),
    Program(
        despike,
        [0.1, 0.3, 9.0, 0.25, -0.1],
        ([1, 2, 3, 4, 5.5], [0.5, -7, 0.4, 0.7, 8], [0.1, 0.2, 0.4, 0.7, 1.1]),
    ),
    Program(
        autocorrelation_lag,
        [1.0, 0.8, 0.5, -0.2, -0.6, -0.3],
        ([1, -1, 1, -1, 1, -0.5], [1, 2, 3, 4, 5, 6.5], [0, 0.1, 2, 2.2, 0.3, 0]),
    ),
    Program(
        windowed_spectrum,
        [1.0, 0.3, -0.8, -0.5, 0.7, 0.9],
        ([1, 1, 1, 1, 1, 0.2], [1, -1, 1, -1, 1, -0.6], [0, 0, 1, 2, 0, 0.4]),
    ),
    Program(compressor, [0.4, 4.0], ([0.1, 2.0], [2.0, 3.0], [0.55, 10.0])),
)

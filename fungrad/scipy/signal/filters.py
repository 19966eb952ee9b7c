"""Linear filters along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer, cast, strong
from fungrad.primitives.filters import AllPole, causal
from fungrad.primitives.filters import convolve as full_convolution

__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt", "sosfilt_zi", "sosfiltfilt"]

# Recursive filters. With v = sum_k b[k] x[i-k] + z[i], where z are the initial conditions, the output y
# solves sum_k a[k] y[i-k] = v (A. V. Oppenheim & R. W. Schafer, Discrete-Time Signal Processing, 3rd ed.,
# section 6.3): one sliding sum and one `AllPole`.


def _line(name: str, x: Any) -> Any:
    array = np.atleast_1d(strong(x))
    if array.ndim != 1 or not array.size:
        shape = f"{name}.shape={array.shape}"
        raise ValueError(f"Parameter {name} is not a non-empty 1d array, since {shape}!")
    return array


def _common_dtype(*arrays: Any) -> np.dtype[Any]:
    dtype = np.result_type(*[x.dtype for x in arrays])
    if dtype.char not in "fdgFDG":
        raise NotImplementedError(f"input type '{dtype}' not supported")
    return dtype


def _convolved(taps: Any, x: Any) -> Any:
    """Return the full convolution of a line with the last axis of `x`."""
    return full_convolution(np.broadcast_to(taps, (*x.shape[:-1], *taps.shape)), x, 1)


def _filtered(b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """Filter the last axis; return the output and, unless `zi` is None, the final conditions."""
    b, a = b / a[0], a / a[0]
    n, order = x.shape[-1], max(len(a), len(b)) - 1
    v = causal(b, x)
    if zi is not None and order:
        now = min(n, order)
        v = np.concatenate([v[..., :now] + zi[..., :now], v[..., now:]], -1) if n else v
    y = AllPole()(a, v) if len(a) > 1 else v
    if zi is None:
        return y, None
    # What the samples so far contribute to places after the last.
    final = np.concatenate([zi[..., n:], np.zeros((*x.shape[:-1], min(n, order)), x.dtype)], -1)
    for sign, taps, samples in ((1, b, x), (-1, a, y)):
        last = samples[..., max(0, n - order) :]
        if last.shape[-1] and len(taps) > 1:
            tail = _convolved(taps, last)[..., last.shape[-1] :]
            gap = np.zeros((*x.shape[:-1], order - tail.shape[-1]), x.dtype)
            rest = np.concatenate([tail, gap], -1)
            final = final + sign * rest
    return y, final


@implements(scipy.signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Differentiable in the coefficients, the signal and the initial conditions."""
    b, a, signal = _line("b", b), _line("a", a), strong(x)
    if signal.ndim == 0:
        raise ValueError("x must be at least 1-D")
    initial = None if zi is None else strong(zi)
    dtype = _common_dtype(b, a, signal, *([] if initial is None else [initial]))
    b, a, signal = (cast(as_tracer(z), dtype) for z in (b, a, signal))
    signal = np.moveaxis(signal, axis, -1)
    if initial is not None:
        if initial.ndim != signal.ndim:
            raise ValueError("Dimensions of parameters x and zi must match")
        initial = np.moveaxis(cast(as_tracer(initial), dtype), axis, -1)
        expected = (*signal.shape[:-1], max(len(a), len(b)) - 1)
        if initial.shape[-1] != expected[-1] or any(
            m not in (1, n) for m, n in zip(initial.shape, expected, strict=True)
        ):
            raise ValueError(
                f"Unexpected shape for parameter zi: expected {expected}, found {initial.shape}."
            )
        initial = np.broadcast_to(initial, expected)
    y, final = _filtered(b, a, signal, initial)
    y = np.moveaxis(y, -1, axis)
    return y if final is None else (y, np.moveaxis(final, -1, axis))


@implements(scipy.signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """Differentiable in the coefficients. Traced, leading zeros of `a` are not left out."""
    b, a = _line("b", b), _line("a", a)
    dtype = np.result_type(b, a, np.float32)
    b, a = (cast(as_tracer(z), dtype) / a[0] for z in (b, a))
    n = max(len(a), len(b))
    a, b = (np.concatenate([z, np.zeros(n - len(z), dtype)], 0) for z in (a, b))
    # In the steady state for input 1 the output is sum(b) / sum(a), and each condition is what is
    # still to come of the two sums.
    gain = np.sum(b) / np.sum(a)
    rest = b - a * gain
    return np.cumsum(rest[:0:-1])[::-1]


@implements(scipy.signal.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """Differentiable in the coefficients and the signal; the method is "pad"."""
    if method != "pad":
        raise ValueError(f"filtfilt: method={method!r} is not supported for tracers: use 'pad'")
    b, a = _line("b", b), _line("a", a)
    signal: Any = as_tracer(x)
    signal = np.moveaxis(signal, axis, -1)
    extended, edge = _extended(signal, padtype, padlen, len(a), len(b))
    zi = lfilter_zi(b, a)
    filtered = lambda y: lfilter(b, a, y, zi=zi * y[..., :1])[0]
    return np.moveaxis(_forth_and_back(filtered, extended, edge), -1, axis)


def _forth_and_back(filtered: Callable[[Any], Any], y: Any, edge: int) -> Any:
    """Return a signal filtered forwards and then backwards, without its extension."""
    for _ in range(2):
        y = filtered(y)[..., ::-1]
    return y[..., edge : y.shape[-1] - edge]


def _extended(x: Any, padtype: Any, padlen: Any, *lengths: int) -> tuple[Any, int]:
    """Return a signal continued at both ends, as `filtfilt` and `sosfiltfilt` do, and by how much."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    edge = 0 if padtype is None else 3 * max(lengths) if padlen is None else int(padlen)
    if x.shape[-1] <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    return extension(x, edge, padtype), edge


def extension(x: Any, edge: int, kind: str | None) -> Any:
    """Continue the last axis by `edge` at both ends: even, odd, constant, zeros or None."""
    if kind is None or not edge:
        return x
    width = [(0, 0)] * (x.ndim - 1) + [(edge, edge)]
    if kind == "zeros":
        return np.pad(x, width)
    if kind == "constant":
        return np.pad(x, width, "edge")
    if edge > x.shape[-1] - 1:
        raise ValueError(
            f"The extension length n ({edge}) is too big. It must not exceed x.shape[axis]-1, which is "
            f"{x.shape[-1] - 1}."
        )
    mirrored = np.pad(x, width, "reflect")
    if kind == "even":
        return mirrored
    front, back = mirrored[..., :edge], mirrored[..., edge + x.shape[-1] :]
    return np.concatenate([2 * x[..., :1] - front, x, 2 * x[..., -1:] - back], -1)


# Sections of second order


def _sections(sos: Any) -> Any:
    sections = np.atleast_2d(strong(sos))
    if sections.ndim != 2 or sections.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if not isinstance(sections, Tracer) and not (np.asarray(sections)[:, 3] == 1).all():
        raise ValueError("sos[:, 3] should be all ones")
    return sections


@implements(scipy.signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Differentiable in all; one filter after the other."""
    sections, signal = _sections(sos), strong(x)
    if signal.ndim == 0:
        raise ValueError("x must be at least 1-D")
    _common_dtype(sections, signal)
    y: Any = as_tracer(signal)
    y = np.moveaxis(y, axis, -1)
    if zi is None:
        for section in sections:
            y = lfilter(section[:3], section[3:], y)
        return np.moveaxis(y, -1, axis)
    axis %= y.ndim
    initial: Any = as_tracer(zi)
    initial = np.moveaxis(initial, axis + 1, -1)
    expected = (len(sections), *y.shape[:-1], 2)
    if initial.shape != expected:
        raise ValueError(f"Invalid zi shape: expected {expected}, got {initial.shape}")
    final = []
    for section, z in zip(sections, initial, strict=True):
        y, z = lfilter(section[:3], section[3:], y, zi=z)
        final.append(z)
    return np.moveaxis(y, -1, axis), np.moveaxis(np.stack(final), -1, axis + 1)


@implements(scipy.signal.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    """Differentiable in the coefficients."""
    scale: Any = 1.0
    states = []
    for section in _sections(sos):
        b, a = section[:3], section[3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states)


@implements(scipy.signal.sosfiltfilt)
def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """Differentiable in all."""
    sections = _sections(sos)
    signal: Any = as_tracer(x)
    signal = np.moveaxis(signal, axis, -1)
    if padlen is None:
        # SciPy's default leaves out sections that are only delays, which takes values.
        padlen = _default_padlen(sections) if padtype is not None else 0
    extended, edge = _extended(signal, padtype, padlen, 0)
    zi = sosfilt_zi(sections)
    zi = np.reshape(zi, (len(sections), *[1] * (signal.ndim - 1), 2))
    filtered = lambda y: sosfilt(sections, y, zi=zi * y[np.newaxis, ..., :1])[0]
    return np.moveaxis(_forth_and_back(filtered, extended, edge), -1, axis)


def _default_padlen(sections: Any) -> int:
    if isinstance(sections, Tracer):
        raise ValueError("sosfiltfilt: with a traced sos, give padlen")
    delays = min(int((sections[:, 2] == 0).sum()), int((sections[:, 5] == 0).sum()))
    return 3 * (2 * len(sections) + 1 - delays)

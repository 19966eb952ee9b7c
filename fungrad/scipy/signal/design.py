"""Design of recursive filters from analog prototypes, at critical frequencies that may be traced.

Poles and zeros of a lowpass filter of frequency 1 are moved to other bands, and by the bilinear transform to the unit circle:
A. V. Oppenheim & R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., section 7.2 and appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.signal

from fungrad.core.tracer import Tracer, known_value
from fungrad.numpy.promotion import has_tracer
from fungrad.numpy.selecting import value_needed
from fungrad.scipy.arguments import double
from fungrad.scipy.mirrors import mirrors

__all__ = ["bessel", "butter", "cheby1", "cheby2", "ellip"]

BANDS = {
    **dict.fromkeys(("lowpass", "low", "lp", "l"), "lowpass"),
    **dict.fromkeys(("highpass", "high", "hp", "h"), "highpass"),
    **dict.fromkeys(("bandpass", "band", "bp", "pass"), "bandpass"),
    **dict.fromkeys(("bandstop", "bs", "bands", "stop"), "bandstop"),
}


class Roots(NamedTuple):
    """A filter by its zeros, poles and gain."""

    zeros: Any
    poles: Any
    gain: Any

    @property
    def degree(self) -> int:
        """How many zeros are at infinity."""
        return len(self.poles) - len(self.zeros)

    def lowpass(self, w: Any) -> Roots:
        """Return the lowpass filter of frequency `w`."""
        return Roots(w * self.zeros, w * self.poles, self.gain * w**self.degree)

    def highpass(self, w: Any) -> Roots:
        """Return the highpass filter of frequency `w`."""
        gain = self.gain * np.real(np.prod(-self.zeros) / np.prod(-self.poles))
        zeros = np.concatenate([w / self.zeros, np.zeros(self.degree)])
        return Roots(zeros, w / self.poles, gain)

    def bandpass(self, low: Any, high: Any) -> Roots:
        """Return the filter that lets a band pass."""
        half, middle = (high - low) / 2, low * high

        def moved(roots: Any) -> Any:
            at = roots * half
            apart = np.sqrt(at * at - middle + 0j)
            return np.concatenate([at + apart, at - apart])

        zeros = np.concatenate([moved(self.zeros), np.zeros(self.degree)])
        return Roots(zeros, moved(self.poles), self.gain * (high - low) ** self.degree)

    def bandstop(self, low: Any, high: Any) -> Roots:
        """Return the filter that stops a band."""
        gain = self.gain * np.real(np.prod(-self.zeros) / np.prod(-self.poles))
        half, middle = (high - low) / 2, low * high

        def moved(roots: Any) -> Any:
            at = half / roots
            apart = np.sqrt(at * at - middle + 0j)
            return np.concatenate([at + apart, at - apart])

        edge = 1j * np.sqrt(middle) * np.ones(self.degree)
        return Roots(np.concatenate([moved(self.zeros), edge, -edge]), moved(self.poles), gain)

    def digital(self, rate: float) -> Roots:
        """Return the digital filter, by the bilinear transform."""
        zeros = (rate + self.zeros) / (rate - self.zeros)
        gain = self.gain * np.real(np.prod(rate - self.zeros) / np.prod(rate - self.poles))
        zeros = np.concatenate([zeros, -np.ones(self.degree)])
        return Roots(zeros, (rate + self.poles) / (rate - self.poles), gain)


def _polynomial(roots: Any) -> Any:
    """Return the real coefficients of a polynomial, highest power first, by its roots."""
    c = np.ones(1, complex)
    for i in range(len(roots)):
        c = np.concatenate([c, np.zeros(1)]) - np.concatenate([np.zeros(1), c * roots[i]])
    return np.real(c)


def _needed(x: Any) -> Any:
    """Return the value of a frequency, by which SciPy puts poles and zeros into sections."""
    advice = "Ask for output='ba' or 'zpk', which hold for all frequencies."
    why = "puts poles and zeros into sections by values"
    return value_needed(x, "the design of sections", advice, why) if type(x) is Tracer else x


def _sections(roots: Roots, like: Roots, analog: bool) -> Any:
    """Return sections of second order; zeros and poles are in those in which SciPy puts `like`."""
    rows = []
    left = [list(range(len(x))) for x in (like.zeros, like.poles)]
    for number, row in enumerate(scipy.signal.zpk2sos(*like, analog=analog)):
        sides = []
        for half, side in ((row[:3], 0), (row[3:], 1)):
            taken = _taken(np.roots(half), roots[side], like[side], left[side])
            sides.append(np.concatenate([np.zeros(2 - len(taken)), _polynomial(taken)]))
        sides[0] = sides[0] * roots.gain if number == 0 else sides[0]
        rows.append(np.concatenate(sides))
    return np.stack(rows)


def _taken(own: Any, roots: Any, like: Any, left: list[int]) -> list[Any]:
    """Return the roots next to given ones, out of those that are left; 0 if there is none."""
    taken = []
    for root in own:
        nearest = min(left, key=lambda i: abs(like[i] - root), default=None)
        if nearest is None or abs(like[nearest] - root) > 1e-3 * max(1.0, abs(root)):
            taken.append(0.0)  # SciPy's, to fill the section
            continue
        left.remove(nearest)
        taken.append(roots[nearest])
    return taken


def _frequencies(Wn: Any, count: int, band: str) -> list[Any]:
    """Return critical frequencies, `count` in number."""
    wn = double(np.stack(list(Wn)) if isinstance(Wn, (list, tuple)) else Wn).reshape((-1,))
    if len(wn) != count:
        raise ValueError(f"a {band} filter has {count} critical frequencies, got {len(wn)}")
    return [wn[i] for i in range(count)]


def _design(function: Any, prototype: Callable[..., Any]) -> Any:
    """Return the design of a kind of filters, differentiable in the critical frequencies."""

    @mirrors(function)
    def rule(
        N: int,
        Wn: Any,
        btype: str,
        analog: bool,
        output: str,
        fs: Any,
        rp: Any = None,
        rs: Any = None,
        norm: Any = None,
    ) -> Any:
        """Differentiable in the critical frequencies."""
        about = [x for x in (rp, rs, norm) if x is not None]
        if has_tracer([*about, fs]):
            raise TypeError(
                f"{function.__name__}: only Wn may be traced. In place of a traced fs, divide Wn by fs / 2"
            )
        band = BANDS.get(btype.lower(), "lowpass")  # SciPy refuses others, below
        ends = _frequencies(Wn, 1 if band in ("lowpass", "highpass") else 2, band)
        names = {"rp": rp, "rs": rs, "norm": norm, "fs": fs}
        given = {name: x for name, x in names.items() if x is not None}
        reference = [x * (1.0 if fs is None else fs / 2) for x in (0.25, 0.5)[: len(ends)]]
        known = [known_value(x) for x in ends]
        if output == "sos":
            known = [_needed(x) for x in ends]
        like = reference if any(x is None for x in known) else [float(x) for x in known]
        at: Any = like[0] if len(ends) == 1 else like
        function(N, Wn=at, btype=btype, analog=analog, output=output, **given)  # checks arguments
        zeros, poles, gain = map(np.atleast_1d, prototype(N, *about))
        analog_roots = Roots(np.asarray(zeros, complex), poles, gain[0])

        def roots(ends: list[Any]) -> Roots:
            if fs is not None:
                ends = [x / (fs / 2) for x in ends]
            if analog:
                return getattr(analog_roots, band)(*ends)
            warped = [4.0 * np.tan(np.pi * x / 2.0) for x in ends]
            return getattr(analog_roots, band)(*warped).digital(4.0)

        found = roots(ends)
        if output == "zpk":
            return tuple(found)
        if output == "sos":
            return _sections(found, roots(like), analog)
        return found.gain * _polynomial(found.zeros), _polynomial(found.poles)

    return rule


butter = _design(scipy.signal.butter, scipy.signal.buttap)
cheby1 = _design(scipy.signal.cheby1, scipy.signal.cheb1ap)
cheby2 = _design(scipy.signal.cheby2, scipy.signal.cheb2ap)
ellip = _design(scipy.signal.ellip, scipy.signal.ellipap)
bessel = _design(scipy.signal.bessel, scipy.signal.besselap)

"""Loss functions and power transforms of `scipy.special`.

DLMF is the NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

from typing import Any

from fungrad.primitives.elementwise import (
    absolute,
    clamp,
    hypot,
    keep_dtype,
    log,
    log1p,
    maximum,
    mul,
    neg,
    power,
    select,
)
from fungrad.primitives.hypergeometric import gauss, kummer
from fungrad.primitives.scipy_ufunc import constant, special
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import Function, elementwise

huber = special(
    "huber",
    lambda t, out, d, r: mul(t, maximum(absolute(r) - d, zeros_like(r))),
    lambda t, out, d, r: mul(t, clamp(neg(d), r, d)),
)


def ratios(d: Any, r: Any) -> tuple[Any, Any, Any]:
    """Return u = r / d, s = sqrt(1 + u^2), and u / s."""
    u = r / d
    s = hypot(constant(1, u), u)
    return u, s, u / s


def pseudo_huber_bend(d: Any, r: Any) -> Any:
    """Return the second derivative of the loss by d: -u^4 (2 s + 1) / (s^3 (s + 1)^2)."""
    u, s, v = ratios(d, r)
    w = u / (s + 1)
    return neg(v * v * (w * w) * ((2 * s + 1) / s))


# The derivatives of d^2 (s - 1), so written that no digits cancel in the second ones.
pseudo_huber_by_d = elementwise(  # d u^4 / (s (s + 1)^2)
    "pseudo_huber_by_d",
    lambda t, out, d, r: mul(t, pseudo_huber_bend(d, r)),
    lambda t, out, d, r: mul(t, ratios(d, r)[2] ** 3),
    function=lambda xp, d, r: (
        d * (r / d / (xp.hypot(1, r / d) + 1)) ** 2 * r / d * (r / d / xp.hypot(1, r / d))
    ),
    dtype=keep_dtype,
)
pseudo_huber_by_r = elementwise(  # r / s
    "pseudo_huber_by_r",
    lambda t, out, d, r: mul(t, ratios(d, r)[2] ** 3),
    lambda t, out, d, r: mul(t, ratios(d, r)[1] ** -3),
    function=lambda xp, d, r: r / xp.hypot(1, r / d),
    dtype=keep_dtype,
)
pseudo_huber = special(
    "pseudo_huber",
    lambda t, out, d, r: mul(t, pseudo_huber_by_d(d, r)),
    lambda t, out, d, r: mul(t, pseudo_huber_by_r(d, r)),
)


def box_cox_by_power(logarithm: Any, power: Any) -> Any:
    """Return the derivative of exprel(power * logarithm) * logarithm by `power`, also at 0."""
    return logarithm * logarithm * kummer(2, 3, power * logarithm) / 2


def inv_box_cox_by_power(y: Any, power: Any) -> Any:
    """Return the derivative of log(1 + power * y) / power by `power`, also at 0."""
    return -0.5 * (y * y) * gauss(2, 2, 3, neg(power * y))


power1p: Function = elementwise(  # (1 + x)^p; by p with the digits of a small x
    "power1p",
    lambda t, out, x, p: mul(t, p * power1p(x, p - 1)),
    lambda t, out, x, p: mul(t, out * log1p(select(x == -1, zeros_like(x), x))),
    function=lambda xp, x, p: xp.power(1 + x, p),
    dtype=keep_dtype,
)
boxcox = special(
    "boxcox",
    lambda t, out, x, p: mul(t, power(x, p - 1)),
    lambda t, out, x, p: mul(t, box_cox_by_power(log(x), p)),
)
boxcox1p = special(
    "boxcox1p",
    lambda t, out, x, p: mul(t, power1p(x, p - 1)),
    lambda t, out, x, p: mul(t, box_cox_by_power(log1p(x), p)),
)
inv_boxcox = special(
    "inv_boxcox",
    lambda t, out, y, p: mul(t, out / (1 + p * y)),
    lambda t, out, y, p: mul(t, out * inv_box_cox_by_power(y, p)),
)
inv_boxcox1p = special(
    "inv_boxcox1p",
    lambda t, out, y, p: mul(t, (1 + out) / (1 + p * y)),
    lambda t, out, y, p: mul(t, (1 + out) * inv_box_cox_by_power(y, p)),
)

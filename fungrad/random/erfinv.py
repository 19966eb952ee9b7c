"""The inverse of the error function as JAX computes it, so that normal numbers are JAX's.

M. Giles, "Approximating the erfinv function", GPU Computing Gems, Jade edition, 2011: polynomials by -log(1 - x^2), or by its
square root farther out. Relative errors are below 4e-7 in float32 and 1e-15 in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.programs.rules.custom_jvp import custom_jvp

_SINGLE = (
    (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
     -0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
    (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)  # fmt: skip
_DOUBLE = (
    (-3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18,
     1.115787767802518096e-17, -1.333171662854620906e-16, 2.0972767875968561637e-17,
     6.6376381343583238325e-15, -4.0545662729752068639e-14, -8.1519341976054721522e-14,
     2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
     1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08,
     4.2347877827932403518e-07, -1.3654692000834678645e-06, -1.3882523362786468719e-05,
     0.0001867342080340571352, -0.00074070253416626697512, -0.0060336708714301490533,
     0.24015818242558961693, 1.6536545626831027356),
    (2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
     1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
     2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
     6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
     0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
     -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
     3.0838856104922207635),
    (-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
     -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
     2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
     -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
     7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
     1.0103004648645343977, 4.8499064014085844221),
)  # fmt: skip


def erfinv(x: Any) -> Any:
    """Return the inverse of the error function, of an array of floating-point numbers between -1 and 1."""
    dtype = x.dtype
    if dtype.itemsize < 4:
        return _single(x.astype(np.float32)).astype(dtype)
    return _single(x) if dtype.itemsize == 4 else _double(x)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    value = x.dtype.type(coefficients[0])
    for c in coefficients[1:]:
        value = value * x + x.dtype.type(c)
    return value


def _single(x: Any) -> Any:
    w = -fnp.log1p(-x * x)
    near = _polynomial(_SINGLE[0], w - 2.5)
    far = _polynomial(_SINGLE[1], fnp.sqrt(w) - 3.0)
    return fnp.where(w < 5.0, near, far) * x


def _double(x: Any) -> Any:
    w = -fnp.log1p(-x * x)
    root = fnp.sqrt(w)
    near = _polynomial(_DOUBLE[0], w - 3.125)
    middle = _polynomial(_DOUBLE[1], root - 3.25)
    far = _polynomial(_DOUBLE[2], root - 5.0)
    return fnp.where(w < 6.25, near, fnp.where(w < 16.0, middle, far)) * x


@custom_jvp
def differentiable_erfinv(x: Any) -> Any:
    """Return the inverse of the error function; its derivative is ``sqrt(pi) / 2 * exp(y**2)``."""
    return erfinv(x)


@differentiable_erfinv.defjvp
def _(primals: Any, tangents: Any) -> Any:
    y = differentiable_erfinv(*primals)
    half_root = y.dtype.type(np.sqrt(np.pi) / 2)
    return y, tangents[0] * (half_root * fnp.exp(y * y))

"""Libraries of arrays: whether operands are arrays of NumPy or of CuPy, and the way to the host.

`namespace`
    The library of operands, `numpy` or `cupy`: the `xp` that rules get.
`target_of`
    What is so of the arrays of a library, such as `on_host`.
`on_host`, `to_host`
    Whether operands are NumPy's; an array as one of NumPy's.
`as_result`
    An array without axes as NumPy's functions return it: a scalar.
"""

from fungrad.core.backend import as_result, namespace, on_host, target_of, to_host

__all__ = ["as_result", "namespace", "on_host", "target_of", "to_host"]
__dir__ = __all__.copy

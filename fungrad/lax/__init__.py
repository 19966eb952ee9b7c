"""JAX's lower-level functions, `jax.lax`, for NumPy and CuPy arrays: names and meaning are JAX's.

Each module holds one kind of function; its `__all__` is what it adds here. Functions are strict where those of
`fungrad.numpy` are lenient: dtypes must be equal, and nothing is promoted.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import lax
>>> lax.reduce(np.array([1.0, 2.0, 3.0]), 1.0, lax.mul, (0,))
np.float64(6.0)
>>> fg.grad(lambda x: lax.cumlogsumexp(x)[-1])(np.zeros(2))
array([0.5, 0.5])
>>> lax.optimization_barrier
Traceback (most recent call last):
...
AttributeError: fungrad.lax has no 'optimization_barrier': it directs XLA's compiler, and programs here are
compiled to NumPy's calls as they were written; leave the call out
"""

import importlib as _importlib
from typing import Any as _Any

_MODULES = (
    "arithmetic",
    "associative",
    "broadcasting",
    "choices",
    "collectives",
    "contraction",
    "control",
    "conversion",
    "convolution",
    "creation",
    "dynamic_slicing",
    "exchanges",
    "folding",
    "gather",
    "joining",
    "places",
    "reductions",
    "scatter",
    "shaping",
    "slicing",
    "sorting",
    "windows",
)

# Modules that need SciPy, imported when one of their names is asked for.
_LAZY: dict[str, tuple[str, ...]] = {
    "fourier": ("FftType", "fft"),
    "special": (
        *("bessel_i0e", "bessel_i1e", "betainc", "digamma", "erf", "erf_inv", "erfc", "igamma"),
        *("igamma_grad_a", "igammac", "lgamma", "logistic", "polygamma", "random_gamma_grad"),
        "zeta",
    ),
}
_HOME = {name: module for module, names in _LAZY.items() for name in names}

__all__: list[str] = []
for _name in _MODULES:
    _module = _importlib.import_module(f"fungrad.lax.{_name}")
    __all__ += _module.__all__
    globals().update({_n: getattr(_module, _n) for _n in _module.__all__})
__all__ += list(_HOME)
__all__ += ["linalg"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> _Any:
    from fungrad.lax.exclusions import reason
    from fungrad.numpy.exclusions import unknown_name

    if name == "linalg":  # a module of its own, which needs SciPy
        return _importlib.import_module("fungrad.lax.linalg")
    if name in _HOME:
        found = getattr(_importlib.import_module(f"fungrad.lax.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    why = reason(name)
    if why is not None:
        raise AttributeError(f"fungrad.lax has no {name!r}: {why}")
    raise unknown_name("fungrad.lax", name, __all__)

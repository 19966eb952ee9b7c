"""`jax.numpy`."""

from types import SimpleNamespace as _SimpleNamespace

import numpy as _np

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.crossing import scalar_type as _scalar_type

ndarray = Array
_SCALARS = """
bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
bfloat16 int2 int4 uint2 uint4 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
float8_e3m4 float8_e4m3 float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn int1 uint1
"""
_ALIASES = {
    "single": "float32",
    "double": "float64",
    "csingle": "complex64",
    "cdouble": "complex128",
}
_ALIASES |= {
    "half": "float16",
    "bool": "bool_",
    "int_": "int64",
    "uint": "uint64",
    "float_": "float64",
}
_ALIASES |= {"complex_": "complex128"}
_SAME = """
dtype generic number integer signedinteger unsignedinteger inexact floating complexfloating character object_
flexible errstate printoptions set_printoptions get_printoptions array_repr array_str array2string iterable
issubdtype index_exp s_ pi e inf nan euler_gamma newaxis ComplexWarning
"""
_FROM_NUMPY = "frombuffer fromfile fromiter fromstring load save savez"
_NUMPYS = _SimpleNamespace(**{name: getattr(_np, name) for name in _FROM_NUMPY.split()})
_OURS = [
    f"fungrad.compat.jax.{name}"
    for name in ("jnp", "changed", "index_tricks", "polynomials", "powers", "shapes")
]
_SOURCES = [*_OURS, "fungrad.numpy", _NUMPYS]
_get = _namespace("jax.numpy", globals(), _SOURCES, "linalg fft", _SAME)


def __getattr__(name: str) -> object:
    if name in _SCALARS.split() or name in _ALIASES:
        try:
            made = _scalar_type(_ALIASES.get(name, name))
        except (AttributeError, ImportError):
            return _get(name)
        globals()[name] = made
        return made
    if name in ("ComplexWarning", "object_", "character", "flexible"):
        return getattr(_np, name, None) or _np.exceptions.ComplexWarning
    return _get(name)

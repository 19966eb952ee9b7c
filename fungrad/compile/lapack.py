"""Functions of LAPACK that machine code calls: where they are, as SciPy shows them to Cython.

Each comes with its signature. One that is not as expected, as in builds whose integers have 64 bits, is not called.
"""

from __future__ import annotations

import ctypes
import functools
import re

from fungrad.compile.background import importing

SIGNATURES = {
    "dgetrf": "void (int *, int *, d *, int *, int *, int *)",
    "dpotrf": "void (char *, int *, d *, int *, int *)",
}
"""Signatures of called functions, with ``d`` for double precision."""
LARGEST = 96
"""Equations up to which OpenBLAS factors a matrix on one thread, whatever the processor.

Its threads wait for one another in a loop: where another program has a processor, a matrix that takes a tenth of a millisecond takes a hundred.
"""
_NUMBER = re.compile(r"\b(__pyx_t_\w+_d|double)\b")


@functools.cache
def address(name: str) -> int:
    """Return where a function is; 0 if there is none that can be called."""
    try:
        with importing:
            from scipy.linalg import cython_lapack
    except ImportError:
        return 0
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return 0
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = name_of(capsule)
    if _NUMBER.sub("d", signature.decode()) != SIGNATURES[name]:
        return 0
    return pointer_of(capsule, signature) or 0


def available() -> bool:
    """Whether all of them can be called."""
    return all(address(name) for name in SIGNATURES)

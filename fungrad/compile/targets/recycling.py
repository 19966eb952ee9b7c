"""The allocator of NumPy's for large results of kernels, on Linux: it uses their memory again.

It is in effect while such a result is made, and never else: it has nothing to do with arrays that others make.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.emit.llvm_recycling import GIVE_BACK, HANDLER, KEPT, recycling_assembly
from fungrad.compile.targets.structures import CAPSULE

Link: TypeAlias = Callable[[str, Table, Sequence[str]], Any]
"""Signature: assembly, its addresses and names to a finder of its symbols, which stay for ever."""

_NAME = ctypes.create_string_buffer(CAPSULE)
_made: list[Any] = []
"""The symbols of the allocator, once there is one."""


def recycles() -> bool:
    """Whether there is such an allocator on this system."""
    return sys.platform == "linux"


@functools.cache
def handler(link: Link) -> int:
    """Return the address of NumPy's allocator capsule, which stays for ever: arrays may live long."""
    symbols = link(*recycling_assembly(), (HANDLER, GIVE_BACK, KEPT))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_NAME))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * 3
    made: int = make(symbols[HANDLER], ctypes.addressof(_NAME), None)
    _made.append(symbols)
    return made


def give_back() -> None:
    """Free the memory kept for results."""
    for symbols in _made:
        ctypes.CFUNCTYPE(None)(symbols[GIVE_BACK])()


def kept() -> int:
    """Return how many bytes are kept."""
    return sum([ctypes.c_int64.from_address(symbols[KEPT]).value for symbols in _made])

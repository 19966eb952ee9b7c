"""Offsets within objects of NumPy and CPython, and their check against the running libraries.

Machine code finds what it needs at fixed places. A NumPy or Python that lays its objects out otherwise would have it read other memory,
so `wrong` compares each offset, and each function, with what Python says of some objects.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.emit.llvm_arrays import USUAL

WORD = 8
HEAD = object.__basicsize__
"""Bytes of the head of an object."""


class Field(NamedTuple):
    """A field of a structure: offset in bytes, LLVM's type, and its value for an object as Python says it."""

    offset: int
    type: str
    expected: Callable[[Any], Any]


def _class(x: Any) -> int:
    return id(type(x))


FIELDS: dict[str, Field] = {
    "class": Field(HEAD - WORD, "ptr", _class),
    "number": Field(HEAD, "bytes", lambda x: np.asarray(x).tobytes()),
    # of arrays
    "data": Field(HEAD, "ptr", lambda x: x.ctypes.data),
    "ndim": Field(HEAD + 8, "i32", lambda x: x.ndim),
    "shape": Field(HEAD + 16, "ptr", lambda x: x.shape),
    "strides": Field(HEAD + 24, "ptr", lambda x: x.strides),
    "dtype": Field(HEAD + 40, "ptr", lambda x: id(x.dtype)),
    "flags": Field(HEAD + 48, "i32", lambda x: x.flags.num),
    # of dtypes
    "scalar": Field(HEAD, "ptr", lambda x: id(x.type)),
    "byte order": Field(HEAD + 10, "i8", lambda x: ord(x.byteorder)),
}
"""All offsets within objects that machine code reads."""
OF_OBJECTS = {
    "number": ("number",),
    "array": ("data", "ndim", "shape", "strides", "dtype", "flags"),
}
OF_OBJECTS["dtype"] = "scalar", "byte order"
"""Names of the fields by the kind of object; all have a class."""
FUNCTIONS = {"PyArray_Scalar": 60, "PyArray_NewCopy": 85, "PyArray_Empty": 184}
FUNCTIONS |= {"PyDataMem_SetHandler": 304, "PyDataMem_GetHandler": 305}
"""Places of NumPy's functions in the table of its C interface."""
DEFAULT_HANDLER = 306
"""Place there of the address of the usual allocator."""
ABIS = 0x1000009, 0x2000000
"""Versions of that table, which the function at its first place returns."""
ALLOCATOR, VERSION = b"default_allocator", 127
"""Name of the usual allocator, at the start of its structure, and the offset of the version, 1."""
CAPSULE = b"mem_handler"
"""Name of capsules of allocators."""


def fields() -> dict[str, tuple[int, str]]:
    """Return offsets and types of all fields."""
    return {name: (field.offset, field.type) for name, field in FIELDS.items()}


@functools.cache
def numpys() -> dict[str, int]:
    """Return the addresses of NumPy's functions."""
    table = _table()
    usual = ctypes.cast(table[DEFAULT_HANDLER], ctypes.POINTER(ctypes.c_void_p))[0]
    return {name: table[k] for name, k in FUNCTIONS.items()} | {USUAL: usual}


def _table() -> Any:
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    of = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return ctypes.cast(of(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def _python(name: str, result: Any, *types: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *types)((name, ctypes.pythonapi))


def wrong() -> str:
    """Return which offset or function is not as expected; "" if all are."""
    return next(_wrong(), "")


def _wrong() -> Iterator[str]:
    for kind, x in _probes():
        for name in ("class", *OF_OBJECTS[kind]):
            if not _holds(x, FIELDS[name]):
                yield f"the {name} of {x!r} is not at byte {FIELDS[name].offset}"
    table = _table()
    if (version := ctypes.PYFUNCTYPE(ctypes.c_uint)(table[0])()) not in ABIS:
        yield f"NumPy's C interface has version {version:#x}"
    else:
        yield from _functions()


def _probes() -> Iterator[tuple[str, Any]]:
    """Yield objects whose fields differ, with their kinds."""
    whole = np.arange(6.0).reshape(2, 3)
    dtypes = "?bBhHiIlLqQefdFD"
    for x in (whole, whole.T, whole[::-1, ::2], np.arange(3, dtype=">i4"), np.ones((1, 0, 2), "?")):
        yield "array", x
        yield "dtype", x.dtype
    yield from [("dtype", np.dtype(x)) for x in (*dtypes, ">f8", ">c8")]
    yield from [("number", np.ones((), x)[()] * 7) for x in dtypes]
    yield from [("number", x) for x in (-1.5, 2.5 - 0.5j)]


def _holds(x: Any, field: Field) -> bool:
    """Whether a field of an object is at its offset."""
    place, expected = id(x) + field.offset, field.expected(x)
    if field.type == "bytes":
        return ctypes.string_at(place, len(expected)) == bytes(expected)
    kind = {"ptr": ctypes.c_size_t, "i32": ctypes.c_int32, "i8": ctypes.c_int8}[field.type]
    found = kind.from_address(place).value
    if not isinstance(expected, tuple):
        return bool(found == expected)
    # The lengths come before the strides in one block of memory: what is no such address is not read.
    first, second = [
        ctypes.c_size_t.from_address(id(x) + FIELDS[name].offset).value
        for name in ("shape", "strides")
    ]
    if second - first != WORD * x.ndim:
        return False
    return tuple((ctypes.c_int64 * x.ndim).from_address(found)) == expected


def _functions() -> Iterator[str]:
    """Yield which of NumPy's functions do not do as expected."""
    address, pointer, number, object_ = numpys(), ctypes.c_void_p, ctypes.c_int, ctypes.py_object
    x = np.arange(6, dtype=np.int16).reshape(2, 3).T
    copy = ctypes.PYFUNCTYPE(object_, object_, number)(address["PyArray_NewCopy"])(x, 0)
    if copy is x or not copy.flags.c_contiguous or copy.tolist() != x.tolist():
        yield "PyArray_NewCopy copies otherwise"
    lengths = (ctypes.c_int64 * 2)(4, 5)
    ctypes.pythonapi.Py_IncRef(object_(x.dtype))
    empty = ctypes.PYFUNCTYPE(object_, number, pointer, object_, number)(address["PyArray_Empty"])
    if (new := empty(2, lengths, x.dtype, 0)).shape != (4, 5) or new.dtype != x.dtype:
        yield "PyArray_Empty makes other arrays"
    scalar = ctypes.PYFUNCTYPE(object_, pointer, object_, pointer)(address["PyArray_Scalar"])
    if (one := scalar(copy.ctypes.data + 2, x.dtype, None)) != 3 or type(one) is not np.int16:
        yield "PyArray_Scalar makes other numbers"
    handler = ctypes.PYFUNCTYPE(object_)(address["PyDataMem_GetHandler"])()
    before = ctypes.PYFUNCTYPE(object_, object_)(address["PyDataMem_SetHandler"])(handler)
    is_valid = _python("PyCapsule_IsValid", number, object_, ctypes.c_char_p)
    usual = ctypes.cast(address[USUAL], object_).value
    if before is not handler or not (is_valid(handler, CAPSULE) and is_valid(usual, CAPSULE)):
        yield "PyDataMem_SetHandler sets no allocators"
        return
    of = _python("PyCapsule_GetPointer", pointer, object_, ctypes.c_char_p)
    place = of(usual, CAPSULE)
    if ctypes.string_at(place) != ALLOCATOR or ctypes.string_at(place + VERSION, 1) != b"\1":
        yield "NumPy's allocators are described otherwise"

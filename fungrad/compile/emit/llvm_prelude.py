"""Start of all modules of LLVM's assembly: the table of addresses, and functions called through it."""

from __future__ import annotations

from collections.abc import Iterable

INTERRUPTED = "@interrupted"
"""The function that says whether a loop must end: for the user, or for a warning of NumPy's.

It takes the position of the thread's state, if other threads may run meanwhile.
"""
STOPPED = 256
"""Return value of a function that has set an exception: no sum of flags."""
HEAD = ("operands", "results", "workspace", "released", "parts", "share", "threads")
"""Numbers of a function that Python calls, before those of its operands."""
SIGNATURES = {
    "PyErr_SetNone": "void ptr", "PyErr_Clear": "void", "PyErr_CheckSignals": "i32",
    "PyEval_SaveThread": "ptr", "PyEval_RestoreThread": "void ptr",
    "PyMem_RawMalloc": "ptr i64", "PyMem_RawFree": "void ptr",
    "Py_IncRef": "void ptr", "Py_DecRef": "void ptr",
    "PyTuple_New": "ptr i64", "PyTuple_SetItem": "i32 ptr i64 ptr",
    "PyArray_Scalar": "ptr ptr ptr ptr", "PyArray_NewCopy": "ptr ptr i32",
    "PyArray_Empty": "ptr i32 ptr ptr i32",
    "PyDataMem_SetHandler": "ptr ptr", "PyDataMem_GetHandler": "ptr",
    "malloc": "ptr i64", "free": "void ptr", "madvise": "i32 ptr i64 i32", "usleep": "i32 i32",
    "pthread_create": "i32 ptr ptr ptr ptr", "pthread_detach": "i32 i64",
    "fetestexcept": "i32 i32", "feclearexcept": "i32 i32",
    "runtime call": "ptr ptr ptr ptr ptr ptr", "runtime interrupted": "i32 ptr",
    **dict.fromkeys(("product float32", "product float64"), "void" + 7 * " ptr" + 2 * " i64"),
    "lapack dgetrf": "void ptr ptr ptr ptr ptr ptr", "lapack dpotrf": "void ptr ptr ptr ptr ptr",
}  # fmt: skip
"""Functions that code calls by the table, with the types of their results and parameters."""
IN_ALL = ("runtime call", "runtime interrupted")
"""Names at the first places of the table of each kernel."""


class Table:
    """Addresses used by code, by name: places of one array, which is filled where code is loaded."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.places: dict[str, int] = {name: k for k, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        """Return the place of an address."""
        return self.places.setdefault(name, len(self.places))

    def at(self, name: str) -> str:
        """Return the operand that is the position of an address."""
        return f"ptr getelementptr (ptr, ptr @table, i64 {self[name]})"

    def definition(self) -> str:
        """Return the array of all places that have been asked for."""
        return f"@table = global [{len(self.places)} x ptr] zeroinitializer, align 64\n"


def declarations(needed: set[str]) -> str:
    """Return the declarations of intrinsics."""
    return "\n".join(sorted(needed)) + "\n"

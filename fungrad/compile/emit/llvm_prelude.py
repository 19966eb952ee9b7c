"""What all functions that Python calls share, as LLVM's assembly: the table of addresses, checks of arguments, and looking for interrupts."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from fungrad.compile.lapack import SIGNATURES

INTERRUPTED = "@interrupted"
"""The function that says whether a loop is to end: since the user wants it, or since NumPy's functions would warn. It takes where the
state of the thread is, if others may run meanwhile."""
STOPPED = 256
"""What a function returns if an exception has been set: no sum of flags."""
CONTIGUOUS = 0x101  # NumPy's flags C_CONTIGUOUS and ALIGNED

FUNCTIONS = (
    "PyArray_Empty", "PyArray_Scalar", "PyArray_NewCopy",
    "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem", "PyErr_SetNone",
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals",
    "PyMem_RawMalloc", "PyMem_RawFree",
)  # fmt: skip
"""Functions of Python's and NumPy's that are called."""
OBJECTS = ("ndarray", "float", "complex", "Rerun")
"""Objects that are compared with, or raised; after them come dtypes and classes of scalars."""


USUAL, RECYCLING = "usual allocator", "recycling"
"""Names of NumPy's allocator, and of the one for large results."""


class Layout(NamedTuple):
    """Where things lie in objects of this Python: the class of an object, and what is behind its head."""

    class_: int
    head: int


class Table:
    """The addresses that code refers to, by name: places of one array, which is filled where the code is loaded."""

    def __init__(self) -> None:
        self.places = {name: k for k, name in enumerate((*FUNCTIONS, *OBJECTS))}

    def of(self, name: str) -> int:
        """Return the place of an address."""
        return self.places.setdefault(name, len(self.places))


_PRELUDE = """
@table = global [%(size)d x ptr] zeroinitializer, align 64
define internal ptr @address(i64 %%k) alwaysinline {
  %%place = getelementptr ptr, ptr @table, i64 %%k
  %%value = load ptr, ptr %%place
  ret ptr %%value
}
define internal ptr @array(ptr %%x, ptr %%class, ptr %%dtype, i32 %%ndim, ptr %%shape, i1 %%any, i1 %%strict) noinline {
entry:
  %%p0 = getelementptr i8, ptr %%x, i64 %(class)d
  %%c = load ptr, ptr %%p0
  %%ok0 = icmp eq ptr %%c, %%class
  br i1 %%ok0, label %%is_array, label %%no
is_array:
  %%p1 = getelementptr i8, ptr %%x, i64 %(dtype)d
  %%d = load ptr, ptr %%p1
  %%p5 = getelementptr i8, ptr %%d, i64 %(scalar)d
  %%p6 = getelementptr i8, ptr %%dtype, i64 %(scalar)d
  %%s = load ptr, ptr %%p5
  %%t = load ptr, ptr %%p6
  %%p7 = getelementptr i8, ptr %%d, i64 %(byte_order)d
  %%p8 = getelementptr i8, ptr %%dtype, i64 %(byte_order)d
  %%b = load i8, ptr %%p7
  %%e = load i8, ptr %%p8
  %%ok6 = icmp eq ptr %%s, %%t
  %%ok7 = icmp eq i8 %%b, %%e
  %%ok1 = and i1 %%ok6, %%ok7
  %%p2 = getelementptr i8, ptr %%x, i64 %(ndim)d
  %%n = load i32, ptr %%p2
  %%ok2 = icmp eq i32 %%n, %%ndim
  %%ok3 = and i1 %%ok1, %%ok2
  br i1 %%ok3, label %%axes, label %%no
axes:
  %%p3 = getelementptr i8, ptr %%x, i64 %(shape)d
  %%lengths = load ptr, ptr %%p3
  br label %%axis
axis:
  %%i = phi i32 [ 0, %%axes ], [ %%next, %%same ]
  %%more = icmp ult i32 %%i, %%ndim
  br i1 %%more, label %%length, label %%order
length:
  %%place = getelementptr i64, ptr %%lengths, i32 %%i
  %%here = load i64, ptr %%place
  %%wanted = getelementptr i64, ptr %%shape, i32 %%i
  %%there = load i64, ptr %%wanted
  %%ok4 = icmp eq i64 %%here, %%there
  br i1 %%ok4, label %%same, label %%no
same:
  %%next = add i32 %%i, 1
  br label %%axis
order:
  %%p4 = getelementptr i8, ptr %%x, i64 %(flags)d
  %%flags = load i32, ptr %%p4
  %%both = and i32 %%flags, %(contiguous)d
  %%ok5 = icmp eq i32 %%both, %(contiguous)d
  br i1 %%ok5, label %%as_it_is, label %%other
other:
  br i1 %%any, label %%copied, label %%outer
outer:
  %%p9 = getelementptr i8, ptr %%x, i64 %(strides)d
  %%strides = load ptr, ptr %%p9
  br label %%step
step:
  %%j = phi i32 [ 0, %%outer ], [ %%j1, %%next_step ]
  %%last = phi i64 [ -1, %%outer ], [ %%now, %%next_step ]
  %%further = icmp ult i32 %%j, %%ndim
  br i1 %%further, label %%compare, label %%copied
compare:
  %%q0 = getelementptr i64, ptr %%strides, i32 %%j
  %%s0 = load i64, ptr %%q0
  %%s1 = call i64 @llvm.abs.i64(i64 %%s0, i1 false)
  %%q1 = getelementptr i64, ptr %%shape, i32 %%j
  %%n0 = load i64, ptr %%q1
  %%one = icmp eq i64 %%n0, 1
  %%repeated = icmp eq i64 %%s1, 0
  %%lax = xor i1 %%strict, true
  %%open = and i1 %%repeated, %%lax
  %%skip = or i1 %%one, %%open
  %%now = select i1 %%skip, i64 %%last, i64 %%s1
  %%less = icmp ule i64 %%now, %%last
  br i1 %%less, label %%next_step, label %%no
next_step:
  %%j1 = add i32 %%j, 1
  br label %%step
as_it_is:
  %%increment = call ptr @address(i64 %(Py_IncRef)d)
  call void %%increment(ptr %%x)
  ret ptr %%x
copied:
  %%copy = call ptr @address(i64 %(PyArray_NewCopy)d)
  %%new = call ptr %%copy(ptr %%x, i32 0)
  ret ptr %%new
no:
  %%error = call ptr @address(i64 %(PyErr_SetNone)d)
  %%rerun = call ptr @address(i64 %(Rerun)d)
  call void %%error(ptr %%rerun)
  ret ptr null
}
define internal ptr @operand(ptr %%x, ptr %%scalar, ptr %%float, ptr %%class, ptr %%dtype, i32 %%ndim, ptr %%shape, i1 %%any, i1 %%strict, ptr %%owned) noinline {
entry:
  %%place = getelementptr i8, ptr %%x, i64 %(class)d
  %%found = load ptr, ptr %%place
  %%numpys = icmp eq ptr %%found, %%scalar
  %%pythons = icmp eq ptr %%found, %%float
  %%either = or i1 %%numpys, %%pythons
  %%wanted = icmp eq i32 %%ndim, 0
  %%is_number = and i1 %%either, %%wanted
  br i1 %%is_number, label %%number, label %%other
number:
  %%value = getelementptr i8, ptr %%x, i64 %(head)d
  ret ptr %%value
other:
  %%array = call ptr @array(ptr %%x, ptr %%class, ptr %%dtype, i32 %%ndim, ptr %%shape, i1 %%any, i1 %%strict)
  store ptr %%array, ptr %%owned
  %%none = icmp eq ptr %%array, null
  br i1 %%none, label %%failed, label %%taken
failed:
  ret ptr null
taken:
  %%data = call ptr @data(ptr %%array)
  ret ptr %%data
}
define internal void @release(ptr %%owned, i64 %%count) noinline {
entry:
  %%decrement = call ptr @address(i64 %(Py_DecRef)d)
  br label %%next
next:
  %%k = phi i64 [ 0, %%entry ], [ %%k1, %%one ]
  %%more = icmp ult i64 %%k, %%count
  br i1 %%more, label %%one, label %%done
one:
  %%place = getelementptr ptr, ptr %%owned, i64 %%k
  %%held = load ptr, ptr %%place
  call void %%decrement(ptr %%held)
  %%k1 = add i64 %%k, 1
  br label %%next
done:
  ret void
}
define internal ptr @data(ptr %%x) alwaysinline {
  %%place = getelementptr i8, ptr %%x, i64 %(data)d
  %%data = load ptr, ptr %%place
  ret ptr %%data
}
"""


_RECYCLED = """
define internal ptr @recycled(i32 %%ndim, ptr %%shape, ptr %%dtype) noinline {
entry:
  %%get = call ptr @address(i64 %(PyDataMem_GetHandler)d)
  %%current = call ptr %%get()
  %%decrement = call ptr @address(i64 %(Py_DecRef)d)
  call void %%decrement(ptr %%current)
  %%usual = call ptr @address(i64 %(usual allocator)d)
  %%same = icmp eq ptr %%current, %%usual
  %%increment = call ptr @address(i64 %(Py_IncRef)d)
  call void %%increment(ptr %%dtype)
  %%make = call ptr @address(i64 %(PyArray_Empty)d)
  br i1 %%same, label %%set, label %%plain
set:
  %%other = call ptr @address(i64 %(recycling)d)
  %%change = call ptr @address(i64 %(PyDataMem_SetHandler)d)
  %%old = call ptr %%change(ptr %%other)
  %%fails = icmp eq ptr %%old, null
  br i1 %%fails, label %%clear, label %%swapped
swapped:
  call void %%increment(ptr %%dtype)
  %%array = call ptr %%make(i32 %%ndim, ptr %%shape, ptr %%dtype, i32 0)
  %%failed = icmp eq ptr %%array, null
  br i1 %%failed, label %%forget, label %%back
forget:
  %%clears = call ptr @address(i64 %(PyErr_Clear)d)
  call void %%clears()
  br label %%back
back:
  %%ours = call ptr %%change(ptr %%old)
  call void %%decrement(ptr %%old)
  call void %%decrement(ptr %%ours)
  br i1 %%failed, label %%plain, label %%done
done:
  call void %%decrement(ptr %%dtype)
  ret ptr %%array
clear:
  %%clears2 = call ptr @address(i64 %(PyErr_Clear)d)
  call void %%clears2()
  br label %%plain
plain:
  %%usually = call ptr %%make(i32 %%ndim, ptr %%shape, ptr %%dtype, i32 0)
  ret ptr %%usually
}
"""


def recycled(table: Table) -> str:
    """Return the definition of ``@recycled``, which makes an array in memory that is used again, if nobody else has chosen an allocator."""
    return _RECYCLED % table.places


_INTERRUPTED = """
define internal i32 @interrupted(ptr %%context) {
entry:
%(flags)s
  %%warns = icmp ne i32 %%raised, 0
  br i1 %%warns, label %%reruns, label %%goes_on
reruns:
  ret i32 1
goes_on:
  %%state = load ptr, ptr %%context
  %%holds = icmp eq ptr %%state, null
  br i1 %%holds, label %%ask, label %%take
take:
  %%restore = call ptr @address(i64 %(PyEval_RestoreThread)d)
  call void %%restore(ptr %%state)
  br label %%ask
ask:
  %%check = call ptr @address(i64 %(PyErr_CheckSignals)d)
  %%found = call i32 %%check()
  br i1 %%holds, label %%done, label %%give
give:
  %%save = call ptr @address(i64 %(PyEval_SaveThread)d)
  %%new = call ptr %%save()
  store ptr %%new, ptr %%context
  br label %%done
done:
  %%stops = icmp ne i32 %%found, 0
  %%code = select i1 %%stops, i32 %(stopped)d, i32 0
  ret i32 %%code
}
"""


def interrupted(flags: str, table: Table) -> str:
    """Return the definition of `INTERRUPTED`, given what reads the flags of the processor."""
    return _INTERRUPTED % {"flags": flags, "stopped": STOPPED, **table.places}


def prelude(layout: Layout, table: Table) -> str:
    """Return what all functions share: the table of addresses, and the check of an array."""
    head = layout.head
    fields = {
        "class": layout.class_,
        "head": head,
        "data": head,
        "ndim": head + 8,
        "shape": head + 16,
    }
    fields["strides"] = head + 24
    # Of a dtype, the class of scalars and the byte order: pickled arrays have dtypes of their own.
    fields |= {"scalar": head, "byte_order": head + 10}
    fields |= {"dtype": head + 40, "flags": head + 48, "contiguous": CONTIGUOUS}
    return _PRELUDE % {"size": len(table.places), **fields, **table.places}


def of_lapack(names: Set[str], table: Table) -> str:
    """Return the functions ``@lapack.<name>``, which call those of LAPACK by the table."""
    lines = []
    for name in sorted(names):
        given = ", ".join([f"ptr %x{k}" for k in range(SIGNATURES[name].count("*"))])
        lines += [
            f"define internal void @lapack.{name}({given}) noinline {{",
            f"  %function = call ptr @address(i64 {table.of(f'lapack {name}')})",
            f"  call void %function({given})",
            "  ret void",
            "}",
        ]
    return "\n".join(lines) + "\n"


def declarations(needed: set[str], x86: bool) -> str:
    """Return the declarations of intrinsics."""
    lines = sorted(
        needed
        | {
            "declare i64 @llvm.abs.i64(i64, i1)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        }
    )
    if x86:
        lines += [f"declare void @llvm.x86.sse.{name}(ptr)" for name in ("stmxcsr", "ldmxcsr")]
    return "\n".join(lines) + "\n"

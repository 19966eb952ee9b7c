"""Printing the runtime's checks of NumPy arrays and creation of results, as LLVM's assembly."""

from __future__ import annotations

from collections import ChainMap
from typing import NamedTuple

from fungrad.compile.emit.llvm_prelude import Table

CONTIGUOUS = 0x101  # NumPy's flags C_CONTIGUOUS and ALIGNED

USUAL, RECYCLING = "usual allocator", "recycling"
"""Names of NumPy's allocator, and of the one for large results."""


class Layout(NamedTuple):
    """Positions within this Python's objects: the class, and fields behind the head."""

    class_: int
    head: int


_OPERANDS = """
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
  %%unfit = call ptr @address(i64 %(Unfit)d)
  call void %%error(ptr %%unfit)
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
define internal ptr @recycled(i32 %%ndim, ptr %%shape, ptr %%dtype, ptr %%other) noinline {
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
"""Makes an array in memory that is used again, if nobody else has chosen an allocator."""


def arrays_assembly(layout: Layout, table: Table) -> str:
    """Return ``@operand``, ``@release``, ``@data`` and ``@recycled``."""
    head = layout.head
    fields = {
        "class": layout.class_,
        "head": head,
        "data": head,
        "ndim": head + 8,
        "shape": head + 16,
        "strides": head + 24,
        "dtype": head + 40,
        "flags": head + 48,
        # Of a dtype, the class of scalars and the byte order: pickled arrays have dtypes of their own.
        "scalar": head,
        "byte_order": head + 10,
        "contiguous": CONTIGUOUS,
    }
    names = ChainMap(fields, table)  # type: ignore[arg-type]
    return f"declare i64 @llvm.abs.i64(i64, i1)\n{_OPERANDS % names}{_RECYCLED % names}"

"""Printing the runtime that every call of machine code goes through, compiled once.

`call` is what Python's calls end up in. It reads what `llvm_call` says of a program's operands and results: it checks what it is given (class, dtype,
shape), copies what does not lie in C order, makes the results, and runs a kernel. If an argument does not fit, or a
floating-point error has come up, it raises `Rerun`, or `Unfit`, which is one. NumPy's functions then compute the
same, and warn or raise as the user has asked them to.
"""

from __future__ import annotations

from collections import ChainMap

from fungrad.compile.emit.llvm_arrays import Layout, arrays_assembly
from fungrad.compile.emit.llvm_prelude import PRELUDE, STOPPED, Table, declarations
from fungrad.compile.emit.llvm_threads import flags_read, running

FUNCTIONS = ("call", "interrupted")
"""Functions for others to call."""
WAITING = "waiting"
"""The number of threads that have been started and have not begun."""
_INTERRUPTED = """
define i32 @interrupted(ptr %%context) {
entry:
%(flags_read)s
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

_CALL = """
define ptr @call(ptr %%table, ptr %%about, ptr %%kernel, ptr %%finish, ptr %%arguments) {
entry:
  %%number = load i64, ptr %%about
  %%a1 = getelementptr i64, ptr %%about, i64 1
  %%results = load i64, ptr %%a1
  %%a2 = getelementptr i64, ptr %%about, i64 2
  %%bytes = load i64, ptr %%a2
  %%a3 = getelementptr i64, ptr %%about, i64 3
  %%released = load i64, ptr %%a3
  %%lets = icmp ne i64 %%released, 0
  %%first = getelementptr i64, ptr %%about, i64 %(head_of_about)d
  %%both = add i64 %%number, %%results
  %%more_results = add i64 %%results, 2
  %%owned = alloca ptr, i64 %%both, align 16
  %%operands = alloca ptr, i64 %%number, align 16
  %%outputs = alloca ptr, i64 %%more_results, align 16
  %%small = alloca [2 x i64], i64 %%results, align 16
  %%values = alloca ptr, i64 %%results, align 16
  %%state = alloca ptr
  store ptr null, ptr %%state
  %%owned_bytes = mul i64 %%both, 8
  call void @llvm.memset.p0.i64(ptr %%owned, i8 0, i64 %%owned_bytes, i1 false)
  %%of_state = getelementptr ptr, ptr %%outputs, i64 %%results
  store ptr %%state, ptr %%of_state
  %%of_room = getelementptr ptr, ptr %%of_state, i64 1
  br label %%operand
operand:
  %%k = phi i64 [ 0, %%entry ], [ %%k1, %%taken ]
  %%at = phi ptr [ %%first, %%entry ], [ %%at1, %%taken ]
  %%more = icmp ult i64 %%k, %%number
  br i1 %%more, label %%take, label %%result
take:
  %%x_place = getelementptr ptr, ptr %%arguments, i64 %%k
  %%x = load ptr, ptr %%x_place
  %%scalar_k = load i64, ptr %%at
  %%scalar_place = getelementptr ptr, ptr %%table, i64 %%scalar_k
  %%scalar = load ptr, ptr %%scalar_place
  %%t1 = getelementptr i64, ptr %%at, i64 1
  %%python_k = load i64, ptr %%t1
  %%python_place = getelementptr ptr, ptr %%table, i64 %%python_k
  %%python = load ptr, ptr %%python_place
  %%t2 = getelementptr i64, ptr %%at, i64 2
  %%dtype_k = load i64, ptr %%t2
  %%dtype_place = getelementptr ptr, ptr %%table, i64 %%dtype_k
  %%dtype = load ptr, ptr %%dtype_place
  %%t3 = getelementptr i64, ptr %%at, i64 3
  %%flags = load i64, ptr %%t3
  %%any = trunc i64 %%flags to i1
  %%rest = lshr i64 %%flags, 1
  %%strict = trunc i64 %%rest to i1
  %%t4 = getelementptr i64, ptr %%at, i64 4
  %%axes = load i64, ptr %%t4
  %%ndim = trunc i64 %%axes to i32
  %%shape = getelementptr i64, ptr %%at, i64 5
  %%class = call ptr @address(i64 %(ndarray)d)
  %%slot = getelementptr ptr, ptr %%owned, i64 %%k
  %%data = call ptr @operand(ptr %%x, ptr %%scalar, ptr %%python, ptr %%class, ptr %%dtype, i32 %%ndim, ptr %%shape, i1 %%any, i1 %%strict, ptr %%slot)
  %%operand_place = getelementptr ptr, ptr %%operands, i64 %%k
  store ptr %%data, ptr %%operand_place
  %%not_taken = icmp eq ptr %%data, null
  br i1 %%not_taken, label %%failed, label %%taken
taken:
  %%k1 = add i64 %%k, 1
  %%at1 = getelementptr i64, ptr %%shape, i64 %%axes
  br label %%operand
result:
  %%j = phi i64 [ 0, %%operand ], [ %%j1, %%made ]
  %%to = phi ptr [ %%at, %%operand ], [ %%to1, %%made ]
  %%unmade = icmp ult i64 %%j, %%results
  br i1 %%unmade, label %%make, label %%begin
make:
  %%over = load i64, ptr %%to
  %%r1 = getelementptr i64, ptr %%to, i64 1
  %%own_k = load i64, ptr %%r1
  %%own_place = getelementptr ptr, ptr %%table, i64 %%own_k
  %%own = load ptr, ptr %%own_place
  %%r2 = getelementptr i64, ptr %%to, i64 2
  %%again_k = load i64, ptr %%r2
  %%r3 = getelementptr i64, ptr %%to, i64 3
  %%own_axes = load i64, ptr %%r3
  %%own_ndim = trunc i64 %%own_axes to i32
  %%own_shape = getelementptr i64, ptr %%to, i64 4
  %%is_new = icmp eq i64 %%over, 0
  br i1 %%is_new, label %%new, label %%overwritten
overwritten:
  %%over_k = sub i64 %%over, 1
  %%over_place = getelementptr ptr, ptr %%operands, i64 %%over_k
  %%over_data = load ptr, ptr %%over_place
  br label %%made
new:
  %%is_number = icmp eq i64 %%own_axes, 0
  br i1 %%is_number, label %%on_stack, label %%array
on_stack:
  %%small_place = getelementptr [2 x i64], ptr %%small, i64 %%j
  br label %%made
array:
  %%recycles = icmp ne i64 %%again_k, 0
  br i1 %%recycles, label %%recycling, label %%plain
recycling:
  %%again_k1 = sub i64 %%again_k, 1
  %%handler_place = getelementptr ptr, ptr %%table, i64 %%again_k1
  %%handler = load ptr, ptr %%handler_place
  %%recycled = call ptr @recycled(i32 %%own_ndim, ptr %%own_shape, ptr %%own, ptr %%handler)
  br label %%got
plain:
  %%increment = call ptr @address(i64 %(Py_IncRef)d)
  call void %%increment(ptr %%own)
  %%empty = call ptr @address(i64 %(PyArray_Empty)d)
  %%fresh = call ptr %%empty(i32 %%own_ndim, ptr %%own_shape, ptr %%own, i32 0)
  br label %%got
got:
  %%own_array = phi ptr [ %%recycled, %%recycling ], [ %%fresh, %%plain ]
  %%index = add i64 %%number, %%j
  %%own_slot = getelementptr ptr, ptr %%owned, i64 %%index
  store ptr %%own_array, ptr %%own_slot
  %%not_made = icmp eq ptr %%own_array, null
  br i1 %%not_made, label %%failed, label %%filled
filled:
  %%own_data = call ptr @data(ptr %%own_array)
  br label %%made
made:
  %%result_data = phi ptr [ %%over_data, %%overwritten ], [ %%small_place, %%on_stack ], [ %%own_data, %%filled ]
  %%output_place = getelementptr ptr, ptr %%outputs, i64 %%j
  store ptr %%result_data, ptr %%output_place
  %%j1 = add i64 %%j, 1
  %%to1 = getelementptr i64, ptr %%own_shape, i64 %%own_axes
  br label %%result
begin:
  %%needs = icmp ne i64 %%bytes, 0
  br i1 %%needs, label %%allocate, label %%ready
allocate:
  %%malloc = call ptr @address(i64 %(PyMem_RawMalloc)d)
  %%room = call ptr %%malloc(i64 %%bytes)
  store ptr %%room, ptr %%of_room
  %%no_room = icmp eq ptr %%room, null
  br i1 %%no_room, label %%again, label %%ready
ready:
  br i1 %%lets, label %%save, label %%go
save:
  %%saving = call ptr @address(i64 %(PyEval_SaveThread)d)
  %%saved = call ptr %%saving()
  store ptr %%saved, ptr %%state
  br label %%go
go:
  %%errors = call i32 @run(ptr %%kernel, ptr %%finish, ptr %%operands, ptr %%outputs, ptr %%about)
  br i1 %%lets, label %%restore, label %%back
restore:
  %%restoring = call ptr @address(i64 %(PyEval_RestoreThread)d)
  %%held = load ptr, ptr %%state
  call void %%restoring(ptr %%held)
  br label %%back
back:
  br i1 %%needs, label %%free, label %%judged
free:
  %%freeing = call ptr @address(i64 %(PyMem_RawFree)d)
  %%used = load ptr, ptr %%of_room
  call void %%freeing(ptr %%used)
  br label %%judged
judged:
  %%raised = icmp ne i32 %%errors, 0
  br i1 %%raised, label %%why, label %%fine
why:
  %%stops = icmp uge i32 %%errors, %(stopped)d
  br i1 %%stops, label %%failed, label %%again
again:
  %%set = call ptr @address(i64 %(PyErr_SetNone)d)
  %%rerun = call ptr @address(i64 %(Rerun)d)
  call void %%set(ptr %%rerun)
  br label %%failed
fine:
  %%i = phi i64 [ 0, %%judged ], [ %%i1, %%noted ]
  %%of = phi ptr [ %%at, %%judged ], [ %%of1, %%noted ]
  %%ungiven = icmp ult i64 %%i, %%results
  br i1 %%ungiven, label %%give, label %%given
give:
  %%g3 = getelementptr i64, ptr %%of, i64 3
  %%g_axes = load i64, ptr %%g3
  %%g_shape = getelementptr i64, ptr %%of, i64 4
  %%g_number = icmp eq i64 %%g_axes, 0
  br i1 %%g_number, label %%wrap, label %%move
wrap:
  %%g1 = getelementptr i64, ptr %%of, i64 1
  %%g_dtype_k = load i64, ptr %%g1
  %%g_dtype_place = getelementptr ptr, ptr %%table, i64 %%g_dtype_k
  %%g_dtype = load ptr, ptr %%g_dtype_place
  %%g_small = getelementptr [2 x i64], ptr %%small, i64 %%i
  %%wrapping = call ptr @address(i64 %(PyArray_Scalar)d)
  %%wrapped = call ptr %%wrapping(ptr %%g_small, ptr %%g_dtype, ptr null)
  br label %%noted
move:
  %%g_over = load i64, ptr %%of
  %%g_own = add i64 %%number, %%i
  %%g_other = sub i64 %%g_over, 1
  %%g_new = icmp eq i64 %%g_over, 0
  %%g_k = select i1 %%g_new, i64 %%g_own, i64 %%g_other
  %%g_slot = getelementptr ptr, ptr %%owned, i64 %%g_k
  %%moved = load ptr, ptr %%g_slot
  store ptr null, ptr %%g_slot
  br label %%noted
noted:
  %%value = phi ptr [ %%wrapped, %%wrap ], [ %%moved, %%move ]
  %%value_place = getelementptr ptr, ptr %%values, i64 %%i
  store ptr %%value, ptr %%value_place
  %%i1 = add i64 %%i, 1
  %%of1 = getelementptr i64, ptr %%g_shape, i64 %%g_axes
  br label %%fine
given:
  call void @release(ptr %%owned, i64 %%number)
  %%is_one = icmp eq i64 %%results, 1
  br i1 %%is_one, label %%single, label %%several
single:
  %%only = load ptr, ptr %%values
  ret ptr %%only
several:
  %%tupling = call ptr @address(i64 %(PyTuple_New)d)
  %%tuple = call ptr %%tupling(i64 %%results)
  %%no_tuple = icmp eq ptr %%tuple, null
  br i1 %%no_tuple, label %%dropped, label %%items
dropped:
  call void @release(ptr %%values, i64 %%results)
  ret ptr null
items:
  %%setting = call ptr @address(i64 %(PyTuple_SetItem)d)
  br label %%item
item:
  %%e = phi i64 [ 0, %%items ], [ %%e1, %%set_one ]
  %%whole = phi i1 [ true, %%items ], [ %%still, %%set_one ]
  %%unset = icmp ult i64 %%e, %%results
  br i1 %%unset, label %%set_one, label %%all_set
set_one:
  %%e_place = getelementptr ptr, ptr %%values, i64 %%e
  %%element = load ptr, ptr %%e_place
  %%ignored = call i32 %%setting(ptr %%tuple, i64 %%e, ptr %%element)
  %%there = icmp ne ptr %%element, null
  %%still = and i1 %%whole, %%there
  %%e1 = add i64 %%e, 1
  br label %%item
all_set:
  br i1 %%whole, label %%tupled, label %%torn
tupled:
  ret ptr %%tuple
torn:
  %%decrement = call ptr @address(i64 %(Py_DecRef)d)
  call void %%decrement(ptr %%tuple)
  ret ptr null
failed:
  call void @release(ptr %%owned, i64 %%both)
  ret ptr null
}
"""


def runtime_assembly(layout: Layout, x86: bool, head: int) -> tuple[str, Table]:
    """Return the functions `FUNCTIONS` and their addresses; `head` numbers begin a kernel's description."""
    table = Table()
    fields = {
        "stopped": STOPPED,
        "head_of_about": head,
        "flags_read": flags_read(table, x86),
    }
    names = ChainMap(fields, table)  # type: ignore[arg-type]
    declared = {"declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"}
    if x86:
        declared |= {f"declare void @llvm.x86.sse.{name}(ptr)" for name in ("stmxcsr", "ldmxcsr")}
        declared.add("declare void @llvm.x86.sse2.pause()")
    parts = [declarations(declared), PRELUDE, arrays_assembly(layout, table), running(table, x86)]
    parts += [text % names for text in (_INTERRUPTED, _CALL)]
    return "\n".join([*parts, table.definition()]), table

"""Printing functions that Python calls, with arrays of NumPy's, as LLVM's assembly.

They check what they are given (class, dtype, shape), copy what does not lie in C order, make the results, and run a
kernel. Where something is not as it should be, or a floating-point error has come up, they raise `Rerun`: the same is then
computed by NumPy's functions, which warn or raise as the user has asked them to.
"""

from __future__ import annotations

from typing import NamedTuple

from fungrad.compile.kernels.fused import Function
from fungrad.core.types import ArrayType

RELEASED_FROM = 1 << 14
"""Operations on elements from which other threads of Python may run meanwhile."""
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
OBJECTS = ("ndarray", "float", "Rerun")
"""Objects that are compared with, or raised; after them come dtypes and classes of scalars."""


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


def call_assembly(
    kernel: Function, workspace: int, name: str, function: str, table: Table, layout: Layout
) -> str:
    """Return the definition of `name`, a function with the calling convention METH_FASTCALL, that runs the kernel `function`.

    That is given the bytes of `workspace`.
    """
    return _Call(kernel, workspace, table, layout).text(name, function)


_PRELUDE = """
@table = global [%(size)d x ptr] zeroinitializer, align 64
define internal ptr @address(i64 %%k) alwaysinline {
  %%place = getelementptr ptr, ptr @table, i64 %%k
  %%value = load ptr, ptr %%place
  ret ptr %%value
}
define internal ptr @array(ptr %%x, ptr %%class, ptr %%dtype, i32 %%ndim, ptr %%shape, i1 %%any) {
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
  %%zero = icmp eq i64 %%s1, 0
  %%skip = or i1 %%one, %%zero
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
define internal ptr @data(ptr %%x) alwaysinline {
  %%place = getelementptr i8, ptr %%x, i64 %(data)d
  %%data = load ptr, ptr %%place
  ret ptr %%data
}
"""


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
    fields = {"class": layout.class_, "data": head, "ndim": head + 8, "shape": head + 16}
    fields["strides"] = head + 24
    # Of a dtype, the class of scalars and the byte order: pickled arrays have dtypes of their own.
    fields |= {"scalar": head, "byte_order": head + 10}
    fields |= {"dtype": head + 40, "flags": head + 48, "contiguous": CONTIGUOUS}
    return _PRELUDE % {"size": len(table.places), **fields, **table.places}


class _Call:
    def __init__(self, kernel: Function, workspace: int, table: Table, layout: Layout) -> None:
        self.kernel = kernel
        self.workspace = workspace
        self.table = table
        self.layout = layout
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.count = 0

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def address(self, name: str) -> str:
        return self.emit(f"call ptr @address(i64 {self.table.of(name)})")

    def call(self, type_: str, name: str, arguments: str) -> str:
        return self.emit(f"call {type_} {self.address(name)}({arguments})")

    def shape(self, type_: ArrayType, name: str) -> str:
        """Return the address of a constant that holds the lengths of the axes."""
        lengths = ", ".join([f"i64 {n}" for n in type_.shape])
        text = f"@{name} = private constant [{len(type_.shape)} x i64] [{lengths}], align 8"
        self.constants.append(text)
        return f"@{name}"

    def text(self, name: str, function: str) -> str:
        kernel = self.kernel
        operands, outputs = len(kernel.operand_types), len(kernel.output_types)
        owned = operands + outputs
        self.do(f"%owned = alloca [{max(owned, 1)} x ptr], align 16")
        self.do(f"%operands = alloca [{max(operands, 1)} x ptr], align 16")
        self.do(f"%outputs = alloca [{outputs + 2} x ptr], align 16")
        self.do("%state = alloca ptr")
        self.do("store ptr null, ptr %state")
        self.do(f"store ptr %state, ptr {self._slot('%outputs', outputs)}")
        self.do(f"%small = alloca [{max(outputs, 1)} x i64], align 16")
        self.do(f"store [{max(owned, 1)} x ptr] zeroinitializer, ptr %owned")
        for k, type_ in enumerate(kernel.operand_types):
            self._operand(k, type_, name)
        for k, type_ in enumerate(kernel.output_types):
            self._output(k, type_, operands + k, name)
        self._run(function)
        self._return(operands)
        self.label("failed")
        self._release(owned, "failed")
        self.do("ret ptr null")
        head = f"define ptr @{name}(ptr %self, ptr %arguments, i64 %count) {{"
        return "\n".join([*self.constants, head, *self.lines, "}\n"])

    def _slot(self, group: str, k: int) -> str:
        return self.emit(f"getelementptr ptr, ptr {group}, i64 {k}")

    def _operand(self, k: int, type_: ArrayType, name: str) -> None:
        """Check an argument and note where its elements are."""
        x = self.emit(f"load ptr, ptr {self._slot('%arguments', k)}")
        target = self._slot("%operands", k)
        if not type_.shape:
            self._scalar(k, x, type_, target)
        shape = self.shape(type_, f"{name}.in{k}")
        dtype = self.address(f"dtype {type_.dtype.name}")
        class_ = self.address("ndarray")
        arguments = f"ptr {x}, ptr {class_}, ptr {dtype}, i32 {len(type_.shape)}, ptr {shape}"
        arguments += f", i1 {'true' if self.kernel.internal else 'false'}"
        array = self.emit(f"call ptr @array({arguments})")
        self.do(f"store ptr {array}, ptr {self._slot('%owned', k)}")
        fails = self.emit(f"icmp eq ptr {array}, null")
        self.do(f"br i1 {fails}, label %failed, label %given{k}")
        self.label(f"given{k}")
        data = self.emit(f"call ptr @data(ptr {array})")
        self.do(f"store ptr {data}, ptr {target}")
        self.do(f"br label %taken{k}")
        self.label(f"taken{k}")

    def _scalar(self, k: int, x: str, type_: ArrayType, target: str) -> None:
        """Take a scalar, which holds its number behind its head."""
        place = self.emit(f"getelementptr i8, ptr {x}, i64 {self.layout.class_}")
        found = self.emit(f"load ptr, ptr {place}")
        matches = self.emit(f"icmp eq ptr {found}, {self.address(f'scalar {type_.dtype.name}')}")
        if type_.dtype.name == "float64":
            python = self.emit(f"icmp eq ptr {found}, {self.address('float')}")
            matches = self.emit(f"or i1 {matches}, {python}")
        self.do(f"br i1 {matches}, label %scalar{k}, label %array{k}")
        self.label(f"scalar{k}")
        number = self.emit(f"getelementptr i8, ptr {x}, i64 {self.layout.head}")
        self.do(f"store ptr {number}, ptr {target}")
        self.do(f"br label %taken{k}")
        self.label(f"array{k}")

    def _output(self, k: int, type_: ArrayType, owned: int, name: str) -> None:
        """Make an array for a result; one without axes is on the stack."""
        target = self._slot("%outputs", k)
        if not type_.shape:
            small = self.emit(f"getelementptr i64, ptr %small, i64 {k}")
            self.do(f"store ptr {small}, ptr {target}")
            return
        shape, dtype = (
            self.shape(type_, f"{name}.out{k}"),
            self.address(f"dtype {type_.dtype.name}"),
        )
        self.do(f"call void {self.address('Py_IncRef')}(ptr {dtype})")
        arguments = f"i32 {len(type_.shape)}, ptr {shape}, ptr {dtype}, i32 0"
        array = self.call("ptr", "PyArray_Empty", arguments)
        self.do(f"store ptr {array}, ptr {self._slot('%owned', owned)}")
        fails = self.emit(f"icmp eq ptr {array}, null")
        self.do(f"br i1 {fails}, label %failed, label %made{k}")
        self.label(f"made{k}")
        data = self.emit(f"call ptr @data(ptr {array})")
        self.do(f"store ptr {data}, ptr {target}")

    def _run(self, function: str) -> None:
        """Run the kernel, and raise `Rerun` if floating-point errors have come up."""
        if self.workspace:
            room = self.call("ptr", "PyMem_RawMalloc", f"i64 {self.workspace}")
            slot = self._slot("%outputs", len(self.kernel.output_types) + 1)
            self.do(f"store ptr {room}, ptr {slot}")
            none = self.emit(f"icmp eq ptr {room}, null")
            self.do(f"br i1 {none}, label %again, label %begin")
            self.label("begin")
        large = self.kernel.work >= RELEASED_FROM
        if large:
            state = self.call("ptr", "PyEval_SaveThread", "")
            self.do(f"store ptr {state}, ptr %state")
        errors = self.emit(f"call i32 @{function}(ptr %operands, ptr %outputs)")
        if large:
            state = self.emit("load ptr, ptr %state")
            self.do(f"call void {self.address('PyEval_RestoreThread')}(ptr {state})")
        if self.workspace:
            self.do(f"call void {self.address('PyMem_RawFree')}(ptr {room})")
        fails = self.emit(f"icmp ne i32 {errors}, 0")
        self.do(f"br i1 {fails}, label %why, label %fine")
        self.label("why")
        stops = self.emit(f"icmp uge i32 {errors}, {STOPPED}")
        self.do(f"br i1 {stops}, label %failed, label %again")
        self.label("again")
        self.do(f"call void {self.address('PyErr_SetNone')}(ptr {self.address('Rerun')})")
        self.do("br label %failed")
        self.label("fine")

    def _return(self, operands: int) -> None:
        """Return the result, or a tuple of them."""
        results = []
        for k, type_ in enumerate(self.kernel.output_types):
            if type_.shape:
                slot = self._slot("%owned", operands + k)
                results.append(self.emit(f"load ptr, ptr {slot}"))
                self.do(f"store ptr null, ptr {slot}")
            else:
                small = self.emit(f"getelementptr i64, ptr %small, i64 {k}")
                dtype = self.address(f"dtype {type_.dtype.name}")
                results.append(
                    self.call("ptr", "PyArray_Scalar", f"ptr {small}, ptr {dtype}, ptr null")
                )
        self._release(operands, "done")
        if len(results) == 1:
            self.do(f"ret ptr {results[0]}")
            return
        result = self.call("ptr", "PyTuple_New", f"i64 {len(results)}")
        for k, x in enumerate(results):
            self.call("i32", "PyTuple_SetItem", f"ptr {result}, i64 {k}, ptr {x}")
        self.do(f"ret ptr {result}")

    def _release(self, count: int, where: str) -> None:
        """Give up what is owned."""
        for k in range(count):
            held = self.emit(f"load ptr, ptr {self._slot('%owned', k)}")
            self.do(f"call void {self.address('Py_DecRef')}(ptr {held})")


def declarations(needed: set[str], x86: bool) -> str:
    """Return the declarations of intrinsics."""
    lines = sorted(needed | {"declare i64 @llvm.abs.i64(i64, i1)"})
    if x86:
        lines += [f"declare void @llvm.x86.sse.{name}(ptr)" for name in ("stmxcsr", "ldmxcsr")]
    return "\n".join(lines) + "\n"

"""Printing functions that Python calls, with arrays of NumPy's, as LLVM's assembly.

They check what they are given (class, dtype, shape), copy what does not lie in C order, make the results, and run a
kernel. Where something is not as it should be, or a floating-point error has come up, they raise `Rerun`: the same is then
computed by NumPy's functions, which warn or raise as the user has asked them to.
"""

from __future__ import annotations

from fungrad.compile.emit.assembly import Assembly
from fungrad.compile.emit.llvm_prelude import RECYCLING, STOPPED, USUAL, Layout, Table
from fungrad.compile.kernels.fused import Function
from fungrad.core.types import ArrayType

RECYCLED = (RECYCLING, USUAL, "PyDataMem_GetHandler", "PyDataMem_SetHandler", "PyErr_Clear")
"""What `@recycled` calls beside what is always there."""
RELEASED_FROM = 1 << 14
"""Operations on elements from which other threads of Python may run meanwhile."""

SMALL = "[2 x i64]"
"""Room for a result without axes."""


def call_assembly(
    kernel: Function,
    workspace: int,
    name: str,
    function: str,
    table: Table,
    layout: Layout,
    least: int | None = None,
) -> str:
    """Return the definition of `name`, a function with the calling convention METH_FASTCALL, that runs the kernel `function`.

    That is given the bytes of `workspace`. Results of `least` bytes and more are in memory that is used again.
    """
    return _Call(kernel, workspace, table, layout, least).text(name, function)


class _Call(Assembly):
    def __init__(
        self, kernel: Function, workspace: int, table: Table, layout: Layout, least: int | None
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.least = least
        self.workspace = workspace
        self.table = table
        self.layout = layout
        self.constants: list[str] = []

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
        self.do(f"%small = alloca [{max(outputs, 1)} x {SMALL}], align 16")
        size = 8 * max(owned, 1)
        self.do(f"call void @llvm.memset.p0.i64(ptr %owned, i8 0, i64 {size}, i1 false)")
        for k, type_ in enumerate(kernel.operand_types):
            self._operand(k, type_, name)
        for k, type_ in enumerate(kernel.output_types):
            self._output(k, type_, operands + k, name)
        self._run(function)
        self._return(operands)
        self.label("failed")
        self._release(owned)
        self.do("ret ptr null")
        head = f"define ptr @{name}(ptr %self, ptr %arguments, i64 %count) {{"
        return "\n".join([*self.constants, head, *self.lines, "}\n"])

    def _slot(self, group: str, k: int) -> str:
        return self.emit(f"getelementptr ptr, ptr {group}, i64 {k}")

    def _operand(self, k: int, type_: ArrayType, name: str) -> None:
        """Check an argument and note where its elements are."""
        x = self.emit(f"load ptr, ptr {self._slot('%arguments', k)}")
        scalar = self.address(f"scalar {type_.dtype.name}")
        pythons = {"float64": "float", "complex128": "complex"}.get(type_.dtype.name)
        python = self.address(pythons) if pythons else scalar
        dtype, class_ = self.address(f"dtype {type_.dtype.name}"), self.address("ndarray")
        arguments = [f"ptr {y}" for y in (x, scalar, python, class_, dtype)]
        arguments += [f"i32 {len(type_.shape)}", f"ptr {self.shape(type_, f'{name}.in{k}')}"]
        flags = k not in self.kernel.followed, k in self.kernel.told_apart
        arguments += [f"i1 {'true' if flag else 'false'}" for flag in flags]
        arguments += [f"ptr {self._slot('%owned', k)}"]
        data = self.emit(f"call ptr @operand({', '.join(arguments)})")
        self.do(f"store ptr {data}, ptr {self._slot('%operands', k)}")
        fails = self.emit(f"icmp eq ptr {data}, null")
        self.do(f"br i1 {fails}, label %failed, label %taken{k}")
        self.label(f"taken{k}")

    def _output(self, k: int, type_: ArrayType, owned: int, name: str) -> None:
        """Make an array for a result, or take that of an operand; one without axes is on the stack."""
        target = self._slot("%outputs", k)
        if k in self.kernel.over:
            data = self.emit(f"load ptr, ptr {self._slot('%operands', self.kernel.over[k])}")
            self.do(f"store ptr {data}, ptr {target}")
            return
        if not type_.shape:
            small = self.emit(f"getelementptr {SMALL}, ptr %small, i64 {k}")
            self.do(f"store ptr {small}, ptr {target}")
            return
        shape, dtype = (
            self.shape(type_, f"{name}.out{k}"),
            self.address(f"dtype {type_.dtype.name}"),
        )
        arguments = f"i32 {len(type_.shape)}, ptr {shape}, ptr {dtype}"
        if self.least is not None and type_.nbytes >= self.least:
            for function in RECYCLED:
                self.table.of(function)
            array = self.emit(f"call ptr @recycled({arguments})")
        else:
            self.do(f"call void {self.address('Py_IncRef')}(ptr {dtype})")
            array = self.call("ptr", "PyArray_Empty", f"{arguments}, i32 0")
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
                slot = self._slot("%owned", self.kernel.over.get(k, operands + k))
                results.append(self.emit(f"load ptr, ptr {slot}"))
                self.do(f"store ptr null, ptr {slot}")
            else:
                small = self.emit(f"getelementptr {SMALL}, ptr %small, i64 {k}")
                dtype = self.address(f"dtype {type_.dtype.name}")
                results.append(
                    self.call("ptr", "PyArray_Scalar", f"ptr {small}, ptr {dtype}, ptr null")
                )
        self._release(operands)
        if len(results) == 1:
            self.do(f"ret ptr {results[0]}")
            return
        result = self.call("ptr", "PyTuple_New", f"i64 {len(results)}")
        for k, x in enumerate(results):
            self.call("i32", "PyTuple_SetItem", f"ptr {result}, i64 {k}, ptr {x}")
        self.do(f"ret ptr {result}")

    def _release(self, count: int) -> None:
        """Give up what is owned: a call, so that LLVM does not follow each through the function."""
        if count:
            self.do(f"call void @release(ptr %owned, i64 {count})")

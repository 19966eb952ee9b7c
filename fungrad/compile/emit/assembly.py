"""Writing LLVM's assembly: the lines of a function, and the operations of kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from fungrad.compile.emit.types import (
    combining,
    constrained,
    mangled,
    scalar_type,
    splat,
    vector_type,
)
from fungrad.compile.kernels.operations import COMPARISONS, F4, HALF, DType, Node

_ROUNDED = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "sqrt": "sqrt", "fma": "fma",
}  # fmt: skip
_COMPARED = {name: f"{'u' if name == 'ne' else 'o'}{name}" for name in COMPARISONS}
_INTEGERS = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl",
    "eq": "icmp eq", "ne": "icmp ne",
}  # fmt: skip
_ORDERS = ("lt", "le", "gt", "ge")
_SIGNED = {"shr": "ashr", "quot": "sdiv", "rem": "srem"} | {c: f"icmp s{c}" for c in _ORDERS}
_UNSIGNED = {"shr": "lshr", "quot": "udiv", "rem": "urem"} | {c: f"icmp u{c}" for c in _ORDERS}
_OF_BITS = {"reduce_and": "eq", "reduce_or": "ne"}
_INTRINSICS = {
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "copysign": "copysign",
    "abs": "fabs",
}  # fmt: skip

NEAREST = "round.tonearest"

UNROLLED = 8
"""How many vectors are moved one after the other, without a loop."""
HALVES = 8
"""How many numbers are rounded to float16 at once."""


class Assembly:
    """The lines of a function that are written so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.declarations: set[str] = set()
        self.count = 0
        self.block = "start"
        self.begun = 0  # the line after which the block begins
        self.region = 0  # number of the blocks that run one after the other, whatever else happens

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> str:
        """Add an instruction with a result, whose name is returned."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, label: str, within: bool = False) -> None:
        """Begin a block, `within` a region or of another one."""
        self.lines.append(f"{label}:")
        self.block, self.begun = label, len(self.lines)
        self.region += not within

    def allocate(self, type_: str) -> str:
        name = self.name()
        self.allocations.append(f"  {name} = alloca {type_}, align 64")
        # LLVM 22.1.0 joins the vectors stored before they are computed (its pull request 189680), but not if this uses the memory.
        start = "void @llvm.lifetime.start.p0"
        self.declarations.add(f"declare {start}(i64 immarg, ptr)")
        self.allocations.append(f"  call {start}(i64 -1, ptr {name})")
        return name

    @contextlib.contextmanager
    def loop(self, rounds: int | str, first: str = "0", some: bool = True) -> Iterator[str]:
        """Run the code added in the block for each index from `first` to `rounds`; the index is yielded.

        Without `some` there may be none.
        """
        if rounds == 1:
            yield "0"
            return
        self.count += 1
        n, before = self.count, self.block
        if some:
            self.do(f"br label %head{n}")
        else:
            self.do(f"%some{n} = icmp ult i64 {first}, {rounds}")
            self.do(f"br i1 %some{n}, label %head{n}, label %exit{n}")
        self.label(f"head{n}")
        self.do(f"%i{n} = phi i64 [ {first}, %{before} ], [ %next{n}, %latch{n} ]")
        yield f"%i{n}"
        self.do(f"br label %latch{n}")
        self.label(f"latch{n}")
        self.do(f"%next{n} = add nuw nsw i64 %i{n}, 1")
        self.do(f"%more{n} = icmp ult i64 %next{n}, {rounds}")
        self.do(f"br i1 %more{n}, label %head{n}, label %exit{n}")
        self.label(f"exit{n}")

    def offset(self, terms: Sequence[tuple[str, int]]) -> str:
        """Return the sum of products of indices and numbers."""
        total = ""
        for index, step in terms:
            if index == "0" or not step:
                continue
            part = index if step == 1 else self.emit(f"mul i64 {index}, {step}")
            total = self.emit(f"add i64 {total}, {part}") if total else part
        return total or "0"

    def spread(self, value: str, dtype: DType, lanes: int) -> str:
        """Return a value in every lane."""
        if lanes == 1:
            return value
        type_, one = vector_type(dtype, lanes), scalar_type(dtype)
        if dtype.kind == "c":
            mask = ", ".join(["i32 0, i32 1"] * lanes)
            text = f"shufflevector {one} {value}, {one} poison, <{2 * lanes} x i32> <{mask}>"
            return self.emit(text)
        first = self.emit(f"insertelement {type_} poison, {one} {value}, i64 0")
        mask = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {type_} {first}, {type_} poison, {mask}")

    def read(self, base: str, offset: str, dtype: DType, lanes: int = 1) -> str:
        """Return elements that lie one after the other."""
        stored = scalar_type(dtype, True)
        place = self.emit(f"getelementptr {stored}, ptr {base}, i64 {offset}")
        type_ = vector_type(dtype, lanes, True)
        value = self.emit(f"load {type_}, ptr {place}, align {dtype.alignment}")
        if dtype.kind != "b":
            return value
        return self.emit(f"icmp ne {type_} {value}, {splat(0, np.dtype('i1'), lanes)}")

    def write(self, value: str, dtype: DType, base: str, offset: str, lanes: int = 1) -> None:
        """Store elements one after the other."""
        stored = scalar_type(dtype, True)
        place = self.emit(f"getelementptr {stored}, ptr {base}, i64 {offset}")
        if dtype.kind == "b":
            type_ = vector_type(dtype, lanes)
            value = self.emit(f"zext {type_} {value} to {vector_type(dtype, lanes, True)}")
        type_ = vector_type(dtype, lanes, True)
        self.do(f"store {type_} {value}, ptr {place}, align {dtype.alignment}")

    def beside(self, values: list[str], dtype: DType) -> str:
        """Return one vector of elements; their number is a power of 2."""
        if dtype.kind != "c":
            type_, vector = vector_type(dtype, len(values)), "poison"
            for lane, value in enumerate(values):
                one = f"{scalar_type(dtype)} {value}"
                vector = self.emit(f"insertelement {type_} {vector}, {one}, i64 {lane}")
            return vector
        lanes = 1
        while len(values) > 1:
            type_, lanes = vector_type(dtype, lanes), 2 * lanes
            mask = ", ".join([f"i32 {k}" for k in range(2 * lanes)])
            values = [
                self.emit(f"shufflevector {type_} {x}, {type_} {y}, <{2 * lanes} x i32> <{mask}>")
                for x, y in zip(values[::2], values[1::2], strict=True)
            ]
        return values[0]

    def _part(self, which: int, dtype: DType, value: str, lanes: int) -> str:
        """Add the real or the imaginary parts of complex numbers."""
        type_ = vector_type(dtype, lanes)
        if lanes == 1:
            return self.emit(f"extractelement {type_} {value}, i64 {which}")
        mask = ", ".join([f"i32 {2 * k + which}" for k in range(lanes)])
        return self.emit(f"shufflevector {type_} {value}, {type_} poison, <{lanes} x i32> <{mask}>")

    def _joined(self, dtype: DType, parts: list[str], lanes: int) -> str:
        """Add the complex numbers of some parts, of `dtype`."""
        if lanes == 1:
            return self.beside(parts, dtype)
        type_ = vector_type(dtype, lanes)
        mask = ", ".join([f"i32 {k}, i32 {k + lanes}" for k in range(lanes)])
        both = f"{type_} {parts[0]}, {type_} {parts[1]}"
        return self.emit(f"shufflevector {both}, <{2 * lanes} x i32> <{mask}>")

    def intrinsic(self, name: str, dtype: DType, operands: list[str], lanes: int) -> str:
        type_ = vector_type(dtype, lanes)
        full = f"llvm.{name}.{mangled(type_)}"
        types, given = [type_] * len(operands), list(operands)
        if name == "abs":
            types, given = [*types, "i1"], [*given, "false"]
        self.declarations.add(f"declare {type_} @{full}({', '.join(types)})")
        arguments = ", ".join([f"{t} {x}" for t, x in zip(types, given, strict=True)])
        return self.emit(f"call {type_} @{full}({arguments})")

    def flagged(self, name: str, type_: str, operands: list[str], result: str, *hints: str) -> str:
        """Add a call that computes, and sets flags, whether the result matters or not.

        LLVM takes instructions for free of such effects: it leaves them out, or out of lanes that are not chosen.
        """
        declaration, call = constrained(name, type_, len(operands), result, hints)
        self.declarations.add(declaration)
        return self.emit(call.format(*operands))

    def compared(self, how: str, dtype: DType, lanes: int, x: str, y: str) -> str:
        """Add a comparison of floating-point numbers that is no invalid operation for NaNs."""
        truths = vector_type(np.dtype(bool), lanes)
        return self.flagged("fcmp", vector_type(dtype, lanes), [x, y], truths, how)

    def extreme(self, kind: str, dtype: DType, lanes: int, x: str, y: str) -> str:
        """Add the greater or the lesser one of two floating-point numbers; NaN if one is."""
        type_, truths = vector_type(dtype, lanes), vector_type(np.dtype(bool), lanes)
        further = self.compared("ogt" if kind == "max" else "olt", dtype, lanes, x, y)
        nan = self.compared("uno", dtype, lanes, x, x)
        first = self.emit(f"or {truths} {further}, {nan}")
        return self.emit(f"select {truths} {first}, {type_} {x}, {type_} {y}")

    def operation(self, node: Node, dtype: DType, operands: list[str], lanes: int) -> str:
        """Add a node's operation on operands; the first has `dtype`."""
        operation = node.operation
        type_ = vector_type(dtype, lanes)
        if operation == "select":
            dtype = node.dtype
            type_, p = vector_type(dtype, lanes), vector_type(np.dtype(bool), lanes)
            choice, x, y = operands
            return self.emit(f"select {p} {choice}, {type_} {x}, {type_} {y}")
        if operation in ("real", "imag"):
            return self._part(int(operation == "imag"), dtype, operands[0], lanes)
        if operation == "complex":
            return self._joined(dtype, operands, lanes)
        if operation == "convert":
            return self.convert(operands[0], dtype, node.dtype, lanes)
        if operation == "bitcast":
            return self.emit(f"bitcast {type_} {operands[0]} to {vector_type(node.dtype, lanes)}")
        if dtype.kind == "f":
            if operation == "neg":
                return self.emit(f"fneg {type_} {operands[0]}")
            if operation in _INTRINSICS:
                return self.intrinsic(_INTRINSICS[operation], dtype, operands, lanes)
            if operation in ("max", "min"):
                return self.extreme(operation, dtype, lanes, *operands)
            if operation in _COMPARED:
                return self.compared(_COMPARED[operation], dtype, lanes, *operands)
            return self.flagged(_ROUNDED[operation], type_, operands, type_, NEAREST)
        if operation in ("max", "min"):
            name = f"{'s' if dtype.kind == 'i' else 'u'}{operation}"
            return self.intrinsic(name, dtype, operands, lanes)
        if operation == "abs":
            return self.intrinsic("abs", dtype, operands, lanes)
        if operation == "neg":
            return self.emit(f"sub {type_} {splat(0, dtype, lanes)}, {operands[0]}")
        if operation == "not":
            ones = splat(True if dtype.kind == "b" else -1, dtype, lanes)
            return self.emit(f"xor {type_} {operands[0]}, {ones}")
        table = _INTEGERS | (_SIGNED if dtype.kind == "i" else _UNSIGNED)
        text = "and" if operation == "mul" and dtype.kind == "b" else table[operation]
        return self.emit(f"{text} {type_} {', '.join(operands)}")

    def all_of(self, nodes: Sequence[Node], loaded: Sequence[str], lanes: int) -> list[str]:
        """Add the operations of nodes, given the loaded values; return the value of each."""
        registers: list[str] = []
        for node in nodes:
            if node.operation == "load":
                registers.append(loaded[node.value])
            elif node.operation == "constant":
                registers.append(splat(node.value, node.dtype, lanes))
            else:
                given, of = [registers[i] for i in node.operands], nodes[node.operands[0]].dtype
                registers.append(self.operation(node, of, given, lanes))
        return registers

    def compute(self, operation: str, dtype: DType, *operands: str, lanes: int = 1) -> str:
        """Add an operation on numbers of one dtype that gives such a number."""
        return self.operation(Node(operation, dtype), dtype, list(operands), lanes)

    def along(self, length: int, lanes: int, unrolled: int = UNROLLED) -> Iterator[tuple[str, int]]:
        """Yield indices that go over an axis, each with the number of elements to take there at once.

        So many vectors are gone over without a loop; what is left of the axis, by vectors half as long, each time.
        """
        whole = length // lanes
        if whole > unrolled:
            with self.loop(whole) as i:
                yield self.offset([(i, lanes)]), lanes
        else:
            for k in range(whole):
                yield str(k * lanes), lanes
        done = whole * lanes
        while done < length:
            lanes //= 2
            if length - done >= lanes:
                yield str(done), lanes
                done += lanes

    def runs(self, length: int, lanes: int) -> Iterator[tuple[int, int, int]]:
        """Yield how vectors share an axis: where those of a length begin, how many there are, and that length."""
        done = 0
        while lanes:
            if count := (length - done) // lanes:
                yield done, count, lanes
                done += count * lanes
            lanes //= 2

    def convert(self, value: str, old: DType, new: DType, lanes: int) -> str:
        if HALF in (old, new):
            return self._half(value, old, new, lanes)
        if old.kind == "f" and new.kind == "u" and new.itemsize >= 4:
            return self._unsigned(value, old, new, lanes)
        if old.kind == "f" and new.kind in "iu":
            how = "fptosi" if new.kind == "i" else "fptoui"
        elif new.kind == "f":
            if old.kind == "f" and new.itemsize < old.itemsize:
                types = vector_type(old, lanes), vector_type(new, lanes)
                return self.flagged("fptrunc", types[0], [value], types[1], NEAREST)
            if old.kind == "f":
                how = "fpext"
            else:
                how = "sitofp" if old.kind == "i" else "uitofp"
        elif old.kind == "b" or new.itemsize > old.itemsize:
            how = "sext" if old.kind == "i" else "zext"
        elif new.itemsize == old.itemsize:
            return value
        else:
            how = "trunc"
        return self.emit(f"{how} {vector_type(old, lanes)} {value} to {vector_type(new, lanes)}")

    def _unsigned(self, value: str, old: DType, new: DType, lanes: int) -> str:
        """Add a conversion to unsigned integers by way of signed ones.

        Where the processor lacks the instruction, LLVM converts each number in two ways and drops one, which may raise the flag of invalid operations.
        """
        number, bit = vector_type(old, lanes), 8 * new.itemsize - 1
        half, zero = splat(2.0**bit, old, lanes), splat(0.0, old, lanes)
        upper = self.emit(f"fcmp oge {number} {value}, {half}")
        truths = vector_type(np.dtype(bool), lanes)
        below = self.emit(f"select {truths} {upper}, {number} {half}, {number} {zero}")
        low = self.emit(f"fsub {number} {value}, {below}")
        integer = vector_type(new, lanes)
        low = self.emit(f"fptosi {number} {low} to {integer}")
        top, none = splat(1 << bit, new, lanes), splat(0, new, lanes)
        high = self.emit(f"select {truths} {upper}, {integer} {top}, {integer} {none}")
        return self.emit(f"xor {integer} {low}, {high}")

    def _half(self, value: str, old: DType, new: DType, lanes: int) -> str:
        """Add a conversion between float16 and float32, which processors have instructions for."""
        half, bits, single = [
            name if lanes == 1 else f"<{lanes} x {name}>" for name in ("half", "i16", "float")
        ]
        if (old, new) == (HALF, F4):
            number = self.emit(f"bitcast {bits} {value} to {half}")
            return self.emit(f"fpext {half} {number} to {single}")
        if lanes > HALVES:  # LLVM 22.1 fails at longer vectors, where registers are of 256 bits
            count = lanes // 2
            masks = [", ".join([f"i32 {k + i}" for i in range(count)]) for k in (0, count)]
            take = f"shufflevector {single} {value}, {single} poison, <{count} x i32>"
            parts = [self._half(self.emit(f"{take} <{m}>"), old, new, count) for m in masks]
            given = ", ".join([f"<{count} x i16> {x}" for x in parts])
            return self.emit(f"shufflevector {given}, <{lanes} x i32> <{', '.join(masks)}>")
        number = self.flagged("fptrunc", single, [value], half, NEAREST)
        return self.emit(f"bitcast {half} {number} to {bits}")

    def combined(self, node: Node, x: str, y: str, lanes: int) -> str:
        """Add the reduction of two partial results."""
        return self.compute(combining(node), node.dtype, x, y, lanes=lanes)

    def require(self, truth: str, lanes: int, unsafe: str) -> None:
        """Add that 1 is written to an address if something does not hold in all lanes."""
        truth = self.across(Node("reduce_and", np.dtype(bool)), truth, lanes)
        fails = self.emit(f"select i1 {truth}, i32 0, i32 1")
        before = self.emit(f"load i32, ptr {unsafe}")
        self.do(f"store i32 {self.emit(f'or i32 {before}, {fails}')}, ptr {unsafe}")

    def across(self, node: Node, vector: str, lanes: int) -> str:
        """Return the reduction of the lanes, by halves; of truths, at once as the bits of a number."""
        if lanes > 1 and (test := _OF_BITS.get(node.operation)):
            bits = self.emit(f"bitcast {vector_type(node.dtype, lanes)} {vector} to i{lanes}")
            return self.emit(f"icmp {test} i{lanes} {bits}, {-1 if test == 'eq' else 0}")
        while lanes > 1:
            half, type_ = lanes // 2, vector_type(node.dtype, lanes)
            parts = []
            for start in (0, half):
                mask = ", ".join([f"i32 {start + k}" for k in range(half)])
                text = f"shufflevector {type_} {vector}, {type_} poison, <{half} x i32> <{mask}>"
                if half == 1:
                    text = f"extractelement {type_} {vector}, i64 {start}"
                parts.append(self.emit(text))
            vector, lanes = self.combined(node, parts[0], parts[1], half), half
        return vector

"""Printing what runs a kernel, on one thread or on several, and tells whether floating-point errors have come up.

A thread is started for each part but the first, and joined: that takes some 20 us, needs no pool that a fork could break, and
a kernel is cut only if it takes several times as long. Where no thread can be started, the part is done by the one that asked.
"""

from __future__ import annotations

from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.emit.writer import KernelText
from fungrad.compile.kernels.fused import Function

PART = 1 << 23
"""Operations on elements, at least, that are worth a thread: about a tenth of a millisecond."""


def threads_for(kernel: Function, parts: int, most: int) -> int:
    """Return how many threads run a kernel."""
    return max(min(most, parts, kernel.work // PART), 1)


def run_assembly(
    kernel: Function, text: KernelText, name: str, threads: int, table: Table, x86: bool
) -> str:
    """Return the function ``@run<name>`` of operands and outputs; it returns 0 if all is well."""
    checked = _checked(name, table, x86)
    if text.finishes:
        checked += _checked(name, table, x86, "finish")
    threads = threads_for(kernel, text.parts, threads)
    if threads == 1:
        return (
            checked
            + f"""
define internal i32 @run{name}(ptr %operands, ptr %outputs) {{
  %all0 = call i32 @checked{name}(ptr %operands, ptr %outputs, i64 0, i64 {text.parts})
{_end(name, 0, text.finishes)}
"""
        )
    bounds = [text.parts * k // threads for k in range(threads + 1)]
    workers = [_worker(name, k, bounds[k], bounds[k + 1]) for k in range(1, threads)]
    return "\n".join([checked, *workers, _on_threads(name, bounds, table, text.finishes)])


def reading_flags(table: Table, x86: bool) -> str:
    """Return the lines that set `%raised` to the flags of this thread that NumPy would warn of."""
    if x86:
        return """
  %status = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %status)
  %flags = load i32, ptr %status
  %raised = and i32 %flags, 13 ; invalid, division by zero, overflow"""
    return f"""
  %test = call ptr @address(i64 {table.of("fetestexcept")})
  %raised = call i32 %test(i32 7)"""


def _checked(name: str, table: Table, x86: bool, what: str = "") -> str:
    """Return the function that runs some parts with the flags of this thread cleared before and read after."""
    end = reading_flags(table, x86)
    if x86:
        begin = """
  %control = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %control)
  %before = load i32, ptr %control
  %cleared = and i32 %before, -64
  store i32 %cleared, ptr %control
  call void @llvm.x86.sse.ldmxcsr(ptr %control)"""
    else:
        begin = f"""
  %clear = call ptr @address(i64 {table.of("feclearexcept")})
  %ignored = call i32 %clear(i32 63)"""
    return f"""
define internal i32 @checked{what}{name}(ptr %operands, ptr %outputs, i64 %first, i64 %last) {{{begin}
  %unsafe = call i32 @{what}kernel{name}(ptr %operands, ptr %outputs, i64 %first, i64 %last)
{end}
  %errors = or i32 %raised, %unsafe
  ret i32 %errors
}}
"""


def _worker(name: str, k: int, first: int, last: int) -> str:
    """Return what a thread runs; it is given operands, outputs, and room for what it returns."""
    return f"""
define internal ptr @worker{name}.{k}(ptr %task) {{
  %operands = load ptr, ptr %task
  %p1 = getelementptr ptr, ptr %task, i64 1
  %outputs = load ptr, ptr %p1
  %errors = call i32 @checked{name}(ptr %operands, ptr %outputs, i64 {first}, i64 {last})
  %p2 = getelementptr i32, ptr %task, i64 {3 + k}
  store i32 %errors, ptr %p2
  ret ptr null
}}
"""


def _on_threads(name: str, bounds: list[int], table: Table, finishes: bool) -> str:
    """Return the function that starts threads, does its own part, and waits for them."""
    threads = len(bounds) - 1
    lines = [
        f"define internal i32 @run{name}(ptr %operands, ptr %outputs) {{",
        f"  %task = alloca [{16 + 4 * threads} x i8], align 16",
        f"  %ids = alloca [{threads} x i64], align 16",
        "  store ptr %operands, ptr %task",
        "  %p1 = getelementptr ptr, ptr %task, i64 1",
        "  store ptr %outputs, ptr %p1",
        f"  %create = call ptr @address(i64 {table.of('pthread_create')})",
        f"  %join = call ptr @address(i64 {table.of('pthread_join')})",
    ]
    for k in range(1, threads):
        lines += [
            f"  %id{k} = getelementptr i64, ptr %ids, i64 {k}",
            f"  %made{k} = call i32 %create(ptr %id{k}, ptr null, ptr @worker{name}.{k}, ptr %task)",
        ]
    operands = "ptr %operands, ptr %outputs"
    lines.append(f"  %all0 = call i32 @checked{name}({operands}, i64 0, i64 {bounds[1]})")
    for k in range(1, threads):
        lines += [
            f"  %fine{k} = icmp eq i32 %made{k}, 0",
            f"  br i1 %fine{k}, label %wait{k}, label %own{k}",
            f"wait{k}:",
            f"  %thread{k} = load i64, ptr %id{k}",
            f"  %joined{k} = call i32 %join(i64 %thread{k}, ptr null)",
            f"  %q{k} = getelementptr i32, ptr %task, i64 {3 + k}",
            f"  %theirs{k} = load i32, ptr %q{k}",
            f"  br label %next{k}",
            f"own{k}:",
            f"  %mine{k} = call i32 @checked{name}({operands}, i64 {bounds[k]}, i64 {bounds[k + 1]})",
            f"  br label %next{k}",
            f"next{k}:",
            f"  %errors{k} = phi i32 [ %theirs{k}, %wait{k} ], [ %mine{k}, %own{k} ]",
            f"  %all{k} = or i32 %all{k - 1}, %errors{k}",
        ]
    return "\n".join([*lines, _end(name, threads - 1, finishes)])


def _end(name: str, k: int, finishes: bool) -> str:
    """Return the lines after all parts are done, with errors ``%all<k>``: what is left, which begins only then."""
    if not finishes:
        return f"  ret i32 %all{k}\n}}"
    return f"""
  %last = call i32 @checkedfinish{name}(ptr %operands, ptr %outputs, i64 0, i64 0)
  %both = or i32 %all{k}, %last
  ret i32 %both
}}"""

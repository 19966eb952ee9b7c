"""Printing what runs a kernel, on one thread or on several, and tells whether floating-point errors have come up.

Threads are started and joined: that takes some 20 us, needs no pool that a fork could break, and a kernel is cut only if it takes several
times as long. Each takes a share of what is left, and another one when it has done that: so the one that asked does it all where no thread
can be started, and most of it where others keep the other processors busy.
"""

from __future__ import annotations

from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.emit.writer import KernelText
from fungrad.compile.kernels.fused import Function

PART = 1 << 23
"""Operations on elements, at least, that are worth a thread: about a tenth of a millisecond."""

SHARES = 8
"""Shares for each thread, if there are as many parts, and nothing is to be made ready for each share."""


def threads_for(kernel: Function, parts: int, most: int) -> int:
    """Return how many threads run a kernel."""
    return max(min(most, parts, kernel.work // PART), 1)


def share_of(kernel: Function, parts: int, most: int, copies: bool) -> int:
    """Return how many parts a share is of; where `copies` are made for each, there is one for each thread."""
    threads = threads_for(kernel, parts, most)
    return parts if threads == 1 else -(-parts // (threads if copies else SHARES * threads))


def run_assembly(
    kernel: Function,
    text: KernelText,
    name: str,
    threads: int,
    table: Table,
    x86: bool,
    share: int,
) -> str:
    """Return the function ``@run<name>`` of operands and outputs, in which threads take a `share` of the parts; it returns 0 if all is well."""
    checked = _checked(name, table, x86)
    if text.finishes:
        checked += _checked(name, table, x86, "finish")
    threads = threads_for(kernel, text.parts, threads)
    if threads == 1:
        return (
            checked
            + f"""
define internal i32 @run{name}(ptr %operands, ptr %outputs) {{
  %all = call i32 @checked{name}(ptr %operands, ptr %outputs, i64 0, i64 {text.parts})
{_end(name, text.finishes)}
"""
        )
    each = _shares(name, text.parts, share)
    return "\n".join([checked, each, _on_threads(name, threads, table, text.finishes)])


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


def _shares(name: str, parts: int, share: int) -> str:
    """Return what each thread runs: share after share. It is given operands, outputs, the first part left, and room for errors."""
    return f"""
define internal ptr @shares{name}(ptr %task) {{
entry:
  %operands = load ptr, ptr %task
  %p1 = getelementptr ptr, ptr %task, i64 1
  %outputs = load ptr, ptr %p1
  %left = getelementptr ptr, ptr %task, i64 2
  %errors = getelementptr ptr, ptr %task, i64 3
  br label %next
next:
  %first = atomicrmw add ptr %left, i64 {share} monotonic
  %more = icmp ult i64 %first, {parts}
  br i1 %more, label %run, label %done
run:
  %end = add i64 %first, {share}
  %over = icmp ugt i64 %end, {parts}
  %last = select i1 %over, i64 {parts}, i64 %end
  %found = call i32 @checked{name}(ptr %operands, ptr %outputs, i64 %first, i64 %last)
  %known = atomicrmw or ptr %errors, i32 %found monotonic
  br label %next
done:
  ret ptr null
}}
"""


def _on_threads(name: str, threads: int, table: Table, finishes: bool) -> str:
    """Return the function that starts threads, does what they have not taken, and waits for them."""
    lines = [
        f"define internal i32 @run{name}(ptr %operands, ptr %outputs) {{",
        "  %task = alloca [32 x i8], align 16",
        f"  %ids = alloca [{threads} x i64], align 16",
        "  store ptr %operands, ptr %task",
        "  %p1 = getelementptr ptr, ptr %task, i64 1",
        "  store ptr %outputs, ptr %p1",
        "  %left = getelementptr ptr, ptr %task, i64 2",
        "  store i64 0, ptr %left",
        "  %errors = getelementptr ptr, ptr %task, i64 3",
        "  store i32 0, ptr %errors",
        f"  %create = call ptr @address(i64 {table.of('pthread_create')})",
        f"  %join = call ptr @address(i64 {table.of('pthread_join')})",
    ]
    for k in range(1, threads):
        lines += [
            f"  %id{k} = getelementptr i64, ptr %ids, i64 {k}",
            f"  %made{k} = call i32 %create(ptr %id{k}, ptr null, ptr @shares{name}, ptr %task)",
        ]
    lines.append(f"  %mine = call ptr @shares{name}(ptr %task)")
    for k in range(1, threads):
        lines += [
            f"  %fine{k} = icmp eq i32 %made{k}, 0",
            f"  br i1 %fine{k}, label %wait{k}, label %next{k}",
            f"wait{k}:",
            f"  %thread{k} = load i64, ptr %id{k}",
            f"  %joined{k} = call i32 %join(i64 %thread{k}, ptr null)",
            f"  br label %next{k}",
            f"next{k}:",
        ]
    lines.append("  %all = load i32, ptr %errors")
    return "\n".join([*lines, _end(name, finishes)])


def _end(name: str, finishes: bool) -> str:
    """Return the lines after all parts are done, with errors ``%all``: what is left, which begins only then."""
    if not finishes:
        return "  ret i32 %all\n}"
    return f"""
  %last = call i32 @checkedfinish{name}(ptr %operands, ptr %outputs, i64 0, i64 0)
  %both = or i32 %all, %last
  ret i32 %both
}}"""

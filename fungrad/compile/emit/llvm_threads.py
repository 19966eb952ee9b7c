"""Printing what runs a kernel, on one thread or on several, and tells whether floating-point errors have come up: a part of the runtime.

Threads are started and joined: that takes some 20 us, needs no pool that a fork could break, and a kernel is cut only if it takes several
times as long. Each takes a share of what is left, and another one when it has done that: so the one that asked does it all where no thread
can be started, and most of it where others keep the other processors busy.
"""

from __future__ import annotations

from collections import ChainMap

from fungrad.compile.emit.llvm_prelude import Table
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


_RUNNING = """
define internal i32 @checked(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 %%first, i64 %%last) {
%(flags_cleared)s
  %%unsafe = call i32 %%kernel(ptr %%operands, ptr %%outputs, i64 %%first, i64 %%last)
%(flags_read)s
  %%errors = or i32 %%raised, %%unsafe
  ret i32 %%errors
}
define internal ptr @shares(ptr %%task) {
entry:
  %%operands = load ptr, ptr %%task
  %%p1 = getelementptr ptr, ptr %%task, i64 1
  %%outputs = load ptr, ptr %%p1
  %%p2 = getelementptr ptr, ptr %%task, i64 2
  %%kernel = load ptr, ptr %%p2
  %%p3 = getelementptr ptr, ptr %%task, i64 3
  %%parts = load i64, ptr %%p3
  %%p4 = getelementptr ptr, ptr %%task, i64 4
  %%share = load i64, ptr %%p4
  %%left = getelementptr ptr, ptr %%task, i64 5
  %%errors = getelementptr ptr, ptr %%task, i64 6
  br label %%next
next:
  %%first = atomicrmw add ptr %%left, i64 %%share monotonic
  %%more = icmp ult i64 %%first, %%parts
  br i1 %%more, label %%run, label %%done
run:
  %%end = add i64 %%first, %%share
  %%over = icmp ugt i64 %%end, %%parts
  %%last = select i1 %%over, i64 %%parts, i64 %%end
  %%found = call i32 @checked(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 %%first, i64 %%last)
  %%known = atomicrmw or ptr %%errors, i32 %%found monotonic
  br label %%next
done:
  ret ptr null
}
define internal i32 @on_threads(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 %%parts, i64 %%share, i64 %%threads) {
entry:
  %%task = alloca [7 x ptr], align 16
  %%ids = alloca i64, i64 %%threads, align 16
  %%started = alloca i32, i64 %%threads, align 16
  store ptr %%operands, ptr %%task
  %%p1 = getelementptr ptr, ptr %%task, i64 1
  store ptr %%outputs, ptr %%p1
  %%p2 = getelementptr ptr, ptr %%task, i64 2
  store ptr %%kernel, ptr %%p2
  %%p3 = getelementptr ptr, ptr %%task, i64 3
  store i64 %%parts, ptr %%p3
  %%p4 = getelementptr ptr, ptr %%task, i64 4
  store i64 %%share, ptr %%p4
  %%left = getelementptr ptr, ptr %%task, i64 5
  store i64 0, ptr %%left
  %%errors = getelementptr ptr, ptr %%task, i64 6
  store i32 0, ptr %%errors
  %%create = call ptr @address(i64 %(pthread_create)d)
  %%join = call ptr @address(i64 %(pthread_join)d)
  br label %%begin
begin:
  %%k = phi i64 [ 1, %%entry ], [ %%k1, %%start ]
  %%missing = icmp ult i64 %%k, %%threads
  br i1 %%missing, label %%start, label %%work
start:
  %%id = getelementptr i64, ptr %%ids, i64 %%k
  %%failed = call i32 %%create(ptr %%id, ptr null, ptr @shares, ptr %%task)
  %%note = getelementptr i32, ptr %%started, i64 %%k
  store i32 %%failed, ptr %%note
  %%k1 = add i64 %%k, 1
  br label %%begin
work:
  %%mine = call ptr @shares(ptr %%task)
  br label %%end
end:
  %%j = phi i64 [ 1, %%work ], [ %%j1, %%ended ]
  %%running = icmp ult i64 %%j, %%threads
  br i1 %%running, label %%look, label %%all_done
look:
  %%noted = getelementptr i32, ptr %%started, i64 %%j
  %%code = load i32, ptr %%noted
  %%fine = icmp eq i32 %%code, 0
  br i1 %%fine, label %%wait, label %%ended
wait:
  %%thread_place = getelementptr i64, ptr %%ids, i64 %%j
  %%thread = load i64, ptr %%thread_place
  %%joined = call i32 %%join(i64 %%thread, ptr null)
  br label %%ended
ended:
  %%j1 = add i64 %%j, 1
  br label %%end
all_done:
  %%all = load i32, ptr %%errors
  ret i32 %%all
}
define internal i32 @run(ptr %%kernel, ptr %%finish, ptr %%operands, ptr %%outputs, ptr %%about) {
entry:
  %%a4 = getelementptr i64, ptr %%about, i64 4
  %%parts = load i64, ptr %%a4
  %%a5 = getelementptr i64, ptr %%about, i64 5
  %%share = load i64, ptr %%a5
  %%a6 = getelementptr i64, ptr %%about, i64 6
  %%threads = load i64, ptr %%a6
  %%several = icmp ugt i64 %%threads, 1
  br i1 %%several, label %%on_threads, label %%here
on_threads:
  %%theirs = call i32 @on_threads(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 %%parts, i64 %%share, i64 %%threads)
  br label %%done
here:
  %%mine = call i32 @checked(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 0, i64 %%parts)
  br label %%done
done:
  %%all = phi i32 [ %%theirs, %%on_threads ], [ %%mine, %%here ]
  %%ends = icmp eq ptr %%finish, null
  br i1 %%ends, label %%ended, label %%finishing
ended:
  ret i32 %%all
finishing:
  %%last = call i32 @checked(ptr %%finish, ptr %%operands, ptr %%outputs, i64 0, i64 0)
  %%both = or i32 %%all, %%last
  ret i32 %%both
}
"""
"""Of a task, `@shares` reads operands, outputs, the kernel, how many parts there are, how many it takes at once, the first that is left, and notes
errors. Threads that cannot be started are none that have to be waited for."""


def flags_read(table: Table, x86: bool) -> str:
    """Return the lines that set `%raised` to the flags of this thread that NumPy would warn of."""
    if x86:
        return """
  %status = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %status)
  %flags = load i32, ptr %status
  %raised = and i32 %flags, 13 ; invalid, division by zero, overflow"""
    return f"""
  %test = call ptr @address(i64 {table["fetestexcept"]})
  %raised = call i32 %test(i32 7)"""


def flags_cleared(table: Table, x86: bool) -> str:
    """Return the lines that clear the flags of this thread."""
    if x86:
        return """
  %control = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %control)
  %before = load i32, ptr %control
  %cleared = and i32 %before, -64
  store i32 %cleared, ptr %control
  call void @llvm.x86.sse.ldmxcsr(ptr %control)"""
    return f"""
  %clear = call ptr @address(i64 {table["feclearexcept"]})
  %ignored = call i32 %clear(i32 63)"""


def running(table: Table, x86: bool) -> str:
    """Return ``@run``, which runs all parts of a kernel, and what has to come after them; it returns 0 if all is well."""
    flags = {"flags_read": flags_read(table, x86), "flags_cleared": flags_cleared(table, x86)}
    return _RUNNING % ChainMap(flags, table)  # type: ignore[arg-type]

"""Printing the runtime's execution of a kernel on one or several threads, with floating-point flags.

Threads are started for each kernel: that takes some 20 us, needs no pool that a fork could break, and a kernel is cut only if it takes several
times as long. Each takes one share of the rest after another. So the asking thread does all the work where no thread
can be started, and most of it where other programs keep the other processors busy. It waits for shares that somebody
has taken, not for threads, which may begin when all is done where processors are short: a thread that finds nothing
left reads nothing but its task.
"""

from __future__ import annotations

from collections import ChainMap

from fungrad.compile.emit.llvm_prelude import Table
from fungrad.compile.kernels.fused import Function

PART = 1 << 23
"""Operations on elements, at least, that are worth a thread: about a tenth of a millisecond."""

SHARES = 8
"""Shares for each thread, if there are as many parts, and nothing is to be made ready for each share."""

MOST_WAITING = 8
"""Threads started but not begun, beyond which no more are started: processors are short."""
SPINS = 400
"""How often the asking thread looks whether the last shares are done before it sleeps between looks."""
NAP = 20
"""Microseconds of such a sleep."""


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
@waiting = global i64 0, align 64
define internal void @let_go(ptr %%task) {
entry:
  %%holders = getelementptr ptr, ptr %%task, i64 8
  %%before = atomicrmw sub ptr %%holders, i64 1 acq_rel
  %%last = icmp eq i64 %%before, 1
  br i1 %%last, label %%free, label %%done
free:
  %%function = call ptr @address(i64 %(free)d)
  call void %%function(ptr %%task)
  br label %%done
done:
  ret void
}
define internal void @shares(ptr %%task) {
entry:
  %%p3 = getelementptr ptr, ptr %%task, i64 3
  %%parts = load i64, ptr %%p3
  %%p4 = getelementptr ptr, ptr %%task, i64 4
  %%share = load i64, ptr %%p4
  %%left = getelementptr ptr, ptr %%task, i64 5
  %%errors = getelementptr ptr, ptr %%task, i64 6
  %%finished = getelementptr ptr, ptr %%task, i64 7
  br label %%next
next:
  %%first = atomicrmw add ptr %%left, i64 %%share acq_rel
  %%more = icmp ult i64 %%first, %%parts
  br i1 %%more, label %%run, label %%done
run:
  %%operands = load ptr, ptr %%task
  %%p1 = getelementptr ptr, ptr %%task, i64 1
  %%outputs = load ptr, ptr %%p1
  %%p2 = getelementptr ptr, ptr %%task, i64 2
  %%kernel = load ptr, ptr %%p2
  %%end = add i64 %%first, %%share
  %%over = icmp ugt i64 %%end, %%parts
  %%last = select i1 %%over, i64 %%parts, i64 %%end
  %%found = call i32 @checked(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 %%first, i64 %%last)
  %%known = atomicrmw or ptr %%errors, i32 %%found acq_rel
  %%count = sub i64 %%last, %%first
  %%sum = atomicrmw add ptr %%finished, i64 %%count acq_rel
  br label %%next
done:
  ret void
}
define internal ptr @thread(ptr %%task) {
  %%before = atomicrmw sub ptr @waiting, i64 1 monotonic
  call void @shares(ptr %%task)
  call void @let_go(ptr %%task)
  ret ptr null
}
define internal void @begin(ptr %%task, i64 %%threads) {
entry:
  %%id = alloca i64
  %%create = call ptr @address(i64 %(pthread_create)d)
  %%detach = call ptr @address(i64 %(pthread_detach)d)
  %%holders = getelementptr ptr, ptr %%task, i64 8
  br label %%next
next:
  %%k = phi i64 [ 1, %%entry ], [ %%k1, %%created ]
  %%more = icmp ult i64 %%k, %%threads
  %%here = load atomic i64, ptr @waiting monotonic, align 8
  %%few = icmp slt i64 %%here, %(most_waiting)d
  %%another = and i1 %%more, %%few
  br i1 %%another, label %%start, label %%done
start:
  %%one_more = atomicrmw add ptr @waiting, i64 1 monotonic
  %%held = atomicrmw add ptr %%holders, i64 1 monotonic
  %%failed = call i32 %%create(ptr %%id, ptr null, ptr @thread, ptr %%task)
  %%fine = icmp eq i32 %%failed, 0
  br i1 %%fine, label %%created, label %%none
created:
  %%thread = load i64, ptr %%id
  %%ignored = call i32 %%detach(i64 %%thread)
  %%k1 = add i64 %%k, 1
  br label %%next
none:
  %%one_less = atomicrmw sub ptr @waiting, i64 1 monotonic
  %%let_go = atomicrmw sub ptr %%holders, i64 1 monotonic
  br label %%done
done:
  ret void
}
define internal void @wait(ptr %%task, i64 %%parts) {
entry:
  %%finished = getelementptr ptr, ptr %%task, i64 7
  br label %%look
look:
  %%k = phi i64 [ 0, %%entry ], [ %%k1, %%spin ], [ %%k, %%sleep ]
  %%so_far = load atomic i64, ptr %%finished acquire, align 8
  %%all = icmp eq i64 %%so_far, %%parts
  br i1 %%all, label %%done, label %%on
on:
  %%soon = icmp ult i64 %%k, %(spins)d
  br i1 %%soon, label %%spin, label %%sleep
spin:
%(pause)s
  %%k1 = add i64 %%k, 1
  br label %%look
sleep:
  %%usleep = call ptr @address(i64 %(usleep)d)
  %%ignored = call i32 %%usleep(i32 %(nap)d)
  br label %%look
done:
  ret void
}
define internal i32 @on_threads(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 %%parts, i64 %%share, i64 %%threads) {
entry:
  %%malloc = call ptr @address(i64 %(malloc)d)
  %%task = call ptr %%malloc(i64 72)
  %%none = icmp eq ptr %%task, null
  br i1 %%none, label %%alone, label %%begin
alone:
  %%mine = call i32 @checked(ptr %%kernel, ptr %%operands, ptr %%outputs, i64 0, i64 %%parts)
  ret i32 %%mine
begin:
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
  store i64 0, ptr %%errors
  %%finished = getelementptr ptr, ptr %%task, i64 7
  store i64 0, ptr %%finished
  %%holders = getelementptr ptr, ptr %%task, i64 8
  store i64 1, ptr %%holders
  call void @begin(ptr %%task, i64 %%threads)
  call void @shares(ptr %%task)
  call void @wait(ptr %%task, i64 %%parts)
  %%all = load atomic i32, ptr %%errors acquire, align 8
  call void @let_go(ptr %%task)
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
"""Code of a task: `@shares` takes parts until none is left, and notes errors and finished parts.

It reads operands, outputs, the kernel, the number of parts, how many it takes at once, and the first that is left.
Whoever holds the task last frees it.
"""


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
    """Return ``@run``, which runs all parts of a kernel and the code after them; 0 means success."""
    fields = {
        "flags_read": flags_read(table, x86),
        "flags_cleared": flags_cleared(table, x86),
        "most_waiting": MOST_WAITING,
        "spins": SPINS,
        "nap": NAP,
        "pause": "  call void @llvm.x86.sse2.pause()" if x86 else "",
    }
    return _RUNNING % ChainMap(fields, table)  # type: ignore[arg-type]

"""The runtime's execution of a kernel on one or several threads, with floating-point flags.

Threads are started for each kernel: that takes some 20 us, needs no pool that a fork could break, and a kernel is cut only if it takes several
times as long. Each takes one share of the rest after another. So the asking thread does all the work where no thread
can be started, and most of it where other programs keep the other processors busy. It waits for shares that somebody
has taken, not for threads, which may begin when all is done where processors are short: a thread that finds nothing
left reads nothing but its task.
"""

from __future__ import annotations

from fungrad.compile.emit.llvm_prelude import HEAD
from fungrad.compile.emit.traced import I32, I64, Code, Ptr, Traced, Value, Variable
from fungrad.compile.kernels.fused import Block

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


def threads_for(kernel: Block, parts: int, most: int) -> int:
    """Return how many threads run a kernel."""
    return max(min(most, parts, kernel.work // PART), 1)


def share_of(kernel: Block, parts: int, most: int, copies: bool) -> int:
    """Return how many parts a share is of; where `copies` are made for each, there is one for each thread."""
    threads = threads_for(kernel, parts, most)
    return parts if threads == 1 else -(-parts // (threads if copies else SHARES * threads))


WAITING = "waiting"
"""The number of threads that have been started and have not begun."""
TASK = (
    "operands", "outputs", "kernel", "parts", "share", "left", "errors", "finished", "holders",
)  # fmt: skip
"""Words of a task: arrays, the function, its parts, the parts of a share, the first part left.

Then the flags raised so far, the finished parts, and the number of threads that hold the task: the last one frees it.
"""


def raised_flags(to: Code) -> Value:
    """Return the flags of this thread that NumPy would warn of."""
    if not to.around.x86:
        return to.call("fetestexcept", 7)
    status = to.place("i32")
    to.of_llvm("void", "x86.sse.stmxcsr", status)
    return status.load("i32") & 13  # invalid, division by zero, overflow


def _clear_flags(to: Code) -> None:
    """Clear the flags of this thread."""
    if not to.around.x86:
        to.call("feclearexcept", 63)
        return
    control = to.place("i32")
    to.of_llvm("void", "x86.sse.stmxcsr", control)
    control.store(control.load("i32") & -64)
    to.of_llvm("void", "x86.sse.ldmxcsr", control)


def _waiting(to: Code) -> Value:
    """Return the address of the number of threads that have been started and have not begun."""
    return to.symbol(WAITING)


def _of(task: Value, name: str) -> Value:
    """Return the address of a word of a task."""
    return task.at(TASK.index(name))


def checked(to: Code, kernel: Ptr, operands: Ptr, outputs: Ptr, first: I64, last: I64) -> I32:
    """Run parts of a kernel and return the flags that they have raised."""
    _clear_flags(to)
    unsafe = to.call_at(kernel.name, "i32", operands, outputs, first, last)
    return raised_flags(to) | unsafe


def let_go(to: Code, task: Ptr) -> None:
    """Hold a task no longer."""
    with to.when(_of(task, "holders").update("sub", to.value(1)) == 1):
        to.call("free", task)


def shares(to: Code, task: Ptr) -> None:
    """Take shares of a task until none is left."""
    words = {name: _of(task, name) for name in TASK}
    kernel, operands, outputs = [words[x].load("ptr") for x in ("kernel", "operands", "outputs")]
    parts, share = words["parts"].load("i64"), words["share"].load("i64")
    with to.repeated() as leave:
        first = words["left"].update("add", share)
        with to.when(first >= parts):
            leave()
        last = to.of_llvm("i64", "umin.i64", first + share, parts)
        found = to.call(checked, kernel, operands, outputs, first, last)
        words["errors"].update("or", found)
        words["finished"].update("add", last - first)


def thread(to: Code, task: Ptr) -> Ptr:
    """Be a thread that helps with a task."""
    _waiting(to).update("sub", to.value(1), "monotonic")
    to.call(shares, task)
    to.call(let_go, task)
    return to.value(None, "ptr")


def begin(to: Code, task: Ptr, threads: I64) -> None:
    """Start threads, less this one, unless processors are short."""
    number, started = to.place("i64"), Variable(to.value(1))
    holders, one = _of(task, "holders"), to.value(1)
    with to.repeated() as leave:
        here = _waiting(to).load("i64", "monotonic")
        few = here.signed_less(MOST_WAITING)
        with to.when(~((started.get() < threads) & few)):
            leave()
        _waiting(to).update("add", one, "monotonic")
        holders.update("add", one, "monotonic")
        failed = to.call("pthread_create", number, None, to.symbol("thread"), task)
        with to.when(failed != 0):
            _waiting(to).update("sub", one, "monotonic")
            holders.update("sub", one, "monotonic")
            leave()
        to.call("pthread_detach", number.load("i64"))
        started.set(started.get() + 1)


def wait(to: Code, task: Ptr, parts: I64) -> None:
    """Return once all parts are finished."""
    looks = Variable(to.value(0))
    with to.repeated() as leave:
        with to.when(_of(task, "finished").load("i64", "acquire") == parts):
            leave()
        soon = looks.get() < SPINS
        with to.when(soon):
            if to.around.x86:
                to.of_llvm("void", "x86.sse2.pause")
            looks.set(looks.get() + 1)
        with to.when(~soon):
            to.call("usleep", NAP)


def on_threads(
    to: Code, kernel: Ptr, operands: Ptr, outputs: Ptr, parts: I64, share: I64, threads: I64
) -> I32:
    """Run all parts of a kernel on threads, or on this one if there is no memory."""
    task = to.call("malloc", 8 * len(TASK))
    with to.when(task.is_null):
        to.give(to.call(checked, kernel, operands, outputs, 0, parts))
    words = {"operands": operands, "outputs": outputs, "kernel": kernel, "parts": parts}
    words |= {"share": share, "holders": to.value(1)}
    for name in TASK:
        _of(task, name).store(words.get(name, to.value(0)))
    to.call(begin, task, threads)
    to.call(shares, task)
    to.call(wait, task, parts)
    errors = _of(task, "errors").load("i32", "acquire")
    to.call(let_go, task)
    return errors


def run(to: Code, kernel: Ptr, finish: Ptr, operands: Ptr, outputs: Ptr, about: Ptr) -> I32:
    """Run all parts of a kernel and the code after them; 0 means success."""
    parts, share, threads = [about.number(HEAD.index(x)) for x in ("parts", "share", "threads")]
    found = to.chosen(
        threads > 1,
        lambda: to.call(on_threads, kernel, operands, outputs, parts, share, threads),
        lambda: to.call(checked, kernel, operands, outputs, 0, parts),
    )
    with to.when(finish.is_null):
        to.give(found)
    return found | to.call(checked, finish, operands, outputs, 0, 0)


RUNNING: tuple[Traced, ...] = (checked, let_go, shares, thread, begin, wait, on_threads, run)

"""Programs in which the second process does not come to a collective: `python -m tests.distributed.faults NAME FOLDER`.

Each process writes into a file of its own what it says: launchers lose what is said after a process has died. What is done stands in
the documentation of each function, and in the table of docs/distributed_results.md.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import distributed, lax
from fungrad.sharding import PartitionSpec, make_mesh, shard_map
from tests.distributed.launch import launch

P = PartitionSpec
DIVIDED = P("i")
X = np.arange(8.0)
TIMEOUT = 4.0


def mapped(f, out_specs=DIVIDED):
    mesh = make_mesh((fg.process_count(),), ("i",))
    return shard_map(f, mesh=mesh, in_specs=DIVIDED, out_specs=out_specs)


def total(x):
    return mapped(lambda x: x + lax.psum(x.sum(), "i"))(x)


def largest(x):
    return mapped(lambda x: x + lax.pmax(x.sum(), "i"))(x)


def killed(second):
    """It is killed (SIGKILL) before a sum."""
    if second:
        os.kill(os.getpid(), signal.SIGKILL)
    total(X)


def raised(second):
    """It raises an error of its own before a sum."""
    if second:
        raise RuntimeError("of the program's own")
    total(X)


def ended(second):
    """Its program ends before a sum."""
    if not second:
        total(X)


def other_collective(second):
    """It comes to `pmax`, the others to `psum`."""
    (largest if second else total)(X)


def other_collective_jitted(second):
    """It comes to `pmax`, the others to `psum`, under `jit`."""
    fg.jit(largest if second else total)(X)


def other_shape(second):
    """It has an argument of half the length."""
    total(X[:4] if second else X)


def one_more_in_a_loop(second):
    """Its loop, with a mean in each step, is one step longer."""
    mapped(lambda x: lax.fori_loop(0, 3 + second, lambda i, c: c + lax.pmean(c, "i"), x))(X)


def late(second):
    """It comes two seconds after the others have given up; `timeout` is 4 s."""
    if second:
        time.sleep(TIMEOUT + 2)
    total(X)


def interrupted(second):
    """It gets Ctrl-C while it waits in a sum, to which the others come later."""
    if not second:
        time.sleep(1.0)
    else:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
    total(X)


def after_a_failure(second):
    """It comes too late, as before; then all try a sum once more, though the message may still come."""
    with contextlib.suppress(distributed.DistributedError):
        late(second)
    total(X)


def mistakes(second):
    """All have an error at the same collective, which they catch: results that differ, then `pmax` beside `psum`."""
    for mistake, words in (
        (lambda: mapped(lambda x: x.sum(), P())(X), "a result differs along the axis 'i'"),
        (lambda: (largest if second else total)(X), "different collectives"),
    ):
        with pytest.raises(Exception, match=words):
            mistake()
        assert total(X)[0] == X.sum()
    print("went on")


def forked(second):
    """Each process forks, and its child, which has no part in collectives, tries a sum."""
    total(X)
    child = os.fork()
    if child == 0:
        try:
            total(X)
        except distributed.DistributedError as error:
            os._exit(7 if "was forked" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert total(X)[0] == X.sum()
    print("went on")


GONE = "process 0 waits at p_sum.*faults.py.*process 1 comes to no more: "
MISMATCH = "different collectives.*\n  process 0 at p_sum.*faults.py:\\d+\n  process 1 at p_max.*faults.py:"
FAULTS = {
    killed: f"{GONE}it has been killed",
    raised: f"{GONE}RuntimeError: of the program's own",
    ended: f"{GONE}its program has ended",
    other_collective: MISMATCH,
    other_collective_jitted: MISMATCH,
    other_shape: r"process 0 at whole.* of float64\[\d\].*\n.*process 1 at whole.* of float64\[\d\]",
    one_more_in_a_loop: "different collectives|comes to no more",
    late: "process 0 waited 4 s for the other processes at p_sum",
    after_a_failure: "since an earlier collective failed: process 0 waited 4 s",
    interrupted: f"{GONE}KeyboardInterrupt",
}
"""By what is done: what the first process says of it."""
GO_ON = (mistakes, forked)
"""After these all go on."""


def said(name, folder, count=2):
    """Run one of these programs; return its exit status and what its processes said."""
    command = ["-m", "tests.distributed.faults", name, str(folder)]
    status = launch(count, *command, timeout=60).returncode
    others = [folder / f"{i}.txt" for i in range(count) if i != 1]
    deadline = time.monotonic() + 10
    while status and time.monotonic() < deadline:
        if all("Error" in path.read_text() for path in others):
            break
        time.sleep(0.1)  # the launcher need not wait for the others
    return status, [(folder / f"{i}.txt").read_text() for i in range(count)]


if __name__ == "__main__":
    distributed.initialize(timeout=TIMEOUT)
    said = Path(sys.argv[2], f"{fg.process_index()}.txt")
    sys.stdout = sys.stderr = said.open("w", buffering=1)
    assert total(X)[0] == X.sum()
    begun = time.monotonic()
    try:
        globals()[sys.argv[1]](fg.process_index() == 1)
    except BaseException:
        seconds = time.monotonic() - begun
        print(f"process {fg.process_index()} failed after {seconds:.2f} s")
        raise

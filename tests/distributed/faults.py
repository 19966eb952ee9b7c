"""Programs in which a process does not come to a collective: `python -m tests.distributed.faults NAME FOLDER`.

Each writes into a file of its own what it says: launchers lose what is said after a process has died.
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
    if second:
        os.kill(os.getpid(), signal.SIGKILL)
    total(X)


def raised(second):
    if second:
        raise RuntimeError("of the program's own")
    total(X)


def ended(second):
    if not second:
        total(X)


def other_collective(second):
    (largest if second else total)(X)


def other_collective_jitted(second):
    fg.jit(largest if second else total)(X)


def other_shape(second):
    total(X[:4] if second else X)


def one_more_in_a_loop(second):
    mapped(lambda x: lax.fori_loop(0, 3 + second, lambda i, c: c + lax.pmean(c, "i"), x))(X)


def late(second):
    if second:
        time.sleep(TIMEOUT + 2)
    total(X)


def interrupted(second):
    if second:
        time.sleep(1.0)
    else:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
    total(X)


def after_a_failure(second):
    """Who waits no more cannot go on either: the message may still come."""
    with contextlib.suppress(distributed.DistributedError):
        late(second)
    total(X)


def mistakes(second):
    """Errors that all processes have together: they go on."""
    for mistake, words in (
        (lambda: mapped(lambda x: x.sum(), P())(X), "a result differs along the axis 'i'"),
        (lambda: (largest if second else total)(X), "different collectives"),
    ):
        with pytest.raises(Exception, match=words):
            mistake()
        assert total(X)[0] == X.sum()
    print("went on")


def forked(second):
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

"""Programs in which the second process does not come to a collective: `python -m tests.distributed.faults NAME FOLDER`.

Each process writes into a file of its own what it says: launchers lose what is said after a process has died. What is done stands in
the documentation of each function, and in the table of docs/distributed_results.md.
"""

import contextlib
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import distributed, lax
from fungrad.compile.passes import overlap
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


def layers(count, other=None):
    """Return a gradient whose parts are begun apart; `other` is called in the last layer while they are under way."""

    def loss(ws, x):
        for k, w in enumerate(ws):
            x = fnp.tanh(x * w)
            if other is not None and k == 0:
                x = other(x)
        return lax.pmean(fnp.sum(x), "i")

    mesh = make_mesh((fg.process_count(),), ("i",))
    divided = shard_map(loss, mesh=mesh, in_specs=(P(), DIVIDED), out_specs=P())
    return fg.jit(fg.grad(divided)), [np.ones(1) for _ in range(count)]


@contextlib.contextmanager
def apart():
    """Context in which no two sums are sent as one."""
    before, overlap.BUCKET = overlap.BUCKET, 1
    try:
        yield
    finally:
        overlap.BUCKET = before


def killed_while_computing(second):
    """It is killed while it computes, messages being under way."""

    @fg.custom_vjp
    def other(x):
        return x

    def die(x):
        if second:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    def backward(_, ct):
        return (fg.pure_callback(die, ct, ct),)

    other.defvjp(lambda x: (x, None), backward)
    with apart():
        gradient, ws = layers(9, other)
        gradient(ws, X)


def another_in_a_bucket(second):
    """It comes to `pmax`, the others to a second `psum`, which is sent with the first."""

    def f(x):
        y, z = lax.psum(fnp.sin(x), "i"), (lax.pmax if second else lax.psum)(fnp.cos(x), "i")
        return x * y + z

    fg.jit(mapped(f))(X)


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
    factor = 2.0 if second else 1.0
    scaled = fg.jit(mapped(lambda x: lax.psum(x, "i") * factor, P()))
    steep = fg.jit(fg.grad(lambda x: mapped(lambda x: lax.psum(fnp.sum(x), "i") * factor, P())(x)))
    for mistake, words in (
        (lambda: scaled(X), "a result differs along the axis 'i'"),
        (lambda: steep(X), "a result differs along the axis 'i'"),
        (lambda: mapped(lambda x: x.sum(), P())(X), "a result differs along the axis 'i'"),
        (lambda: (largest if second else total)(X), "different collectives"),
    ):
        with pytest.raises(Exception, match=words):
            mistake()
        assert total(X)[0] == X.sum()
    print("went on")


def mistakes_while_computing(second):
    """An error that all have while messages are under way: they go on, and so do later messages."""
    failing = [True]

    @fg.custom_vjp
    def other(x):
        return x

    def refuse(ct):
        if failing[0]:
            raise RuntimeError("not this time")
        return ct

    def backward(_, ct):
        return (fg.pure_callback(refuse, ct, ct),)

    other.defvjp(lambda x: (x, None), backward)
    with apart():
        gradient, ws = layers(9, other)
        plain, _ = layers(9)
        expected = plain(ws, X)
        for _ in range(3):
            with pytest.raises(Exception, match="not this time"):
                gradient(ws, X)
        failing[0] = False
        for found in (gradient(ws, X), plain(ws, X)):
            np.testing.assert_array_equal(found, expected)
        assert total(X)[0] == X.sum()
    print("went on")


def warned(second):
    """A sum that overflows warns where it is read, of the user's line, as often as it is computed."""

    def f(x):
        y = lax.psum(x, "i")
        return y, lax.psum(fnp.cos(x), "i")

    run = fg.jit(mapped(f, (P(), P())))
    for _ in range(2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            run(np.full(8, 1e308))
        assert [(w.filename, "overflow" in str(w.message)) for w in found] == [(__file__, True)]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        run(np.full(8, 1e308))
    with np.errstate(over="ignore"):
        assert np.isinf(run(np.full(8, 1e308))[0]).all()
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
    another_in_a_bucket: r"\n  process 0 at p_sum.*; p_sum.*faults.py:\d+\n  process 1 at p_sum.*faults.py:",
    killed_while_computing: r"process 0 waits at .*faults.py.*process 1 comes to no more: it has been killed",
    other_shape: r"process 0 at whole.* of float64\[\d\].*\n.*process 1 at whole.* of float64\[\d\]",
    one_more_in_a_loop: "different collectives|comes to no more",
    late: "process 0 waited 4 s for the other processes at p_sum",
    after_a_failure: "since an earlier collective failed: process 0 waited 4 s",
    # What it had sent of the sum is enough for the others, whose next collective it does not come to.
    interrupted: f"{GONE.replace('p_sum', 'whole')}KeyboardInterrupt",
}
"""By what is done: what the first process says of it."""
GO_ON = (mistakes, mistakes_while_computing, warned, forked)
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

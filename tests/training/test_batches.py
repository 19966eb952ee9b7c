"""Minibatches: which rows, where they go on, and what becomes of the thread."""

import gc
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import random, training
from fungrad.training import ahead

ROOT = Path(__file__).parents[2]
KEY = random.key(7)
DATA = {"x": np.arange(20.0).reshape(10, 2), "y": (np.arange(10), [np.arange(10) % 3 == 0])}
PREFETCH = pytest.mark.parametrize("prefetch", [0, 1, 3])


def rows(batches):
    """Return the rows in each batch; all leaves must have the same."""
    found = []
    for batch in batches:
        y = batch["y"][0]
        np.testing.assert_array_equal(batch["x"], DATA["x"][y])
        np.testing.assert_array_equal(batch["y"][1][0], DATA["y"][1][0][y])
        found.append(y.tolist())
    return found


def threads():
    return [t for t in threading.enumerate() if t.name == "fungrad-minibatches"]


def eventually(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def _no_threads_are_left():
    yield
    gc.collect()
    eventually(lambda: threads() == [])


@PREFETCH
def test_each_epoch_has_each_row_once(prefetch):
    found = rows(training.minibatches(DATA, 4, key=KEY, epochs=3, prefetch=prefetch))
    assert [len(b) for b in found] == [4, 4, 2] * 3
    for epoch in range(3):
        order = random.permutation(random.fold_in(KEY, epoch), 10).tolist()
        assert [i for batch in found[3 * epoch : 3 * epoch + 3] for i in batch] == order
        assert sorted(order) == list(range(10))
    assert len({str(b) for b in found}) == 9


@PREFETCH
@pytest.mark.parametrize("key", [None, KEY, random.PRNGKey(7)], ids=["none", "key", "raw"])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 3, 5, 10])
def test_going_on_from_each_position(prefetch, key, drop_last, size, tmp_path):
    options = {"key": key, "epochs": 3, "drop_last": drop_last, "prefetch": prefetch}
    whole = rows(training.minibatches(DATA, size, **options))
    assert len(whole) == 3 * (10 // size if drop_last else -(-10 // size))
    with training.minibatches(DATA, size, **options) as batches:
        for i in range(len(whole) + 1):
            position = batches.position
            if i % 4 == 0:
                training.save(tmp_path / "a", position)
                position = training.load(tmp_path / "a")
            assert len(batches) == len(whole) - i
            rest = training.minibatches(DATA, size, **options, start=position)
            assert len(rest) == len(batches)
            assert rows(rest) == whole[i:]
            next(batches, None)


def test_without_a_key_rows_come_as_they_are():
    assert rows(training.minibatches(DATA, 4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_raw_key_is_the_same_key():
    found = [rows(training.minibatches(DATA, 4, key=k)) for k in (KEY, random.PRNGKey(7))]
    assert found[0] == found[1]


@PREFETCH
def test_for_ever(prefetch):
    with training.minibatches(DATA, 4, key=KEY, epochs=None, prefetch=prefetch) as batches:
        found = [next(batches)["y"][0].tolist() for _ in range(10)]
        assert batches.epoch == 3
        with pytest.raises(TypeError, match="have no end"):
            len(batches)
    assert found[:9] == rows(training.minibatches(DATA, 4, key=KEY, epochs=3))


def test_no_epochs():
    assert rows(training.minibatches(DATA, 4, epochs=0)) == []


@PREFETCH
@pytest.mark.parametrize("key", [None, KEY])
def test_batches_are_arrays_of_their_own(prefetch, key):
    data = {"x": DATA["x"].copy()}
    for batch in training.minibatches(data, 4, key=key, prefetch=prefetch):
        batch["x"][:] = -1
    np.testing.assert_array_equal(data["x"], DATA["x"])


def test_arrays_in_files(tmp_path):
    np.save(tmp_path / "x.npy", DATA["x"])
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    for key in (None, KEY):
        for a, b in zip(
            training.minibatches(x, 3, key=key),
            training.minibatches(DATA["x"], 3, key=key),
            strict=True,
        ):
            assert type(a) is np.ndarray
            assert a.flags.writeable
            np.testing.assert_array_equal(a, b)


def test_other_dtypes():
    keys = random.split(KEY, 10)
    for batch in training.minibatches(
        {"k": keys, "s": np.arange(10).astype(str), "i": np.arange(10)}, 4, key=KEY
    ):
        assert (batch["k"] == keys[batch["i"]]).all()
        assert batch["s"].tolist() == [str(i) for i in batch["i"]]


def test_settings_and_traces_around_it_do_not_matter():
    whole = rows(training.minibatches(DATA, 4, key=KEY, epochs=2))
    with fg.threefry_partitionable(False):
        assert rows(training.minibatches(DATA, 4, key=KEY, epochs=2)) == whole
    found = []
    fg.jit(lambda x: found.append(rows(training.minibatches(DATA, 4, key=KEY, epochs=2))) or x)(1.0)
    assert found == [whole]


def test_the_key_is_used_as_often_as_one_likes():
    with fg.debug_key_reuse():
        random.normal(KEY)
        for _ in range(2):
            rows(training.minibatches(DATA, 4, key=KEY, epochs=2))


ERRORS = [
    (({}, 4), ValueError, "no rows"),
    ((np.zeros((0, 2)), 4), ValueError, "no rows"),
    (({"x": np.zeros(3), "y": [np.zeros(4)]}, 2), ValueError, r"data\['x'\] 3, data\['y'\]\[0\] 4"),
    (({"x": 3.0}, 4), TypeError, r"data\['x'\] must be an array with a row .* got 'float'"),
    ((np.zeros(()), 4), TypeError, "data must be an array with a row"),
    ((np.ma.zeros(3), 4), TypeError, "got 'MaskedArray'"),
    ((DATA, 0), ValueError, "size must be at least 1, got 0"),
    ((DATA, 1.5), TypeError, "integer"),
]
OPTIONS = [
    ({"key": 3}, TypeError, "takes a key"),
    ({"key": random.split(KEY)}, ValueError, "takes one key"),
    ({"epochs": -1}, ValueError, "epochs must be at least 0, got -1"),
    ({"prefetch": -1}, ValueError, "prefetch must be at least 0"),
    ({"drop_last": True}, ValueError, "10 rows make no batch of 11"),
    ({"start": 3}, ValueError, "start must be the position"),
    ({"start": {"epoch": 1}}, ValueError, "start must be the position"),
]


@pytest.mark.parametrize(("args", "error", "message"), ERRORS)
def test_wrong_data(args, error, message):
    with pytest.raises(error, match=message):
        training.minibatches(*args)


@pytest.mark.parametrize(("options", "error", "message"), OPTIONS)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        training.minibatches(DATA, 11, **options)


def test_traced_arguments():
    with pytest.raises(TypeError, match="got 'Tracer'"):
        fg.jit(lambda x: training.minibatches(x, 2))(np.zeros(3))
    with pytest.raises(TypeError, match="the key is traced"):
        fg.jit(lambda k: training.minibatches(DATA, 2, key=k))(KEY)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rows", {"data": np.zeros(9)}),
        ("size", {"size": 3}),
        ("drop_last", {"drop_last": True}),
        ("key", {"key": random.key(8)}),
        ("key", {"key": None}),
    ],
)
def test_a_position_in_other_batches(name, options):
    start = training.minibatches(DATA, 4, key=KEY).position
    options = {"data": DATA, "size": 4, "key": KEY, **options}
    with pytest.raises(ValueError, match=f"other batches: there {name} is"):
        training.minibatches(**options, start=start)


# The thread


def test_a_thread_makes_batches_before_they_are_asked_for():
    made = []
    batches = ahead.Ahead(lambda i: made.append(i) or i, 100, 3)
    assert made == []
    assert batches[0] == 0
    eventually(lambda: made == [0, 1, 2, 3])
    time.sleep(0.05)
    assert made == [0, 1, 2, 3]
    assert batches[1] == 1
    eventually(lambda: len(made) == 5)
    batches.close()
    assert threads() == []


def test_it_ends_with_the_last_batch():
    batches = training.minibatches(DATA, 4, prefetch=2)
    rows(batches)
    assert threads() == []
    assert next(batches, "none") == "none"


def test_it_ends_with_the_block():
    with training.minibatches(DATA, 4, epochs=None, prefetch=2) as batches:
        next(batches)
        assert len(threads()) == 1
    assert threads() == []


def test_it_ends_when_the_iterator_is_gone():
    batches = training.minibatches(DATA, 4, epochs=None, prefetch=2)
    next(batches)
    assert len(threads()) == 1
    del batches
    gc.collect()
    eventually(lambda: threads() == [])


def test_it_ends_with_an_exception_in_the_loop():
    def train():
        for _ in training.minibatches(DATA, 4, epochs=None, prefetch=2):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    gc.collect()
    eventually(lambda: threads() == [])


def test_an_iterator_that_was_closed_goes_on():
    with training.minibatches(DATA, 2, key=KEY, prefetch=2) as batches:
        first = next(batches)["y"][0].tolist()
    assert [first, *rows(batches)] == rows(training.minibatches(DATA, 2, key=KEY))


def test_errors_reach_the_caller():
    def make(i):
        return 1 // (2 - i)

    batches = ahead.Ahead(make, 100, 3)
    assert [batches[0], batches[1]] == [0, 1]
    for _ in range(2):  # and again, where it is asked for again
        with pytest.raises(ZeroDivisionError) as error:
            batches[2]
        assert error.traceback[-1].name == "make"
        assert threads() == []
    assert batches[3] == -1


def test_an_interrupt_at_any_time_loses_no_batch():
    """As Ctrl-C does, also when the batch has been taken from the queue already."""
    whole = rows(training.minibatches(DATA, 1, key=KEY, epochs=4))
    for where in range(1, 40, 3):
        batches = training.minibatches(DATA, 1, key=KEY, epochs=4, prefetch=2)
        found = [next(batches)["y"][0].tolist() for _ in range(2)]
        lines = iter(range(1, 1000))

        def trace(frame, event, arg, lines=lines, where=where):
            if frame.f_code.co_filename == ahead.__file__:
                if event == "line" and next(lines) == where:
                    sys.settrace(None)
                    raise KeyboardInterrupt
                return trace
            return None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for _ in range(20):
                found += [next(batches)["y"][0].tolist()]
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert found + rows(batches) == whole


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_is_gone_is_replaced():
    class Lost:
        def put(self, item):
            raise SystemExit

        def get(self, timeout):
            raise queue.Empty

    batches = ahead.Ahead(lambda i: i, 10, 1)
    assert batches[0] == 0
    batches._run.made = Lost()
    assert [batches[i] for i in range(1, 5)] == [1, 2, 3, 4]
    batches.close()


def in_a_process(program, *, kill=None, after=None):
    """Run a program of its own; return what it prints, and how it ended."""
    command = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        (PROGRAM if after is None else after) + program,
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if kill is not None:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(kill)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


PROGRAM = """
import os, signal, sys, time, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell has ignored in the background
import numpy as np
from fungrad import random, training
x = np.arange(100_000.0)
batches = training.minibatches(x, 10_000, key=random.key(0), epochs=None, prefetch=3)
next(batches)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_process_ends():
    """In whatever way. The children are forked before there are batches, and end as any program does."""
    ends = ["", "sys.exit(0)", "raise SystemExit", "del batches"]
    before, _, batches = PROGRAM.partition("batches =")
    program = f"""{before}
for end in {ends}:
    child = os.fork()
    if child == 0:
        break
    assert os.wait()[1] == 0, end
else:
    os._exit(0)
batches ={batches}
exec(end)
"""
    assert in_a_process(program, after="") == (0, "", "")


def test_the_process_ends_with_an_exception():
    code, out, err = in_a_process("1 / 0")
    assert (code, out) == (1, "")
    assert err.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_the_process_is_interrupted():
    sleep = "for _ in range(600): time.sleep(0.1)"  # else an interrupt just before would be found after it
    for waiting in (sleep, "for _ in batches: pass", "[b for b in batches if 0]"):
        code, _, err = in_a_process(f"print('ready', flush=True)\n{waiting}", kill=signal.SIGINT)
        assert code in (1, -signal.SIGINT)
        assert err.endswith("KeyboardInterrupt\n")
        assert err.count("Traceback") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks():
    """Both processes go on with the same batches."""
    program = """
position = batches.position
for _ in range(3):
    child = os.fork()
    if child == 0:
        break
found = [next(batches).sum() for _ in range(12)]
whole = training.minibatches(x, 10_000, key=random.key(0), epochs=None, start=position)
assert found == [next(whole).sum() for _ in range(12)]
if child == 0:
    sys.exit(0)
for _ in range(3):
    assert os.wait()[1] == 0
print("done")
"""
    assert in_a_process(program) == (0, "done\n", "")


def test_threads_may_have_iterators_of_their_own():
    whole = rows(training.minibatches(DATA, 3, key=KEY, epochs=5))
    found = []

    def work():
        found.append(rows(training.minibatches(DATA, 3, key=KEY, epochs=5, prefetch=2)))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [whole] * 8


# Shares


@PREFETCH
@pytest.mark.parametrize("key", [None, KEY], ids=["none", "key"])
@pytest.mark.parametrize(("size", "drop_last"), [(4, True), (8, False), (10, False), (2, False)])
@pytest.mark.parametrize("count", [1, 2])
def test_shares_are_equal_and_joined_they_are_the_batch(prefetch, key, size, drop_last, count):
    options = {"key": key, "epochs": 2, "drop_last": drop_last, "prefetch": prefetch}
    whole = rows(training.minibatches(DATA, size, **options))
    shares = [
        rows(training.minibatches(DATA, size, shard=(i, count), **options)) for i in range(count)
    ]
    for batch, *parts in zip(whole, *shares, strict=True):
        assert {len(p) for p in parts} == {len(batch) // count}
        assert [i for part in parts for i in part] == batch


def test_others_go_on_where_some_have_been(tmp_path):
    """Two take three batches, four go on; all rows come, in the order of one."""
    data = np.arange(48)
    options = {"key": KEY, "epochs": 2}
    whole = [b.tolist() for b in training.minibatches(data, 8, **options)]
    two = [training.minibatches(data, 8, shard=(i, 2), **options) for i in range(2)]
    found = [np.concatenate([next(b) for b in two]).tolist() for _ in range(3)]
    assert str(two[0].position) == str(two[1].position)
    training.save(tmp_path / "a", two[0].position)
    start = training.load(tmp_path / "a")
    four = [training.minibatches(data, 8, shard=(i, 4), start=start, **options) for i in range(4)]
    found += [np.concatenate(parts).tolist() for parts in zip(*four, strict=True)]
    assert found == whole


@pytest.mark.parametrize(
    ("size", "shard", "error", "words"),
    [
        (4, (0, 3), ValueError, "size 4 cannot be divided into 3 equal shares; take 6"),
        (
            4,
            (1, 4),
            ValueError,
            "of 10 rows, 2 are left .* drop_last=True leaves them out, or pad data to 12 rows",
        ),
        (4, (2, 2), ValueError, "0 <= index < count"),
        (4, (-1, 2), ValueError, "0 <= index < count"),
        (4, (0, 0), ValueError, "0 <= index < count"),
        (4, 2, TypeError, r"must be \(index, count\), got 2"),
        (4, (0.0, 2), TypeError, "integer"),
    ],
)
def test_what_cannot_be_shared(size, shard, error, words):
    with pytest.raises(error, match=words):
        training.minibatches(DATA, size, shard=shard)


def test_it_says_which_share_it_is():
    assert "by 4, share 1 of 2, 0 of 3 taken" in repr(training.minibatches(DATA, 4, shard=(1, 2)))

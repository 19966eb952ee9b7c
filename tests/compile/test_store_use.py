"""Where object files are kept, how many, and by whom: threads, interrupts, kernels."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.targets import host, store
from fungrad.transforms.call import programs
from tests.compile.compiling import X, in_mode, needs_compiler
from tests.compile.storing import CODE, HEAD, KEY, OTHER, files, kept, path_of, posix
from tests.stepping import step_through, traced


def config(capsys):
    fg.show_config()
    return capsys.readouterr().out.splitlines()[-1]


# Where it is


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("FUNGRAD_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for system, found in [("linux", "xdg"), ("darwin", "Library/Caches"), ("win32", "local")]:
        monkeypatch.setattr(sys, "platform", system)
        assert store.folder() == str(tmp_path / found / "fungrad")
    monkeypatch.setattr(sys, "platform", "linux")
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert store.folder() == str(tmp_path / ".cache" / "fungrad")
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", "~/own")
    assert store.folder() == str(tmp_path / "own")
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", "")
    assert store.folder() == str(tmp_path / ".cache" / "fungrad")


@posix
def test_without_a_home(monkeypatch):
    import pwd

    def unknown(*args):
        raise KeyError("nobody")

    for name in ("FUNGRAD_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    store.put(KEY, CODE)
    assert store.get(KEY) is None
    assert store.describe() == "none, as this user has no home folder"


def test_a_relative_path_begins_where_the_process_did(tmp_path, monkeypatch):
    """Wherever it has gone since."""
    started, elsewhere = tmp_path / "started", tmp_path / "elsewhere"
    started.mkdir(), elsewhere.mkdir()
    program = """
import os, sys
import fungrad as fg, numpy as np
os.chdir(sys.argv[1])
f = fg.jit(lambda x: fg.numpy.sin(x) * x + 1)
f(np.ones(3))
from fungrad.compile.targets import store
print(store.folder())
"""
    environment = {**os.environ, "FUNGRAD_CACHE_DIR": "my/cache", "FUNGRAD_COMPILE": "eager"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(fg.__file__).parents[1]), *sys.path])
    command = [sys.executable, "-c", program, str(elsewhere)]
    found = subprocess.run(
        command, cwd=started, env=environment, capture_output=True, text=True, check=True
    )
    place = started / "my" / "cache"
    assert os.path.samefile(started, Path(found.stdout.strip()).parents[1])
    assert found.stderr == ""
    assert not host.available() or files(place)
    assert not [*elsewhere.iterdir()]


def test_places_that_are_not(monkeypatch):
    """They are none to keep anything in; nobody's call fails."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(store, "STARTED_IN", "")  # it was removed before
    for path in ("~nobody/cache", "cache"):
        monkeypatch.setenv("FUNGRAD_CACHE_DIR", path)
        store.put(KEY, CODE)
        assert store.get(KEY) is None
        why = f"FUNGRAD_CACHE_DIR is {path}, and there is no such place"
        assert store.describe() == f"none, as {why}"


@needs_compiler
@in_mode("eager")
def test_what_show_config_says(mode, place, monkeypatch, capsys):
    assert config(capsys) == f"cache: {place}, 0 files, 0 kB"
    assert not place.exists()
    kept(place), kept(place, OTHER)
    assert config(capsys) == f"cache: {place}, 2 files, 2 kB"
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", "off")
    assert config(capsys) == "cache: none, as FUNGRAD_CACHE_DIR is off"


@in_mode("off")
def test_what_show_config_says_without_kernels(mode, place, capsys):
    assert config(capsys) == "cache: none, as no kernels are compiled"


def test_what_show_config_says_of_a_folder_that_cannot_be_written(place, monkeypatch):
    with monkeypatch.context() as m:
        m.setattr(os, "access", lambda path, mode: False)
        assert store.describe() == f"none, as {place} cannot be made"
    kept(place)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert store.describe() == f"{place}, which cannot be written, 1 files, 1 kB"


# How much is kept


def key(n):
    return n.to_bytes(32, "big")


def limited(monkeypatch, files=64, size=1 << 20):
    monkeypatch.setattr(store, "LIMIT", size)
    monkeypatch.setattr(store, "FILES", files)


def test_what_was_not_used_for_longest_goes_first(place, monkeypatch):
    limited(monkeypatch)
    for n in range(64):
        os.utime(kept(place, key(n)), (n, n))
    for n in (3, 5):
        assert store.get(key(n)) == CODE  # used now
    kept(place, key(64))
    store._sweep(str(place))
    left = [n for n in range(65) if path_of(place, key(n)).exists()]
    assert left == [3, 5, *range(19, 65)]  # three quarters of 64


def test_bytes_are_bounded(place, monkeypatch):
    limited(monkeypatch, files=10**6, size=64 * (HEAD + len(CODE)))
    for n in range(300):
        os.utime(kept(place, key(n)), (n, n))
        assert len(files(place)) <= 64 + 4
    left = [n for n in range(300) if path_of(place, key(n)).exists()]
    assert left == [*range(300 - len(left), 300)]
    assert len(left) >= 48


def test_files_are_bounded(place, monkeypatch):
    limited(monkeypatch, files=64, size=1 << 40)
    for n in range(300):
        kept(place, key(n))
        assert len(files(place)) <= 64 + 4


def test_the_folder_is_seldom_looked_through(place, monkeypatch):
    limited(monkeypatch, files=160, size=1 << 40)
    looked = []
    monkeypatch.setattr(store, "_sweep", looked.append)
    for n in range(100):
        kept(place, key(n))
    assert looked == [str(place)] * 10


def test_large_files_are_not_kept(place, monkeypatch):
    limited(monkeypatch, size=16 * 1000)
    store.put(KEY, bytes(1001))
    assert not place.exists()
    store.put(KEY, bytes(1000))
    assert store.get(KEY) == bytes(1000)


def test_times_are_written_once_a_day(place, monkeypatch):
    path, calls = kept(place), []
    monkeypatch.setattr(os, "utime", lambda *args: calls.append(args[0]))
    now = path.stat().st_mtime
    for moment in (now, now + 80_000, now - 80_000, now + 90_000, now - 90_000):
        monkeypatch.setattr(store.time, "time", lambda moment=moment: moment)
        assert store.get(KEY) == CODE
    assert calls == [str(path)] * 2


def test_what_killed_writers_have_left_goes(place):
    kept(place)
    hours = {"a": -1.1, "b": -0.9, "c": 0.0, "d": 1.1}  # the last one had another clock
    for digit, ago in hours.items():
        left = place / f"{KEY.hex()}.{digit * 16}.new"
        left.write_bytes(CODE)
        moment = path_of(place, KEY).stat().st_mtime + 3600 * ago
        os.utime(left, (moment, moment))
    store._sweep(str(place))
    assert [name[65] for name in files(place)] == ["b", "c", "k"]


def test_a_file_that_cannot_be_removed_keeps_no_other(place, monkeypatch):
    """Another process was faster, say."""
    limited(monkeypatch)
    for n in range(64):
        os.utime(kept(place, key(n)), (n, n))
    unlink, first = os.unlink, str(path_of(place, key(0)))

    def fails(path):
        if path == first:
            raise FileNotFoundError(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", fails)
    monkeypatch.setattr(store, "FILES", 32)
    store._sweep(str(place))
    assert len(files(place)) == 24 + 1


def test_files_of_others_stay(place, monkeypatch):
    """A folder of the user's may have anything in it."""
    limited(monkeypatch, files=0)
    place.mkdir(0o700)
    names = ["a.kernel", KEY.hex(), f"{KEY.hex()}.o", f"x{KEY.hex()}.kernel", f"{KEY.hex()}.new"]
    for name in names:
        (place / name).write_text("mine")
        os.utime(place / name, (0, 0))
    kept(place)
    store._sweep(str(place))
    assert files(place) == sorted(names)


# Threads and interrupts


def test_threads(place, monkeypatch):
    limited(monkeypatch, files=32)
    wrong, start = [], threading.Barrier(8)

    def work(seed):
        start.wait()
        for n in np.random.default_rng(seed).integers(0, 60, 200):
            found = store.get(key(int(n)))
            if found is None:
                store.put(key(int(n)), CODE)
            elif found != CODE:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert all(re.fullmatch(r"[0-9a-f]{64}\.kernel", name) for name in files(place))
    assert len(files(place)) <= 32 + 8 * 2


def interrupted(call, n):
    """Make a call, with Ctrl-C at an instruction within the module; return whether it came."""
    left = [n]

    def step(frame, event, _):
        if event == "opcode":
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
        return step

    def trace(frame, event, _):
        return step_through(frame, step) if frame.f_code.co_filename == store.__file__ else None

    try:
        traced(trace, call)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_interrupt_at_any_instruction_leaves_order(place):
    counts, wrong = [], []

    def work():
        for call in (lambda: store.put(KEY, CODE), lambda: store.get(OTHER)):
            count = 0
            store._written[:] = [store.LIMIT]
            while interrupted(call, count):
                kept(place, OTHER)
                found = files(place)
                if store.get(KEY) not in (None, CODE) or any(x.endswith(".new") for x in found):
                    wrong.append(count)
                for name in found:
                    (place / name).unlink()
                kept(place, OTHER)
                store._written[:] = [store.LIMIT]
                count += 1
            counts.append(count)

    thread = threading.Thread(target=work)  # of its own: Python may take the interrupt for handled
    thread.start()
    thread.join()
    assert wrong == []
    assert min(counts) > 50


# Kernels


def softmax(x):
    e = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True))
    return e / fnp.sum(e, axis=-1, keepdims=True)


def orbit(x):
    step = lambda y, _: (y + 0.01 * fnp.sin(fnp.dot(fnp.outer(y, x), y)), y[0])
    return fg.lax.scan(step, x, None, length=50)


FUNCTIONS = {
    "rows": (softmax, np.linspace(-3, 3, 600).reshape(20, 30).astype(np.float32)),
    "a sum": (fg.grad(lambda x: fnp.sum(fnp.tanh(x) * x)), X),
    "a loop": (orbit, X[:5]),
    "its gradient": (fg.grad(lambda x: fnp.sum(orbit(x)[0])), X[:5]),
    "integers": (lambda x: (x * 3 + 1) // 2 % 7, np.arange(40)),
}


@pytest.fixture(scope="module", autouse=True)
def _runtime():
    """Have what is compiled once a process, before a test looks at what is."""
    if host.available():
        host._runtime()


@pytest.fixture
def compiled(monkeypatch):
    """What has been compiled, and what has been loaded."""
    made, loaded = [], []
    machine_code, load = host.machine_code, host.load

    def compiling(text):
        made.append(machine_code(text))
        return made[-1]

    def loading(code, table):
        loaded.append(code)
        return load(code, table)

    monkeypatch.setattr(host, "machine_code", compiling)
    monkeypatch.setattr(host, "load", loading)
    return made, loaded


def forget():
    """Be as in a new process."""
    programs.clear()
    host._functions.clear()


def leaves(function, x):
    forget()
    return fg.tree.leaves(fg.jit(lambda x: function(x))(x))


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_that_are_loaded(mode, place, compiled, name):
    function, x = FUNCTIONS[name]
    made, loaded = compiled
    expected = leaves(function, x)
    fresh = made.copy()
    assert fresh
    assert files(place) == sorted(path.name for path in place.glob("*.kernel"))
    found = leaves(function, x)
    assert made == fresh
    assert loaded == 2 * fresh
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("damage", ["flipped", "truncated", "exchanged", "off"])
def test_damaged_kernels_are_compiled_anew(mode, place, compiled, damage, monkeypatch):
    function, x = FUNCTIONS["a loop"]
    made, loaded = compiled
    leaves(FUNCTIONS["rows"][0], FUNCTIONS["rows"][1])
    other = next(place.iterdir()).read_bytes()
    made.clear(), loaded.clear()
    expected = leaves(function, x)
    fresh = made.copy()
    for path in place.iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 16
        path.write_bytes(
            {"flipped": data, "truncated": data[:-7], "exchanged": other}.get(damage, data)
        )
    if damage == "off":
        monkeypatch.setenv("FUNGRAD_CACHE_DIR", "off")
    found = leaves(function, x)
    assert made == loaded == 2 * fresh
    assert [a.tobytes() for a in found] == [b.tobytes() for b in expected]


@needs_compiler
@in_mode("eager")
def test_equal_functions_are_looked_for_once(mode, place, compiled, monkeypatch):
    asked, get = [], store.get
    monkeypatch.setattr(store, "get", lambda key: asked.append(key) or get(key))
    x = FUNCTIONS["rows"][1]
    forget()
    others = [fg.jit(lambda x, n=n: (softmax(x), n)) for n in range(3)]
    for function in others:
        function(x)
    assert len(asked) == len(others) + 1  # each program, and the kernel of all
    assert len(compiled[1]) == 1
    assert len(files(place)) == len(others) + 1

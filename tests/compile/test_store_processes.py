"""Object files kept on disk, and several processes: at once, killed, forked, ending; and real disks that are full or closed."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from fungrad.compile.targets import store
from tests.compile.compiling import needs_compiler
from tests.compile.storing import CODE, KEY, files, kept, path_of, posix

SIZE = 1 << 20
STORE = f"""
import hashlib, importlib.util, os, random, sys, threading, time
spec = importlib.util.spec_from_file_location("store", {store.__file__!r})
store = importlib.util.module_from_spec(spec)
spec.loader.exec_module(store)

def key(n):
    return n.to_bytes(32, "big")

def code(n, size={SIZE}):
    return hashlib.shake_128(key(n)).digest(size)
"""
"""The module alone, which is imported in no time; keys, and what is kept under each."""


def key(n):
    return n.to_bytes(32, "big")


def code(n, size=SIZE):
    return hashlib.shake_128(key(n)).digest(size)


def started(program, **environment):
    """Start a process; what it prints and reads are pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process, text=""):
    """Let a process end; return what it has printed."""
    out, error = process.communicate(text, timeout=120)
    assert (process.returncode, error) == (0, "")
    return out


def ask(processes, line):
    """Have processes do something at the same time; return what they answer."""
    for process in processes:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
    return [process.stdout.readline().strip() for process in processes]


def test_two_at_once_on_a_fresh_folder(tmp_path):
    rounds = """
for line in sys.stdin:
    os.environ["FUNGRAD_CACHE_DIR"] = line.strip()
    wrong, order = 0, random.sample(range(5), 5)
    for n in order:
        wrong += store.get(key(n)) not in (None, code(n, 5000))
        store.put(key(n), code(n, 5000))
        wrong += store.get(key(n)) != code(n, 5000)
    print(wrong, flush=True)
"""
    processes = [started(STORE + rounds) for _ in range(2)]
    for k in range(100):
        place = tmp_path / str(k)
        assert ask(processes, place) == ["0", "0"]
        assert files(place) == [path_of(place, key(n)).name for n in range(5)]
    for process in processes:
        assert ended(process) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_writers_that_are_killed(place):
    """They are forks of one process, as interpreters take long to start."""
    program = """
codes = [code(n) for n in range(3)]
for _ in sys.stdin:
    pid = os.fork()
    if pid == 0:
        print(os.getpid(), flush=True)
        while True:
            for n in range(3):
                store.put(key(n), codes[n])
    print(os.waitpid(pid, 0)[1], flush=True)
"""
    moments = random.Random(0)
    process = started(STORE + program, FUNGRAD_CACHE_DIR=str(place))
    for _ in range(50):
        (pid,) = ask([process], "begin")
        time.sleep(moments.uniform(0, 0.02))
        os.kill(int(pid), signal.SIGKILL)
        assert int(process.stdout.readline()) == signal.SIGKILL
        assert all(store.get(key(n)) in (None, code(n)) for n in range(3))
        kept(place)
        assert store.get(KEY) == CODE
    assert ended(process) == ""
    left = list(place.glob("*.new"))
    assert left  # some were killed while they wrote
    for path in left:
        os.utime(path, (0, 0))
    store._sweep(str(place))
    assert not list(place.glob("*.new"))


def total(place):
    return sum(size for _, size, _ in store._files(str(place)))


def test_two_that_keep_too_much(place):
    limit = 1 << 19
    program = f"""
store.LIMIT = {limit}
first = int(sys.stdin.readline())
for n in range(first, first + 400):
    store.put(key(n), code(n, 5000))
    if n % 7 == 0:
        store.get(key(max(n - 7, 0)))
"""
    processes = [started(STORE + program, FUNGRAD_CACHE_DIR=str(place)) for _ in range(2)]
    place.mkdir(0o700)
    for n, process in enumerate(processes):
        process.stdin.write(f"{1000 * n}\n")
        process.stdin.flush()
    most = 0
    while any(process.poll() is None for process in processes):
        most = max(most, total(place))
        time.sleep(0.005)
    for process in processes:
        ended(process)
    last = total(place)
    part = limit // store.SHARE + 6000
    # While they run, each may have one file being written beside its part.
    assert limit // 2 < last <= limit + 2 * part
    assert most <= limit + 2 * part + 2 * 6000
    found = [name for name in files(place) if store.get(bytes.fromhex(name[:64])) is not None]
    assert found == files(place)


def test_many_that_keep_little(place):
    """The first file that a process writes makes it look for what is too much."""
    for n in range(100):
        kept(place, key(n))
    program = "store.FILES = 64\nstore.put(key(100), code(100, 100))"
    ended(started(STORE + program, FUNGRAD_CACHE_DIR=str(place)))
    assert len(files(place)) == 48


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_while_files_are_written(place):
    program = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
ends = False
def write():
    while not ends:
        store.put(key(1), code(1))
thread = threading.Thread(target=write)
thread.start()
for n in range(20):
    pid = os.fork()
    if pid == 0:
        store.put(key(2), code(2, 100))
        fine = store.get(key(2)) == code(2, 100) and store.get(key(1)) in (None, code(1))
        os._exit(0 if fine else 1)
    assert os.waitpid(pid, 0)[1] == 0
ends = True
thread.join()
assert store.get(key(1)) == code(1)
"""
    ended(started(STORE + program, FUNGRAD_CACHE_DIR=str(place)))
    assert files(place) == [path_of(place, key(n)).name for n in (1, 2)]


@pytest.mark.parametrize("seconds", [0, 0.01, 0.03])
def test_processes_that_end_while_files_are_written(place, seconds):
    program = f"""
def write():
    while True:
        store.put(key(1), code(1))
threading.Thread(target=write, daemon=True).start()
time.sleep({seconds})
"""
    ended(started(STORE + program, FUNGRAD_CACHE_DIR=str(place)))
    assert store.get(key(1)) in (None, code(1))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_signals_while_files_are_written(place):
    """Ctrl-C at any moment: no file is left that is not whole."""
    program = """
import signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
interrupted = 0
for n in range(200):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + n % 100))
            for _ in range(3):
                store.put(key(1), code(1, 100_000))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
    assert store.get(key(1)) in (None, code(1, 100_000))
print(interrupted)
"""
    process = started(STORE + program, FUNGRAD_CACHE_DIR=str(place))
    assert int(ended(process)) > 50


# Real disks


@posix
def test_a_limit_of_the_system(place):
    """A file is cut off in the middle."""
    program = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
store.put(key(1), code(1, 10_000))
store.put(key(2), code(2, 1000))
print(store.get(key(1)), store.get(key(2)) == code(2, 1000))
"""
    assert ended(started(STORE + program, FUNGRAD_CACHE_DIR=str(place))) == "None True\n"
    assert files(place) == [path_of(place, key(2)).name]


@posix
def test_a_folder_that_is_closed_to_the_user(tmp_path):
    outer = tmp_path / "outer"
    outer.mkdir()
    outer.chmod(0o500)
    program = """
if os.geteuid() == 0:
    os.setuid(65534)
store.put(key(1), code(1, 100))
print(store.get(key(1)), store.describe().startswith("none, as "))
"""
    process = started(STORE + program, FUNGRAD_CACHE_DIR=str(outer / "cache"))
    assert ended(process) == "None True\n"
    assert files(outer) == []


def own_disks():
    """Return the command that lets a program mount disks; none if this is not allowed."""
    command = ["unshare", "--user", "--map-root-user", "--mount"]
    try:
        test = [*command, "mount", "-t", "tmpfs", "-o", "size=32k", "none", "/mnt"]
        return command if subprocess.run(test, capture_output=True).returncode == 0 else []
    except OSError:
        return []


def test_a_disk_that_is_full_and_one_that_is_closed(place):
    command = own_disks()
    if not command:
        pytest.skip("disks cannot be mounted here")
    place.mkdir(0o700)
    program = """
import subprocess
place = os.environ["FUNGRAD_CACHE_DIR"]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k,mode=700", "none", place], check=True)
for n in range(4):
    store.put(key(n), code(n, 10_000))
print(*[store.get(key(n)) == code(n, 10_000) for n in range(4)])
print(*[name[65:] for name in os.listdir(place)])
subprocess.run(["mount", "-o", "remount,ro", place], check=True)
store.put(key(3), code(3, 10))
print(store.get(key(0)) == code(0, 10_000), store.get(key(3)))
"""
    run = subprocess.run(
        [*command, sys.executable, "-c", STORE + program], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "True True False False\nkernel kernel\nTrue None\n"


# Programs


PROGRAM = """
import os, sys
touched = []
def look(event, arguments):
    place = os.environ["FUNGRAD_CACHE_DIR"]
    touched.extend([event for x in arguments if isinstance(x, str) and x.startswith(place)])
sys.addaudithook(look)
if os.environ.get("WITHOUT"):
    sys.modules["llvmlite"] = None
import numpy as np, fungrad as fg, fungrad.numpy as fnp
from fungrad.compile import tiers
from fungrad.compile.targets import host
tiers.BUDGET.limited = False
made, machine_code = [], host.machine_code
host.machine_code = lambda text: made.append(text) or machine_code(text)
rows = fg.jit(lambda x: fnp.exp(x - fnp.max(x, axis=-1, keepdims=True)))
step = lambda y, _: (y + 0.01 * fnp.sin(fnp.outer(y, y) @ y), (fnp.sum(y), fnp.cumsum(y)))
loop = fg.jit(fg.grad(lambda x: fnp.sum(fg.lax.scan(step, x, None, length=20)[1][0])))
for _ in range(8):
    found = rows(np.linspace(0, 1, 600).reshape(20, 30)), loop(np.linspace(0, 1, 5))
    tiers.BACKGROUND.wait()
wrote = "fungrad.compile.native" in sys.modules
print(len(made), bool(touched), wrote, *[x.tobytes().hex() for x in found])
"""


def results(place, **environment):
    process = started(PROGRAM, FUNGRAD_CACHE_DIR=str(place), **environment)
    made, touched, wrote, *found = ended(process).split()
    return int(made), touched == "True", wrote == "True", found


@needs_compiler
@pytest.mark.parametrize("mode", ["eager", "background"])
def test_a_second_process_compiles_nothing(place, mode):
    """Nor writes kernels, though sets of strings have another order there: no key depends on that."""
    first, touched, wrote, expected = results(place, FUNGRAD_COMPILE=mode, PYTHONHASHSEED="1")
    assert (touched, wrote) == (True, True)
    assert first + 2 == len(files(place)) > 3  # machine code, and two programs
    for seed in ("2", "3") if mode == "eager" else ("2",):
        again, touched, wrote, found = results(place, FUNGRAD_COMPILE=mode, PYTHONHASHSEED=seed)
        assert (again, touched, wrote, found) == (0, True, False, expected)


@pytest.mark.parametrize("why", [{"FUNGRAD_COMPILE": "off"}, {"WITHOUT": "1"}])
def test_where_nothing_is_compiled_the_folder_is_not_touched(place, why):
    made, touched, *_ = results(place, **{"FUNGRAD_COMPILE": "eager"} | why)
    assert (made, touched) == (0, False)
    assert not place.exists()


FORKS = """
import os, sys, signal, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import numpy as np, fungrad as fg, fungrad.numpy as fnp
from fungrad.compile.background import BACKGROUND
from fungrad.compile.budget import BUDGET
from fungrad.compile.tiers import CALLS
BUDGET.limited = False
X = np.linspace(0.0, 1.0, 100)
def many(n):
    def f(x):
        for _ in range(n):
            x = fnp.sin(x) * 1.0001 + 0.5 / (1 + x * x)
        return x
    return fg.jit(f)
g = many(5)
for _ in range(CALLS):
    g(X)
pid = os.fork()
h = many(3)
if pid == 0:
    signal.alarm(60)
for _ in range(CALLS + 1):
    g(X), h(X)
BACKGROUND.wait()
if pid == 0:
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_keeps_kernels_too(place):
    process = started(FORKS, FUNGRAD_CACHE_DIR=str(place), FUNGRAD_COMPILE="background")
    ended(process)
    assert len(files(place)) == 5  # that of the runtime, and two of each program
    assert all(store.get(bytes.fromhex(name[:64])) for name in files(place))

"""Damaged, made-up and half-written files: nothing is half loaded, and nothing is lost."""

import contextlib
import errno
import hashlib
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fungrad import training
from fungrad.training import archive, checkpoint, replacing

ROOT = Path(__file__).parents[2]
TREE = {"w": np.arange(40, dtype="f4").reshape(5, 8), "b": [1, 0.5, "text", None], "n": np.int8(3)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


def is_error(path, content, match="."):
    path.write_bytes(content)
    with pytest.raises(training.CheckpointError, match=match) as error:
        training.load(path)
    assert str(error.value).startswith(f"{path} ")


def signed(content):
    """Return a file with the right digest, as somebody can make who means harm."""
    body = content[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


# Damaged


def test_truncation(path):
    """At every 1,000th byte, and at each of the last."""
    training.save(path, {"w": np.random.default_rng(0).normal(size=30_000), "b": list(range(500))})
    content = path.read_bytes()
    assert len(content) > 240_000
    for n in [*range(0, len(content), 1000), *range(len(content) - 300, len(content))]:
        is_error(path, content[:n])


def test_bits(path):
    """One bit of each byte of a file, and each of those at its beginning and end, one after the other."""
    training.save(path, TREE)
    content = bytearray(path.read_bytes())
    n = len(content)
    for i in [*range(0, 8 * n, 9), *range(400), *range(8 * (n - 150), 8 * n)]:
        content[i // 8] ^= 1 << i % 8
        is_error(path, content)
        content[i // 8] ^= 1 << i % 8
    path.write_bytes(content)
    training.load(path)


def test_more_bytes(path):
    training.save(path, TREE)
    content = path.read_bytes()
    is_error(path, content + b"\0")
    is_error(path, b"\0" + content)
    is_error(path, content[:1000] + content)


@pytest.mark.parametrize("content", [b"", b"PK", b"\0" * 1000, pickle.dumps(TREE)], ids=len)
def test_other_files(path, content):
    is_error(path, content, "does not end as a checkpoint of fungrad does")


def test_bits_that_are_signed(path):
    """Where the digest has been made anew, members are checked by their CRC, and sizes against each other."""
    training.save(path, TREE)
    content = bytearray(path.read_bytes())
    loaded, failed = [], 0
    for i in range(len(content) - 64):
        for bit in (1, 128):
            content[i] ^= bit
            path.write_bytes(signed(bytes(content)))
            try:
                loaded.append(repr(training.load(path)))
            except training.CheckpointError:
                failed += 1
            content[i] ^= bit
    assert failed > 1000
    assert set(loaded) == {repr(TREE)}  # what is not read of an archive, such as times


# Made up


def made(members, **options):
    """Return a signed archive of (name, content) pairs."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        for name, content in members:
            z.writestr(zipfile.ZipInfo(name), content, **options)
        z.comment = archive.MARK + b"0" * 64
    return signed(file.getvalue())


def tree_json(nodes, **other):
    return json.dumps({"longdouble": int(np.finfo(np.longdouble).nmant), "nodes": nodes, **other})


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, (3, 0), **options)
    return file.getvalue()


def npy_of(header):
    text = header.encode()
    return b"\x93NUMPY\x03\x00" + len(text).to_bytes(4, "little") + text


ONE = ("0.npy", npy(np.ones(3)))
ARRAY = tree_json([["array", "float64", [3]]])


class Evil:
    def __reduce__(self):
        return (print, ("called",))


def of_header(text):
    return [("tree.json", tree_json([["array", "float64", [3]]])), ("0.npy", npy_of(text))]


HOSTILE = {
    "no tree": [ONE],
    "no array": [("tree.json", ARRAY)],
    "two arrays": [("tree.json", ARRAY), ONE, ("1.npy", ONE[1])],
    "a member twice": [("tree.json", ARRAY), ONE, ONE],
    "a path": [("tree.json", ARRAY), ("../0.npy", ONE[1])],
    "no json": [("tree.json", "{"), ONE],
    "deep json": [("tree.json", "[" * 10**6)],
    "deep objects": [("tree.json", '{"a":' * 10**6)],
    "other json": [("tree.json", "[]")],
    "no list": [("tree.json", tree_json({}))],
    "more keys": [("tree.json", tree_json([1], more=1))],
    "no node": [("tree.json", tree_json([]))],
    "two roots": [("tree.json", tree_json([1, 2]))],
    "an unknown node": [("tree.json", tree_json([["exec", "print(1)"]]))],
    "a list of a list": [("tree.json", tree_json([[["list"], 1]]))],
    "a node of a wrong form": [("tree.json", tree_json([["list", "3"]]))],
    "an object": [("tree.json", tree_json([{}]))],
    "a float": [("tree.json", tree_json([0.5]))],
    "a huge int": [("tree.json", '{"longdouble":63,"nodes":[' + "9" * 10**5 + "]}")],
    "no int": [("tree.json", tree_json([["int", "x"]]))],
    "no bytes": [("tree.json", tree_json([["bytes", "x"]]))],
    "too few children": [("tree.json", tree_json([["list", 3], 1]))],
    "many children": [("tree.json", tree_json([["list", 10**18], 1]))],
    "fewer than no children": [("tree.json", tree_json([["list", -1], 1]))],
    "a deep tree": [("tree.json", tree_json([["list", 1]] * 100_000 + [1]))],
    "a key that has no hash": [("tree.json", tree_json([["dict", 1], ["list", 0], 1]))],
    "a key twice": [("tree.json", tree_json([["dict", 2], 1, 2, True, 3]))],
    "a function": [("tree.json", tree_json([["named", "os.system"]]))],
    "a builtin": [("tree.json", tree_json([["node", "builtins.eval", 1], None, "1"]))],
    "a class": [("tree.json", tree_json([["dataclass", "subprocess.Popen", ["args"]], "ls"]))],
    "a module": [("tree.json", tree_json([["namedtuple", "antigravity.x", []]]))],
    "no name": [("tree.json", tree_json([["named", ""]]))],
    "not an optimizer's state": [("tree.json", tree_json([["named", "fungrad.optim.adam"]]))],
    "one of another kind": [
        ("tree.json", tree_json([["dataclass", "fungrad.optim.EmptyState", []]]))
    ],
    "a bad node": [("tree.json", tree_json([["node", "collections.OrderedDict", 1], 3, 4]))],
    "another shape": [("tree.json", tree_json([["array", "float64", [2]]])), ONE],
    "another dtype": [("tree.json", tree_json([["array", "int64", [3]]])), ONE],
    "a shape of words": [("tree.json", tree_json([["array", "float64", ["3"]]])), ONE],
    "no scalar": [("tree.json", tree_json([["scalar", "float64", [3]]])), ONE],
    "an array of no dtype": [("tree.json", tree_json([["array", "print", [2]]])), ("0.npy", npy(np.zeros(2, "V2")))],
    "not a dtype of ml_dtypes": [("tree.json", tree_json([["array", "finfo", [2]]])), ("0.npy", npy(np.zeros(2, "V2")))],
    "a pickle": [("tree.json", tree_json([["array", "object", [1]]])), ("0.npy", npy(np.array([Evil()]), allow_pickle=True))],
    "an array cut off": [("tree.json", ARRAY), ("0.npy", ONE[1][:-1])],
    "an array too long": [("tree.json", ARRAY), ("0.npy", ONE[1] + b"0")],
    "no array at all": [("tree.json", ARRAY), ("0.npy", b"")],
    "a header cut off": [("tree.json", ARRAY), ("0.npy", ONE[1][:20])],
    "a header of an older version": [("tree.json", ARRAY), ("0.npy", b"\x93NUMPY\x01\x00" + ONE[1][8:])],
    "a long header": of_header("(" * 100_000),
    "a deep header": of_header("(" * 9_000),
    "a header of signs": of_header("-" * 9_000 + "1"),
    "a header that calls": of_header("{'descr': print('called'), 'fortran_order': False, 'shape': (3,)}"),
    "a huge shape": of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**15,)}"),
    "a huger shape": of_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**15},)}}"),
    "a huge dtype": of_header("{'descr': 'V2000000000', 'fortran_order': False, 'shape': (3,)}"),
    "a negative shape": of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -3)}"),
    "no shape": of_header("{'descr': '<f8', 'fortran_order': False, 'shape': 3}"),
    "a dtype of objects": of_header("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}"),
    "fields of objects": of_header("{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (3,)}"),
    "no dtype": of_header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (3,)}"),
}  # fmt: skip


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_made_up_files(path, members, capsys):
    is_error(path, made(members))
    assert capsys.readouterr().out == ""
    assert "antigravity" not in sys.modules


def test_what_is_made_up_would_be_read_if_it_were_right(path):
    path.write_bytes(made([("tree.json", ARRAY), ONE]))
    np.testing.assert_array_equal(training.load(path), np.ones(3))


def test_a_bomb(path):
    """A thousand times as long as the file when it is unpacked."""
    members = [("tree.json", ARRAY), ("0.npy", npy(np.zeros(10**6)))]
    content = made(members, compress_type=zipfile.ZIP_DEFLATED)
    assert len(content) < 10_000
    is_error(path, content, "not plainly stored")


def test_members_that_share_their_bytes(path):
    """Many members, all of which are the same bytes of the file."""
    tree = tree_json([["list", 2], *[["array", "float64", [3]]] * 2])
    content = made([("tree.json", tree), ONE, ("1.npy", ONE[1])])
    entry = content.rindex(b"1.npy") - 46
    first = content.index(b"0.npy") - 30
    content = content[: entry + 42] + first.to_bytes(4, "little") + content[entry + 46 :]
    is_error(path, signed(content), "overlaps with others")


def test_bits_of_made_up_files(path):
    """Members with right CRCs in which a byte is another."""
    tree = bytearray(tree_json([["dict", 1], "a", ["array", "float64", [3]]]).encode())
    array = bytearray(ONE[1])
    for text in (tree, array):
        for i in range(len(text)):
            text[i] ^= 1
            path.write_bytes(made([("tree.json", bytes(tree)), ("0.npy", bytes(array))]))
            with contextlib.suppress(training.CheckpointError):
                training.load(path)
            text[i] ^= 1


def test_extended_precision_of_another_machine(path):
    x = npy(np.ones(2, [("a", np.longdouble)]))
    tree = json.dumps(
        {"longdouble": 1, "nodes": [["array", f"void{8 * np.longdouble().nbytes}", [2]]]}
    )
    is_error(
        path, made([("tree.json", tree), ("0.npy", x)]), "whose format differs on this machine"
    )


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        training.load(tmp_path / "a")
    with pytest.raises(OSError, match="directory"):
        training.load(tmp_path)


# Writing


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


FAILURES = ["write", "digest", "fsync", "replace"]


@pytest.mark.parametrize("where", FAILURES)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()], ids=["full", "Ctrl-C"])  # fmt: skip
def test_the_disk_is_full(path, monkeypatch, where, error):
    def full(*args, **kwargs):
        raise error

    training.save(path, 1)
    before = path.read_bytes()
    target = {
        "write": (np.lib.format, "write_array"), "digest": (archive, "_digest"),
        "fsync": (os, "fsync"), "replace": (os, "replace"),
    }[where]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(*target, full)
        with pytest.raises(type(error)):
            training.save(path, TREE)
    assert path.read_bytes() == before
    assert names(path.parent) == ["run.ckpt"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_a_device_that_is_full():
    with pytest.raises(OSError, match="No space left"), open("/dev/full", "w+b", 0) as file:
        archive.write(file, [["array", "float64", [3]]], [np.ones(3)])


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="of POSIX")
def test_a_folder_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are for one user
        path = Path(folder) / "run.ckpt"
        training.save(path, 1)
        path.parent.chmod(0o555)
        user = os.geteuid()
        try:
            if user == 0:  # who may write all
                os.seteuid(65534)
            with pytest.raises(PermissionError):
                training.save(path, 2)
        finally:
            os.seteuid(user)
            path.parent.chmod(0o755)
        assert training.load(path) == 1


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        training.save(tmp_path / "none" / "a", 1)
    with pytest.raises(OSError, match="no file that can be replaced"):
        training.save(tmp_path, 1)
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_permissions_are_kept(path):
    training.save(path, 1)
    usual = os.open(path.parent / "other", os.O_CREAT | os.O_WRONLY, 0o666)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(os.fstat(usual).st_mode)
    os.close(usual)
    for mode in (0o600, 0o664, 0o440):
        path.chmod(mode)
        training.save(path, 2)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_a_link_stays_one(path):
    training.save(path, 1)
    link = path.with_name("link")
    link.symlink_to(path)
    training.save(link, 2)
    assert link.is_symlink()
    assert training.load(path) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_devices_are_not_replaced(path):
    os.mkfifo(path)
    for target in (path, "/dev/null"):
        with pytest.raises(OSError, match="no file that can be replaced"):
            training.save(target, 1)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(path.parent) == ["run.ckpt"]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="of POSIX")
def test_a_folder_that_cannot_be_read():
    with tempfile.TemporaryDirectory() as folder:
        path, user = Path(folder) / "run.ckpt", os.geteuid()
        training.save(path, 1)
        Path(folder).chmod(0o333)
        try:
            if user == 0:
                os.seteuid(65534)
            training.save(path, 2)
        finally:
            os.seteuid(user)
            Path(folder).chmod(0o755)
        assert training.load(path) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_what_others_are_writing_stays(path):
    with replacing.replacing(path) as file:
        training.save(path.with_name("other"), 1)
        assert os.path.exists(file.name)
        file.write(b"x")
    path.with_name(".fungrad-left.tmp").write_bytes(b"half")
    os.mkfifo(path.with_name(".fungrad-pipe.tmp"))
    training.save(path.with_name("other"), 2)
    assert names(path.parent) == [".fungrad-pipe.tmp", "other", "run.ckpt"]
    assert path.read_bytes() == b"x"


def test_two_writers(path):
    """Whoever reads meanwhile has one of the trees, and so has the file in the end."""
    trees = [np.full(50_000, i) for i in range(2)]
    training.save(path, trees[0])
    failed = []

    def write(tree):
        try:
            for _ in range(40):
                training.save(path, tree)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(tree,)) for tree in trees]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = training.load(path)
        assert found.shape == (50_000,)
        assert (found == found[0]).all()
    assert failed == []
    assert names(path.parent) == ["run.ckpt"]


KILLED = """
import os, random, signal, sys, time
import numpy as np
from fungrad import training

path, times = sys.argv[1], int(sys.argv[2])
training.save(path, (0, np.zeros(100_000, np.int64)))
drawn = random.Random(0)
begin = time.perf_counter()
for _ in range(5):
    training.save(path, (0, np.zeros(100_000, np.int64)))
usual = (time.perf_counter() - begin) / 5
versions, half = [0], 0
for _ in range(times):
    child = os.fork()
    if child == 0:
        for i in range(versions[-1] + 1, 10**9):
            training.save(path, (i, np.full(100_000, i)))
    time.sleep(0.001 + drawn.uniform(0, 4 * usual))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    half += len(os.listdir(os.path.dirname(path))) - 1
    version, x = training.load(path)
    assert x.shape == (100_000,) and (x == version).all()
    versions.append(version)
assert versions == sorted(versions)
training.save(path, versions[-1])
print(times, len(set(versions)), half, len(os.listdir(os.path.dirname(path))))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_hundred_writers_are_killed(path):
    """The file is always a whole one, of the last version written or the one before; nothing is left beside it."""
    command = [sys.executable, "-c", KILLED, path, "100"]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert (run.returncode, run.stderr) == (0, "")
    times, versions, half, files = map(int, run.stdout.split())
    assert times == 100
    assert versions > 10
    assert half > 10  # some were killed within
    assert files == 1


def test_checkpoint_is_the_module_of_save():
    assert training.save is checkpoint.save


def interrupted(function, files, where):
    """Call a function and raise KeyboardInterrupt at a line of these files; return whether it came that far."""
    lines = iter(range(10**9))

    def trace(frame, event, arg):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line" and next(lines) == where:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files left open
def test_an_interrupt_at_every_line(path):
    files = {module.__file__ for module in (archive, checkpoint, replacing)}
    training.save(path, 0)
    where, versions = 0, set()
    while interrupted(lambda: training.save(path, [1, np.ones(3)]), files, where):
        found = training.load(path)
        versions.add(found if found == 0 else found[0])
        assert names(path.parent) == ["run.ckpt"]
        training.save(path, 0)
        where += 1
    assert where > 60
    assert versions == {0, 1}  # the old one, or, at the last lines, the new one

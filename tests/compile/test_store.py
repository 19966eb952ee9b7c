"""Object files kept on disk: what is loaded is what was put there, and no disk makes a program fail."""

import builtins
import errno
import os
import shutil
import stat
import sys

import pytest

from fungrad.compile import processor
from fungrad.compile.targets import host, store
from tests.compile.storing import CODE, HEAD, KEY, OTHER, files, kept, posix


def test_tests_have_no_cache():
    assert store.folder() == ""


def test_what_is_put_is_got(place):
    assert store.get(KEY) is None
    assert not place.exists()
    path = kept(place)
    assert files(place) == [path.name]
    assert store.get(KEY) == CODE
    assert store.get(OTHER) is None
    store.put(KEY, CODE[:10])
    assert store.get(KEY) == CODE[:10]


@posix
def test_only_the_user_can_read_it(place):
    before = os.umask(0)
    try:
        path = kept(place)
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# Damage


def refused(path):
    """Whether what is in a file is not loaded, but removed, and can be replaced."""
    found = store.get(KEY)
    gone = not path.exists()
    store.put(KEY, CODE)
    return found is None and gone and store.get(KEY) == CODE


@pytest.mark.parametrize("length", [0, 1, HEAD - 1, HEAD, HEAD + 1, HEAD + 999])
def test_truncated(place, length):
    path = kept(place)
    os.truncate(path, length)
    assert refused(path)


def test_longer(place):
    path = kept(place)
    with open(path, "ab") as file:
        file.write(b"\0")
    assert refused(path)


def test_any_bit_of_the_head(place):
    path = kept(place)
    whole = path.read_bytes()
    for k in range(8 * HEAD):
        damaged = bytearray(whole)
        damaged[k // 8] ^= 1 << k % 8
        path.write_bytes(damaged)
        assert refused(path), k


def test_bits_of_the_code(place, rng):
    path = kept(place)
    whole = path.read_bytes()
    for k in rng.integers(8 * HEAD, 8 * len(whole), 200):
        damaged = bytearray(whole)
        damaged[k // 8] ^= 1 << k % 8
        path.write_bytes(damaged)
        assert refused(path), k


def test_garbage(place, rng, monkeypatch):
    path = kept(place)
    for size in (1, HEAD, 5000):
        path.write_bytes(rng.bytes(size))
        assert refused(path)
    os.truncate(path, store.LIMIT)
    head, read = store._head, []
    monkeypatch.setattr(store, "_head", lambda key, code: read.append(len(code)) or head(key, code))
    assert refused(path)
    assert max(read) == len(CODE)  # far too long, so nobody reads it


def test_a_file_under_the_name_of_another(place):
    path, other = kept(place), kept(place, OTHER)
    shutil.copyfile(other, path)
    assert refused(path)


def test_what_it_depends_on_is_in_the_key(monkeypatch):
    binding = pytest.importorskip("llvmlite.binding")
    llvmlite = sys.modules["llvmlite"]

    changes = [
        (binding, "get_host_cpu_name", lambda: "pentium"),
        (processor, "features", lambda: {"fma": False}),
        (binding, "get_default_triple", lambda: "x86_64-none"),
        (binding, "llvm_version_info", (19, 0, 0)),
        (llvmlite, "__version__", "0.1"),
        (store, "FORMAT", store.FORMAT + 1),
        (host, "OPTIMISED", 0),
        (host, "PASSES", host.PASSES[:-1]),
    ]
    compiler = host.compiler.__wrapped__
    monkeypatch.setattr(host, "compiler", compiler)
    keys = [host.stored_as("a"), host.stored_as("b")]
    for where, name, value in changes:
        with monkeypatch.context() as m:
            m.setattr(where, name, value)
            keys.append(host.stored_as("a"))
    assert len(set(keys)) == len(keys) == 2 + len(changes)
    assert host.stored_as("a") == keys[0]


# Who may have written it


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write(place, mode):
    path = kept(place)
    place.chmod(mode)
    assert store.get(KEY) is None
    store.put(OTHER, CODE)
    assert files(place) == [path.name]
    assert store.describe() == f"none, as {place} can be written by others"
    place.chmod(0o755)
    assert store.get(KEY) == CODE


@posix
def test_a_folder_of_somebody_else(place, monkeypatch):
    path = kept(place)
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    assert store.get(KEY) is None
    store.put(OTHER, CODE)
    assert files(place) == [path.name]
    assert store.describe() == f"none, as {place} belongs to somebody else"


@posix
def test_root_leaves_nothing_in_the_homes_of_others(tmp_path, monkeypatch):
    home, place = tmp_path / "home", tmp_path / "home" / ".cache" / "fungrad"
    home.mkdir()
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", str(place))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    if home.stat().st_uid == 0:
        os.chown(home, 65534, 65534)
    store.put(KEY, CODE)
    assert store.get(KEY) is None
    assert files(home) == []
    assert (
        store.describe()
        == f"none, as {place} is not made by root, as {home} belongs to somebody else"
    )


@posix
@pytest.mark.parametrize("to", ["a folder", "nothing"])
def test_a_folder_that_is_a_link(place, tmp_path, monkeypatch, to):
    path, link = kept(place), tmp_path / "link"
    link.symlink_to(place if to == "a folder" else tmp_path / "nothing")
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", str(link))
    assert store.get(KEY) is None
    store.put(OTHER, CODE)
    assert files(place) == [path.name]
    assert files(tmp_path) == ["cache", "link"]
    assert store.describe() == f"none, as {link} is a symbolic link"


@posix
def test_a_folder_below_a_link(place, tmp_path, monkeypatch):
    """Many have all that is large on another disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", str(tmp_path / "link" / "cache"))
    store.put(KEY, CODE)
    assert store.get(KEY) == CODE


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write(place, mode):
    path = kept(place)
    path.chmod(mode)
    assert refused(path)


@posix
def test_a_file_of_somebody_else(place, monkeypatch):
    """Its folder was theirs when it was written, say, or is another than the one looked at."""
    path = kept(place)
    with monkeypatch.context() as m:
        m.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
        m.setattr(store, "trouble", lambda path: "")
        assert store.get(KEY) is None
    assert not path.exists()


@posix
def test_files_that_are_none(place, tmp_path):
    path = kept(place)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert store.get(KEY) is None
    store.put(KEY, CODE[:5])  # in the place of the link
    assert store.get(KEY) == CODE[:5]
    assert elsewhere.read_bytes()[HEAD:] == CODE
    path.unlink()
    os.mkfifo(path)  # to open it is to wait for a writer
    assert refused(path)
    path.unlink()
    path.mkdir()
    for _ in range(2):
        assert store.get(KEY) is None
        store.put(KEY, CODE)
    assert files(place) == [path.name]


@posix
def test_a_file_in_the_way_of_a_new_one(place, tmp_path, monkeypatch):
    kept(place, OTHER)
    monkeypatch.setattr(os, "urandom", bytes)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    os.link(elsewhere, place / f"{KEY.hex()}.{bytes(8).hex()}.new")
    store.put(KEY, CODE)
    assert elsewhere.read_text() == "mine"
    assert store.get(KEY) is None
    assert kept(place).exists()


# Disks that fail


class Full:
    """A file on a disk with room for so many bytes."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        self.file.write(data[: self.room])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("room", [0, HEAD - 1, HEAD, HEAD + 500])
def test_a_full_disk(place, monkeypatch, room):
    kept(place, OTHER)
    with monkeypatch.context() as m:

        def full(*args, **options):
            return Full(builtins.open(*args, **options), room)

        m.setattr(store, "open", full, raising=False)
        store.put(KEY, CODE)
    assert files(place) == [f"{OTHER.hex()}.kernel"]
    assert store.get(KEY) is None


def failing(error, after=None):
    def fails(*args, **options):
        if after is not None:
            after()
        raise OSError(error, os.strerror(error), args[0] if args else None)

    return fails


@pytest.mark.parametrize("error", [errno.EACCES, errno.EROFS, errno.EIO, errno.ENAMETOOLONG])
@pytest.mark.parametrize("call", ["open", "replace", "makedirs", "lstat", "scandir"])
def test_a_disk_that_fails(place, monkeypatch, call, error):
    with monkeypatch.context() as m:
        m.setattr(os, call, failing(error))
        for _ in range(2):
            store.put(KEY, CODE)
            if call != "scandir":
                assert store.get(KEY) is None
        assert store.describe()
    assert not place.exists() or files(place) == ([f"{KEY.hex()}.kernel"] * (call == "scandir"))
    store.put(KEY, CODE)
    assert store.get(KEY) == CODE


@pytest.mark.parametrize("call", ["fstat", "utime", "unlink"])
def test_a_disk_that_fails_when_read(place, monkeypatch, call):
    path = kept(place)
    os.utime(path, (0, 0))
    if call == "unlink":
        path.write_bytes(b"damaged")
    with monkeypatch.context() as m:
        m.setattr(os, call, failing(errno.EIO))
        assert store.get(KEY) == (CODE if call == "utime" else None)


@pytest.mark.parametrize("call", ["open", "replace", "scandir", "unlink"])
def test_a_folder_that_is_removed_meanwhile(place, monkeypatch, call):
    real, gone = getattr(os, call), []

    def late(*args, **options):
        if not gone:
            gone.append(args)
            place.rename(place.parent / "gone")
        return real(*args, **options)

    kept(place).write_bytes(b"damaged")
    with monkeypatch.context() as m:
        m.setattr(os, call, late)
        m.setattr(store, "_written", [store.LIMIT])
        assert store.get(KEY) is None
        store.put(KEY, CODE)
    assert gone
    shutil.rmtree(place, ignore_errors=True)
    kept(place)
    assert store.get(KEY) == CODE


def test_a_file_in_the_place_of_the_folder(place):
    place.write_text("")
    for _ in range(2):
        assert store.get(KEY) is None
        store.put(KEY, CODE)
    assert place.read_text() == ""
    assert store.describe() == f"none, as {place} is not a folder"


@posix
@pytest.mark.parametrize("below", ["file/cache", "x" * 300, "/".join(["x" * 200] * 30)])
def test_a_folder_that_cannot_be(tmp_path, monkeypatch, below):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", str(tmp_path / below))
    store.put(KEY, CODE)
    assert store.get(KEY) is None
    assert store.describe().startswith(f"none, as {tmp_path / below}: ")

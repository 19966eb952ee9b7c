"""Object files on disk, so that other processes need not compile the same.

A file is the object file behind a head that says what it is: its key and its length, and what they hash to. One that is not exactly so is as good as none, so
a write need not reach the disk before it is made known: after a loss of power the head tells. Nothing here fails because of the disk: at worst, all is compiled anew.

What is loaded is run, so files are read only from a folder that nobody else can write. State is on disk alone, where each step is one that leaves all in order:
any number of processes and threads may take part, fork, be interrupted or be killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import sys
import time
from collections.abc import Iterator

from fungrad.core.config import STARTED_IN

FORMAT = 1
"""Version of the format of files and of compilation without options; raise it with either."""
LIMIT = 256 << 20
FILES = 4096
"""Most bytes and files kept. The least recently used go first."""
SHARE = 16
"""Part of the kept bytes after whose writing a process looks at all files; no file is larger."""
REST = 0.75
"""Part of the bytes that remain when there are too many."""
DAY = 86400.0
"""How old the time of a file may be when it is used; it is when it was used last, give or take that."""
HOUR = 3600.0
"""After that long nobody is still writing a file."""

_MAGIC = b"fungrad\0"
_HEAD = struct.Struct("<8sIQ32s32s")
_NAME = re.compile(r"[0-9a-f]{64}\.(kernel|[0-9a-f]{16}\.new)")
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

_written = [LIMIT]
"""Sizes of files written since the last look at all; a process's first write looks."""


def folder() -> str:
    """Return where files are kept: in FUNGRAD_CACHE_DIR, or where programs of this user do; "" if nowhere.

    A relative path is one from the folder that the process was in when it imported fungrad, wherever it has gone since.
    """
    asked = os.environ.get("FUNGRAD_CACHE_DIR", "")
    if asked.lower() == "off":
        return ""
    path = os.path.expanduser(asked or os.path.join(_caches(), "fungrad"))
    if path.startswith("~"):
        return ""  # that user has no home
    path = os.path.join(STARTED_IN, path)
    return path if os.path.isabs(path) else ""


def _caches() -> str:
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA", "") or os.path.join("~", "AppData", "Local")
    if sys.platform == "darwin":
        return "~/Library/Caches"
    asked = os.environ.get("XDG_CACHE_HOME", "")
    return asked if os.path.isabs(asked) else "~/.cache"  # the standard has others ignored


def trouble(path: str) -> str:
    """Return why a folder is not used; "" if it can be, or could be once it is made."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return _cannot_be_made(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    if stat.S_ISLNK(status.st_mode):
        return f"{path} is a symbolic link"
    if not stat.S_ISDIR(status.st_mode):
        return f"{path} is not a folder"
    reason = _open_to_others(status)
    return reason and f"{path} {reason}"


def _cannot_be_made(path: str) -> str:
    """Return why there cannot be a folder."""
    above = path
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if not os.access(above, os.W_OK | os.X_OK):
        return f"{path} cannot be made"
    with contextlib.suppress(OSError):  # it may be gone
        if hasattr(os, "geteuid") and os.geteuid() == 0 != os.stat(above).st_uid:
            # sudo may keep the home of who calls it, where root is to leave nothing.
            return f"{path} is not made by root, as {above} belongs to somebody else"
    return ""


def _open_to_others(status: os.stat_result) -> str:
    """Return why a file or folder may be of somebody else's making."""
    if hasattr(os, "geteuid"):  # elsewhere, folders of a user's are closed to others by lists
        if status.st_uid != os.geteuid():
            return "belongs to somebody else"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "can be written by others"
    return ""


def is_used() -> bool:
    """Whether files are kept and read."""
    place = folder()
    return bool(place) and not trouble(place)


def get(key: bytes) -> bytes | None:
    """Return the code under a key; None if it is missing or damaged."""
    place = folder()
    if not place or trouble(place):
        return None
    path = _path(place, key)
    with contextlib.suppress(OSError):
        # Should the folder be another by now: a file that is ours, and whose head is right, we have made.
        with open(path, "rb", opener=_opener) as file:
            status = os.fstat(file.fileno())
            fits = status.st_size <= _HEAD.size + LIMIT // SHARE
            data = file.read(status.st_size) if fits and not _open_to_others(status) else b""
        code = data[_HEAD.size :]
        if data[: _HEAD.size] == _head(key, code):
            _touch(path, status)
            return code
        os.unlink(path)
    return None


def put(key: bytes, code: bytes) -> None:
    """Keep an object file under a key, if that can be done."""
    place = folder()
    if not place or trouble(place) or len(code) > LIMIT // SHARE:
        return
    with contextlib.suppress(OSError):
        os.makedirs(place, 0o700, exist_ok=True)
        _write(place, key, code)
        _written.append(_HEAD.size + len(code))
        if sum(_written) >= LIMIT // SHARE or len(_written) >= FILES // SHARE:
            _written.clear()
            _sweep(place)


def describe() -> str:
    """Return where files are kept, how many and how large; or why none are."""
    if not (place := folder()):
        asked = os.environ.get("FUNGRAD_CACHE_DIR", "")
        if not asked:
            return "none, as this user has no home folder"
        why = "" if asked.lower() == "off" else ", and there is no such place"
        return f"none, as FUNGRAD_CACHE_DIR is {asked}{why}"
    if reason := trouble(place):
        return f"none, as {reason}"
    sizes, but = [], ""
    try:
        sizes = [size for _, size, _ in _files(place)]
        but = "" if os.access(place, os.W_OK | os.X_OK) else ", which cannot be written"
    except FileNotFoundError:
        pass  # nothing has been kept yet
    except OSError as error:
        return f"none, as {place}: {error.strerror}"
    return f"{place}{but}, {len(sizes)} files, {sum(sizes) / 1e3:,.0f} kB"


def _path(place: str, key: bytes) -> str:
    return os.path.join(place, f"{key.hex()}.kernel")


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | _FLAGS, 0o600)


def _head(key: bytes, code: bytes) -> bytes:
    return _HEAD.pack(_MAGIC, FORMAT, len(code), key, hashlib.sha256(code).digest())


def _touch(path: str, status: os.stat_result) -> None:
    """Note that a file is used: seldom, as that is a write."""
    if abs(time.time() - status.st_mtime) > DAY:
        with contextlib.suppress(OSError):
            os.utime(path)


def _write(place: str, key: bytes, code: bytes) -> None:
    """Write a file that others see whole or not at all."""
    temporary = os.path.join(place, f"{key.hex()}.{os.urandom(8).hex()}.new")
    try:
        with open(temporary, "xb", opener=_opener) as file:
            file.write(_head(key, code) + code)
        os.replace(temporary, _path(place, key))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _files(place: str) -> Iterator[tuple[float, int, str]]:
    """Yield when each file was used, its size and its path."""
    with os.scandir(place) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):  # others may remove it
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, entry.path


def _sweep(place: str) -> None:
    """Remove files of killed writers, and files above the limits."""
    now, kept = time.time(), []
    for used, size, path in _files(place):
        if path.endswith(".new") and abs(now - used) > HOUR:
            _remove(path)
        else:
            kept.append((used, size, path))
    number, total = len(kept), sum(size for _, size, _ in kept)
    if number <= FILES and total <= LIMIT:
        return
    for _, size, path in sorted(kept):
        if number <= FILES * REST and total <= LIMIT * REST:
            break
        _remove(path)
        number, total = number - 1, total - size


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # another process may have done so
        os.unlink(path)

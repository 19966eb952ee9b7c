"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

_PREFIX, _SUFFIX = ".fungrad-", ".tmp"


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of the one at `path`, if any, when the block is done.

    Until then, and if the block raises, the old file is as it was. Whoever is killed meanwhile leaves a file that the next call
    for the same folder removes: who writes one holds a lock of it, which ends with the process.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    _clear(folder)
    name, file = _new(folder, target)
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        if sys.platform == "win32":  # where open files cannot be renamed
            file.close()
        os.replace(name, target)
    except BaseException:
        file.close()
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    file.close()
    _sync(folder)


def _new(folder: str, target: str) -> tuple[str, BinaryIO]:
    """Return the name of a new file that only this call has, and the file, with the owner and permissions of the one to be replaced."""
    try:
        before = os.stat(target)
    except FileNotFoundError:
        before = None
    mode = 0o666 if before is None else stat.S_IMODE(before.st_mode)
    while True:
        name = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(name, flags, mode), "w+b")
        if _lock(file.fileno()) is not False and os.path.exists(name):
            break
        file.close()  # it was taken for one left behind
    if before is not None and sys.platform != "win32":
        with contextlib.suppress(PermissionError):
            os.fchown(file.fileno(), before.st_uid, before.st_gid)
        os.fchmod(file.fileno(), mode)
    return name, file


def _lock(descriptor: int) -> bool | None:
    """Return whether this call has the lock of a file; None where there are no locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without them
        return None
    return True


def _clear(folder: str) -> None:
    """Remove the files that were left behind."""
    with os.scandir(folder) as entries:
        names = [e.path for e in entries if e.name.startswith(_PREFIX) and e.name.endswith(_SUFFIX)]
    for name in names:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                os.unlink(name)  # an error if somebody has it open
                continue
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor):
                    os.unlink(name)
            finally:
                os.close(descriptor)


def _sync(folder: str) -> None:
    """Have the names in a folder written."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

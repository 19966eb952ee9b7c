"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
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
    before = _status(target)
    mode = 0o666 if before is None else stat.S_IMODE(before.st_mode)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    _clear(folder)
    done = False
    while not done:
        name = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        try:
            with os.fdopen(os.open(name, flags, mode), "w+b") as file:
                if _lock(file.fileno()) is False or not os.path.exists(name):
                    continue  # it was taken for one left behind
                _give(file.fileno(), before)
                yield file
                file.flush()
                os.fsync(file.fileno())
                if sys.platform == "win32":  # where open files cannot be renamed
                    file.close()
                os.replace(name, target)
                done = True
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    sync(folder)


def _status(target: str) -> os.stat_result | None:
    """Return the status of the file to replace; None if there is none."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(
            errno.EINVAL, "is no file that can be replaced, such as a directory or device", target
        )
    return status


def _give(descriptor: int, before: os.stat_result | None) -> None:
    """Give a file the owner and permissions of the one that it replaces."""
    if before is None or sys.platform == "win32":
        return
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    if os.fstat(descriptor).st_mode != before.st_mode:
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


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
    """Remove the files that were left behind, where that is allowed."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
            continue
        name = os.path.join(folder, name)
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


def sync(folder: str) -> None:
    """Have the names in a folder written, where that can be asked for."""
    if sys.platform == "win32":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems'
            raise
    finally:
        os.close(descriptor)

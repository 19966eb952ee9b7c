"""A checkpoint or a program as a file: an uncompressed ZIP archive of ``tree.json``, ``0.npy``, ...

It is one that `numpy.load` reads, too. The comment at its end is a mark, such as `MARK`, and the SHA-256 of all bytes before, so any other
bit is found. A digest keeps nobody from making a file on purpose, so everything read is checked as if there were
none. Members do not overlap and are not compressed, so they are no longer than the file. An array has memory only
when its member is known to have as many bytes.

Design: docs/design/32-training.md.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from fungrad.core.types import KEYS, is_added
from fungrad.training.errors import CheckpointError
from fungrad.training.structure import can_be_stored, declared, host

MARK = b"fungrad checkpoint 1 sha256 "
"""The kind of a file and the number of its format."""
_TREE = "tree.json"
_LARGEST_TREE = 1 << 28
_LARGEST_HEADER = 10_000  # as numpy.load's
_VERSION = (3, 0)
_CHUNK = 1 << 20
_END = re.compile(rb"fungrad (\w+) (\d+) sha256 [0-9a-f]{64}\Z")


def write(file: BinaryIO, nodes: list[Any], arrays: Sequence[Any], mark: bytes = MARK) -> str:
    """Write a tree to an empty file; return its digest."""
    text = json.dumps({"longdouble": np.finfo(np.longdouble).nmant, "nodes": nodes})
    if len(text) > _LARGEST_TREE:
        raise ValueError(
            f"the tree has {len(nodes)} nodes, whose description takes more than {_LARGEST_TREE} bytes; stack "
            "numbers in arrays"
        )
    archive = zipfile.ZipFile(file, "w")
    try:
        archive.writestr(zipfile.ZipInfo(_TREE), text)
        for i, array in enumerate(arrays):
            _write_array(archive, f"{i}.npy", host(array))
        archive.comment = mark + b"0" * 64
        archive.close()
    except BaseException:
        archive.fp = None  # it is not to be ended, which would be another error within a member
        raise
    file.seek(0, os.SEEK_END)
    digest = _digest(file, file.tell() - 64)
    file.seek(-64, os.SEEK_END)
    file.write(digest)
    return digest.decode()


def digest_of(file: BinaryIO) -> str:
    """Return the digest at the end of a file, or the bytes in its place."""
    file.seek(-min(64, file.seek(0, os.SEEK_END)), os.SEEK_END)
    return file.read().decode("latin-1")


def _write_array(archive: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any]) -> None:
    if is_added(array.dtype):
        array = array.view(np.dtype((np.void, array.itemsize)))
    if len(str(np.lib.format.dtype_to_descr(array.dtype))) > _LARGEST_HEADER // 2:
        raise ValueError(
            f"an array has a dtype of {len(array.dtype.fields or ())} fields, whose description is too long for an npy file"
        )
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=array.nbytes >= 1 << 30) as member:
        np.lib.format.write_array(member, array, _VERSION, allow_pickle=False)


def _digest(file: BinaryIO, length: int) -> bytes:
    """Return the SHA-256 of the first bytes of a file, in hexadecimal."""
    file.seek(0)
    digest = hashlib.sha256()
    while length and (chunk := file.read(min(_CHUNK, length))):
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest().encode()


def read(file: BinaryIO, mark: bytes = MARK) -> tuple[list[Any], list[np.ndarray[Any, Any]]]:
    """Return the nodes of the tree in a file, and the arrays.

    Raises
    ------
    CheckpointError
        If anything is not as `write` writes it.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 200, 0))
    end = file.read()
    found = _END.search(end)
    kind, version = mark.decode().split()[1:3]
    if found is None or found[1].decode() != kind:
        raise CheckpointError(
            f"does not end as a {kind} of fungrad does: it is another kind of file, or writing or copying it was interrupted"
        )
    if found[2].decode() != version:
        raise CheckpointError(
            f"is a {kind} in format {int(found[2])}, which this version of fungrad does not read: it reads format {version}"
        )
    if _digest(file, size - 64) != end[-64:]:
        raise CheckpointError("is damaged: its SHA-256 is not the one written at its end")
    with zipfile.ZipFile(file) as archive:
        members = _members(archive, size)
        with archive.open(_TREE) as member:
            described = json.load(member)
        if type(described) is not dict or set(described) != {"longdouble", "nodes"}:
            raise CheckpointError("is damaged: its tree.json is not that of a tree")
        arrays = declared(described["nodes"])
        if set(members) != {_TREE, *(f"{i}.npy" for i in range(len(arrays)))}:
            raise CheckpointError(
                "is damaged: arrays are missing or too many, compared with its tree.json"
            )
        own = described["longdouble"] == np.finfo(np.longdouble).nmant
        return described["nodes"], [
            _read_array(archive, members[f"{i}.npy"], dtype, shape, own)
            for i, (dtype, shape) in enumerate(arrays)
        ]


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive, by name, if each has bytes of its own."""
    members = sorted(archive.infolist(), key=lambda info: info.header_offset)
    ends = [info.header_offset for info in members[1:]] + [size]
    for info, end in zip(members, ends, strict=True):
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits:
            raise CheckpointError(f"has a member {info.filename!r} that is not plainly stored")
        start = info.header_offset + zipfile.sizeFileHeader + len(info.orig_filename)  # type: ignore[attr-defined]
        if info.compress_size != info.file_size or start + info.file_size > end:
            raise CheckpointError(f"has a member {info.filename!r} that overlaps with others")
    by_name = {info.filename: info for info in members}
    if len(by_name) != len(members) or _TREE not in by_name:
        raise CheckpointError("is damaged: it has no tree.json, or two members of one name")
    if by_name[_TREE].file_size > _LARGEST_TREE:
        raise CheckpointError(f"has a tree.json of {by_name[_TREE].file_size} bytes")
    return by_name


def _read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, dtype_name: str, shape: list[Any], own: bool
) -> np.ndarray[Any, Any]:
    """Return the array in a member; `own` tells whether extended precision is this machine's."""
    with archive.open(info) as member:
        dtype, order, header_shape = _header(member)
        length = info.file_size - member.tell()
        if list(header_shape) != shape or math.prod(header_shape) * dtype.itemsize != length:
            raise CheckpointError(
                f"is damaged: the shape or size of its array {info.filename} contradicts its tree.json"
            )
        if not own and _is_extended(dtype):
            raise CheckpointError(
                f"has an array {info.filename} of extended precision, whose format differs on this machine; save it as float64"
            )
        shown = _named(dtype_name, dtype)
        if shown.name != dtype_name:
            raise CheckpointError(
                f"is damaged: the dtype of its array {info.filename} contradicts its tree.json"
            )
        memory = np.empty(length, np.uint8)
        filled = 0
        while chunk := member.read(_CHUNK):  # which checks the CRC at the end
            memory[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
            filled += len(chunk)
        of_keys = (key for key in KEYS.values() if key == shown)  # with their scalar type
        return np.ndarray(header_shape, next(of_keys, shown), memory, order=order)


def _header(member: Any) -> tuple[np.dtype[Any], Any, tuple[int, ...]]:
    """Return dtype, order and shape from the header of a ``npy`` file (see numpy.lib.format)."""
    version = np.lib.format.read_magic(member)
    length = int.from_bytes(member.read(4), "little")
    if version != _VERSION or length > _LARGEST_HEADER:
        raise CheckpointError(
            f"has a npy file of version {version} with a header of {length} bytes"
        )
    try:
        header = ast.literal_eval(member.read(length).decode())
    except (MemoryError, RecursionError) as error:  # brackets within brackets
        raise CheckpointError("has a npy file without its header") from error
    if type(header) is not dict or set(header) != {"descr", "fortran_order", "shape"}:
        raise CheckpointError("has a npy file without its header")
    shape, dtype = header["shape"], np.lib.format.descr_to_dtype(header["descr"])
    if type(shape) is not tuple or not all(type(n) is int and n >= 0 for n in shape):
        raise CheckpointError(f"has an array of shape {shape!r}")
    if not can_be_stored(dtype):
        raise CheckpointError(f"has an array of dtype {dtype}")
    return dtype, "F" if header["fortran_order"] else "C", shape


def _is_extended(dtype: np.dtype[Any]) -> bool:
    fields = [d[0].base for d in (dtype.fields or {}).values()]
    return dtype.char in "gG" or any(map(_is_extended, fields))


def _named(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of ml_dtypes of that name, if elements are bytes that could be its."""
    if dtype.kind != "V" or dtype.fields is not None or dtype.name == name:
        return dtype
    try:
        import ml_dtypes
    except ImportError:
        raise CheckpointError(
            f"has an array of dtype {name}, for which ml_dtypes is needed: pip install ml_dtypes"
        ) from None
    scalar = vars(ml_dtypes).get(name)
    named = np.dtype(scalar) if isinstance(scalar, type) else dtype
    return named if is_added(named) and named.itemsize == dtype.itemsize else dtype

"""Pytrees in files: `save` and `load`."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

from fungrad import device_put
from fungrad import tree as trees
from fungrad.extend.trees import difference
from fungrad.extend.types import is_array, type_of
from fungrad.training.archive import digest_of, read, write
from fungrad.training.errors import CheckpointError
from fungrad.training.glossary import public
from fungrad.training.replacing import replacing
from fungrad.training.structure import Known, put_together, take_apart
from fungrad.tree import flatten_with_path
from fungrad.tree_util import keystr

if TYPE_CHECKING:
    from fungrad.sharding import Mesh

__all__ = ["load", "save"]

T = TypeVar("T")
"""A pytree."""


@public
def save(
    path: str | os.PathLike[str], tree: Any, *, mesh: Mesh | None = None, specs: Any = None
) -> None:
    """Write a pytree to a file, whole or not at all; with a mesh, to a folder, by all processes together.

    A file that is there is replaced at the end, in one step, when the new one is on the disk, and keeps its permissions. So whenever the
    process is killed, the file is the old one or the new one; what a killed one leaves beside it (``.fungrad-*.tmp``) is removed
    by the next `save` in that folder.

    Parameters
    ----------
    tree
        Dicts, lists, tuples, named tuples, dataclasses and registered nodes, of arrays, numbers, strings, bytes and None. Arrays may
        have any dtype but that of Python objects and strings of no fixed length: keys of random numbers and ml_dtypes' too. Functions and classes
        are saved as their names.
    mesh
        With a mesh, `path` is a folder, and all processes call this: each writes a shard of the arrays, and the first an index, which takes the
        place of the one before in one step. Any number of processes can `load` it. One run at a time may write to a folder.
    specs
        A tree of `fungrad.sharding.PartitionSpec` that is a prefix of `tree`: arrays that it divides are what this process has of them, as
        under ``shard_map(local_arrays=True)``. Others must be the same in all processes. By default all are.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        If the tree holds something else; the message has its path.
    ValueError
        If something is not the same in all processes that should be.
    OSError
        If the file cannot be written. The old one is untouched.
    DistributedError
        If another process has failed, or ended. The old checkpoint is untouched.

    Notes
    -----
    Equal trees make equal files. An array that is in a tree twice is saved twice. The file is an uncompressed ZIP archive of npy files and a
    ``tree.json`` that says which is where, so `numpy.load` shows the arrays too. Nothing is pickled.

    Examples
    --------
    >>> import tempfile
    >>> state = {"step": 3, "key": random.key(0), "w": np.ones((2, 3), np.float32)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     training.save(f"{folder}/run.ckpt", state)
    ...     training.load(f"{folder}/run.ckpt")["w"]
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    _check_mesh("save", mesh, specs)
    if mesh is not None:
        from fungrad.training.shards import save_shards

        save_shards(os.fspath(path), tree, mesh, specs)
        return
    parts = take_apart(tree)
    with replacing(os.fspath(path)) as file:
        write(file, parts.nodes, parts.arrays)


@overload
def load(
    path: str | os.PathLike[str],
    like: None = None,
    *,
    types: Iterable[Any] = (),
    device: Any = None,
    mesh: Mesh | None = None,
    specs: Any = None,
) -> Any: ...
@overload
def load(
    path: str | os.PathLike[str],
    like: T,
    *,
    types: Iterable[Any] = (),
    device: Any = None,
    mesh: Mesh | None = None,
    specs: Any = None,
) -> T: ...
@public
def load(
    path: str | os.PathLike[str],
    like: Any = None,
    *,
    types: Iterable[Any] = (),
    device: Any = None,
    mesh: Mesh | None = None,
    specs: Any = None,
) -> Any:
    """Return the pytree in a file, or in a folder of shards, that `save` has written.

    A file in which a single bit is another is an error, and so is one that is cut off or made up: then nothing is returned.
    A file cannot have anything imported or called: the classes and functions that it names are those in `like`, in `types`, the states of
    `fungrad.optim`, `collections.OrderedDict` and `collections.deque`. Named tuples and dataclasses get their fields as they were, without
    their `__init__`.

    Parameters
    ----------
    like
        A tree that the result must be like: of the same structure, with leaves of the same shapes and dtypes, as a state that
        training begins with or what `fungrad.eval_shape` returns for one. Without it, any tree is returned.
    types
        Classes and functions that may be in the tree.
    device
        Where the arrays are to be, as for `fungrad.device_put`; by default they are NumPy's.
    mesh, specs
        With a mesh, all processes call this, and each gets what it has of the arrays that `specs`, a prefix of the tree, divides; `like` is
        like that. However many processes there were that wrote it, and whatever their mesh. Without, arrays are whole.

    Returns
    -------
    pytree
        With new arrays.

    Raises
    ------
    CheckpointError
        If the file is not as it was written, has a class or function that is not allowed for, or is not like `like`; if a shard is missing.
    OSError
        If the file cannot be read; FileNotFoundError also if the first `save` to a folder did not end.
    DistributedError
        If another process could not read it, or has ended.

    Examples
    --------
    >>> import tempfile
    >>> tx = optim.adam(0.1)
    >>> begin = tx.init({"w": np.zeros(2)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     training.save(f"{folder}/run.ckpt", begin)
    ...     training.load(f"{folder}/run.ckpt", begin)[0].mu
    ...     try:
    ...         training.load(f"{folder}/run.ckpt", tx.init({"w": np.zeros(3)}))
    ...     except training.CheckpointError as error:
    ...         print(str(error).removeprefix(folder))
    {'w': array([0., 0.])}
    /run.ckpt has float64[2] at [0].mu['w'], where the argument like has float64[3]: give a like of the file's types, or none
    More: python -m fungrad explain CheckpointError
    """
    loaded: list[Any] = []

    def read_own() -> str:
        tree, digest = _read(path, like, types, mesh, specs)
        loaded.append(tree)
        return digest

    _check_mesh("load", mesh, specs)
    if mesh is not None:
        from fungrad.training.meeting import together

        digests = together("load", read_own)
        others = [i for i, digest in enumerate(digests) if digest != digests[0]]
        if others:
            raise CheckpointError(
                f"{os.fspath(path)} is not the same checkpoint in process {others[0]} and in process 0: it has to be on a file system that all see"
            )
    else:
        read_own()
    return loaded[0] if device is None else trees.map(lambda x: _on(device, x), loaded[0])


def _check_mesh(label: str, mesh: Any, specs: Any) -> None:
    """Raise if there are specs and no mesh."""
    if mesh is None and specs is not None:
        raise TypeError(f"{label}: specs say what is divided along the axes of a mesh: pass mesh=")


def _read(
    path: Any, like: Any, types: Iterable[Any], mesh: Mesh | None, specs: Any
) -> tuple[Any, str]:
    """Return this process's part of a tree, and the digest of the file, or of the index."""
    named = take_apart(like, accept=lambda leaf: True).named
    known = Known([*named.values(), *types])
    if os.path.isdir(path):
        from fungrad.training.reading_shards import Index

        with Index.open(path) as file, _reading(path):
            index, digest = Index(os.fspath(path), file, known), digest_of(file)
        if mesh is not None:
            index.divide(mesh, specs)
        with _reading(path):
            tree = index.tree(known)
    else:
        with open(path, "rb") as file, _reading(path):
            tree, digest = put_together(*read(file), known), digest_of(file)
        if mesh is not None:
            from fungrad.sharding.moving import local_of

            tree = local_of("load", tree, mesh, specs)
    if like is not None:
        with _reading(path):
            _check_like(tree, like)
    return tree, digest


@contextlib.contextmanager
def _reading(path: Any) -> Iterator[None]:
    """Turn errors in the contents of a file into CheckpointError with the name of the file."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{os.fspath(path)} {error.args[0]}") from error.__cause__
    except Exception as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", errno.EINVAL) != errno.EINVAL:
            raise  # of the machine; others are of places that are not in the file
        raise CheckpointError(
            f"{os.fspath(path)} is damaged: {type(error).__name__}: {str(error)[:200]}"
        ) from error


def _on(device: Any, leaf: Any) -> Any:
    return device_put(leaf, device) if hasattr(leaf, "dtype") and is_array(leaf) else leaf


def _check_like(tree: Any, like: Any) -> None:
    """Raise unless two trees have one structure, and leaves of the same types."""
    leaves, structure = flatten_with_path(tree)
    wanted, other = flatten_with_path(like)
    if structure != other:
        where, how = difference(other, tree, True) or ("the root", "they are other nodes")
        raise CheckpointError(
            f"has another structure than the argument like; at {where}: {how}. Load it without like to see what it holds"
        )
    for (path, x), (_, y) in zip(leaves, wanted, strict=True):
        if (a := _kind(x)) != (b := _kind(y)):
            where = keystr(path) or "the root"
            raise CheckpointError(
                f"has {a} at {where}, where the argument like has {b}: give a like of the file's types, or none"
            )


def _kind(leaf: Any) -> str:
    """Return the compared kind of a leaf, as shown."""
    try:
        return str(type_of(leaf))
    except TypeError:
        if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):  # no node of pytrees
            fields = [f.name for f in dataclasses.fields(leaf) if hasattr(leaf, f.name)]
            return f"{type(leaf).__name__} of { ({n: trees.map(_kind, getattr(leaf, n)) for n in fields}) }"
        shape, dtype = getattr(leaf, "shape", ""), getattr(leaf, "dtype", "")
        return " ".join(str(x) for x in (type(leaf).__name__, dtype, shape) if x != "")

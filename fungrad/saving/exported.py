"""`export`, `load` and the function that they return."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

import fungrad
import fungrad.numpy as fnp
from fungrad import Expr, jit, tree
from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import Jitted, check_callable, evaluate
from fungrad.extend.trees import difference, paths_of
from fungrad.extend.types import ArrayType, is_array, type_of
from fungrad.programs.decoding import Decoder, structure_of
from fungrad.programs.encoding import Encoder, template
from fungrad.programs.encoding import ExportError as ExportError
from fungrad.training import CheckpointError
from fungrad.training.archive import read, write
from fungrad.training.replacing import replacing
from fungrad.training.structure import Known, put_together, take_apart
from fungrad.tree_util import keystr

MARK = b"fungrad program 1 sha256 "
"""Kind of file and number of its format, which changes where older versions cannot read it."""

_LARGEST = 10
"""Types of arguments that are shown, at the most."""


class Exported:
    """A function as its program for one type of arguments; made by `export` and `load`.

    It is called as the function was, without static arguments, and is a function as any other under `grad`, `vmap` and `jit`.

    Attributes
    ----------
    fun_name
        The name of the function.
    in_tree, out_tree
        The structures of the arguments, a pair of positional ones and those by keyword, and of the result.
    in_avals, out_avals
        The types of their leaves.
    expr
        The program.

    Examples
    --------
    >>> import fungrad as fg, numpy as np
    >>> exported = fg.export(lambda x: np.sum(x * x))(np.ones(3))
    >>> exported
    <exported <lambda>(float64[3]) -> float64[]>
    >>> exported(np.array([1.0, 2.0, 3.0])), fg.grad(exported)(np.ones(3))
    (np.float64(14.0), array([2., 2., 2.]))
    """

    def __init__(self, name: str, expr: Expr, in_tree: Any, out_tree: Any) -> None:
        self.fun_name = self.__name__ = name
        self.expr = expr
        self.in_tree, self.out_tree = in_tree, out_tree
        self.in_avals, self.out_avals = expr.input_types, expr.output_types

        def run(*leaves: Any) -> list[Any]:
            return evaluate(expr, leaves)

        run.__name__ = name
        self._run = jit(run)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result for arguments of the saved types, which Python's numbers become.

        Raises
        ------
        TypeError
            If an argument is of another structure, shape or dtype.
        """
        results = self._run(*self._leaves(args, kwargs))
        return tree.unflatten(self.out_tree, results)

    call = __call__

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the leaves of the arguments, if they are of the types of the program."""
        given, structure = tree.flatten((args, kwargs))
        if structure != self.in_tree:
            where, how = difference(self.in_tree, (args, kwargs), True) or (
                "the root",
                "they differ",
            )
            raise TypeError(
                f"{self.fun_name} was saved for other arguments: at {where} of (positional, keywords), {how}. Static arguments are "
                "left out of the call: they are part of the program."
            )
        leaves = []
        for i, (x, t) in enumerate(zip(given, self.in_avals, strict=True)):
            known = type_of(x) if is_array(x) else None
            same = known is not None and (known.shape, known.dtype) == (t.shape, t.dtype)
            if not same and not (known is not None and _becomes(known, t)):
                raise TypeError(
                    f"{self.fun_name} was saved for a {t} as {_place(paths_of(structure)[i])}, and is called with "
                    f"{known or type(x).__name__}. Convert it, or export the function for this type; fungrad.vmap maps it over a batch."
                )
            leaves.append(x if same else fnp.asarray(x, t.dtype))
        return leaves

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the function to a file, whole or not at all; `fungrad.load` reads it."""
        with replacing(os.fspath(path)) as file:
            self._write(file)

    def serialize(self) -> bytes:
        """Return the contents of the file that `save` writes."""
        file = io.BytesIO()
        self._write(file)
        return file.getvalue()

    def _write(self, file: BinaryIO) -> None:
        parts = take_apart(self._encoded)
        write(file, parts.nodes, parts.arrays, MARK)

    def checked(self) -> Exported:
        """Return self if it can be saved; raise an `ExportError` if not."""
        take_apart(self._encoded)
        return self

    @cached_property
    def _encoded(self) -> dict[str, Any]:
        encoder = Encoder(self.fun_name)
        program = encoder.expr(self.expr)
        try:
            trees = template(self.in_tree), template(self.out_tree)
            take_apart(trees)
        except TypeError as error:
            raise ExportError(
                f"export: `{self.fun_name}` has arguments or results in a container that cannot be saved: {error}"
            ) from error
        return {
            "fungrad": fungrad.__version__,
            "name": self.fun_name,
            "arguments": trees[0],
            "results": trees[1],
            "program": program,
            "tables": encoder.tables,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self.serialize(),)

    def __repr__(self) -> str:
        ins, outs = (_shown(types) for types in (self.in_avals, self.out_avals))
        return f"<exported {self.fun_name}({ins}) -> {outs}>"


def _becomes(given: ArrayType, t: ArrayType) -> bool:
    """Whether a number of Python's becomes an array of a type."""
    return given.weak and given.shape == t.shape and np.can_cast(given.dtype, t.dtype, "same_kind")


def _place(path: Sequence[Any]) -> str:
    """Return the words for a path in the pair of positional arguments and keywords."""
    return f"argument {getattr(path[1], 'idx', None) or getattr(path[1], 'key', 0)}{keystr((*path[2:],))}"


def _shown(types: Sequence[ArrayType]) -> str:
    rest = [f"{len(types) - _LARGEST} more"] if len(types) > _LARGEST else []
    return ", ".join([*map(str, types[:_LARGEST]), *rest])


@api_boundary
def export(fun: Callable[..., Any]) -> Callable[..., Exported]:
    """Return a function of arguments that returns `fun` as a program for their types, which can be saved.

    Parameters
    ----------
    fun
        A function that `jit` can trace, or one that it made, with its static arguments.

    Returns
    -------
    Callable
        Takes arguments, or `ShapeDtypeStruct`s, and returns an `Exported`: call it, or ``save(path)`` it for `load`.

    Raises
    ------
    ExportError
        When that is called, if the program has something that is no data: a callback, an object, a value that Python asks for.
        The message has the line and a way out.

    See Also
    --------
    load : The function in a file.

    Notes
    -----
    Arrays that `fun` closes over are saved with it. Custom derivative rules are saved as programs. Donation is not saved: nothing is
    overwritten.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def model(params, x):
    ...     return np.tanh(params["w"] @ x + params["b"])
    >>> params = {"w": np.eye(2), "b": np.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fg.export(fg.jit(model))(params, np.ones(2)).save(f"{folder}/model.fungrad")
    ...     loaded = fg.load(f"{folder}/model.fungrad")
    >>> loaded
    <exported model(float64[2], float64[2,2], float64[2]) -> float64[2]>
    >>> loaded(params, np.zeros(2))
    array([0., 0.])
    """
    check_callable(fun, "export")
    jitted: Any = fun if isinstance(fun, Jitted) else jit(fun)

    @api_boundary
    def exported(*args: Any, **kwargs: Any) -> Exported:
        lowered = jitted.lower(*args, **kwargs)
        expr = lowered.simplified
        if expr.captured:
            raise ExportError(
                f"export: `{jitted.name}` closes over a traced array, which has no value to save; pass it as an argument"
            )
        return Exported(jitted.name, expr, lowered.in_tree, lowered.out_tree).checked()

    functools.update_wrapper(exported, fun, ("__name__", "__qualname__", "__doc__"), ())
    return exported


@api_boundary
def load(file: str | os.PathLike[str] | bytes | BinaryIO, *, types: Iterable[Any] = ()) -> Exported:
    """Return the function in a file that `export` has made.

    A file of which a single bit is another is an error, and so is one that is cut off or made up. A file cannot have anything imported
    or called but fungrad's own primitives: classes and primitives that it names are those in `types`.

    Parameters
    ----------
    file
        The name of a file, one that is open for reading in binary, or its contents.
    types
        Classes of pytrees among arguments and results, and primitives made with `fungrad.extend`.

    Returns
    -------
    Exported
        The function.

    Raises
    ------
    ExportError
        If it is no such file, is damaged, is of a newer version, or names something that is not in `types`.

    See Also
    --------
    export : What makes such files.

    Examples
    --------
    >>> import fungrad as fg
    >>> square = fg.load(fg.export(lambda x: x * x)(1.0).serialize())
    >>> square(3.0)
    np.float64(9.0)
    """
    if isinstance(file, (bytes, bytearray)):
        return _loaded("the program", io.BytesIO(file), types)
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            return _loaded(os.fspath(file), opened, types)
    return _loaded(getattr(file, "name", "the file"), file, types)


def _loaded(name: Any, file: BinaryIO, types: Iterable[Any]) -> Exported:
    types = [*types]
    try:
        known = Known([x for x in types if isinstance(x, type)])
        parts = put_together(*read(file, MARK), known)
        decoder = Decoder(parts["tables"], types)
        trees = structure_of(parts["arguments"]), structure_of(parts["results"])
        made = Exported(parts["name"], decoder.expr(parts["program"]), *trees)
        counts = len(made.in_avals), len(made.out_avals)
        if counts != (trees[0].num_leaves, trees[1].num_leaves):
            raise ExportError(
                "is damaged: its program has other inputs and outputs than its structures"
            )
        return made
    except (ExportError, CheckpointError) as error:
        raise ExportError(f"{name} {error.args[0]}") from error.__cause__
    except (OSError, MemoryError):
        raise
    except Exception as error:  # of whatever the parts of a file that was made up lead to
        raise ExportError(
            f"{name} is damaged: {type(error).__name__}: {str(error)[:200]}"
        ) from error

"""A function, transformed in any way, as a module that needs NumPy or CuPy alone."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from fungrad.compile.simplify import simplify
from fungrad.core import tree
from fungrad.core.backend import on_host
from fungrad.core.errors import api_boundary
from fungrad.core.expr import Calling, Expr
from fungrad.core.paths import paths_of
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.indexing import Gather
from fungrad.primitives.shaping import Iota, ReduceSum
from fungrad.primitives.ufunc import Function, numpy_ufunc
from fungrad.show.bundle import Unprintable
from fungrad.show.libraries import CUPY, LIBRARIES, NUMPY, Library
from fungrad.show.writer import WIDTH, Body, Writer, define
from fungrad.transforms.abstract import trace_abstractly
from fungrad.transforms.call import check_callable, name_of

_IMPORTED = frozenset(["np", "scipy", "namedtuple", "ml_dtypes", "importlib", "cupyx"])


def to_source(
    fun: Callable[..., Any],
    *,
    name: str | None = None,
    xp: Literal["numpy", "cupy"] | None = None,
) -> Callable[..., str]:
    """Return the function that writes `fun`, of arguments of given types, as Python that needs NumPy, or CuPy, alone.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them: a gradient, say, or what `vmap` has made.
    name
        The name of the function in the text; by default that of `fun`.
    xp
        The library whose arrays the text computes with; by default that of the arguments. To write for CuPy, neither CuPy nor
        a GPU is needed. Arguments of the function in the text may be arrays of that library, numbers, and arrays of NumPy,
        which are copied to the device; its results are arrays of the library.

    Returns
    -------
    Callable
        Takes what `fun` takes, or `ShapeDtypeStruct` in place of arrays; returns the text of a module. It defines one
        public function, of the same arguments, which are checked to be of these types, and the same results;
        named tuples are defined anew. It imports NumPy, or CuPy, and SciPy where that has a function that NumPy lacks, not
        fungrad.

    Raises
    ------
    NotImplementedError
        If the program calls back to Python, runs a solver, or computes with keys of random numbers; if a result is of a class
        that is neither a tuple, a list nor a dictionary; if CuPy lacks a function or a dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def loss(w, x):
    ...     return np.sum(np.tanh(x @ w) ** 2)
    >>> text = fg.to_source(fg.grad(loss), name="slope")(np.ones(2), np.ones((3, 2)))
    >>> print(text[text.index("def slope") :])
    def slope(w, x):
        w, x = _leaves((w, x), ('float64[2]', 'float64[3,2]'), 'slope')
        v1 = np.tanh(x @ w)  # float64[3]
        v2 = 2.0 * v1 * (1.0 - v1 * v1)  # float64[3]
        return x.T @ v2
    """
    check_callable(fun, "to_source")

    @api_boundary
    def written(*args: Any, **kwargs: Any) -> str:
        own = name or re.sub(r"\W+", "_", name_of(fun)).strip("_")
        if name is None and (not own.isidentifier() or keyword.iskeyword(own)):
            own = "function"  # of a lambda
        if not own.isidentifier() or keyword.iskeyword(own):
            raise ValueError(f"to_source: name is a name of Python, got {own!r}")
        library = _library(xp, args, kwargs)
        found = trace_abstractly(f"to_source({name_of(fun)})", fun, args, kwargs)
        parameters = _parameters(fun, args, kwargs)
        for taken in parameters.keys() & {*_IMPORTED, library.alias}:
            raise ValueError(
                f"to_source: an argument is called {taken}, as what the text imports is"
            )
        try:
            if found.captured:
                raise Unprintable("it computes with what another transformation traces")
            return _module(own, simplify(found.expr), found.structure, parameters, library)
        except Unprintable as error:
            raise NotImplementedError(
                f"to_source({name_of(fun)}) cannot be written with {library.title} alone: {error}"
            ) from None

    return written


def _parameters(
    fun: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, tuple[str, Any]]:
    """Return the arguments by name, each with what stands before the first one of its kind in the signature."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        kinds = [p.kind for p in bound.signature.parameters.values() if p.name in bound.arguments]
        if any(
            k in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for k in kinds
        ):
            raise TypeError
        positional = list(bound.arguments)[: len(args)]
    except (TypeError, ValueError):
        positional = [f"a{i}" for i in range(len(args))]
    names: dict[str, tuple[str, Any]] = {n: ("", x) for n, x in zip(positional, args, strict=True)}
    for i, key in enumerate(sorted(kwargs)):  # the order of the leaves
        names[key] = ("*, " if i == 0 else "", kwargs[key])
    return names


def _library(xp: str | None, args: Sequence[Any], kwargs: dict[str, Any]) -> Library:
    """Return the library that is asked for, or that of the arguments."""
    if xp is None:
        return NUMPY if on_host(tree.leaves((args, kwargs))) else CUPY
    if xp not in LIBRARIES:
        raise ValueError(f'to_source: xp is "numpy" or "cupy", got {xp!r}')
    return LIBRARIES[xp]


def _module(
    name: str,
    expr: Expr,
    structure: Any,
    parameters: dict[str, tuple[str, Any]],
    library: Library,
) -> str:
    writer = Writer(library)
    paths = paths_of(tree.structure(_values(parameters)))
    leaves = [_leaf_name(list(parameters), path) for path in paths]
    body = Body(writer, expr, dict(zip(expr.inputs, leaves, strict=True)))
    results = body.results()
    copied = {v for v in expr.outputs if not _is_made(expr, v)}
    texts = [
        f"np.array({x.text}){'[()]' * (library.target.scalars and not t.shape)}"
        if v in copied or expr.outputs.count(v) > 1
        else x.text
        for v, t, x in zip(expr.outputs, expr.output_types, results, strict=True)
    ]
    defined: dict[str, str] = {}
    returned = _nested(tree.unflatten(structure, [_Text(x) for x in texts]), defined)
    types = _nested(
        tree.map(lambda x: _Text(repr(str(_strong(type_of(x))))), _values(parameters)), defined
    )
    lines = []
    if leaves:
        given = ", ".join(parameters) + ("," if len(parameters) == 1 else "")
        targets = ", ".join(leaves) + ("," if len(leaves) == 1 else "")
        targets = f"({targets})" if len(targets) > WIDTH // 2 else targets
        lines = [f"{targets} = {writer.bundle.plain('leaves')}(({given}), {types}, {name!r})"]
    signature = f"{name}({', '.join(star + n for n, (star, _) in parameters.items())})"
    function = define(signature, [*lines, *body.lines, f"return {returned}"])
    head = f'"""What fungrad has made of `{name}`, with {library.title} alone."""'
    if any("namedtuple" in x for x in defined.values()):
        writer.bundle.imports["from collections import namedtuple"] = None
    imports = "\n".join(sorted(writer.bundle.imports))
    constants = "\n".join(f"{n} = {text}" for text, n in writer.constants.items())
    parts = [f"{head}\n\n{imports}\n\n__all__ = [{name!r}]", *defined.values()]
    parts += [*writer.bundle.definitions.values()]
    parts += [library.called(text) for text in (constants, *reversed(writer.functions), function)]
    text = "\n\n\n".join([part.strip("\n") for part in parts if part]) + "\n"
    if (lacking := library.lacking(text)) is not None:
        raise Unprintable(f"{library.title} has no counterpart of {lacking}")
    return text


def _values(parameters: dict[str, tuple[str, Any]]) -> tuple[Any, ...]:
    return tuple([x for _, x in parameters.values()])


def _strong(type_: ArrayType) -> ArrayType:
    return type_.update(weak=False)


class _Text(str):
    """An expression, in place of a leaf."""


def _nested(value: Any, defined: dict[str, str]) -> str:
    """Return nested tuples, lists and dictionaries of expressions as source; what defines the named tuples in it is added."""
    if type(value) is _Text:
        return value
    if value is None:
        return "None"
    if type(value) is dict:
        pairs = [f"{k!r}: {_nested(x, defined)}" for k, x in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if type(value) in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        items = ", ".join([_nested(x, defined) for x in value])
        if type(value) is list:
            return f"[{items}]"
        if type(value) is tuple:
            return f"({items}{',' if len(value) == 1 else ''})"
        cls = type(value).__name__
        defined[cls] = f"{cls} = namedtuple({cls!r}, {list(value._fields)})"
        return f"{cls}({items})"
    raise Unprintable(f"a pytree has a node of {type(value).__name__}: return tuples, lists, dicts")


def _leaf_name(names: list[str], path: Sequence[Any]) -> str:
    """Return the name of the variable of a leaf of the arguments."""
    first, *rest = path
    parts = [
        str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in rest
    ]
    return re.sub(r"\W", "_", "_".join([names[first.idx], *parts]))


def _is_made(expr: Expr, v: int) -> bool:
    """Whether a result shares memory with nothing else."""
    equation = next((e for e in expr.equations if v in e.outputs), None)
    if equation is None:
        return False
    made = equation.primitive
    if made.view or made.holds_programs or isinstance(made, (Calling, Iota)):
        return False
    if isinstance(made, Gather) and not expr.types[equation.inputs[1]].shape:
        return False  # an element of NumPy's, or a view of a row
    if expr.types[v].shape or isinstance(made, ReduceSum):
        return True
    return isinstance(made, Function) and numpy_ufunc(made.function) is not None  # a scalar

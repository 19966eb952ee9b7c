"""A function, transformed in any way, as a module that needs NumPy or CuPy alone."""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from fungrad import Expr, tree
from fungrad.extend.backend import on_host
from fungrad.extend.operations import Function, Gather, Iota, ReduceSum, numpy_ufunc
from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import Calling, check_callable, name_of, simplify
from fungrad.show.bundle import Unprintable
from fungrad.show.formatting import import_sections, parted
from fungrad.show.libraries import CUPY, LIBRARIES, NUMPY, Library
from fungrad.show.nesting import Expression, Nesting
from fungrad.show.writer import Body, Writer, define, targets_of
from fungrad.transforms.abstract import trace_abstractly

_IMPORTED = frozenset(["np", "scipy", "ml_dtypes", "importlib", "cupyx"])


def to_source(
    fun: Callable[..., Any],
    *,
    name: str | None = None,
    xp: Literal["numpy", "cupy"] | None = None,
) -> Callable[..., str]:
    """Return the function that writes `fun`, for arguments of given types, as plain NumPy or CuPy code.

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
        named tuples are defined anew. Its lines have at most 100 characters where brackets allow it. It imports NumPy, or
        CuPy, and SciPy where that has a function that NumPy lacks, not fungrad.

    Raises
    ------
    NotImplementedError
        If the program calls back to Python, runs a solver, or computes with keys of random numbers. If an argument
        or a result has a node of a class other than tuples, lists and dicts. If CuPy lacks a function or a dtype.
    ValueError
        If the function or an argument is called like something that the text uses.

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
        traced = trace_abstractly(f"to_source({name_of(fun)})", fun, args, kwargs)
        parameters = _parameters(fun, args, kwargs)
        for taken in sorted(parameters.keys() & {*_IMPORTED, library.alias}):
            raise ValueError(
                f"to_source: an argument is called {taken}, a name that the generated source imports: give the argument another name"
            )
        try:
            if traced.captured:
                raise Unprintable("it computes with what another transformation traces")
            return _module(own, simplify(traced.expr), traced.structure, parameters, library)
        except Unprintable as error:
            raise NotImplementedError(
                f"to_source({name_of(fun)}) cannot be written with {library.title} alone: {error}"
            ) from None

    return written


def _parameters(
    fun: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, tuple[str, Any]]:
    """Return the arguments by name, each with the marker before the first of its kind."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
        kinds = [p.kind for p in bound.signature.parameters.values() if p.name in bound.arguments]
        if any(
            k in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for k in kinds
        ):
            raise TypeError
        positional = list(bound.arguments)[: len(args)]
    except (TypeError, ValueError):
        free = (n for i in itertools.count() if (n := f"a{i}") not in kwargs)
        positional = list(itertools.islice(free, len(args)))
    names: dict[str, tuple[str, Any]] = {n: ("", x) for n, x in zip(positional, args, strict=True)}
    for i, key in enumerate(sorted(kwargs)):  # the order of the leaves
        if not key.isidentifier() or keyword.iskeyword(key):
            raise ValueError(f"to_source: the argument {key!r} has no name of Python")
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
    nesting = Nesting([*_IMPORTED, library.alias, name, *parameters])
    values = {n: x for n, (_, x) in parameters.items()}
    types, leaves = nesting.arguments(values)
    body = Body(writer, expr, dict(zip(expr.inputs, leaves, strict=True)))
    results = body.results()
    copied = {v for v in expr.outputs if not _is_made(expr, v)}
    texts = [
        f"np.array({x.text}){'[()]' * (library.target.scalars and not t.shape)}"
        if v in copied or expr.outputs.count(v) > 1
        else x.text
        for v, t, x in zip(expr.outputs, expr.output_types, results, strict=True)
    ]
    returned = nesting.results(tree.unflatten(structure, list(map(Expression, texts))))
    lines = []
    if leaves:
        given = ", ".join(parameters) + ("," if len(parameters) == 1 else "")
        lines = [
            f"{targets_of(leaves)} = {writer.bundle.plain('leaves')}(({given}), {types}, {name!r})"
        ]
    signature = f"{name}({', '.join(star + n for n, (star, _) in parameters.items())})"
    function = define(signature, [*lines, *body.lines, f"return {returned}"])
    head = f'"""What fungrad has made of `{name}`, with {library.title} alone."""'
    imports = import_sections(writer.bundle.imports | nesting.imports)
    constants = "\n".join(f"{n} = {text}" for text, n in writer.constants.items())
    parts = [f"{head}\n\n{imports}\n\n__all__ = [{name!r}]", *nesting.definitions.values()]
    parts += [*writer.bundle.definitions.values()]
    parts += [library.called(text) for text in (constants, *reversed(writer.functions), function)]
    text = "\n\n\n".join([part.strip("\n") for part in parts if part]) + "\n"
    if (lacking := library.lacking(text)) is not None:
        raise Unprintable(f"{library.title} has no counterpart of {lacking}")
    text = parted(text)
    _check_names(ast.parse(text), name, {*parameters, *leaves})
    return text


def _check_names(module: ast.Module, name: str, variables: set[str]) -> None:
    """Raise if the function, or an argument, is called like something else that the text uses."""
    function, others = module.body[-1], module.body[:-1]
    defined = {x.name for x in others if isinstance(x, (ast.FunctionDef, ast.ClassDef))}
    for statement in others:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            defined |= {(x.asname or x.name).partition(".")[0] for x in statement.names}
        elif isinstance(statement, ast.Assign):
            defined |= _names(statement, ast.Store)
    read = _names(module, ast.Load)
    if name in defined or name in read & {*dir(builtins)}:
        raise ValueError(
            f"to_source: name={name!r} is a name that the generated source uses itself; choose another, such as name='my_function'"
        )
    calls = [x.func for x in ast.walk(function) if isinstance(x, ast.Call)]
    called = {x.id for x in calls if isinstance(x, ast.Name)}
    set_inside = {x.target.id for x in ast.walk(function) if isinstance(x, ast.NamedExpr)}
    for taken in sorted(variables & (defined | called | set_inside)):
        raise ValueError(
            f"to_source: an argument is called {taken}, a name that the generated source uses itself: give the argument another name"
        )


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the names that are read, or set, within a node."""
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, context)}


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

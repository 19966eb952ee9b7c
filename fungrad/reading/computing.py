"""Whether statements do nothing but compute, as far as their text tells."""

from __future__ import annotations

import ast
import builtins

from fungrad.reading.nodes import walk
from fungrad.reading.registry import WRITING
from fungrad.reading.sites import NotRecorded

__all__ = ["FRAMES", "METHODS", "PURE", "WRITING", "check_strict"]

PURE = frozenset(
    id(getattr(builtins, name))
    for name in (
        *("abs", "all", "any", "bool", "callable", "chr", "complex", "dict", "divmod", "enumerate"),
        *(
            "float",
            "format",
            "frozenset",
            "getattr",
            "hasattr",
            "id",
            "int",
            "isinstance",
            "issubclass",
        ),
        *("len", "list", "max", "min", "ord", "pow", "range", "repr", "reversed", "round", "set"),
        *(
            "slice",
            "sorted",
            "str",
            "sum",
            "super",
            "tuple",
            "type",
            "zip",
            "map",
            "filter",
            "iter",
        ),
    )
)
"""Functions of Python that do nothing but compute."""

METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "astype",
        "clip",
        "conj",
        "cumprod",
        "cumsum",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "prod",
        "ravel",
        "reshape",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "trace",
        "transpose",
        "var",
    ]
)
"""Methods of arrays that do nothing but compute, by names that no method with another effect has."""

REFUSED = (
    *(ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.ClassDef, ast.Try, ast.With),
    *(
        ast.Yield,
        ast.YieldFrom,
        ast.Await,
        ast.AsyncFor,
        ast.AsyncWith,
        ast.AsyncFunctionDef,
        ast.Delete,
    ),
    *([ast.TryStar] if hasattr(ast, "TryStar") else []),
)


def check_strict(body: list[ast.stmt], whole: bool = False) -> None:
    """Raise `NotRecorded` if something is written in statements that does more than compute.

    The `whole` body of a function may use `super`.
    """
    refused = FRAMES - {"super", "__class__"} if whole else FRAMES
    for statement in body:
        for each in walk(statement):
            if isinstance(each, REFUSED) and not _sets_warnings(each):
                raise NotRecorded(
                    f"there is a `{type(each).__name__.lower().removesuffix('ete')}` in it"
                )
            if isinstance(each, ast.Name) and each.id in refused:
                raise NotRecorded(f"it uses {each.id}")


def _sets_warnings(node: ast.AST) -> bool:
    """Whether a node is ``with np.errstate(...)``, which changes nothing that is computed."""
    calls = [x.context_expr for x in node.items] if isinstance(node, ast.With) else []
    named = [x.func for x in calls if isinstance(x, ast.Call)]
    return len(named) == len(calls) > 0 and all(
        (x.attr if isinstance(x, ast.Attribute) else getattr(x, "id", "")) == "errstate"
        for x in named
    )


FRAMES = frozenset(["super", "__class__", "locals", "globals", "vars", "exec", "eval", "dir"])
"""Names of functions that inspect the running function."""

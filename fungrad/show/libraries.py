"""Libraries that modules of `to_source` may call, and the gaps of one of them."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from fungrad.core.backend import CUPY as ON_CUPY
from fungrad.core.backend import NUMPY as ON_NUMPY
from fungrad.core.backend import Target


class Library(NamedTuple):
    """A library of arrays, as the source of programs names it."""

    title: str
    package: str
    alias: str
    special: str
    """Module of special functions."""
    target: Target

    def called(self, text: str) -> str:
        """Return source in which `np` stands for this library, with the alias that this one has."""
        if self.alias == "np":
            return text
        lines = text.splitlines(keepends=True)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME and token.string == "np":
                row, column = token.start[0] - 1, token.start[1]
                line = lines[row]
                lines[row] = line[:column] + self.alias + line[column + 2 :]  # of the same length
        return "".join(lines)

    def lacking(self, text: str) -> str | None:
        """Return the first function that a module calls and this library lacks; None if it has them all."""
        if self.target.on_host:
            return None
        for name in _called(ast.parse(text), (self.alias, "xp"), self.special):
            if name in NOT_IN_CUPY:
                return f"numpy.{name}"
            if name.removeprefix("special.") in NOT_IN_CUPYX and name.startswith("special."):
                return f"scipy.{name}"
        return None


NUMPY = Library("NumPy", "numpy", "np", "scipy.special", ON_NUMPY)
CUPY = Library("CuPy", "cupy", "cp", "cupyx.scipy.special", ON_CUPY)

LIBRARIES = {"numpy": NUMPY, "cupy": CUPY}

NOT_IN_CUPY = frozenset(["block", "spacing"])
"""The functions of NumPy that primitives are computed by and CuPy 14 lacks."""

_SPECIAL = (
    "airy betaincc betainccinv dawsn ellipe erfi eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre "
    "eval_hermite eval_hermitenorm eval_jacobi eval_laguerre eval_legendre fresnel hankel1 hankel1e hankel2 "
    "hankel2e hyp0f1 hyp1f1 hyp2f1 hyperu iv ive jv jve kn kv kve lpmv ndtri_exp owens_t powm1 spence spherical_in "
    "spherical_jn spherical_kn stdtr stdtrit wofz wrightomega yv yve"
)

NOT_IN_CUPYX = frozenset(_SPECIAL.split())
"""SciPy's special functions in primitives that `cupyx.scipy.special` of CuPy 14 lacks, or gets wrong."""


def _fields(cls: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the texts for parts of a name: literals, and values of class attributes."""
    for node in ast.walk(cls):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield ast.unparse(node), node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield f"self.{ast.unparse(node.targets[0])}", str(node.value.value)


def _called(module: ast.Module, aliases: tuple[str, ...], special: str) -> Iterator[str]:
    """Yield names read of a library, through its alias, and special functions as "special.name"."""
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            first, _, rest = name.partition(".")
            if first in aliases:
                yield rest
            elif name.startswith(f"{special}."):
                yield name.removeprefix(special.removesuffix("special"))
    for cls in [module, *[x for x in module.body if isinstance(x, ast.ClassDef)]]:
        fields = dict(_fields(cls))
        for node in ast.walk(cls):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "_library_on_device":
                named = node.args[1]
                parts = named.values if isinstance(named, ast.JoinedStr) else [named]
                texts = [x.value if isinstance(x, ast.FormattedValue) else x for x in parts]
                yield "special." + "".join([fields.get(ast.unparse(x), "") for x in texts])

"""The calls that the grid of functions is made from: those of the tests, and some more.

For each function there is a list of calls; a cell of the grid runs the first one that suits it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.numpy.rules import traced_functions
from tests.numpy.checker import Case

HERE = Path(__file__).parent
MODULES = ("", "linalg", "fft")

TYPES = (
    *("array2string", "array_repr", "array_str", "can_cast", "common_type", "einsum_path"),
    *(
        "finfo",
        "iinfo",
        "iscomplexobj",
        "isrealobj",
        "ndenumerate",
        "ndim",
        "promote_types",
        "result_type",
        "shape",
        "size",
    ),
)
"""Functions that tell something of arrays but give none; they work everywhere."""


@dataclasses.dataclass
class Program(Case):
    """A call of a function of one's own, which calls the function `name` of ours or of NumPy."""

    ours: Callable[..., Any] | None = None
    numpys: Callable[..., Any] | None = None

    def functions(self) -> tuple[Any, Any]:
        """Return the two functions."""
        return self.ours, self.numpys


# Arrays. The names are short: they stand for values that do not matter.

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B, V = A[0], A[0, 0]
S = B[:, :3] + 3 * np.eye(3)
I = np.array([3, 1, 1, 0])
X = np.float64(1.5)
MASK = B > 0


def sized(name: str, size: int, args: tuple[Any, ...], fill: Any = 0, **options: Any) -> Program:
    """Return a call with `size`, of which NumPy's result is filled up."""

    def numpys(*xs: Any) -> Any:
        found = getattr(np, name)(*xs, **options)
        several = isinstance(found, tuple)
        padded = [
            np.append(y, np.full(size - len(y), fill, y.dtype))
            for y in (found if several else [found])
        ]
        return tuple(padded) if several else padded[0]

    def ours(*xs: Any) -> Any:
        return getattr(fnp, name)(*xs, **options, size=size, fill_value=fill)

    return Program(name, args, ours=ours, numpys=numpys, diff_argnums=())


def in_place(name: str, *args: Any) -> Program:
    """Return a call of a function that changes its first argument, made to return that."""

    def numpys(x: Any, *rest: Any) -> Any:
        y = np.array(x)
        getattr(np, name)(y, *rest)
        return y

    def ours(x: Any, *rest: Any) -> Any:
        y = fnp.array(x)
        getattr(fnp, name)(y, *rest)
        return y

    return Program(name, args, ours=ours, numpys=numpys, static=(1,))


def program(name: str, f: Callable[..., Any], *args: Any, **options: Any) -> Program:
    """Return a call of ``f(np, ...)``."""
    ours, numpys = functools.partial(f, fnp), functools.partial(f, np)
    return Program(name, args, ours=ours, numpys=numpys, **options)


EXTRA = [
    # Where values are not known, the size is given.
    sized("nonzero", 4, (V,)),
    sized("flatnonzero", 5, (V,)),
    sized("where", 5, (V > 0,)),
    sized("extract", 5, (V > 0, V)),
    sized("unique", 5, (I,)),
    sized("union1d", 9, (V, V[:2])),
    sized("intersect1d", 5, (I, I[:2])),
    sized("setdiff1d", 5, (I, I[:1])),
    sized("setxor1d", 5, (I, I[:2])),
    Program(
        "argwhere",
        (V,),
        ours=lambda x: fnp.argwhere(x, size=4),
        numpys=lambda x: np.argwhere(x),
    ),
    Program(
        "compress",
        (V > 0, V),
        ours=lambda c, x: fnp.compress(c, x, size=4),
        numpys=lambda c, x: np.append(np.compress(c, x), np.zeros(4 - c.sum())),
        diff_argnums=(),
    ),
    *[
        Program(
            name,
            (np.array([3, 1, 2, 0]),),
            ours=lambda x, name=name: tuple(getattr(fnp, name)(x, size=4)),
            numpys=lambda x, name=name: tuple(getattr(np, name)(x)),
        )
        for name in ("unique_all", "unique_counts", "unique_inverse")
    ],
    Program(  # NumPy's come in any order
        "unique_values",
        (I + 1,),
        ours=lambda x: fnp.unique_values(x, size=5, fill_value=0),
        numpys=lambda x: np.append(np.sort(np.unique_values(x)), [0, 0]),
    ),
    Program(
        "bincount",
        (I, V),
        ours=lambda x, w: fnp.bincount(x, w, length=5),
        numpys=lambda x, w: np.bincount(x, w, 5),
    ),
    Program(  # sums of powers, as the order of roots is not specified
        "roots",
        (np.array([1.0, -6.0, 11.0, -6.0]),),
        ours=lambda p: fnp.real((fnp.roots(p, strip_zeros=False) ** [[1], [2], [3]]).sum(axis=1)),
        numpys=lambda p: np.real((np.roots(p) ** [[1], [2], [3]]).sum(axis=1)),
        rtol=1e-9,
    ),
    program("polydiv", lambda np_, u, v: np_.polydiv(u, v)[0], V, V[:2]),
    program("intersect1d", lambda np_, x, y: np_.intersect1d(x, y), V, np.zeros(1), jit=False, vmap=False),
    # Functions that change arrays
    in_place("copyto", B, V),
    in_place("fill_diagonal", B, 2.0),
    in_place("place", B, MASK, V),
    in_place("put", B, [0, 3], V[:2]),
    in_place("put_along_axis", B, np.array([[1], [0], [2]]), X, 1),
    in_place("putmask", B, MASK, V),
    # Functions that make arrays of nothing
    *[Case(name, (3,)) for name in ("zeros", "ones", "eye", "identity", "tri", "bartlett", "blackman")],
    *[Case(name, (3,)) for name in ("hamming", "hanning")],
    program("empty", lambda np_: np_.ones_like(np_.empty(3))),
    Case("kaiser", (5, X)),
    *[Case(name, (3,)) for name in ("diag_indices", "tril_indices", "triu_indices")],
    Case("diag_indices_from", (S,)),
    Case("indices", ((2, 3),)),
    Case("fromfunction", (lambda i, j: i + j, (2, 3))),
    Case("arange", (0.5, 4.0, 1)),
    program("arange", lambda np_, x: np_.arange(x, 4.0), X),
    # Of real numbers
    *[Case(name, (B,)) for name in ("copy", "fliplr", "unstack")],
    Case("astype", (B, np.complex128)),
    Case("ldexp", (B, I)),
    program("unique_values", lambda np_, x: np_.sort(np_.unique_values(x)), V, jit=False, vmap=False),
    Case("dot", (B, V)),
    Case("matmul", (B, V)),
    Case("einsum", ("ij,j->i", B, V)),
    program("empty_like", lambda np_, x: np_.ones_like(np_.empty_like(x)), B),
    program("trim_zeros", lambda np_, x: np_.trim_zeros(x), V),
    *[Case(name, (B,)) for name in ("tril_indices_from", "triu_indices_from")],
    program("apply_along_axis", lambda np_, x: np_.apply_along_axis(np_.cumsum, 1, x), B),
    program("vectorize", lambda np_, x: np_.vectorize(lambda e: np.sin(e) * e)(x), B),
    Case("allclose", (B, V)),
    program("partition", lambda np_, x: np_.partition(x, 1)[:, 1], B),
    program("argpartition", lambda np_, x: np_.argpartition(x, 1)[:, 1], B),
    program("r_", lambda np_, x: np_.r_[x, 1.0, x], V),
    program("c_", lambda np_, x: np_.c_[x, x], V),
    # Of the submodules
    Case("linalg.solve", (S, V[:3])),
    Case("linalg.lstsq", (B.T, A[1, 0]), {"rcond": None}),
    Case("linalg.tensorsolve", (S.reshape(3, 1, 3), B[:, :1])),
    *[Case(f"linalg.{name}", (B,)) for name in ("norm", "matrix_norm", "vector_norm")],
]  # fmt: skip


def of_module(name: str) -> list[Case]:
    """Return the rows of all tables of a module of tests."""
    module = importlib.import_module(f"tests.numpy.{name}")
    tables = [x for x in vars(module).values() if isinstance(x, list)]
    found = [x for table in tables for x in table if isinstance(x, Case)]
    if name == "test_fft":
        found += [Case(f"fft.{name}", args, kwargs) for name, args, kwargs in module.CASES]
    if name == "test_linalg":
        rng = np.random.default_rng(0)
        for label, (f, shapes) in module.PROGRAMS.items():
            submodules = [functools.partial(f, np_.linalg) for np_ in (fnp, np)]
            found += [
                Program(
                    f"linalg.{label.split('-')[0]}",
                    (rng.normal(size=shape),),
                    ours=submodules[0],
                    numpys=submodules[1],
                    rtol=1e-9,
                )
                for shape in shapes
            ]
    if name == "test_math":
        for label, ufunc in module.UFUNCS.items():
            operands = [module.sample(label, dtype) for dtype in ("f8", "i8")]
            found += [_of_ufunc(label, x, module) for x in operands if _takes(ufunc, x)]
    return found


def _takes(ufunc: Any, x: np.ndarray) -> bool:
    try:
        ufunc(*[x[:1, :1]] * ufunc.nin)
    except TypeError:
        return False
    return True


def _of_ufunc(name: str, x: np.ndarray, module: Any) -> Case:
    y = np.array([0.7, 1.4, 2.6]) if x.dtype.kind == "f" else np.array([1, 2, 3])
    args = (x, y)[: module.UFUNCS[name].nin]
    return Case(name, args, diff_argnums=() if name == "nextafter" else None)


@functools.cache
def calls() -> dict[str, list[Case]]:
    """Return the calls of each function."""
    found: dict[str, list[Case]] = {}
    modules = sorted(path.stem for path in HERE.glob("test_*.py") if path.stem != "test_grid")
    for case in [*(case for name in modules for case in of_module(name)), *EXTRA]:
        found.setdefault(case.name, []).append(case)
    return found


@functools.cache
def functions() -> tuple[str, ...]:
    """Return the names of all functions of arrays, those of submodules dotted."""
    names = []
    for module in MODULES:
        ours, numpys = (operator.attrgetter(module)(x) if module else x for x in (fnp, np))
        prefix = f"{module}." if module else ""
        for name in sorted(ours.__all__):
            value = getattr(ours, name)
            is_ours = value is not getattr(numpys, name, None)
            if is_ours and name not in TYPES and (callable(value) or name in ("r_", "c_")):
                names.append(prefix + name)
    return tuple(names)


@functools.cache
def aliases() -> dict[str, str]:
    """Return for each second name of a function the one that has calls."""
    by_rule: dict[Any, str] = {}
    found = {}
    for name in functions():
        numpys = operator.attrgetter(name)(np)
        rule = traced_functions.get(numpys, name) if getattr(numpys, "__hash__", None) else name
        if name in calls():
            by_rule.setdefault(rule, name)
    for name in functions():
        numpys = operator.attrgetter(name)(np)
        if name not in calls() and numpys in traced_functions:
            found[name] = by_rule.get(traced_functions[numpys], name)
    return found

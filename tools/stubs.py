"""Write the stubs that tell type checkers and editors what they cannot find out: ``python tools/stubs.py``.

`fungrad` and `fungrad.numpy` import most of their names when these are asked for, and the functions of `fungrad.numpy` are
made of rules: their parameters are those of NumPy, their types follow from the tables here. Tests hold that the stubs are
up to date, and that what they say is so.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Written by tools/stubs.py: what type checkers see.\n# ruff: noqa\n# fmt: off\n\n"
NUMPY = f"# As NumPy {'.'.join(np.__version__.split('.')[:2])} has them.\n"
IMPORTS = """\
from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

"""


def table(rows: Mapping[str, str]) -> dict[str, str]:
    """Return the type of each name, given the names of each type."""
    return {name: type_ for type_, names in rows.items() for name in names.split()}


INTS = "int | _Sequence[int]"
PARAMETERS = table(
    {
        "_DTypeLike": "dtype from_ to int_type type1 type2",
        INTS: "axis axes shape new_shape reps dimensions dims source destination s",
        "int": "n N M axis1 axis2 axisa axisb axisc start_axis ndmin ndmax ndim edge_order minlength length num "
        "total_repeat_length offset ind size decimals",
        "_Array | tuple[_Array, ...]": "out",
        "str": "casting order kind norm mode method bitorder indexing side trim UPLO",
        "_bool | None": "copy subok keepdims",
        "_ArrayLike": "where",
        "object": "device like element object y_",
        "_Callable[..., _Any]": "func func1d function mask_func",
        "_Sequence[_ArrayLike]": "arrays tup choicelist condlist",
        "_Sequence[_Any]": "funclist",
        "_Any": "obj pad_width formatter arg1 arg2 operands kwargs kw args",
        "_ArrayLike | None": "a_min a_max initial",
    }
)
"""Types of parameters by name; others are arrays, or of the type of their default."""

SPECIAL = {
    ("tensordot", "axes"): f"int | _Sequence[{INTS}]",
    ("block", "arrays"): "_Any",
    ("diag_indices", "n"): "int",
    ("tril_indices", "m"): "int",
    ("triu_indices", "m"): "int",
    ("size", "axis"): INTS,
    ("bartlett", "M"): "_ArrayLike",
    ("roll", "shift"): INTS,
    ("broadcast_arrays", "args"): "_ArrayLike",
    ("angle", "deg"): "_bool",
    ("concatenate", "axis"): "int | None",
    ("concat", "axis"): "int | None",
    ("cumulative_sum", "axis"): "int",
    ("cumulative_prod", "axis"): "int",
    ("where", "x"): "_ArrayLike",
    ("unique", "axis"): "int",
}
"""Types of parameters of some functions."""

RESULTS = table(
    {
        "tuple[_Array, ...]": "broadcast_arrays meshgrid nonzero ix_ unravel_index diag_indices diag_indices_from "
        "tril_indices triu_indices tril_indices_from triu_indices_from mask_indices unstack",
        "tuple[_Array, _Array]": "divmod modf frexp histogram polydiv",
        "tuple[_Array, _Array, _Array]": "histogram2d",
        "tuple[_Array, _Sequence[_Array]]": "histogramdd",
        "list[_Array]": "array_split split hsplit vsplit dsplit",
        "_bool": "iscomplexobj isrealobj can_cast",
        "_bool | _Array": "allclose array_equal array_equiv",
        "None": "copyto fill_diagonal place put put_along_axis putmask",
        "str": "array2string array_repr array_str",
        "int": "ndim size",
        "tuple[int, ...]": "shape",
        "np.dtype[_Any]": "result_type promote_types",
        "type[_Any]": "common_type",
        "np.finfo[_Any]": "finfo",
        "np.iinfo[_Any]": "iinfo",
        # of another type with an option, or of a class without a public name
        "_Any": "unique intersect1d average linspace polyfit gradient unique_all unique_counts unique_inverse "
        "piecewise apply_along_axis qr svd",
        "EigResult": "eig",
        "EighResult": "eigh",
        "SlogdetResult": "slogdet",
        "tuple[_Array, _Array, _Array, _Array]": "lstsq",
    }
)
"""Types of results by function; others are arrays."""

OVERLOADED = {
    "linspace": ("retstep", "_Array", "tuple[_Array, _Array]"),
    "average": ("returned", "_Array", "tuple[_Array, _Array]"),
}
"""The option that makes a function return something else, what it returns without it, and what with it."""


def parameters(name: str, function: Any) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a function of `fungrad.numpy`; of a ufunc, by the names that the standard has."""
    ufunc = getattr(np, name, None)
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL and isinstance(ufunc, np.ufunc):
            names = ["x"] if ufunc.nin == 1 else [f"x{i + 1}" for i in range(ufunc.nin)]
            yield from (inspect.Parameter(x, p.POSITIONAL_ONLY) for x in names)
            # NumPy takes the places of results by position, too.
            outs = [f"out{i + 1}" for i in range(ufunc.nout)] if ufunc.nout > 1 else []
            yield from (inspect.Parameter(x, p.POSITIONAL_ONLY, default=None) for x in outs)
        else:
            yield p


def type_of(name: str, p: inspect.Parameter) -> str:
    """Return the type of a parameter."""
    if (name, p.name) in SPECIAL:
        found = SPECIAL[name, p.name]
    elif p.name in PARAMETERS:
        found = PARAMETERS[p.name]
    elif p.name.startswith("out"):
        found = PARAMETERS["out"]
    else:
        kinds = {bool: "_bool", str: "str"}
        found = kinds.get(type(p.default), "_ArrayLike")
    missing = p.default is None or p.default is np._NoValue
    return (
        f"{found} | None"
        if missing and found not in ("_Any", "object") and "None" not in found
        else found
    )


def signature(name: str, function: Any, changed: Mapping[str, str] = {}) -> str:
    """Return the parameters of a function as a stub has them."""
    written, star = [], False
    given = list(parameters(name, function))
    for i, p in enumerate(given):
        if p.kind is p.KEYWORD_ONLY and not star:
            written.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = ..."
        if p.name in changed:
            type_, default = changed[p.name], " = ..." * changed[p.name].endswith("[False]")
        else:
            type_ = type_of(name, p)
        written.append(f"{mark}{p.name}: {type_}{default}")
        last = i + 1 == len(given) or given[i + 1].kind is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            written.append("/")
    return ", ".join(written)


def definition(name: str, function: Any) -> str:
    """Return the definition of a function in a stub, with the first line of its documentation."""
    said = f'r"""{(function.__doc__ or "").strip().splitlines()[0]}"""'
    if name not in OVERLOADED:
        result = RESULTS.get(name, "_Array")
        return f"def {name}({signature(name, function)}) -> {result}: {said}"
    option, without, with_it = OVERLOADED[name]
    with_option = signature(name, function, {option: "_Literal[True]"})
    if f", {option}:" in with_option and f"*, {option}" not in with_option:  # given by name
        before, _, rest = with_option.partition(f", {option}: _Literal[True]")
        rest = rest.removeprefix(", ").replace("*, ", "")
        with_option = f"{before}, *, {option}: _Literal[True]{', ' + rest if rest else ''}"
    plain = signature(name, function, {option: "_Literal[False]"})
    return (
        f"@_overload\ndef {name}({plain}) -> {without}: {said}\n"
        f"@_overload\ndef {name}({with_option}) -> {with_it}: ..."
    )


def of_functions(module: types.ModuleType) -> str:
    """Return the stub of `fungrad.numpy` or one of its modules."""
    numpys = np if module is fnp else getattr(np, module.__name__.rpartition(".")[2])
    name = numpys.__name__
    lines = []
    for public in module.__all__:
        value = getattr(module, public)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("fungrad"):
            lines.append(f"from {module.__name__} import {public} as {public}")
        elif value is getattr(numpys, public, lines):
            lines.append(f"from {name} import {public} as {public}")
        elif isinstance(value, types.FunctionType):
            lines.append(definition(public, value))
        elif isinstance(value, type):
            lines.append(f"from {value.__module__} import {public} as {public}")
        else:
            lines.append(f"from {type(value).__module__} import {public} as {public}")
    body = "\n".join(lines) + "\n"
    more = ""
    if "@_overload" in body:
        more = "from typing import Literal as _Literal, overload as _overload\n"
    if "np." in body:
        more += "import numpy as np\n"
    results = [x for x in ("EigResult", "EighResult", "SlogdetResult") if f"-> {x}" in body]
    if results:
        more += f"from numpy.linalg._linalg import {', '.join(results)}\n"
    return NUMPY + HEAD + IMPORTS.rstrip() + "\n" + more + "\n" + body


def of_fungrad() -> str:
    """Return the stub of `fungrad`: its names, where they are."""
    homes = dict(fg._HOME)
    for name in fg.__all__[: fg._AT_ONCE]:
        value = getattr(fg, name)
        if isinstance(value, types.ModuleType):
            homes[name] = value.__name__.rpartition(".")[0]
        else:
            homes[name] = getattr(value, "__module__", None) or "fungrad.core.types"
    lines = [f"from {homes[name]} import {name} as {name}" for name in fg.__all__]
    return HEAD + "\n".join([*lines, "", "__version__: str"]) + "\n"


def of_optim() -> str:
    """Return the stub of `fungrad.optim`: its names, where they are, and those of the losses."""
    home = {name: f".{module}" for name, module in fg.optim._HOME.items()}
    lines = [f"from fungrad.optim{home.get(x, '')} import {x} as {x}" for x in fg.optim.__all__]
    lines += ["from fungrad.nn import losses as losses", "from fungrad.nn.losses import *"]
    return HEAD + "\n".join(lines) + "\n"


def stubs() -> dict[Path, str]:
    """Return the text of each stub."""
    package = ROOT / "fungrad"
    return {
        package / "optim" / "__init__.pyi": of_optim(),
        package / "__init__.pyi": of_fungrad(),
        package / "numpy" / "__init__.pyi": of_functions(fnp),
        package / "numpy" / "linalg" / "__init__.pyi": of_functions(fnp.linalg),
        package / "numpy" / "fft" / "__init__.pyi": of_functions(fnp.fft),
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, "utf-8")

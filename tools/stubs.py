"""Write the stubs that tell type checkers and editors what they cannot find out: ``python tools/stubs.py``.

`fungrad` and `fungrad.numpy` import most of their names when these are asked for, and the functions of `fungrad.numpy` are
made of rules: their parameters are those of NumPy, their types follow from the tables here. Tests hold that the stubs are
up to date, and that what they say is so.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for the files beside this one

from tools.stub_packages import PACKAGES, of_package  # noqa: E402
from tools.stub_signatures import IMPORTS, OVERLOADS, ByOption, body_of, definition, table  # noqa: E402

HEAD = "# Written by tools/stubs.py: what type checkers see.\n# ruff: noqa\n# fmt: off\n\n"
NUMPY = f"# As NumPy {'.'.join(np.__version__.split('.')[:2])} has them.\n"
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
        "_Any": "gradient",  # a tuple of arrays where there are several axes, which no type tells
        "EigResult": "eig",
        "EighResult": "eigh",
        "SlogdetResult": "slogdet",
        "UniqueAllResult[_Any]": "unique_all",
        "UniqueCountsResult[_Any]": "unique_counts",
        "UniqueInverseResult[_Any]": "unique_inverse",
        "tuple[_Array, _Array, _Array, _Array]": "lstsq",
    }
)
"""Types of results by function; others are arrays."""

NAMED = {
    "numpy.lib._arraysetops_impl": "UniqueAllResult UniqueCountsResult UniqueInverseResult",
    "numpy.linalg._linalg": "EigResult EighResult QRResult SVDResult SlogdetResult",
}
"""The classes of results that are named tuples, by the module that has them."""

BY_OPTION = {
    "linspace": ByOption("_Array", {"retstep": "tuple[_Array, _Array]"}),
    "average": ByOption("_Array", {"returned": "tuple[_Array, _Array]"}),
    "unique": ByOption(
        "_Array",
        dict.fromkeys(["return_index", "return_inverse", "return_counts"], "tuple[_Array, ...]"),
    ),
    "intersect1d": ByOption("_Array", {"return_indices": "tuple[_Array, _Array, _Array]"}),
    "polyfit": ByOption(
        "_Array", dict.fromkeys(["full", "cov=False/True,'unscaled'"], "tuple[_Any, ...]")
    ),
    "qr": ByOption("QRResult", {"mode='reduced','complete'/'r'": "_Array"}),
    "svd": ByOption("SVDResult", {"compute_uv=True/False": "_Array"}),
}
"""Functions that return something else with an option."""


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


def of_function(name: str, function: Any) -> Iterator[str]:
    """Yield the lines of the definition of a function of `fungrad.numpy`."""
    given = [(p, type_of(name, p)) for p in parameters(name, function)]
    result = BY_OPTION.get(name) or RESULTS.get(name, "_Array")
    yield from definition(name, given, result, function.__doc__)


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
            lines += of_function(public, value)
        elif isinstance(value, type):
            lines.append(f"from {value.__module__} import {public} as {public}")
        else:
            lines.append(f"from {type(value).__module__} import {public} as {public}")
    body = body_of(lines)
    more = ""
    if "@_overload" in body:
        more = OVERLOADS
    if "np." in body:
        more += "import numpy as np\n"
    for home, classes in NAMED.items():
        named = [x for x in classes.split() if re.search(rf"-> {x}\b", body)]
        more += f"from {home} import {', '.join(named)}\n" if named else ""
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
    return HEAD + body_of([*lines, "", "__version__: str"])


def of_optim() -> str:
    """Return the stub of `fungrad.optim`: its names, where they are, and those of the losses."""
    losses = "from fungrad.nn import losses as losses\nfrom fungrad.nn.losses import *\n"
    return of_package("optim", HEAD) + losses


def stubs() -> dict[Path, str]:
    """Return the text of each stub."""
    package = ROOT / "fungrad"
    return {
        package / "optim" / "__init__.pyi": of_optim(),
        package / "__init__.pyi": of_fungrad(),
        package / "numpy" / "__init__.pyi": of_functions(fnp),
        package / "numpy" / "linalg" / "__init__.pyi": of_functions(fnp.linalg),
        package / "numpy" / "fft" / "__init__.pyi": of_functions(fnp.fft),
        **{
            package.joinpath(*name.split("."), "__init__.pyi"): of_package(name, HEAD)
            for name in PACKAGES
        },
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, "utf-8")

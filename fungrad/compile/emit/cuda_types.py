"""Types, numbers and operations of kernels in a C that compilers for CUDA and for the host share."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.emit.cuda_systems import FUNCTIONS
from fungrad.compile.kernels.operations import COMPARISONS, F4, F8, HALF, PARTS, DType, Node

_NAMES = {"b1": "bool", "f4": "float", "f8": "double", "f2": "half_bits", "c8": "complex64"}
_NAMES |= {"c16": "complex128"}
_INTEGERS = {1: "char", 2: "short", 4: "int", 8: "long long"}

PRELUDE = """
#ifndef DEVICE  /* else the host stands for a device */
#define DEVICE static __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#endif
typedef unsigned short half_bits;
typedef struct __align__(8) { float re, im; } complex64;
typedef struct __align__(16) { double re, im; } complex128;
"""
"""Start of the text of kernels."""

_HALVES = {
    "widened_f2": 'float widened_f2(half_bits x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }',
    "narrowed_f2": 'half_bits narrowed_f2(float x) { half_bits y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }',
}

_COMPLEX = (
    "{name} complex_{name}({part} re, {part} im) {{ {name} z; z.re = re; z.im = im; return z; }}"
)

_FLOATS = {
    "max": "{t} max_{t}({t} x, {t} y) {{ return x > y || x != x ? x : y; }}",
    "min": "{t} min_{t}({t} x, {t} y) {{ return x < y || x != x ? x : y; }}",
    "expit": """{t} expit_{t}({t} x) {{
  {t} e = exp{f}(-fabs{f}(x));
  return (x < 0 ? e : 1) / (1 + e);
}}""",
    "log_expit": "{t} log_expit_{t}({t} x) {{ return (x < 0 ? x : 0) - log1p{f}(exp{f}(-fabs{f}(x))); }}",
    "logaddexp": """{t} logaddexp_{t}({t} x, {t} y) {{
  {t} d = x - y;
  if (x == y) return x + ({t})0.69314718055994530942;
  return d > 0 ? x + log1p{f}(exp{f}(-d)) : d <= 0 ? y + log1p{f}(exp{f}(d)) : d;
}}""",
    "logaddexp2": """{t} logaddexp2_{t}({t} x, {t} y) {{
  const {t} scale = ({t})1.44269504088896340736;
  {t} d = x - y;
  if (x == y) return x + 1;
  return d > 0 ? x + scale * log1p{f}(exp2{f}(-d)) : d <= 0 ? y + scale * log1p{f}(exp2{f}(d)) : d;
}}""",
}
"""Functions that C lacks, or has otherwise: maxima with NaNs, and NumPy's logarithms of sums."""

_BITS = "{to} {name}({of} x) {{ union {{ {of} x; {to} y; }} u; u.x = x; return u.y; }}"

_SPELLED = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "gammaln": "lgamma", "power": "pow", "abs": "fabs",
}  # fmt: skip
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "quot": "/", "rem": "%", "and": "&"}
_OPERATORS |= {"or": "|", "xor": "^", "shl": "<<", "shr": ">>", "eq": "==", "ne": "!=", "lt": "<"}
_OPERATORS |= {"le": "<=", "gt": ">", "ge": ">="}
_WRAPPING = frozenset(["add", "sub", "mul", "shl"])
"""Operations that C defines for out-of-range results only on unsigned integers."""


def c_type(dtype: DType) -> str:
    """Return the name of the type of an element."""
    if dtype.kind in "iu":
        return "unsigned " * (dtype.kind == "u") + (
            "signed char" if dtype == np.int8 else _INTEGERS[dtype.itemsize]
        )
    return _NAMES[dtype.str[1:]]


def _short(dtype: DType) -> str:
    return dtype.str[1:]


def literal(value: Any, dtype: DType) -> str:
    """Return a number as C writes it."""
    if dtype.kind == "c":
        part = PARTS[dtype]
        both = ", ".join([literal(x, part) for x in (value.real, value.imag)])
        return f"complex_{c_type(dtype)}({both})"
    if dtype == HALF:
        return f"(half_bits){int(np.asarray(value, dtype).view('u2')):#06x}"
    if dtype.kind == "b":
        return "1" if value else "0"
    if dtype.kind in "iu":
        number = int(value)
        if number == -(2**63):
            return "(-9223372036854775807LL - 1)"
        suffixes = {True: "ULL", False: "U"} if dtype.kind == "u" else {True: "LL", False: ""}
        text = f"{number}{suffixes[dtype.itemsize == 8]}"
        return text if dtype.itemsize >= 4 else f"({c_type(dtype)}){text}"
    if not np.isfinite(value):
        bits = int(np.asarray(value, dtype).view(f"u{dtype.itemsize}"))
        suffix = "ULL" if dtype == F8 else "U"
        return f"{_short(dtype)}_of_u{dtype.itemsize}({bits:#x}{suffix})"
    text = repr(float(value))
    return f"{text}f" if dtype == F4 else text


def operation(node: Node, dtypes: Sequence[DType], operands: Sequence[str]) -> str:
    """Return the expression of an operation on operands of these dtypes, given by name."""
    name, dtype = node.operation, node.dtype
    of = dtypes[0]
    if name == "convert":
        return _converted(of, dtype, operands[0])
    if name == "bitcast":
        return f"{_short(dtype)}_of_{_short(of)}({operands[0]})"
    if name == "select":
        return "{} ? {} : {}".format(*operands)
    if name == "complex":
        return f"complex_{c_type(dtype)}({', '.join(operands)})"
    if name in ("real", "imag"):
        return f"{operands[0]}.{name[:2]}"
    if name in COMPARISONS:
        return f"{operands[0]} {_OPERATORS[name]} {operands[1]}"
    if dtype.kind == "f":
        return _of_floats(name, dtype, operands)
    return _of_integers(name, dtype, operands)


def _of_floats(name: str, dtype: DType, operands: Sequence[str]) -> str:
    if name == "neg":
        return f"-{operands[0]}"
    if name in _OPERATORS:
        return f" {_OPERATORS[name]} ".join(operands)
    if name in _FLOATS:
        return f"{name}_{c_type(dtype)}({', '.join(operands)})"
    return f"{_SPELLED.get(name, name)}{'f' * (dtype == F4)}({', '.join(operands)})"


def _of_integers(name: str, dtype: DType, operands: Sequence[str]) -> str:
    x, *others = operands
    type_ = c_type(dtype)
    if dtype.kind == "b":
        spelled = {"mul": "and", "max": "or", "min": "and"}.get(name, name)
        return f"!{x}" if name == "not" else f" {_OPERATORS[spelled]} ".join(operands)
    if name in ("max", "min"):
        return f"{x} {'>' if name == 'max' else '<'} {others[0]} ? {x} : {others[0]}"
    unsigned = c_type(np.dtype(f"u{max(dtype.itemsize, 4)}"))
    if name == "neg":
        return f"({type_})(0 - ({unsigned}){x})"
    if name == "abs":
        return x if dtype.kind == "u" else f"{x} < 0 ? ({type_})(0 - ({unsigned}){x}) : {x}"
    if name == "not":
        return f"({type_})~{x}"
    if name in _WRAPPING:
        return f"({type_})(({unsigned}){x} {_OPERATORS[name]} ({unsigned}){others[0]})"
    return f"({type_})({x} {_OPERATORS[name]} {others[0]})"


def _converted(of: DType, to: DType, x: str) -> str:
    if of == HALF:
        return f"widened_f2({x})"
    if to == HALF:
        return f"narrowed_f2({x})"
    return f"({c_type(to)}){x}"


def accumulated_in(operation: str, dtype: DType) -> DType:
    """Return the dtype of partial results: sums of float32 are of float64, and rounded once."""
    return F8 if operation == "reduce_sum" and dtype == F4 else dtype


def prelude(text: str) -> str:
    """Return the definitions that the `text` of kernels needs before it."""
    helpers = [f"DEVICE {of}" for name, of in _helpers() if f"{name}(" in text]
    halves = [f"DEVICE {of}" for name, of in _HALVES.items() if f"{name}(" in text]
    if halves:
        helpers += ["#ifndef HALVES", *halves, "#endif"]
    packs = {match.groups() for match in re.finditer(r"\bpack(\d)_(\w+)", text)}
    helpers += [_PACK.format(n=n, of=of, **_pack(int(n), np.dtype(of))) for n, of in sorted(packs)]
    return "\n".join([PRELUDE, *helpers, ""])


_PACK = "typedef struct __align__({bytes}) {{ {type} x[{n}]; }} pack{n}_{of};"


def _pack(n: int, dtype: DType) -> dict[str, Any]:
    """Return the alignment of so many neighbours, and the type of each."""
    return {"bytes": n * dtype.itemsize, "type": c_type(dtype)}


@functools.cache
def _helpers() -> list[tuple[str, str]]:
    """Return the functions that kernels may call, by their names."""
    constructors = [(f"complex_{c_type(z)}", z, part) for z, part in PARTS.items()]
    helpers = [
        (name, _COMPLEX.format(name=c_type(z), part=c_type(part))) for name, z, part in constructors
    ]
    for name, form in (_FLOATS | FUNCTIONS).items():
        helpers += [
            (f"{name}_{c_type(t)}", form.format(t=c_type(t), f="f" * (t == F4))) for t in (F4, F8)
        ]
    for size, kinds in {1: "iu", 2: "fiu", 4: "fiu", 8: "fiu"}.items():
        for to, of in itertools.permutations([np.dtype(f"{kind}{size}") for kind in kinds], 2):
            name = f"{_short(to)}_of_{_short(of)}"
            helpers.append((name, _BITS.format(name=name, to=c_type(to), of=c_type(of))))
    return helpers

"""NumPy text of each primitive, with `np` for any library: an operator, a function, or its own text."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad import ArrayType
from fungrad.extend import Primitive
from fungrad.extend.operations import (
    UFUNCS,
    Cast,
    DotGeneral,
    DynamicUpdateSlice,
    Function,
    Gather,
    Iota,
    ReduceSum,
    Scatter,
    Update,
    UpdateSlice,
)
from fungrad.extend.types import is_half
from fungrad.primitives.elementwise import neg
from fungrad.primitives.indexed import IndexedUpdate
from fungrad.primitives.scipy_ufunc import SpecialFunction
from fungrad.show.bundle import Bundle, Unprintable

ATOM, PRODUCT, SUM, COMPARISON = 10, 7, 6, 4


class Text(NamedTuple):
    """An expression of Python, and how closely its parts are bound together."""

    text: str
    strength: int = ATOM

    def within(self, strength: int) -> str:
        """Return it as an operand of an operator of binding `strength`."""
        return self.text if self.strength >= strength else f"({self.text})"


STRENGTHS = {
    **dict.fromkeys(["+", "-"], SUM),
    **dict.fromkeys(["*", "/", "//", "%"], PRODUCT),
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">="], COMPARISON),
}
"""How strongly the operators of Python bind."""

_SIGMOID = "np.where({0} < 0, np.{1}(-abs({0})), 1) / (1 + np.{1}(-abs({0})))"
_SLOPE = "np.{1}(-abs({0})) / ((1 + np.{1}(-abs({0}))) * (1 + np.{1}(-abs({0}))))"

LAMBDAS = {
    "stop_gradient": "{0}",
    "lent": "{0}",
    "one_way": "{0}",
    "along": "{0} * {1}",
    "fragile": "{0}",
    "kinked": "{0}",
    "imag": "np.imag({0})",
    "frexp_exponent": "np.frexp({0})[1]",
    "float_power": "np.float_power({0}, {1})",
    "clamp": "np.minimum(np.maximum({1}, {0}), {2})",
    "one_minus_square": "(1 - {0}) * (1 + {0})",
    "sigmoid": _SIGMOID.replace("{1}", "exp"),
    "sigmoid2": _SIGMOID.replace("{1}", "exp2"),
    "sigmoid_slope": _SLOPE.replace("{1}", "exp"),
    "sigmoid2_slope": _SLOPE.replace("{1}", "exp2"),
    "part_of_sum": "{0} / (1 + {0})",
    "pseudo_huber_by_r": "{1} / np.hypot(1, {1} / {0})",
    "hypot_slope": "{0} / np.where(({0} == 0) & ({1} == 0), 1, np.hypot({0}, {1}))",
    "pseudo_huber_by_d": (
        "{0} * ({1} / {0} / (np.hypot(1, {1} / {0}) + 1)) ** 2 * {1} / {0} * ({1} / {0} / np.hypot(1, {1} / {0}))"
    ),
    "power1p": "np.power(1 + {0}, {1})",
    "ellipem1": "{special}.ellipe(1 - {0})",
}
"""Texts of elementwise primitives whose functions are lambdas."""

Form = Callable[[Any, Sequence[ArrayType], list[str], Bundle], "str | None"]


def operator_of(function: Function) -> str | None:
    """Return the operator that Python writes between two arrays for a function; None if there is none."""
    parts = (function.on_scalars or function.on_arrays or "").split()
    return parts[1] if len(parts) == 3 and parts[0] == parts[2] == "{}" else None


def elementwise(function: Function, operands: Sequence[Text], bundle: Bundle) -> Text:
    """Return the text of an elementwise function of texts."""
    infix = operator_of(function)
    if infix is not None:
        strength = STRENGTHS[infix]
        x, y = operands
        left = x.within(strength + (strength == COMPARISON))
        return Text(f"{left} {infix} {y.within(strength + 1)}", strength)
    if function is neg:
        return Text(f"-{operands[0].within(ATOM)}", PRODUCT + 1)
    texts = [x.text for x in operands]
    rule = function.function
    if isinstance(rule, str):
        return Text(f"np.{rule}({', '.join(texts)})")
    if function.name in LAMBDAS:
        atoms = [x.within(ATOM) for x in operands]
        if "{special}" in LAMBDAS[function.name]:
            bundle.imports[f"import {bundle.library.special}"] = None
        text = LAMBDAS[function.name].format(*atoms, special=bundle.library.special)
        return Text(text, ATOM if text in atoms or text.startswith("np.imag") else 0)
    if isinstance(rule, SpecialFunction):
        special = bundle.library.special
        bundle.imports[f"import {special}"] = None
        which = "" if rule.result is None else f"[{rule.result}]"
        return Text(f"{special}.{rule.name}({', '.join(texts)}){which}")
    if not getattr(rule, "__qualname__", "<").isidentifier():
        raise Unprintable(f"{function} is computed by a function without a name")
    name = bundle.taken(rule.__module__, rule.__qualname__)
    return Text(f"{name}(np, {', '.join(texts)})")


def _cast(cast: Cast, types: Sequence[ArrayType], xs: list[str], bundle: Bundle) -> str:
    x = xs[0]
    if types[0].dtype.kind == "c" and cast.dtype.kind not in "bc":
        x = f"{x}.real"
    return f"{x}.astype({dtype(cast.dtype, bundle)})"


def _dot(dot: DotGeneral, types: Sequence[ArrayType], xs: list[str], bundle: Bundle) -> str | None:
    if dot.expression(*xs) is not None:
        return None
    of_x, of_y, of_out = [
        "".join([string.ascii_letters[n] for n in axes])
        for axes in dot.names(types[0].ndim, types[1].ndim)
    ]
    return f"np.einsum('{of_x},{of_y}->{of_out}', {', '.join(xs)})"


def _gather(_: Gather, types: Sequence[ArrayType], xs: list[str], bundle: Bundle) -> str:
    x, *indices = xs
    return f"{x}[{', '.join(indices)}]"


def _iota(iota: Iota, types: Sequence[ArrayType], xs: list[str], bundle: Bundle) -> str | None:
    if iota.expression(*xs) is not None:
        return None
    along = tuple([n if i == iota.axis else 1 for i, n in enumerate(iota.shape)])
    numbers = f"np.arange({iota.shape[iota.axis]}, dtype={dtype(iota.dtype, bundle)})"
    return f"np.broadcast_to({numbers}.reshape({along}), {iota.shape})"


def _scatter(
    scatter: Scatter, types: Sequence[ArrayType], xs: list[str], bundle: Bundle
) -> str | None:
    if not bundle.library.target.on_host:
        return None  # which of several updates of a place is the last to be written is the device's affair
    ufunc = UFUNCS[scatter.kind]
    return f"{bundle.plain('scatter')}({f'np.{ufunc}' if ufunc else None}, {', '.join(xs)})"


def _sum(
    reduce: ReduceSum, types: Sequence[ArrayType], xs: list[str], bundle: Bundle
) -> str | None:
    kind, (x,) = types[0].dtype, xs
    if is_half(kind):
        return f"np.sum({x}, {reduce.axes}, np.float32).astype({x}.dtype)"
    if kind.isbuiltin != 1 or not (kind.kind in "fc" or kind in (np.int64, np.uint64)):
        return None  # NumPy's sum has a wider dtype
    axes = reduce.axes
    if len(axes) == types[0].ndim:
        return f"np.sum({x})"
    return f"np.sum({x}, axis={axes[0] if len(axes) == 1 else axes})"


def _update(update: Update, types: Sequence[ArrayType], xs: list[str], bundle: Bundle) -> str:
    x, updates, *starts = xs
    index = f"np.s_[{update.region.index_text(*starts)}]"
    adds = update.kind == "add"
    return f"{bundle.plain('update_slice')}({x}, {index}, {updates}, adds={adds})"


FORMS: dict[type[Primitive], Form] = {
    Cast: _cast,
    DotGeneral: _dot,
    Gather: _gather,
    Iota: _iota,
    ReduceSum: _sum,
    Scatter: _scatter,
    DynamicUpdateSlice: _update,
    IndexedUpdate: _update,
    UpdateSlice: _update,
}
"""Primitives that NumPy's indexing and methods are written for."""


_PRODUCT = re.compile(r"np\.(?:dot|matmul)\((\w+(?:\.T)?), (\w+(?:\.T)?)\)")


def general(
    primitive: Primitive, types: Sequence[ArrayType], xs: list[str], bundle: Bundle
) -> Text:
    """Return the text of any other primitive applied to variables and literals."""
    form = FORMS.get(type(primitive))
    text = form(primitive, types, xs, bundle) if form else None
    if text is None and (primitive.spelled_on_device or bundle.library.target.on_host):
        text = primitive.expression(*xs)
    if text is None:
        return Text(f"{bundle.primitive(primitive)}(np, {', '.join(xs)})")
    product = _PRODUCT.fullmatch(text)
    if product and min(t.ndim for t in types) > 0:
        return Text(f"{product[1]} @ {product[2]}", PRODUCT)
    return Text(text, 0 if text.startswith("(") or " " in text.partition("(")[0] else ATOM)


def dtype(of: np.dtype[Any], bundle: Bundle) -> str:
    """Return a dtype as source."""
    library = bundle.library
    if of.kind in "biufc" and (library.target.on_host or of.itemsize <= 8 * (1 + (of.kind == "c"))):
        return repr(of.name)
    if of.isbuiltin == 2 and library.target.on_host:  # of a package: bfloat16 and its like
        bundle.imports[f"import {of.type.__module__.partition('.')[0]}"] = None
        return f"{of.type.__module__}.{of.type.__name__}"
    raise Unprintable(f"{library.title} has no dtype {of}")

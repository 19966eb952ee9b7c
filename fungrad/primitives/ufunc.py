"""How an elementwise primitive is declared. The table of them is `elementwise/`."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from fungrad.core.cached import cached_property
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, type_of
from fungrad.primitives.shaping import expand

DType = np.dtype[Any]
Rule = Callable[..., Any]


def total(terms: Iterable[Any]) -> Any:
    """Return the sum of the terms of a tangent, None if there are none; those that are None are zero."""
    nonzero = [term for term in terms if term is not None]
    return functools.reduce(operator.add, nonzero) if nonzero else None


_OPERATORS: dict[str, Rule] = {
    "{} + {}": operator.add,
    "{} - {}": operator.sub,
    "{} * {}": operator.mul,
    "{} / {}": operator.truediv,
    "-{}": operator.neg,
    "{0} * {0}": lambda x: x * x,
    "{} == {}": operator.eq,
    "{} != {}": operator.ne,
    "{} < {}": operator.lt,
    "{} <= {}": operator.le,
    "{} > {}": operator.gt,
    "{} >= {}": operator.ge,
}
"""Python's comparisons of scalars, as functions."""


class Elementwise(Primitive):
    """Computes each element of the result from the elements of the operands at its place."""

    name: str  # of the subclasses

    holomorphic: ClassVar[bool] = True
    """Whether the derivative of a complex result by a complex operand is a product with a complex number."""

    compares: ClassVar[bool] = False
    """Whether it compares numbers: a Python integer outside of the other's dtype acts as infinite."""

    def result_dtype(self, *dtypes: DType) -> DType:
        """Return the dtype of the result; raise TypeError for operands it does not take."""
        raise NotImplementedError

    def abstract_eval(self, *types: ArrayType) -> ArrayType:
        first = types[0]
        if any(t.shape != first.shape for t in types):
            raise TypeError(f"{self.name}: operands of different shapes, {types}")
        dtype = self.result_dtype(*[t.dtype for t in types])
        numbers = [t.weak for t in types if t.dtype.kind != "b"]  # not the predicate of a select
        return ArrayType(first.shape, dtype, dtype.kind != "b" and bool(numbers) and all(numbers))

    def pull(
        self, ct: Any, flags: Sequence[bool], out: Any, operands: Sequence[Any]
    ) -> Sequence[Any] | None:
        if self.linear is not None or self.multilinear:
            return super().pull(ct, flags, out, operands)
        # The derivative by an operand is a diagonal matrix, which is its own transpose.
        dtype = type_of(out).dtype
        if not self.holomorphic and dtype.kind == "c":
            return None
        for x, moves in zip(operands, flags, strict=True):
            if moves and type_of(x).dtype != dtype:
                return None
        none = (None,) * len(flags)
        cotangents: list[Any] = [*none]
        for i in range(len(flags) - 1, -1, -1):  # in the order in which a sum is transposed
            if flags[i]:
                cotangents[i] = self.jvp((*none[:i], ct, *none[i + 1 :]), out, *operands)
        return cotangents

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        return self(*[expand(size, x, b) for x, b in zip(operands, batched, strict=True)])


class OfOneDtype(Elementwise):
    """Takes numbers of one dtype, of some kinds, and gives such numbers."""

    kinds: ClassVar[str] = "fc"

    def result_dtype(self, *dtypes: DType) -> DType:
        if dtypes[0].kind not in self.kinds or any(d != dtypes[0] for d in dtypes):
            raise TypeError(f"{self.name} takes {_KINDS[self.kinds]} of one dtype, got {dtypes}")
        return dtypes[0]


_KINDS = {
    "fc": "floating-point or complex numbers",
    "f": "real floating-point numbers",
    "c": "complex numbers",
    "iu": "integers",
}


@primitive
class Function(Elementwise):
    """An entry of the table; made by `elementwise`, which describes the fields."""

    name: str
    function: str | Rule
    dtype_rule: Rule
    partials: tuple[Rule | None, ...]
    transposes: tuple[Rule | None, ...] | None
    linear: tuple[int, ...] | None  # type: ignore[misc]
    multilinear: bool  # type: ignore[misc]
    view: bool  # type: ignore[misc]
    holomorphic: bool  # type: ignore[misc]
    total: bool | Literal["real"]  # type: ignore[misc]
    compares: bool  # type: ignore[misc]
    divides: bool  # type: ignore[misc]
    on_scalars: str | None  # type: ignore[misc]
    on_arrays: str | None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the entry's name in the module that declares it: rules are often lambdas."""
        home = vars(self).get("home", "")
        for name, value in [*getattr(sys.modules.get(home), "__dict__", {}).items()]:
            if value is self:
                return _entry, (home, name)
        return super().__reduce__()

    @cached_property
    def differentiable(self) -> bool:
        """Whether any tangent can be nonzero."""
        return bool(self.partials) or self.linear is not None or self.multilinear

    def result_dtype(self, *dtypes: DType) -> DType:
        return self.dtype_rule(*dtypes)  # type: ignore[no-any-return]

    def impl(self, xp: Any, *operands: Any) -> Any:
        function = self.function
        if not isinstance(function, str):
            return function(xp, *operands)
        if type(operands[-1]) is type(operands[0]) is np.float64:
            of_scalars = _OPERATORS.get(self.on_scalars)  # type: ignore[arg-type]
            if of_scalars is not None:
                return of_scalars(*operands)  # NumPy runs it ten times faster than a ufunc
        return getattr(xp, function)(*operands)

    def expression(self, *names: str) -> str | None:
        if isinstance(self.function, str):
            return f"np.{self.function}({', '.join(names)})"
        return None

    def call_into(self, out: str, *names: str) -> str | None:
        if isinstance(self.function, str) and numpy_ufunc(self.function):
            # Faster by position, which NumPy deprecates for these two.
            keyword = "out=" if self.function in ("maximum", "minimum") else ""
            return f"np.{self.function}({', '.join(names)}, {keyword}{out})"
        return None

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        if not self.partials:
            return Primitive.jvp(self, tangents, out, *operands)
        tangent = None
        for t, partial in zip(tangents, self.partials, strict=True):
            if t is not None and partial is not None:
                term = partial(t, out, *operands)
                if term is not None:
                    tangent = term if tangent is None else tangent + term
        return tangent

    def tangent_mask(self, perturbed: Sequence[bool]) -> Sequence[bool] | None:
        if not self.partials or None not in self.partials:
            return None
        return [any(p for p, f in zip(self.partials, perturbed, strict=True) if f)]

    def pull(
        self, ct: Any, flags: Sequence[bool], out: Any, operands: Sequence[Any]
    ) -> Sequence[Any] | None:
        if self.transposes is None:
            return super().pull(ct, flags, out, operands)
        rules = [rule for rule, moves in zip(self.transposes, flags, strict=True) if moves]
        if not rules or None in rules:
            return super().pull(ct, flags, out, operands)
        cotangents: list[Any] = [None] * len(flags)
        for i in range(len(flags) - 1, -1, -1):
            if flags[i]:
                cotangents[i] = rules.pop()(ct, *operands)  # type: ignore[misc]
        return cotangents

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        rules = self.transposes or (None,) * len(operands)
        cts: list[Any] = []
        for x, rule in zip(operands, rules, strict=True):
            if type(x) is not Linear:
                cts.append(None)
            elif rule is None:
                raise self.missing("transpose")
            else:
                cts.append(rule(ct, *operands))
        return tuple(cts)

    def __repr__(self) -> str:
        """Show the name alone."""
        return self.name


def broadcasts(primitive: Primitive) -> bool:
    """Whether compiled code calls a function of NumPy's, which broadcasts operands and takes literals."""
    return isinstance(primitive, Function) and isinstance(primitive.function, str)


def _entry(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def numpy_ufunc(function: str | Rule) -> np.ufunc | None:
    """Return the ufunc that a function is: NumPy's of that name, or its own; None if there is none."""
    if isinstance(function, str):
        candidate = getattr(np, function)
    else:
        candidate = getattr(function, "ufunc", None)
    return candidate if isinstance(candidate, np.ufunc) else None


def ufunc_dtype(ufunc: np.ufunc, result: int = 0) -> Rule:
    """Return the dtype rule that asks `ufunc` itself; dtypes it would have to cast are refused.

    `result` is the position of the result, of a ufunc that has several.
    """

    def rule(*dtypes: DType) -> DType:
        resolved = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
        needed = resolved[: ufunc.nin]
        if needed != dtypes:
            raise TypeError(f"{ufunc.__name__} takes dtypes {list(needed)}, got {dtypes}")
        return resolved[ufunc.nin + result]

    return rule


def elementwise(
    name: str,
    *partials: Rule | None,
    function: str | Rule | None = None,
    dtype: Rule | None = None,
    linear: tuple[int, ...] | None = None,
    multilinear: bool = False,
    transposes: tuple[Rule | None, ...] | None = None,
    view: bool = False,
    holomorphic: bool = True,
    total: bool | Literal["real"] = False,
    compares: bool = False,
    divides: bool = False,
    on_scalars: str | None = None,
    on_arrays: str | None = None,
) -> Function:
    """Declare an elementwise primitive.

    Parameters
    ----------
    name
        Name of the primitive, and of the NumPy function unless `function` is given.
    *partials
        For each operand, ``lambda t, out, *operands`` giving the tangent that its tangent `t`
        contributes; None if it contributes none. Without any, and without `linear` and
        `multilinear`, the primitive has zero derivative.
    function
        Name of the function in `numpy` and `cupy`, or ``lambda xp, *operands``. Operands of a
        callable with an attribute `ufunc` are promoted as that ufunc promotes them.
    dtype
        ``lambda *dtypes`` giving the dtype of the result; by default the NumPy ufunc's own rule. What is no ufunc
        of NumPy needs it.
    linear, multilinear, view, total, divides, on_scalars
        As on `Primitive`.
    holomorphic, compares
        As on `Elementwise`.
    transposes
        For each operand, ``lambda ct, *operands`` giving its cotangent when it is `Linear`.
    on_arrays
        What Python writes for it of arrays, if not for scalars.
    """
    function = function or name
    if isinstance(function, str) and not hasattr(np, function):
        raise TypeError(
            f"elementwise: NumPy has no function {function!r}. Say how {name} is computed, function=lambda xp, "
            "*operands: ..., and what the dtype of the result is, dtype=lambda *dtypes: ..."
        )
    if dtype is None:
        ufunc = numpy_ufunc(function)
        if ufunc is None:
            raise TypeError(
                f"elementwise: the function of {name} is no ufunc, which would tell dtypes. Say what that of the "
                "result is, dtype=lambda *dtypes: ..."
            )
        dtype = ufunc_dtype(ufunc)
    entry = Function(
        *(name, function, dtype, partials, transposes),
        *(linear, multilinear, view, holomorphic, total, compares, divides, on_scalars, on_arrays),
    )
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>" and frame.f_back:
        frame = frame.f_back
    vars(entry).setdefault("home", frame.f_globals.get("__name__"))
    return entry

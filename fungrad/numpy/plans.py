"""Plans of elementwise functions by operand types: promoted dtypes, common shapes, and steps.

NumPy itself is asked which loop a ufunc takes, so dtypes are NumPy's for every combination. All is remembered.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.primitive import Primitive
from fungrad.core.types import PYTHON_SCALARS, ArrayType, Shape, check_numbers, is_key
from fungrad.primitives.elementwise import (
    Cast,
    Elementwise,
    Function,
    equal,
    not_equal,
    numpy_ufunc,
)
from fungrad.primitives.shaping import Broadcast, Reshape

_WEAK = {"i": int, "f": float, "c": complex}

Rules = tuple[bool, ...]
"""Rules of promotion, as in `Settings.dtypes`: () for NumPy's, else (JAX's, without 64 bits)."""


def result_type(types: tuple[ArrayType, ...], rules: Rules) -> tuple[np.dtype[Any], bool]:
    """Return the promoted dtype of operands, and whether it is weak, which it never is by NumPy's rules."""
    if rules:
        from fungrad.core import lattice  # few programs need it

        dtype, weak = lattice.promoted(types) if rules[0] else (numpys_dtype(types), False)
        return (lattice.narrow(dtype) if _narrows(types, rules) else dtype), weak
    return numpys_dtype(types), False


def _narrows(types: tuple[ArrayType, ...], rules: Rules) -> bool:
    """Whether operands become none of 64 bits."""
    from fungrad.core import lattice  # few programs need it

    return rules[1] and not any(map(lattice.is_wide, types))


def result_dtype(*types: ArrayType) -> np.dtype[Any]:
    """Return the dtype that operands of `types` are promoted to."""
    return result_type(types, settings.get().dtypes)[0]


def numpys_dtype(types: Sequence[ArrayType]) -> np.dtype[Any]:
    """Return the dtype NumPy promotes operands of `types` to."""
    whole = _counting(types)
    return np.result_type(*[t.dtype if t in whole else _WEAK[t.dtype.kind](0) for t in types])


def _counting(types: Sequence[ArrayType]) -> Sequence[ArrayType]:
    """Return the types whose precision counts: strong ones, or else all."""
    strong = [t for t in types if not t.weak]
    if strong or all(t.dtype.char in "dlqD" for t in types):
        return strong or types
    kind = max([t.dtype.kind for t in types], key="iufc".find)
    return [t for t in types if t.dtype.kind == kind]


def loop_dtypes(
    ufunc: np.ufunc,
    types: tuple[ArrayType, ...],
    weak: bool = False,
    dtype: Any = None,
    casting: str = "same_kind",
) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes to which a ufunc converts operands; `dtype` is requested of its result.

    With `weak`, operands that are weak count as of their dtype.
    """
    whole = _counting(types) if weak else [t for t in types if not t.weak]
    asked: list[Any] = [t.dtype if t in whole else _WEAK[t.dtype.kind] for t in types]
    asked += [None] * ufunc.nout
    if dtype is not None:
        signature = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
        return ufunc.resolve_dtypes(tuple(asked), signature=signature, casting=casting)[: ufunc.nin]  # type: ignore[arg-type]
    try:
        return ufunc.resolve_dtypes(tuple(asked))[: ufunc.nin]
    except TypeError as error:
        if "boolean" in str(error):
            raise  # NumPy says what to do instead
        check_numbers(ufunc.__name__, types)
        names = ", ".join(str(t) for t in types)
        raise TypeError(
            f"{ufunc.__name__} is not defined for operands of types {names}: NumPy has no loop for them"
        ) from None


def ufunc_dtypes(
    ufunc: np.ufunc | None, types: tuple[ArrayType, ...], keep_weak: bool, rules: Rules
) -> tuple[tuple[np.dtype[Any], ...], bool]:
    """Return the dtypes that operands are converted to, and whether they are weak then.

    They are those of a ufunc or, without one, of a function whose operands have one dtype.
    """
    if rules:
        from fungrad.core import lattice  # few programs need it

        of_numpy = ufunc_dtypes(ufunc, types, keep_weak, ()) if not rules[0] else None
        dtypes, weak = of_numpy or lattice.operands_of(ufunc, types)
        narrows = _narrows(types, rules)
        return (tuple(map(lattice.narrow, dtypes)) if narrows else dtypes), weak
    weak = all(t.weak for t in types)
    if ufunc is None:
        return (numpys_dtype(types),) * len(types), weak and keep_weak
    return loop_dtypes(ufunc, types, weak), weak and keep_weak


def broadcast_shapes(name: str, types: Sequence[ArrayType]) -> Shape:
    """Return the common shape; raise NumPy's error, with the types, if there is none."""
    first = types[0].shape
    if all(t.shape == first for t in types):
        return first
    try:
        return np.broadcast_shapes(*[t.shape for t in types])
    except ValueError:
        shapes = " ".join(str(t.shape) for t in types)
        kinds = " and ".join(str(t) for t in types)
        raise ValueError(
            f"operands could not be broadcast together with shapes {shapes}: {name} of {kinds}"
        ) from None


def compares_keys(primitive: Elementwise, types: tuple[ArrayType, ...]) -> bool:
    """Whether a primitive compares keys of random numbers, of one generator, by their words."""
    return (primitive is equal or primitive is not_equal) and (
        types[0].dtype == types[1].dtype and is_key(types[0].dtype)
    )


@functools.lru_cache(maxsize=1 << 13)
def elementwise_plan(
    primitive: Elementwise, types: tuple[ArrayType, ...], keep_weak: bool, rules: Rules = ()
) -> tuple[tuple[np.dtype[Any], ...], Shape, bool] | None:
    """Return the dtypes and shape operands must be brought to; None if they have them already.

    The last item tells whether the operands stay weak: by NumPy's rules for operators on weak operands only.
    """
    ufunc = numpy_ufunc(primitive.function) if isinstance(primitive, Function) else None
    dtypes, weak = ufunc_dtypes(ufunc, types, keep_weak, rules)
    shape = broadcast_shapes(primitive.name, types)
    if all(
        t.shape == shape and t.dtype == d and (t.weak is weak)
        for t, d in zip(types, dtypes, strict=True)
    ):
        return None
    return dtypes, shape, weak


@functools.lru_cache(maxsize=1 << 13)
def result_types(
    primitive: Elementwise, types: tuple[ArrayType, ...], keep_weak: bool
) -> tuple[ArrayType, ...] | None:
    """Return the types of the results, for operands that are as the primitive takes them; None for others.

    Operands of one strong dtype that NumPy does not convert are not converted by JAX's rules, either; but integers of `reciprocal`.
    """
    if compares_keys(primitive, types):
        return None
    plan = elementwise_plan(primitive, types, keep_weak)
    converted = plan is not None or (primitive.name == "reciprocal" and types[0].dtype.kind in "iu")
    return None if converted else primitive.infer(types)


@functools.lru_cache(maxsize=1 << 13)
def broadcast_steps(source: Shape, target: Shape) -> tuple[Primitive, ...]:
    """Return the steps that broadcast an array from one shape to another; raise ValueError if none do."""
    lead = len(target) - len(source)
    stretched = [lead + i for i, n in enumerate(source) if lead >= 0 and n != target[lead + i]]
    if lead < 0 or any(source[a - lead] != 1 for a in stretched):
        raise ValueError(f"an array of shape {source} cannot be broadcast to shape {target}")
    steps: list[Primitive] = []
    if stretched:
        steps.append(Reshape(tuple(n for i, n in enumerate(source) if lead + i not in stretched)))
    steps.append(Broadcast(target, (*range(lead), *stretched)))
    return tuple(steps)


Steps = tuple[tuple[Primitive, tuple[ArrayType, ...]], ...]
"""Primitives of one operand, in order, with the types of their results."""


@functools.lru_cache(maxsize=1 << 13)
def alignment(
    primitive: Elementwise, types: tuple[ArrayType, ...], keep_weak: bool, rules: Rules
) -> tuple[tuple[Steps, ...], tuple[ArrayType, ...]] | None:
    """Return the steps from tracers to a primitive's operands, and result types; None if it compares keys."""
    if compares_keys(primitive, types):
        return None
    plan = elementwise_plan(primitive, types, keep_weak, rules)
    if plan is None:
        return ((),) * len(types), primitive.infer(types)
    dtypes, shape, weak = plan
    steps: list[Steps] = []
    aligned = []
    for type_, dtype in zip(types, dtypes, strict=True):
        conversions: list[Primitive] = []
        if (type_.dtype, type_.weak) != (dtype, weak):
            conversions.append(Cast(dtype, weak))
        conversions += broadcast_steps(type_.shape, shape) if type_.shape != shape else ()
        given = itertools.accumulate(
            conversions, lambda t, step: step.infer((t,))[0], initial=type_
        )
        results = [*given]
        steps.append(tuple([(p, (t,)) for p, t in zip(conversions, results[1:], strict=True)]))
        aligned.append(results[-1])
    return tuple(steps), primitive.infer(tuple(aligned))


@functools.lru_cache(maxsize=1 << 12)
def scalar_plan(primitive: Elementwise, type_: ArrayType, scalar: type) -> tuple[int, ...] | None:
    """Return the strides of a Python scalar spread over an array of `type_` that it combines with.

    None if the array is weak or would be converted, or if NumPy looks at the scalar's value.
    """
    if type_.weak or (type_.dtype.kind in "iu" and primitive.compares):
        return None
    types = (type_, PYTHON_SCALARS[scalar])
    dtypes, _, _ = elementwise_plan(primitive, types, True) or (None, None, None)
    return (0,) * type_.ndim if dtypes == (type_.dtype, type_.dtype) else None

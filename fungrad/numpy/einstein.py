"""`einsum`: planned once for each subscripts and types, as a program of products of two operands."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.expr import Expr
from fungrad.core.layout import Layout, dense, fake, layout_of, of_elementwise
from fungrad.core.primitive import bind
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, Shape, type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.extended import extended
from fungrad.numpy.matrices import diagonal
from fungrad.numpy.memory import Views
from fungrad.numpy.promotion import as_array, as_tracer, ask_numpy, cast, promote
from fungrad.numpy.shaping import reshaped
from fungrad.numpy.views import view_of
from fungrad.primitives.contraction import contract
from fungrad.primitives.elementwise import mul
from fungrad.primitives.shaping import Broadcast, ReduceSum, permuted

einsum_path = np.einsum_path

Labels = tuple[int, ...]
"""The names of axes: the codes of letters, and -1, -2, ... for the axes of an ellipsis, from the last."""


class Plan(NamedTuple):
    """How to compute an einsum.

    Attributes
    ----------
    terms
        The labels of the axes of each operand.
    output
        Those of the result.
    sizes
        The length of each label.
    path
        Which operands are multiplied in each step; they are taken out and the product is appended.
    """

    terms: tuple[Labels, ...]
    output: Labels
    sizes: dict[int, int]
    path: tuple[tuple[int, ...], ...]


@implements(np.einsum, view=True, zero_d=False)
def _einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    casting: Any = "safe",
    **kwargs: Any,
) -> Any:
    """Traced, more than two operands are multiplied two at a time, in the order `optimize` asks for."""
    kwargs.pop("order", None)
    if kwargs:
        raise TypeError(f"einsum() got unexpected keyword arguments {sorted(kwargs)}")
    subscripts, arrays = _as_string(operands)
    xs: list[Any] = promote(*[as_tracer(x) for x in arrays])
    if dtype is not None:
        dtype = np.dtype(dtype)
        for i, x in enumerate(arrays):
            if not np.can_cast(given := type_of(x).dtype, dtype, casting):
                raise TypeError(
                    f"Iterator operand {i} dtype could not be cast from {given!r} to "
                    f"{dtype!r} according to the rule '{casting}'"
                )
        xs = [cast(x, dtype) for x in xs]
    if isinstance(optimize, list):
        optimize = tuple([tuple(x) if isinstance(x, list) else x for x in optimize])
    try:
        program = _program(subscripts, tuple([x._type for x in xs]), optimize)
    except ValueError:
        ask_numpy(f"einsum {subscripts!r}", lambda ys: np.einsum(subscripts, *ys), xs)
        raise
    values = dict(zip(program.inputs, xs, strict=True))
    for primitive, inputs, outputs in program.equations:
        values[outputs[0]] = bind(primitive, [values[v] for v in inputs])
    result = values[program.outputs[0]]
    # Of one array, with nothing to sum, it is a view: einsum("ii->i", a)[:] = 1.
    result = view_of(xs[0], result, always=True) if len(xs) == 1 else result
    if result.ndim > 1 and result._memory is None:
        lying = tuple([(x.shape, layout_of(x)) for x in xs])
        result._memory = Views(_layout(subscripts, lying) if optimize is False else None)
    return result


@functools.lru_cache(maxsize=1 << 10)
def _layout(subscripts: str, lying: tuple[tuple[Shape, Layout], ...]) -> Layout:
    """Return the layout of NumPy's result: its iterator goes over output axes, then summed ones."""
    plan = _plan(subscripts, tuple([shape for shape, _ in lying]), False)
    labels = list(dict.fromkeys((*plan.output, *plan.sizes)))
    operands: list[tuple[Shape, Layout]] = []
    for (shape, layout), term in zip(lying, plan.terms, strict=True):
        if layout is None:
            return None
        steps_of = dict.fromkeys(labels, 0)
        for label, n, step in zip(term, shape, fake(shape, layout).strides, strict=True):
            steps_of[label] += step if n > 1 else 0
        shape = tuple([plan.sizes[label] if label in term else 1 for label in labels])
        operands.append((shape, tuple(steps_of.values())))
    shape = tuple([plan.sizes[label] for label in labels])
    layout = of_elementwise(tuple(operands))
    assert layout is not None
    steps = fake(shape, layout).strides[: len(plan.output)]
    return dense(shape[: len(steps)], sorted(range(len(steps)), key=lambda i: -steps[i]))


@extended(_einsum)
def einsum(*operands: Any, **kwargs: Any) -> Any:
    """Ellipsis axes that the output lacks are summed over, as NumPy does where it may optimize."""
    if kwargs.get("optimize", False) is False and _sums_ellipsis(operands):
        kwargs["optimize"] = True
    return _einsum(*operands, **kwargs)


def _sums_ellipsis(operands: tuple[Any, ...]) -> bool:
    """Whether operands have an ellipsis and the output, which is told, has none."""
    if operands and isinstance(operands[0], str):
        left, arrow, right = operands[0].partition("->")
        return bool(arrow) and "..." in left and "..." not in right
    labels = operands[1::2]
    told = len(operands) % 2 == 1 and isinstance(operands[-1], (list, tuple))
    return told and any(map(_has_ellipsis, labels)) and not _has_ellipsis(operands[-1])


def _has_ellipsis(labels: Any) -> bool:
    return any(label is Ellipsis for label in labels)


@functools.lru_cache(maxsize=1 << 10)
def _program(subscripts: str, types: tuple[ArrayType, ...], optimize: Any) -> Expr:
    plan = _plan(subscripts, tuple([t.shape for t in types]), optimize)
    return record_expr("einsum", lambda *xs: [_run(plan, list(xs))], types)


def _as_string(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the subscripts as a string, and the arrays, from either form of call."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least "
            "one operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_array(x) for x in operands[1:]]

    def text(labels: Any) -> str:
        # As NumPy orders them: capitals first.
        return "".join(
            ["..." if i is Ellipsis else chr(i + (65 if i < 26 else 71)) for i in labels]
        )

    pairs = len(operands) // 2
    subscripts = ",".join([text(operands[2 * i + 1]) for i in range(pairs)])
    if len(operands) % 2:
        subscripts += "->" + text(operands[-1])
    return subscripts, [as_array(x) for x in operands[: 2 * pairs : 2]]


def _plan(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> Plan:
    left, arrow, right = subscripts.partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise ValueError("the number of operands is not that of the terms in the subscripts")
    terms = tuple([_labels(part, len(shape)) for part, shape in zip(parts, shapes, strict=True)])
    used = [i for term in terms for i in term]
    hidden = max([0, *[-i for i in used]])
    if arrow:
        letters = right.replace("...", "")
        output = _labels(right, len(letters) + (hidden if letters != right else 0))
    else:
        output = (*range(-hidden, 0), *sorted(i for i in {*used} if i > 0 and used.count(i) == 1))
    needed = (
        {*range(-hidden, 0)} if optimize is False else set()
    )  # else NumPy sums over the ellipsis
    if len({*output}) != len(output) or not needed <= {*output} <= {*used}:
        raise ValueError(f"einsum: the output of {subscripts!r} does not fit its inputs")
    sizes = _sizes(terms, shapes)
    # What is stretched is not there when the products are made.
    present = [
        tuple(dict.fromkeys(i for i, n in zip(term, shape, strict=True) if n == sizes[i]))
        for term, shape in zip(terms, shapes, strict=True)
    ]
    return Plan(terms, output, sizes, _path(present, output, sizes, optimize))


def _labels(part: str, ndim: int) -> Labels:
    before, dots, after = part.partition("...")
    if not all(c.isascii() and c.isalpha() for c in before + after):
        raise ValueError(f"invalid subscript in {part!r}, subscripts must be letters")
    hidden = ndim - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise ValueError(f"the subscripts {part!r} do not fit an operand with {ndim} axes")
    return (*map(ord, before), *range(-hidden, 0), *map(ord, after))


def _sizes(terms: Sequence[Labels], shapes: Sequence[Shape]) -> dict[int, int]:
    """Return the length of each label; an axis of length 1 is stretched to that of other operands."""
    sizes: dict[int, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        own: dict[int, int] = {}
        for i, n in zip(term, shape, strict=True):
            if own.setdefault(i, n) != n:
                raise ValueError("dimensions in single operand for collapsing index don't match")
            known = sizes.setdefault(i, n)
            if known != n and 1 not in (known, n):
                raise ValueError(f"operands could not be broadcast together with shapes {shapes}")
            sizes[i] = n if known == 1 else known
    return sizes


LETTERS = [chr(i) for i in (*range(97, 123), *range(65, 91))]


def _path(
    terms: Sequence[Labels], output: Labels, sizes: dict[int, int], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    if len(terms) <= 2:
        return (tuple(range(len(terms))),)
    if len(sizes) > len(LETTERS):
        return ((0, 1), *[(0, n) for n in range(len(terms) - 2, 0, -1)])
    letter = dict(zip(sizes, LETTERS, strict=False))
    inputs = ",".join("".join(letter[i] for i in term) for term in terms)
    wanted = "->" + "".join(letter[i] for i in output)
    zeros = [np.broadcast_to(0.0, [sizes[i] for i in term]) for term in terms]
    if optimize in (False, True):
        optimize = "greedy"
    elif isinstance(optimize, tuple) and optimize[0] == "einsum_path":
        optimize = list(optimize)
    path = np.einsum_path(inputs + wanted, *zeros, optimize=optimize)[0]
    return tuple([tuple(step) for step in path[1:]])


def _run(plan: Plan, xs: list[Any]) -> Any:
    arrays = [_prepared(x, term, plan) for x, term in zip(xs, plan.terms, strict=True)]
    for x, labels in arrays:
        if any(plan.sizes[i] == 0 and i not in plan.output for i in labels):
            return _sum_of_nothing(x, labels, plan)
    for step in plan.path:
        chosen = [arrays[i] for i in step]
        arrays = [y for i, y in enumerate(arrays) if i not in step]
        product = chosen[0]
        for k, other in enumerate(chosen[1:], 2):
            rest = [*arrays, *chosen[k:]]
            needed = {*plan.output, *(i for _, labels in rest for i in labels)}
            product = _product(*product, *other, needed, None if rest else plan.output)
        arrays.append(product)
    ((x, labels),) = arrays
    x, labels = _summed(x, labels, {*plan.output})
    return permuted(x, tuple([labels.index(i) for i in plan.output]))


def _sum_of_nothing(x: Any, labels: Labels, plan: Plan) -> Any:
    """Return zeros, for an operand summed over an empty axis: without a product, not even inf matters."""
    x, labels = _summed(x, labels, {*plan.output})
    x = permuted(x, tuple([labels.index(i) for i in plan.output if i in labels]))
    shape = tuple([plan.sizes[i] for i in plan.output])
    new = tuple([k for k, i in enumerate(plan.output) if i not in labels])
    return Broadcast(shape, new)(x) if new else x


def _prepared(x: Any, labels: Labels, plan: Plan) -> tuple[Any, Labels]:
    """Return an operand with each label once, and without the axes that are stretched."""
    for i in dict.fromkeys(labels):
        while labels.count(i) > 1:
            first = labels.index(i)
            second = labels.index(i, first + 1)
            x = diagonal(x, 0, first, second)
            labels = (*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], i)
    kept = [k for k, i in enumerate(labels) if x.shape[k] == plan.sizes[i]]
    return reshaped(x, tuple([x.shape[k] for k in kept])), tuple([labels[k] for k in kept])


def _summed(x: Any, labels: Labels, needed: set[int]) -> tuple[Any, Labels]:
    """Sum over the axes that are not needed any more."""
    axes = tuple([k for k, i in enumerate(labels) if i not in needed])
    if not axes:
        return x, labels
    return ReduceSum(axes)(x), tuple([i for i in labels if i in needed])


def _product(
    x: Any, of_x: Labels, y: Any, of_y: Labels, needed: set[int], output: Labels | None
) -> tuple[Any, Labels]:
    x, of_x = _summed(x, of_x, needed | {*of_y})
    y, of_y = _summed(y, of_y, needed | {*of_x})
    if output is None:
        batch = [i for i in of_x if i in of_y and i in needed]
        output = (*batch, *(i for i in (*of_x, *of_y) if (i in of_x) != (i in of_y)))
    if of_x == of_y == output:
        return mul(x, y), output
    return contract(x, of_x, y, of_y, output), output

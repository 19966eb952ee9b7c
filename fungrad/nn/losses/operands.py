"""Operands of losses: dtype, shape, weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.extend.precision import DOUBLE, array, computing_dtype, converted, floating_dtype
from fungrad.extend.types import kind_of, type_of
from fungrad.numpy.promotion import as_array


def reals(name: str, *operands: Any) -> tuple[np.dtype[Any], list[Any]]:
    """Return the dtype of a loss, and its operands in the dtype to compute in.

    Integers and booleans, as labels are, take the dtype of what is floating-point beside them.
    """
    arrays = [as_array(x) for x in operands]
    kinds = [kind_of(type_of(x).dtype) for x in arrays]
    if "c" in kinds:
        raise TypeError(
            f"nn.{name}: a loss is of real numbers, got {type_of(arrays[kinds.index('c')]).dtype}"
        )
    floating = [x for x, kind in zip(arrays, kinds, strict=True) if kind not in "biu"]
    dtype = floating_dtype(*floating) if floating else DOUBLE
    return dtype, [converted(x, computing_dtype(dtype)) for x in arrays]


def computed(name: str, rule: Callable[..., Any], *operands: Any) -> Any:
    """Return ``rule(*operands)`` for operands in the dtype to compute in, in the dtype of the loss."""
    dtype, arrays = reals(name, *operands)
    return converted(rule(*arrays), dtype)


def labelled(name: str, rule: Callable[..., Any], logits: Any, labels: Any, *others: Any) -> Any:
    """Return `computed`, where labels have no say in the dtype."""
    dtype, _ = reals(name, logits)
    labels = converted(array(labels), computing_dtype(dtype))
    return converted(computed(name, rule, logits, labels, *others), dtype)


def integers(name: str, labels: Any) -> Any:
    """Return labels as an array; they must be integers."""
    labels = array(labels)
    if kind_of(type_of(labels).dtype) not in "iu":
        raise TypeError(
            f"nn.{name}: labels are integers, the places of the right answers, got {type_of(labels).dtype}"
        )
    return labels


def check_equal_shapes(name: str, **operands: Any) -> None:
    """Raise an error if operands have different shapes: they are not broadcast."""
    shapes = {what: type_of(array(x)).shape for what, x in operands.items()}
    if len(set(shapes.values())) > 1:
        said = ", ".join(f"{what} {shape}" for what, shape in shapes.items())
        raise ValueError(f"nn.{name}: the shapes must be equal, got {said}")


def at_labels(name: str, scores: Any, labels: Any) -> Any:
    """Return the elements of rows at the places that integers say."""
    shape, places = type_of(scores).shape, type_of(labels).shape
    if len(places) != len(shape) - 1:
        raise ValueError(
            f"nn.{name}: there is one label for each row, but the rows are {shape} and labels {places}"
        )
    return fnp.take_along_axis(scores, labels[..., None], axis=-1)[..., 0]


def total(x: Any, axis: Any, where: Any) -> Any:
    """Return the sum of the elements that take part."""
    return fnp.sum(x, axis=axis, **({} if where is None else {"where": array(where)}))


def weighed(weights: Any, logs: Any) -> Any:
    """Return weights times logarithms: 0 where there is no weight, even if the logarithm is -inf."""
    return weights * fnp.where((weights == 0) & (logs == -math.inf), 0.0, logs)

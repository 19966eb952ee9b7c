"""Random operations on small arrays whose numbers stay small.

A step changes no result by more than its operands are changed, so differences of rounding add up, and do not grow:
floating-point numbers are within [-1, 1], and operations have a Lipschitz constant of about 1 in the maximum norm.
Integers are within [-64, 64), and exact. Floats are compared with odd numbers alone, so rounding decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import lax

ODD = 0.12345678
Values = list[Any]


def kind(x: Any) -> str:
    return x.dtype.kind


def bounded(rng: np.random.Generator, x: Any) -> Any:
    """Return integers moved into their range."""
    return (x & 127) - 64 if kind(x) == "i" else x


def cast(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers of another dtype, within its bounds."""
    if x.dtype == dtype:
        return x
    if dtype.kind == "b":
        return x > (ODD if kind(x) == "f" else 3)
    if dtype.kind == "i":
        return (x > ODD).astype(dtype) if kind(x) == "f" else x.astype(dtype)
    return x.astype(dtype) / (64 if kind(x) == "i" else 1)


def fitted(x: Any, like: Any) -> Any:
    """Return an array of the shape and dtype of another one, with the elements of `x`, again and again."""
    if x.shape != like.shape:
        if x.size != like.size:
            x = x.reshape(-1)[np.arange(like.size) % x.size]
        x = x.reshape(like.shape)
    return cast(x, like.dtype)


def mixed(rng: np.random.Generator, values: Values, like: Any) -> Any:
    """Return an array of the shape and dtype of another one that depends on two of the values, the last ones mostly."""
    values = [v for v in values if kind(v) == kind(like)] or values
    x, y = [fitted(values[-min(int(n), len(values))], like) for n in rng.geometric(0.5, 2)]
    return (x - y) * 0.5 + like * 0.125 if kind(like) == "f" else x ^ y


# Operations: each takes random numbers, one value, and all values, and gives one, or None where it does not apply


def elementwise(rng: np.random.Generator, x: Any, values: Values) -> Any:
    if kind(x) == "b":
        return [lambda: ~x, lambda: x & x[..., ::-1] if x.ndim else x, lambda: x | ~x][
            rng.integers(3)
        ]()
    if kind(x) == "i":
        number = int(rng.integers(1, 9))
        operations = [x + number, x * number, x ^ number, x >> 1, -x, fnp.maximum(x, number), x & 5]
        return bounded(rng, operations[rng.integers(7)])
    return [
        lambda: fnp.tanh(x),
        lambda: fnp.sin(x),
        lambda: fnp.exp(x) / 3,
        lambda: fnp.sqrt(x * x + 0.5) / 1.5,
        lambda: x / (1.5 + x * x),
        lambda: fnp.abs(x) - 0.5,
        lambda: 0.5 - x * 0.5,
        lambda: fnp.clip(x, -0.3, 0.7),
    ][rng.integers(8)]()


def paired(rng: np.random.Generator, x: Any, values: Values) -> Any:
    """Combine two values that broadcast."""
    fits = [y for y in values if kind(y) == kind(x) and _broadcast(x, y)]
    y = fits[rng.integers(len(fits))]
    if kind(x) == "b":
        return [x & y, x | y, x ^ y][rng.integers(3)]
    if kind(x) == "i":
        return bounded(rng, [x + y, x - y, x * y, x & y, x ^ y, fnp.minimum(x, y)][rng.integers(6)])
    return [(x + y) * 0.5, (x - y) * 0.5, x * y * 0.5, fnp.maximum(x, y), fnp.minimum(x, y)][
        rng.integers(5)
    ]


def _broadcast(x: Any, y: Any) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(x.shape, y.shape))) < 1000
    except ValueError:
        return False


def compared(rng: np.random.Generator, x: Any, values: Values) -> Any:
    return [x > ODD, x < -ODD][rng.integers(2)] if kind(x) == "f" else x == values[0].size


def chosen(rng: np.random.Generator, x: Any, values: Values) -> Any:
    truths = [p for p in values if kind(p) == "b" and _broadcast(x, p)]
    truths.append(cast(x, np.dtype(bool)))
    zero = np.zeros((), x.dtype)[()]
    return fnp.where(truths[rng.integers(len(truths))], x, x[::-1] if x.ndim else zero)


def converted(rng: np.random.Generator, x: Any, values: Values) -> Any:
    dtypes = [v.dtype for v in values]
    return cast(x, dtypes[rng.integers(len(dtypes))])


def reduced(rng: np.random.Generator, x: Any, values: Values) -> Any:
    axes = tuple([a for a in range(x.ndim) if rng.random() < 0.6])
    count, keepdims = max(1, int(np.prod([x.shape[a] for a in axes]))), bool(rng.random() < 0.4)
    which = int(rng.integers(4))
    if kind(x) == "b":
        return (fnp.any, fnp.all, fnp.any, fnp.all)[which](x, axis=axes, keepdims=keepdims)
    if which == 3 and count > 16:
        which = 0
    if kind(x) == "i" and which == 3:
        x = x & 1
    found = (fnp.sum, fnp.max, fnp.min, fnp.prod)[which](x, axis=axes, keepdims=keepdims)
    return bounded(rng, found) if kind(x) == "i" else found / (count if which in (0, 3) else 1)


def sliced(rng: np.random.Generator, x: Any, values: Values) -> Any:
    index: list[Any] = []
    for n in x.shape:
        a, b = sorted(rng.integers(0, n + 1, 2))
        choices = [
            slice(None),
            slice(None, None, -1),
            int(rng.integers(-n, n)),
            slice(None, None, 2),
        ]
        choices += [slice(int(a), int(b))] * int(b > a)
        index.append(choices[rng.integers(len(choices))])
    return x[tuple(index)]


def turned(rng: np.random.Generator, x: Any, values: Values) -> Any:
    order = tuple(map(int, rng.permutation(x.ndim)))
    ways = [fnp.transpose(x, order), x.reshape(-1), fnp.transpose(x, order).reshape(x.shape)]
    return [*ways, x[None], x.T][rng.integers(5)]


def joined(rng: np.random.Generator, x: Any, values: Values) -> Any:
    if not x.ndim:
        return fnp.stack([x, x])
    axis, same = (
        int(rng.integers(x.ndim)),
        [y for y in values if (y.shape, y.dtype) == (x.shape, x.dtype)],
    )
    others = [same[rng.integers(len(same))], x]
    ways = [
        lambda: fnp.concatenate(others, axis),
        lambda: fnp.stack(others, int(rng.integers(x.ndim + 1))),
    ]
    ways += [lambda: fnp.roll(x, int(rng.integers(-3, 9)), axis), lambda: fnp.roll(x, 2)]
    return ways[rng.integers(4)]()


def padded(rng: np.random.Generator, x: Any, values: Values) -> Any:
    value = np.ones((), x.dtype)[()]
    widths = [
        (int(a), int(b), int(c))
        for a, b, c in zip(
            *rng.integers(-1, 3, (2, x.ndim)), rng.integers(0, 2, x.ndim), strict=True
        )
    ]
    for axis, (a, b, c) in enumerate(widths):
        if a + b + x.shape[axis] + c * (x.shape[axis] - 1) < 1:
            widths[axis] = (0, 0, c)
    return lax.pad(x, value, widths)


def _integers(rng: np.random.Generator, values: Values, ndim: int) -> Any:
    """Return integers of so many axes, computed if there are some."""
    found = [v for v in values if kind(v) == "i" and v.ndim == ndim]
    return found[rng.integers(len(found))] if found else rng.integers(-64, 64, (3,) * ndim)[()]


def _indices(rng: np.random.Generator, values: Values, length: int) -> Any:
    mask = 2 ** int(np.log2(length)) - 1  # at most length - 1
    found = _integers(rng, values, int(rng.integers(1, 3))) & mask
    return found - length if rng.random() < 0.3 else found


def gathered(rng: np.random.Generator, x: Any, values: Values) -> Any:
    if not x.ndim:
        return None
    axis = int(rng.integers(x.ndim))
    return x[(slice(None),) * axis + (_indices(rng, values, x.shape[axis]),)]


def scattered(rng: np.random.Generator, x: Any, values: Values) -> Any:
    if not x.ndim:
        return None
    i = _indices(rng, values, x.shape[0]).reshape(-1)[: x.shape[0]]
    updates, way = x[::-1][: i.shape[0]], int(rng.integers(3))
    if kind(x) == "b" or not way:
        return x.at[i].set(updates)
    if way == 1:
        return x.at[i].min(updates)
    return (
        bounded(rng, x.at[i].add(updates))
        if kind(x) == "i"
        else x.at[i].add(updates) / (i.shape[0] + 1)
    )


def updated(rng: np.random.Generator, x: Any, values: Values) -> Any:
    """Change a slice at a place that is known, or not."""
    if not x.ndim:
        return None
    n, i = x.shape[0], int(rng.integers(x.shape[0]))
    at = _integers(rng, values, 0)
    ways = [
        lambda: x.at[i:].set(x[: n - i]),
        lambda: x.at[i].set(x[0]),
        lambda: x.at[at & 0].set(x[i]),
    ]
    ways += [lambda: lax.dynamic_update_slice_in_dim(x, x[: n - i], at, 0)]
    ways += [lambda: lax.dynamic_slice_in_dim(x, at, n - i, 0)]
    ways += [lambda: lax.dynamic_index_in_dim(x, at, 0, keepdims=False)]
    return ways[rng.integers(6)]()


def multiplied(rng: np.random.Generator, x: Any, values: Values) -> Any:
    """Multiply two matrices or vectors, or stacks of them, in some layout."""
    pairs = [(a, b) for y in values for a in _layouts(x) for b in _layouts(y) if _multiply(a, b)]
    if kind(x) == "b" or not pairs:
        return None
    a, b = pairs[rng.integers(len(pairs))]
    return bounded(rng, a @ b) if kind(x) == "i" else a @ b / (2 * a.shape[-1])


def _layouts(x: Any) -> Values:
    return [x, fnp.swapaxes(x, -1, -2), x[..., ::-1, :]] if x.ndim > 1 else [x] * x.ndim


def _multiply(a: Any, b: Any) -> bool:
    if kind(a) != kind(b) or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        return False
    stacks = {x.shape[:-2] for x in (a, b) if x.ndim > 2}
    return len(stacks) < 2


def solved(rng: np.random.Generator, x: Any, values: Values) -> Any:
    """Solve linear systems of matrices near the identity."""
    if kind(x) != "f" or x.ndim < 2 or x.shape[-1] > 6:
        return None
    n, way = x.shape[-1], int(rng.integers(4))
    a = (x[..., :n, :] if x.shape[-2] >= n else fnp.swapaxes(x, -1, -2) @ x / 9) / (4 * n)
    a = a + np.eye(n, dtype=x.dtype)
    if way == 0:
        return fnp.linalg.solve(a, fnp.swapaxes(x, -1, -2)) / 4
    if way == 1:
        return fnp.linalg.inv(fnp.swapaxes(a, -1, -2)) / 4
    if way == 2:
        return fnp.linalg.det(a) / 8
    return fnp.linalg.cholesky(fnp.swapaxes(a, -1, -2) @ a) / 4


# Control flow


def branched(rng: np.random.Generator, x: Any, values: Values) -> Any:
    truths = [v for v in values if kind(v) == "b"] or [cast(x, np.dtype(bool))]
    flag = fnp.any(truths[rng.integers(len(truths))])
    first, second = [_same_type(int(rng.integers(2**32)), 3) for _ in range(2)]
    return lax.cond(flag, first, second, x, values[0])


def looped(rng: np.random.Generator, x: Any, values: Values) -> Any:
    body, steps = _same_type(int(rng.integers(2**32)), 3), int(rng.integers(1, 5))
    if rng.random() < 0.5:
        return lax.fori_loop(0, steps, lambda i, c: body(c, i), x)
    rows = values[0] if values[0].ndim else None
    return lax.scan(
        lambda c, r: (body(c, r if rows is not None else c), c),
        x,
        rows,
        length=None if rows is not None else steps,
    )[1]


def _same_type(seed: int, count: int) -> Callable[..., Any]:
    """Return a random function of two values whose result is of the type of the first."""
    return lambda x, y: fitted(steps_of(seed, count, [y, x], False)[-1], x)


FLAT = [elementwise] * 2 + [paired] * 3 + [reduced] * 2 + [updated] * 2 + [multiplied] * 2
FLAT += [compared, chosen, converted, sliced, turned, joined, padded, gathered, scattered, solved]
DEEP = [*FLAT, *FLAT, branched, branched, looped, looped]


def steps_of(seed: int, count: int, values: Values, deep: bool) -> Values:
    """Return values, and what random operations make of them."""
    rng, values = np.random.default_rng(seed), list(values)
    given = len(values)
    for _ in range(4 * count):
        if len(values) == given + count:
            break
        x = values[-1 - min(int(rng.geometric(0.4)) - 1, len(values) - 1)]
        operation = (DEEP if deep else FLAT)[rng.integers(len(DEEP if deep else FLAT))]
        found = operation(rng, x, values)
        if found is not None and 0 < found.size <= 1000:
            values.append(found)
    return values

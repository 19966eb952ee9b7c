"""What loops, branches and function decorators of JAX mean, in plain Python on NumPy arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax


def _same_types(found: Any, expected: Any) -> Any:
    """Refuse what a loop in JAX would: a carry that changes its type."""
    a, b = fg.tree.leaves(found), fg.tree.leaves(expected)
    for x, y in zip(a, b, strict=True):
        if np.shape(x) != np.shape(y) or np.asarray(x).dtype != np.asarray(y).dtype:
            raise TypeError(f"{x} {y}")
    return found


def _rows(xs: Any) -> int:
    return len(fg.tree.leaves(xs)[0])


def _row(xs: Any, i: int) -> Any:
    return fg.tree.map(lambda x: x[i], xs)


def _stacked(ys: list[Any]) -> Any:
    return fg.tree.map(lambda *rows: np.ascontiguousarray(np.stack(rows)), *ys)


def _own(carry: Any) -> Any:
    """Return the last carry, whose arrays are the loop's own and lie in C order."""
    return fg.tree.map(lambda x: np.array(x, order="C")[()], carry)


def scan(f: Any, init: Any, xs: Any, reverse: bool = False) -> Any:
    n = _rows(xs)
    if n == 0:
        raise ValueError("no rows to learn types from")
    carry, ys = init, [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        new, ys[i] = f(carry, _row(xs, i))
        carry = _same_types(new, carry)
    return _own(carry), _stacked(ys)


def fori_loop(lower: int, upper: int, f: Any, val: Any) -> Any:
    _same_types(f(np.int64(lower), val), val)
    for i in range(lower, upper):
        val = _same_types(f(np.int64(i), val), val)
    return _own(val)


def while_loop(cond: Any, f: Any, val: Any) -> Any:
    _same_types(f(val), val)
    steps = 0
    while cond(val):
        val = _same_types(f(val), val)
        steps += 1
        if steps > 20:
            raise ValueError("too many steps")
    return _own(val)


def cond(flag: Any, f: Any, g: Any, *operands: Any) -> Any:
    first, second = f(*operands), g(*operands)
    _same_types(first, second)
    return first if flag else second


def switch(i: Any, functions: Any, *operands: Any) -> Any:
    results = [f(*operands) for f in functions]
    for other in results:
        _same_types(other, results[0])
    return results[min(max(int(i), 0), len(functions) - 1)]


def map_(f: Any, xs: Any) -> Any:
    return _stacked([f(_row(xs, i)) for i in range(_rows(xs))])


python_names: dict[str, Any] = {
    "np": np,
    "numpy": np,
    "lax": SimpleNamespace(
        scan=scan, fori_loop=fori_loop, while_loop=while_loop, cond=cond, switch=switch, map=map_
    ),
    "jit": lambda f: f,
    "checkpoint": lambda f: f,
    "vmap": lambda f: lambda *xs: map_(lambda row: f(*row), xs),
    "rule_jvp": lambda f: f,
    "rule_vjp": lambda f: f,
    "set_at": lambda x, i, y: _changed(x, i, y, "set"),
    "add_at": lambda x, i, y: _changed(x, i, y, "add"),
}


def _changed(x: Any, i: Any, y: Any, how: str) -> Any:
    x = np.array(x)
    if how == "set":
        x[i] = y
    else:
        wide = np.result_type(x, y)
        if np.can_cast(wide, x.dtype, "same_kind"):
            wide = x.dtype
        total = x.astype(wide)  # as of integers and 0.5: rounded once, at the end
        np.add.at(total, i, np.broadcast_to(y, x[i].shape).astype(wide))
        x = total.astype(x.dtype)
    return x


def _inc(out: Any, v: Any) -> None:
    out += v


def _scale(out: Any, v: Any) -> None:
    out *= v


def _assign(out: Any, v: Any) -> None:
    out[...] = v


def _swap(x: Any, i: int, j: int) -> None:
    x[i], x[j] = x[j].copy(), x[i].copy()


_helpers: dict[str, Any] = {"inc": _inc, "scale": _scale, "assign": _assign, "swap": _swap}
python_names |= _helpers


def rule_jvp(f: Any) -> Any:
    """Give `f`, a function of one array, the rule that it has anyway."""
    g = fg.custom_jvp(f)
    g.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    return g


def rule_vjp(f: Any) -> Any:
    """Give `f`, a function of one array, the rule that it has anyway."""
    g = fg.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: fg.vjp(f, x)[1](ct))
    return g


fungrad_names: dict[str, Any] = {
    "np": fnp,
    "numpy": np,
    "lax": lax,
    "jit": fg.jit,
    "checkpoint": fg.checkpoint,
    "vmap": fg.vmap,
    "rule_jvp": rule_jvp,
    "rule_vjp": rule_vjp,
    "set_at": lambda x, i, y: fg.at(x)[i].set(y),
    "add_at": lambda x, i, y: fg.at(x)[i].add(y),
}
fungrad_names |= _helpers

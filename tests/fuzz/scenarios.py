"""Small calls of every kind, which the campaign of interrupts cuts off."""

from __future__ import annotations

from collections.abc import Callable
from operator import truth
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.transforms.call import programs

Call = Callable[[], Any]
Made = tuple[Call, list[np.ndarray]]
"""A call without arguments, and the arrays that it reads and must not change."""

SCENARIOS: dict[str, Callable[[], Made]] = {}


def scenario(make: Callable[[], Made]) -> Callable[[], Made]:
    """Add to the table."""
    SCENARIOS[make.__name__] = make
    return make


def vector(n: int = 3) -> np.ndarray:
    return np.linspace(0.2, 0.9, n)


LARGE = 5000
"""Elements of arrays that are captured in another way than small ones."""


def _of_one_argument(name: str, transform: Callable[[Any], Any], f: Any, n: int = 3) -> None:
    """Add ``transform(f)(x)``."""

    def make() -> Made:
        x = vector(n)
        return (lambda: transform(f)(x)), [x]

    SCENARIOS[name] = make


def _simple(x: Any) -> Any:
    return (fnp.sin(x) * x).sum()


def _branching(x: Any) -> Any:
    y = x * 2
    if y.sum() > 0:
        y = y * x
    for _ in range(2):
        y = y + float(x[0] > 0)
    return y.sum()


def _in_place(x: Any) -> Any:
    y = x.copy()
    v = y[1:]
    v *= x[0]
    y[0] += v[0]
    return (y * y).sum()


def _two_results(x: Any) -> Any:
    return {"a": x * x[0], "b": fnp.exp(x)}


def _scanned(x: Any) -> Any:
    return lax.scan(lambda c, r: (c * r + x[0], c), x.sum(), x)[0]


def _looped(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: c * x[i % 2] + i, x[0])


def _while(x: Any) -> Any:
    return lax.while_loop(lambda c: c < 5, lambda c: c * 2 + x[0], x.sum())


def _chosen(x: Any) -> Any:
    return lax.cond(x[0] > 0.1, lambda v: (v * v).sum(), lambda v: v.sum(), x)


def _switched(x: Any) -> Any:
    return lax.switch(1, [lambda v: v.sum(), lambda v: (v * x).sum()], x)


def _checkpointed(x: Any) -> Any:
    return fg.checkpoint(lambda v: fnp.sin(fnp.sin(v)).sum())(x)


def _with_custom_jvp(x: Any) -> Any:
    f = fg.custom_jvp(lambda v: v * v)
    f.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    return f(x).sum()


def _with_custom_vjp(x: Any) -> Any:
    f = fg.custom_vjp(lambda v: v * v)
    f.defvjp(lambda v: (v * v, v), lambda v, ct: (2 * v * ct,))
    return f(x).sum()


def _absolute(x: Any) -> Any:
    return x if truth(x > 0.5) else -x


def _with_custom_vmap(x: Any) -> Any:
    f = fg.custom_batching.custom_vmap(lambda v: v * 2)
    f.def_vmap(lambda size, batched, v: (v * 2, True))
    return fg.vmap(f)(x).sum()


def _failing(x: Any) -> Any:
    try:
        return fnp.ones(2) + (x * fnp.ones((2, 5))).sum()
    except ValueError:
        return x.sum()


def _solved(x: Any) -> Any:
    return fnp.linalg.solve(fnp.eye(3) + 0.1 * x, x).sum()


def _callback(x: Any) -> Any:
    return fg.pure_callback(np.sum, fg.ShapeDtypeStruct((), np.float64), x) + x.sum()


def _collective(x: Any) -> Any:
    return fg.vmap(lambda v: v - lax.pmean(v, "i"), axis_name="i")(x)


def _associative(x: Any) -> Any:
    return lax.associative_scan(fnp.multiply, x).sum()


def _fresh_jit(x: Any) -> Any:
    return fg.jit(lambda v: fnp.sin(v) * 2)(x)


for _name, _transform, _f in [
    ("grad", fg.grad, _simple),
    ("value_and_grad", fg.value_and_grad, _branching),
    ("grad_in_place", fg.grad, _in_place),
    ("grad_of_grad", lambda f: fg.grad(lambda x: fg.grad(f)(x).sum()), _simple),
    ("hessian", fg.hessian, _simple),
    ("jacfwd", fg.jacfwd, _two_results),
    ("jacrev", fg.jacrev, _two_results),
    ("vjp", lambda f: lambda x: fg.vjp(f, x)[1](f(x)), _two_results),
    ("jvp", lambda f: lambda x: fg.jvp(f, (x,), (x,)), _two_results),
    ("jvp_of_branching", lambda f: lambda x: fg.jvp(f, (x,), (x,)), _branching),
    ("linearize", lambda f: lambda x: fg.linearize(f, x)[1](x), _two_results),
    ("vmap", fg.vmap, lambda x: fnp.where(x > 0.5, x, 2 * x)),
    ("vmap_of_grad", lambda f: fg.vmap(fg.grad(f)), lambda x: x * x),
    ("vmap_in_two_ways", lambda f: fg.vmap(f), _absolute),
    ("vmap_in_two_ways_of_grad", lambda f: fg.vmap(fg.grad(f)), _absolute),
    ("grad_of_vmap", lambda f: fg.grad(lambda x: fg.vmap(f)(x).sum()), lambda x: x * x),
    ("jit_first_call", lambda f: f, _fresh_jit),
    ("jit_of_grad_first_call", lambda f: fg.jit(fg.grad(lambda x: f(x))), _simple),
    ("grad_of_jit", lambda f: fg.grad(fg.jit(lambda x: f(x))), _simple),
    ("scan", lambda f: f, _scanned),
    ("grad_of_scan", fg.grad, _scanned),
    ("grad_of_fori_loop", fg.grad, _looped),
    ("jvp_of_while_loop", lambda f: lambda x: fg.jvp(f, (x,), (x,)), _while),
    ("cond", lambda f: f, _chosen),
    ("grad_of_cond", fg.grad, _chosen),
    ("grad_of_switch", fg.grad, _switched),
    ("grad_of_checkpoint", fg.grad, _checkpointed),
    ("grad_of_custom_jvp", fg.grad, _with_custom_jvp),
    ("grad_of_custom_vjp", fg.grad, _with_custom_vjp),
    ("custom_vmap", lambda f: f, _with_custom_vmap),
    ("grad_with_an_error", fg.grad, _failing),
    ("grad_of_solve", fg.grad, _solved),
    ("jvp_of_callback", lambda f: lambda x: f(x), _callback),
    ("named_axis", lambda f: f, _collective),
    ("grad_of_associative_scan", fg.grad, _associative),
    ("eval_shape", lambda f: lambda x: fg.eval_shape(f, x).shape, _simple),
    ("make_expr", lambda f: lambda x: len(fg.make_expr(f)(x).equations), _simple),
]:
    _of_one_argument(_name, _transform, _f)


@scenario
def jit_of_scan_first_call() -> Made:
    x = vector()
    return (lambda: fg.jit(lambda v: _scanned(v))(x)), [x]


@scenario
def jit_later_call() -> Made:
    x = vector()
    f = fg.jit(_two_results)
    return (lambda: f(x)), [x]


@scenario
def captured_small_array() -> Made:
    x, c = vector(), vector()
    return (lambda: fg.grad(lambda v: (v * c).sum())(x)), [x, c]


@scenario
def captured_large_array() -> Made:
    x, c = np.float64(0.3), vector(LARGE)
    return (lambda: fg.grad(lambda v: (v * c).sum())(x)), [c]


@scenario
def captured_view_of_a_large_array() -> Made:
    x, c = np.float64(0.3), vector(LARGE)
    w = c[:]
    return (lambda: fg.grad(lambda v: (v * w).sum() + (v * c).sum())(x)), [c, w]


@scenario
def large_argument() -> Made:
    x = vector(LARGE)
    return (lambda: fg.vjp(lambda v: v * v, x)[1](x)), [x]


@scenario
def large_array_in_nested_traces() -> Made:
    x, c = np.float64(0.3), vector(LARGE)

    def f(v: Any) -> Any:
        return fg.grad(lambda w: (w * c * v).sum())(v) + (v * c).sum()

    return (lambda: fg.grad(f)(x)), [c]


@scenario
def large_array_captured_by_jit() -> Made:
    x, c = np.float64(0.3), vector(LARGE)
    return (lambda: fg.jit(lambda v: (v * c).sum())(x)), [c]


@scenario
def large_array_made_and_changed_inside() -> Made:
    x = np.float64(0.3)

    def f(v: Any) -> Any:
        b = np.ones(LARGE)
        s = (v * b).sum()
        return s + (v * (b + 1)).sum()

    return (lambda: fg.grad(f)(x)), []


def _in_setting(name: str, context: Callable[[], Any]) -> None:
    def make() -> Made:
        x = vector()

        def call() -> Any:
            with context():
                return fg.grad(_simple)(x)

        return call, [x]

    SCENARIOS[name] = make


_in_setting("checking", fg.checking)
_in_setting("debug_nans", fg.debug_nans)
_in_setting("disable_jit", fg.disable_jit)


def _cold(name: str, f: Callable[[Any], Any]) -> None:
    def make() -> Made:
        x = vector()

        def call() -> Any:
            programs.clear()
            return f(x), f(x)

        return call, [x]

    SCENARIOS[name] = make


_cold("cold_grad", fg.grad(_simple))
_cold("cold_vmap_of_grad", lambda x: fg.vmap(fg.grad(lambda v: v * v))(x))
_cold("cold_grad_of_scan", fg.grad(_scanned))

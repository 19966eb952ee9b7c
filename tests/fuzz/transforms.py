"""Stacks of transforms on a smooth function: ways to write the same derivative must agree, and agree with differences.

A stack is a sequence of steps, each of which makes a function of one array from another: the derivative in a
direction (`push`), the pullback of a cotangent (`pull`), or the same function again (`same`). There are many ways to
write each. The plainest ways, without any in between, are what the others are compared with.
"""

from __future__ import annotations

import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from tests.fuzz import language
from tests.fuzz.campaign import Mismatch
from tests.fuzz.language import Writer
from tests.fuzz.oracle import NotAProgram, Wrong, compare, on_numpy
from tests.fuzz.programs import body
from tests.fuzz.pure_python import fungrad_names, python_names, rule_jvp, rule_vjp

Function = Callable[[Any], Any]


class Stack(NamedTuple):
    """A function and what is done to it, the innermost step first."""

    base: language.Program
    steps: tuple[tuple[str, str], ...]
    """Kind and way."""


def unit(x: Any, at: Any) -> Any:
    """Return a fixed direction of the type of `x`, another one for each `at`."""
    return np.cos(1.0 + at + np.arange(np.size(x))).reshape(np.shape(x))


def weights(f: Function, x: Any) -> Any:
    shape = fg.eval_shape(f, x).shape
    return unit(np.empty(shape), 3)


def _double_transpose(f: Function, x: Any) -> Any:
    _, pull = fg.vjp(f, x)
    zeros = np.zeros(fg.eval_shape(f, x).shape)
    return fg.vjp(lambda ct: pull(ct)[0], zeros)[1](unit(x, 1))[0]


def _contract_last(j: Any, v: Any) -> Any:
    return (j * v).sum(axis=tuple(range(-np.ndim(v), 0))) if np.ndim(v) else j * v


def _contract_first(c: Any, j: Any) -> Any:
    n = np.ndim(c)
    return (
        (c.reshape(c.shape + (1,) * (np.ndim(j) - n)) * j).sum(axis=tuple(range(n))) if n else c * j
    )


PUSH: dict[str, Callable[[Function], Function]] = {
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (unit(x, 1),))[1],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](unit(x, 1)),
    "jacfwd": lambda f: lambda x: _contract_last(fg.jacfwd(f)(x), unit(x, 1)),
    "jacrev": lambda f: lambda x: _contract_last(fg.jacrev(f)(x), unit(x, 1)),
    "vjp of vjp": lambda f: lambda x: _double_transpose(f, x),
    "jvp of jit": lambda f: lambda x: fg.jvp(fg.jit(f), (x,), (unit(x, 1),))[1],
    "jvp along a line": lambda f: (
        lambda x: fg.jvp(lambda t: f(x + t * unit(x, 1)), (0.0,), (1.0,))[1]
    ),
    "vmap of jvp": lambda f: (
        lambda x: fg.vmap(lambda v: fg.jvp(f, (x,), (v,))[1])(np.stack([unit(x, 1), unit(x, 2)]))[0]
    ),
}
PULL: dict[str, Callable[[Function], Function]] = {
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](weights(f, x))[0],
    "grad": lambda f: fg.grad(lambda x: (f(x) * weights(f, x)).sum()),
    "value_and_grad": lambda f: (
        lambda x: fg.value_and_grad(lambda x: (f(x) * weights(f, x)).sum())(x)[1]
    ),
    "jacrev": lambda f: lambda x: _contract_first(weights(f, x), fg.jacrev(f)(x)),
    "jacfwd": lambda f: lambda x: _contract_first(weights(f, x), fg.jacfwd(f)(x)),
    "linear_transpose": lambda f: (
        lambda x: fg.linear_transpose(fg.linearize(f, x)[1], x)(weights(f, x))[0]
    ),
    "grad of jit": lambda f: fg.grad(fg.jit(lambda x: (f(x) * weights(f, x)).sum())),
    "vmap of vjp": lambda f: (
        lambda x: fg.vmap(fg.vjp(f, x)[1])(np.stack([weights(f, x), 2 * weights(f, x)]))[0][0]
    ),
    "grad of vmap": lambda f: (
        lambda x: fg.grad(lambda xs: (fg.vmap(f)(xs) * weights(f, x)).sum())(fnp.stack([x, x]))[1]
    ),
}


def _by_rows(f: Function) -> Function:
    return lambda x: lax.scan(lambda c, r: (c + 1, f(r)), 0, fnp.stack([x, x]))[1][1]


SAME: dict[str, Callable[[Function], Function]] = {
    "jit": fg.jit,
    "checkpoint": fg.checkpoint,
    "vmap": lambda f: lambda x: fg.vmap(f)(fnp.stack([0.9 * x, x]))[1],
    "vmap over the last axis": lambda f: lambda x: fg.vmap(f, in_axes=-1, out_axes=-1)(
        fnp.stack([x, 0.9 * x], -1)
    )[..., 0],
    "vmap of a closure": lambda f: lambda x: fg.vmap(lambda t: f(x) * t)(np.array([1.0, 2.0]))[0],
    "cond": lambda f: lambda x: lax.cond(x.sum() > -1e6, f, lambda y: 2 * f(y), x),
    "cond by closure": lambda f: lambda x: lax.cond(x.sum() < -1e6, lambda: 2 * f(x), lambda: f(x)),
    "switch": lambda f: lambda x: lax.switch(fnp.argmax(x) * 0 + 1, [lambda y: f(2 * y), f], x),
    "scan": _by_rows,
    "map": lambda f: lambda x: lax.map(f, fnp.stack([x, x]))[0],
    "custom_jvp": rule_jvp,
    "custom_vjp": rule_vjp,
    "pytree": lambda f: lambda x: fg.jit(lambda d: {"y": [f(d["x"])]})({"x": x, "z": 1.0})["y"][0],
    "has_aux": lambda f: lambda x: fg.vjp(lambda y: (y, f(y)), x, has_aux=True)[2],
    "in grad": lambda f: lambda x: fg.value_and_grad(lambda t: ((f(x) * t).sum(), f(x)), has_aux=True)(1.0)[0][1],
    "value of jvp": lambda f: lambda x: fg.jvp(f, (x,), (unit(x, 5),))[0],
    "value of linearize": lambda f: lambda x: fg.linearize(f, x)[0],
    "jit of a sum": lambda f: lambda x: fg.jit(lambda y: f(y) + 0 * y.sum())(x),
}  # fmt: skip
WAYS = {"push": PUSH, "pull": PULL, "same": SAME}
PLAIN = {"push": "jvp", "pull": "vjp"}
REVERSE_ALONE = (
    "vjp",
    "grad",
    "value_and_grad",
    "jacrev",
    "grad of jit",
    "vmap of vjp",
    "grad of vmap",
)

SMOOTH = [
    "np.sin({r})", "np.tanh({r})", "{r} * {r2}", "{r} + {r2}", "{r} / (1.5 + {r2} * {r2})", "np.exp(0.3 * {r})",
    "np.sqrt(1 + {r} * {r})", "{r}.T", "{r}[::-1]", "np.cumsum({r})", "np.outer({r}, {r2})", "{r} @ {r2}", "{r}.sum() * {r2}",
    "np.mean({r}, axis=0)", "np.concatenate([{r}, {r2}])", "{r}.reshape(-1)", "np.log(1.5 + {r} ** 2)", "np.where({r} > 0.01, {r}, {r2})",
    "np.linalg.solve(np.eye(3) * 4 + {r}, {r2})", "np.linalg.inv(np.eye(2) * 3 + {r})", "np.einsum('i,j->ij', {r}, {r2})",
    "np.sort({r})", "np.maximum({r}, {r2})", "{r}[{i}]", "{r}[1:]", "{r} ** 3", "np.prod({r})", "np.arctan2({r}, {r2} * {r2} + 1)",
    "np.linalg.norm({r})", "np.abs({r})", "np.real(np.exp(1j * {r}) * {r2})", "np.fft.fft({r}).real", "np.stack([{r}, {r2}])",
    "set_at({r}, 0, {r2}.sum())", "add_at({r}, [0, 0], {r2}.sum())", "np.var({r})", "np.take({r}, [0, 0, -1])", "np.linalg.det({r})",
    "np.convolve({r}, {r2})", "np.linalg.cholesky({r} @ {r}.T + 2 * np.eye(len({r})))", "np.logaddexp({r}, {r2})", "np.median({r})",
]  # fmt: skip


def _loop(w: Writer) -> str:
    def real() -> str:
        return w.pick(lambda x: x.dtype == float)

    v, b, o, t = (
        w.fresh(),
        real(),
        real(),
        w.pick(lambda x: x.dtype == float and x.ndim > 0 and len(x) < 5),
    )
    inner = body(w, "c", "r", o)
    return w.rng.choice([
        f"{v} = lax.scan(lambda c, r: ({inner}, c), {b}, {t})[{w.rng.randrange(2)}]",
        f"{v} = lax.cond({o}.sum() > 0.1, lambda c, r: {inner}, lambda c, r: {body(w, 'c', 'r', t)}, {b}, {t})",
        f"{v} = lax.map(lambda r: {body(w, b, 'r', o)}, {t})",
        f"{v} = lax.switch(np.argmax({t}), [lambda c: {body(w, 'c', t, o)}, lambda c: {body(w, 'c', b, o)}], {b})",
        f"{v} = checkpoint(lambda u: {body(w, 'u', 'u', o)})({b})",
        f"{v} = rule_jvp(lambda u: {body(w, 'u', 'u', 'u')})({b})",
        f"{v} = jit(lambda u: {body(w, 'u', t, o)})({b})",
        f"{v} = lax.fori_loop(0, 2, lambda i, c: {body(w, 'c', t, o)}, {b})",
    ])  # fmt: skip


def generate(seed: int) -> Stack:
    """Return the stack of a seed."""
    rng = random.Random(seed)
    w = Writer(seed, python_names)
    arguments = (f"x0 = draw({seed % 1000}, {rng.choice(['()', '(3,)', '(2, 2)', '(3,)'])}, 'f8')",)
    captured = (f"c0 = draw({seed % 1000 + 1}, (3,), 'f8')",) if rng.random() < 0.5 else ()
    w.begin(arguments, captured)
    smooth: list[language.Template] = [f"{{v}} = {line}" for line in SMOOTH]
    for _ in range(rng.randrange(1, 5)):
        w.try_([_loop] if rng.random() < 0.25 else smooth)
    made = [k for k, v in w.arrays.items() if k[0] == "v" and v.dtype == float and v.size < 30]
    base = language.Program(arguments, captured, tuple(w.lines), (made[-1] if made else "x0",))
    steps = []
    for _ in range(rng.randrange(1, 5)):
        kind = rng.choice(["push", "pull", "same", "same"])
        steps.append((kind, rng.choice(list(WAYS[kind]))))
    return Stack(base, tuple(steps))


def function(base: language.Program, names: Any) -> Function:
    f, _ = language.build(base, names)
    return lambda x: f(x)[0]


def applied(f: Function, steps: Any) -> Function:
    for kind, way in steps:
        f = WAYS[kind][way](f)
    return f


def differentiable(steps: Any) -> bool:
    """Whether no function with a rule for reverse mode alone is differentiated forward."""
    ways = [way for _, way in steps]
    if "custom_vjp" not in ways:
        return True
    after = steps[ways.index("custom_vjp") + 1 :]
    forward = ("value of jvp", "value of linearize", "custom_jvp")
    kinds = [kind for kind, _ in after if kind != "same"]
    return (
        all(way in REVERSE_ALONE for kind, way in after if kind != "same")
        and not any(way in forward for _, way in after)
        and len(kinds) <= 1
    )


def check(stack: Stack) -> Mismatch | None:
    """Return where two ways differ."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        try:
            x = language.arguments(stack.base)[0]
            on_numpy(lambda y: [function(stack.base, python_names)(y)], [x])
            if not differentiable(stack.steps):
                return None
            _check(stack, x)
        except NotAProgram:
            return None
        except Wrong as wrong:
            return wrong.mismatch
        except Exception as error:
            return Mismatch(f"raises {type(error).__name__}", traceback.format_exc())
    return None


def _check(stack: Stack, x: Any) -> None:
    essential = [(kind, PLAIN[kind]) for kind, _ in stack.steps if kind != "same"]
    f = function(stack.base, fungrad_names)
    if len(essential) > 3:
        raise NotAProgram
    expected = np.asarray(applied(f, essential)(x))
    if not np.all(np.abs(expected) < 1e5):
        raise NotAProgram
    found = applied(function(stack.base, fungrad_names), stack.steps)(x)
    compare("ways differ", [found], [expected], 1e-7)
    if essential:
        _differences(f, essential, x, expected)


def _differences(f: Function, essential: Any, x: Any, found: np.ndarray) -> None:
    """Compare the outermost derivative with differences of what is within."""
    (kind, _), below = essential[-1], essential[:-1]
    inner = applied(f, below) if below else f
    direction = unit(x, 1 if kind == "push" else 7)
    step = 1e-5
    here = np.asarray(inner(x))
    values = [np.asarray(inner(x + s * step * direction)) for s in (1, -1, 0.5, -0.5)]
    a, b, c, d = values
    slope, half = (a - b) / (2 * step), (c - d) / step
    scale = np.max(np.abs(half), initial=1.0)
    smooth = np.all(np.abs(slope - half) < 1e-5 * scale) and np.all(
        np.abs(a + b - 2 * here) < 1e-2 * scale * step
    )
    if not smooth:
        return
    if kind == "push":
        compare("differences", [found], [half], 3e-5)
    else:
        weight = unit(here, 3)
        one, other = np.sum(found * direction), np.sum(weight * half)
        if abs(one - other) > 3e-5 * (np.sum(np.abs(weight * half)) + np.sum(np.abs(found)) + 1):
            raise Wrong("differences", f"{one} and not {other}")


def smaller(stack: Stack) -> Iterator[Stack]:
    """Yield stacks of fewer or plainer steps, and of simpler functions."""
    for i, (kind, way) in enumerate(stack.steps):
        yield stack._replace(steps=stack.steps[:i] + stack.steps[i + 1 :])
        if way != PLAIN.get(kind, way):
            yield stack._replace(
                steps=(*stack.steps[:i], (kind, PLAIN[kind]), *stack.steps[i + 1 :])
            )
    for base in language.smaller(stack.base):
        yield stack._replace(base=base)


def readable(stack: Stack) -> str:
    """Return the function and the steps."""
    return language.readable(stack.base) + "\n".join(
        f"{kind} by {way}" for kind, way in stack.steps
    )

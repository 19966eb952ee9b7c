"""Programs that compute new arrays from arrays, against JAX: values, first and second derivatives, batches.

The text of a program is run twice, with `np` meaning `fungrad.numpy` and `jax.numpy`. What JAX has no words for is
skipped and counted. JAX is imported in the process that needs it, for it must not be forked.
"""

from __future__ import annotations

import collections
import functools
import os
import re
import traceback
import warnings
from typing import Any

import numpy as np

import fungrad as fg
from tests.fuzz import language, programs
from tests.fuzz.campaign import Mismatch
from tests.fuzz.language import Program
from tests.fuzz.language import readable as readable
from tests.fuzz.language import smaller as smaller
from tests.fuzz.oracle import Case, NotAProgram, Runner, Wrong, case_of, compare

NEEDS = "jax"
CHUNK = 400
RATED = "compared"
DTYPES = ["f8"] * 8 + ["c16", "c16", "i8", "b1"]
"""Those that JAX promotes as NumPy does."""

NONE_IN_JAX = ("np.unique(", "np.setdiff1d(")
"""Functions whose values JAX computes, but with derivatives zero."""
AT_KINKS = (
    "abs(",
    "norm(",
    "std(",
    "hypot(",
    "fmax(",
    "fmin(",
    "clip(",
    "linalg.",
    "sort",
    "quantile(",
    "median(",
)
"""At kinks, where differences find no derivative, these have another in JAX: see `docs/derivatives.md`. Factorizations
of matrices whose rank is deficient have, too, or differences say that JAX is wrong."""
TOLERANCE = 1e-8
OTHER_DTYPES = re.compile(r"'[fiu][124]'|'c8'|float16|float32|complex64|int8")

tally: collections.Counter[str] = collections.Counter()
"""How many programs were compared, and how many JAX does not run."""


def generate(seed: int) -> Program:
    """Return the program of a seed."""
    return programs.generate(seed, DTYPES)


# JAX runs each program once, so what it compiles need not be fast.
FLAGS = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_multi_thread_eigen=false"
)


@functools.cache
def _names() -> dict[str, Any]:
    """Return what the names of programs mean in JAX, which is imported here."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("XLA_FLAGS", FLAGS)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # failures are counted
    import jax
    import jax.numpy as jnp

    def rule_jvp(f: Any) -> Any:
        g = jax.custom_jvp(f)
        g.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
        return g

    def rule_vjp(f: Any) -> Any:
        g = jax.custom_vjp(f)
        g.defvjp(lambda x: (f(x), x), lambda x, ct: jax.vjp(f, x)[1](ct))
        return g

    return {
        "np": jnp,
        "numpy": jnp,
        "lax": jax.lax,
        "jit": jax.jit,
        "checkpoint": jax.checkpoint,
        "vmap": jax.vmap,
        "rule_jvp": rule_jvp,
        "rule_vjp": rule_vjp,
        "set_at": lambda x, i, y: jnp.asarray(x).at[i].set(y),
        "add_at": lambda x, i, y: jnp.asarray(x).at[i].add(y),
    }


class Ways:
    """What is compared, made by the transforms of one of the two packages."""

    def __init__(self, package: Any, f: Any, case: Case, xs: Any, tangents: Any, cts: Any) -> None:
        self.package, self.f, self.case = package, f, case
        self.xs, self.tangents, self.cts = xs, tuple(tangents), list(cts)
        self.ys = tuple(xs[i] for i in case.moving)

    def g(self, *ys: Any) -> Any:
        xs = list(self.xs)
        for i, y in zip(self.case.moving, ys, strict=True):
            xs[i] = y
        results = self.f(*xs)
        return [results[i] for i in self.case.varying]

    def pull(self, *ys: Any) -> Any:
        return self.package.vjp(self.g, *ys)[1](self.cts)

    def value(self) -> Any:
        return self.f(*self.xs)

    def vjp(self) -> Any:
        return self.pull(*self.ys)

    def jvp(self) -> Any:
        return self.package.jvp(self.g, self.ys, self.tangents)[1]

    def second(self) -> Any:
        return self.package.jvp(self.pull, self.ys, self.tangents)[1]

    def vmap(self) -> Any:
        return self.package.vmap(self.g)(*_two(self.case.ys))


def by_jax(runner: Runner, ways: list[str], compiled: bool = True) -> dict[str, list[np.ndarray]]:
    """Return what JAX makes of a program, without the ways that it cannot go."""
    names = _names()
    import jax

    f, _ = language.build(runner.case.program, names)

    def run(*given: Any) -> dict[str, Any]:
        theirs = Ways(jax, f, runner.case, *given)
        found = {"value": theirs.value()}
        for way in ways:
            try:
                found[way] = getattr(theirs, way)()
            except Exception:
                tally["ways not run by JAX"] += 1
        return found

    given = runner.case.xs, runner.tangents, [jax.numpy.asarray(c) for c in runner.cts]
    try:
        if compiled:  # once, which is faster than all equations, one by one
            found = jax.jit(run)(*given)
    except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError):
        ways = [way for way in ways if way != "second"]  # which has most equations
        compiled = False
    if not compiled:
        with jax.disable_jit():
            found = run(*given)
    there = [way for way in ["value", *ways] if way in found]
    return {way: [np.asarray(x) for x in found[way]] for way in there}


def _two(xs: list[Any]) -> list[Any]:
    return [np.stack([x, np.asarray(1.02 * x).astype(np.asarray(x).dtype)]) for x in xs]


def ways_of(program: Program, case: Case) -> list[str]:
    """Return what is compared beside values."""
    if not case.moving or not case.varying:
        return []
    ways = ["vjp"] * (not program.has("forward")) + ["jvp"] * (not program.has("reverse"))
    return [*ways, *["second"] * (len(ways) == 2), "vmap"]


def check(program: Program) -> Mismatch | None:
    """Return in what fungrad differs from JAX."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if OTHER_DTYPES.search(repr(program)):
            return _skipped("of other dtypes in JAX")
        try:
            case = case_of(program)
        except NotAProgram:
            return _skipped("not run by NumPy")
        runner = Runner(case)
        try:
            theirs = by_jax(runner, ways_of(program, case))
        except Exception:
            return _skipped("not run by JAX")
        value = theirs.pop("value")
        if any(value[i].dtype != case.expected[i].dtype for i in case.varying):
            return _skipped("of other dtypes in JAX")
        try:
            compare("value", value, case.expected, 1e-9, types=False)
        except Wrong:
            return _skipped("of other values in JAX")
        ours = Ways(fg, runner.f(), case, case.xs, runner.tangents, runner.cts)
        for way, expected in theirs.items():
            if not all(np.all(np.isfinite(x)) for x in expected):
                tally["ways not finite in JAX"] += 1
                continue
            try:
                found = getattr(ours, way)()
                if not _agree(way, found, expected, runner) and not _excused(way, ours, runner):
                    compare(f"{way}: JAX", found, expected, TOLERANCE)
            except Wrong as wrong:
                return wrong.mismatch
            except (fg.ConcretizationError, fg.LostDerivativeError):
                tally["ways refused by fungrad"] += 1
            except Exception as error:
                return Mismatch(f"{way} raises {type(error).__name__}", traceback.format_exc())
    tally["compared"] += 1
    return None


def _agree(way: str, found: Any, expected: Any, runner: Runner) -> bool:
    """Whether results are JAX's, or at least those of JAX without its compiler."""
    try:
        compare(way, found, expected, TOLERANCE)
    except Wrong:
        try:
            compare(way, found, by_jax(runner, [way], compiled=False)[way], TOLERANCE)
        except (Wrong, KeyError):
            return False
        tally["compiled wrongly by JAX"] += 1
    return True


def _excused(way: str, ours: Ways, runner: Runner) -> bool:
    """Whether the program calls what is known to differ; count it."""
    lines = "\n".join(ours.case.program.lines)
    for name in NONE_IN_JAX:
        if name in lines:
            tally[f"of no derivative in JAX, {name}"] += 1
            return True
    names = [name for name in AT_KINKS if name in lines]
    if not names or way == "vmap":
        return False
    case = ours.case
    if way == "second":
        found, here = ours.second(), list(ours.vjp())
        slopes = runner.slopes(lambda ys: list(ours.pull(*ys)), here)
    else:  # where the tangent is right, the cotangent is compared with it by the other campaigns
        found, here = ours.jvp(), runner.expected()
        slopes = runner.slopes(lambda ys: [case.run(case.at(ys))[i] for i in case.varying], here)
    if slopes is None:
        tally["at kinks and singular matrices"] += 1
        return True
    try:
        compare("differences", found, slopes, 2e-4, types=False)
    except Wrong:
        return False
    tally["of which differences say that JAX is wrong"] += 1
    return True


def _skipped(why: str) -> None:
    tally[why] += 1

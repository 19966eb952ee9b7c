"""Programs with kernels and routines against the same programs by calls of NumPy's functions.

Dtypes, shapes, the order of memory, booleans, integers, NaNs, infinities, warnings and errors are the same, and no argument
changes. Floating-point numbers are equal where all operations round correctly; within 2 units in the last place of one
another; or no further apart than random roundings bring them (`rounding`). On several threads they have the bits that
they have on one.
"""

from __future__ import annotations

import collections
import contextlib
import os
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import lower
from fungrad.compile.emit import llvm_threads
from fungrad.compile.kernels.routine import Routine
from fungrad.compile.targets import host_kernels
from fungrad.compile.tiers import Tier
from fungrad.core.config import compilation
from tests.fuzz import language
from tests.fuzz.campaign import Mismatch
from tests.fuzz.language import Program as Program
from tests.fuzz.native_programs import NAMES, TRACED, Call, Native, laid
from tests.fuzz.native_programs import generate as generate
from tests.fuzz.oracle import Wrong
from tests.fuzz.rounding import WIDE, spread

NEEDS = "llvmlite"
CHUNK = 300
NEAR = 2
"""Units in the last place within which results need no further look."""
RUNS = (4, 40)
"""How often a program is rounded at random: if it seems wrong after the first number of times, the second."""

tally: collections.Counter[str] = collections.Counter()


class Outcome(NamedTuple):
    """What a call gives or fails with, and what it warns of."""

    results: list[Any]
    error: tuple[Any, ...] | None
    warned: list[Any]


def arguments(call: Call) -> list[Any]:
    """Return the arguments of a call, made anew."""
    scope: dict[str, Any] = {"laid": laid, "np": np}
    exec("\n".join(call.arguments), scope)
    return [scope[name] for name in language.assigned(call.arguments)]


# Transforms


def unit(x: Any, at: int) -> Any:
    """Return a fixed direction of the type of `x`."""
    numbers = np.cos(1.0 + at + np.arange(np.size(x))).reshape(np.shape(x))
    return numbers.astype(x.dtype)[()]


def transformed(f: Callable[..., Any], way: str) -> Callable[..., Any]:
    """Return the function under a transform, with the floating-point arguments as what moves."""

    def call(*xs: Any) -> Any:
        moving = [i for i, x in enumerate(xs) if x.dtype.kind in "fc"]
        ys = [xs[i] for i in moving]

        def g(*ys: Any) -> Any:
            given = list(xs)
            for i, y in zip(moving, ys, strict=True):
                given[i] = y
            return [y for y in f(*given) if y.dtype.kind in "fc"]

        def total(*ys: Any) -> Any:
            return sum(fnp.sum(fnp.real(y * unit(y, k))) for k, y in enumerate(g(*ys)))

        gradient = fg.value_and_grad(total, tuple(range(len(ys))))
        tangents = tuple([unit(y, k) for k, y in enumerate(ys)])
        if way == "plain":
            return f(*xs)
        if way == "value and grad":
            return gradient(*ys)
        if way == "vjp":
            values, pull = fg.vjp(g, *ys)
            return values, pull([unit(y, k) for k, y in enumerate(values)])
        if way == "jvp":
            return fg.jvp(g, tuple(ys), tangents)
        if way == "jvp of grad":
            return fg.jvp(gradient, tuple(ys), tangents)
        two = [fnp.stack([x, x[::-1] if x.ndim else x]) for x in xs]
        if way == "vmap":
            return fg.vmap(lambda *a: f(*a))(*two)
        return fg.vmap(gradient)(*[two[i] for i in moving])

    return call


# Running


class Compiled:
    """A function compiled in one mode, and what is seen of that."""

    def __init__(self, native: Native, mode: str, threads: int) -> None:
        f, self.held = language.build(native.program, TRACED)
        self.f = fg.jit(transformed(f, native.way))
        self.mode, self.threads, self.cut = mode, threads, native.cut
        self.tiers: list[Tier] = []
        self.failures = 0
        self.kernels = self.routines = self.on_threads = 0

    def __call__(self, call: Call) -> Outcome:
        """Make a call."""
        xs, same = arguments(call), arguments(call)
        with self._watched(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results, error = [], None
            try:
                with _modes(call.mode):
                    with _calls_alone():  # what tracing computes of constants, with jit too
                        self.f.lower(*xs)
                    results = fg.tree.leaves(self.f(*xs))
            except Exception as raised:
                error = _described(raised)
        warned = [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
        for x, y in zip(xs, same, strict=True):
            if not _same_bits(x, y):
                raise Wrong("an argument is changed", f"{x}\nand not\n{y}")
        for k, x in enumerate(results):
            others = [*xs, *results[:k], *self.held]
            if any(np.may_share_memory(x, y) for y in others if np.ndim(x) and np.ndim(y)):
                raise Wrong("results share memory", f"result {k}")
        return Outcome(results, error, warned)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        this = self
        compile_kernels, threads_for = host_kernels.compile_kernels, llvm_threads.threads_for

        class Watched(Tier):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                this.tiers.append(self)

            def _failed(self, *given: Any) -> None:
                this.failures += 1
                super()._failed(*given)

            def _is_unfit(self, *given: Any) -> bool:
                found = super()._is_unfit(*given)
                this.failures += found
                return found

        def compiling(kernels: Sequence[Any]) -> Any:
            routines = sum(isinstance(kernel, Routine) for kernel in kernels)
            self.routines += routines
            self.kernels += len(kernels) - routines
            return compile_kernels(kernels)

        def cutting(*given: Any) -> int:
            found = threads_for(*given)
            self.on_threads += found > 1
            return found

        token = compilation.set(self.mode)
        try:
            with (
                mock.patch.object(lower, "Tier", Watched),
                mock.patch.object(host_kernels, "compile_kernels", compiling),
                mock.patch.object(llvm_threads, "threads_for", cutting),
                mock.patch.object(llvm_threads, "PART", 1 if self.cut else llvm_threads.PART),
                mock.patch.dict(
                    os.environ, FUNGRAD_NUM_THREADS=str(self.threads), FUNGRAD_CACHE_DIR="off"
                ),
            ):
                yield
        finally:
            compilation.reset(token)


@contextlib.contextmanager
def _calls_alone() -> Iterator[None]:
    token = compilation.set("off")
    try:
        yield
    finally:
        compilation.reset(token)


def _modes(mode: str) -> Any:
    if mode == "usual":
        return contextlib.nullcontext()
    return np.errstate(all="warn") if mode == "warn of all" else np.errstate(all=mode)  # type: ignore[call-overload]


def _described(error: Exception) -> tuple[Any, ...]:
    lines = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith("<program ")
    ]
    return type(error), str(error), getattr(error, "__notes__", []), lines


def _same_bits(x: Any, y: Any) -> bool:
    if (type(x), np.shape(x), np.asarray(x).dtype) != (type(y), np.shape(y), np.asarray(y).dtype):
        return False
    return np.asarray(x).tobytes() == np.asarray(y).tobytes()


# Checking


def check(native: Native) -> Mismatch | None:
    """Make all calls in both ways; return what differs."""
    try:
        _check(native)
    except Wrong as wrong:
        return wrong.mismatch
    return None


def _check(native: Native) -> None:
    try:
        f, _ = language.build(native.program, NAMES)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(*arguments(Call(native.program.arguments)))
    except Exception:
        return  # NumPy cannot run it: it is no program
    library, kernels = Compiled(native, "off", 1), Compiled(native, "eager", native.threads)
    alone = Compiled(native, "eager", 1)
    for call in native.calls:
        expected, failures = library(call), kernels.failures
        found = kernels(call)
        compiled = any(tier.native is not None for tier in kernels.tiers)
        _compare(found, expected, library, call)
        if kernels.on_threads:
            _compare_bits(found, alone(call))
        tally["calls"] += 1
        tally["calls that fell back"] += kernels.failures > failures
        tally["calls by kernels"] += compiled and kernels.failures == failures
        tally["calls that failed"] += expected.error is not None
        tally["calls that warned"] += bool(expected.warned)
    tally["programs with kernels"] += kernels.kernels > 0
    tally["programs with routines"] += kernels.routines > 0
    tally["programs with either"] += kernels.kernels + kernels.routines > 0
    tally["programs with kernels on threads"] += kernels.on_threads > 0


def _compare_bits(found: Outcome, alone: Outcome) -> None:
    if (found.error, found.warned) != (alone.error, alone.warned):
        raise Wrong("threads: errors or warnings", f"{found}\nand not\n{alone}")
    for k, (x, y) in enumerate(zip(found.results, alone.results, strict=True)):
        if not _same_bits(x, y):
            raise Wrong("threads: bits", f"result {k} is\n{x}\nand on one thread\n{y}")


def _compare(found: Outcome, expected: Outcome, library: Compiled, call: Call) -> None:
    if _is_of_order(found.error) or _is_of_order(expected.error):
        return
    if found.error != expected.error:
        raise Wrong("error", f"{found.error}\nand not\n{expected.error}\n{call}")
    if _others(found.warned) != _others(expected.warned):
        raise Wrong("warnings", f"{found.warned}\nand not\n{expected.warned}\n{call}")
    if len(found.results) != len(expected.results):
        raise Wrong("number of results", f"{len(found.results)}")
    unsure = []
    for k, (x, y) in enumerate(zip(found.results, expected.results, strict=True)):
        _compare_kinds(k, x, y, call)
        if _same_bits(x, y) or np.array_equal(x, y, equal_nan=y.dtype.kind in "fc"):
            tally["results that are equal"] += 1
        else:
            unsure.append(k)
    if unsure:
        _compare_rounded(found.results, expected.results, unsure, library, call)


OF_ORDER = re.compile(
    r"invalid value encountered in (add|reduce|reduce_sum|dot|dot_general|matmul|vecdot|einsum)\b"
)
"""What NumPy says of infinities and NaNs that are added in one order, and not in another; and BLAS of some that are not."""


def _is_of_order(error: tuple[Any, ...] | None) -> bool:
    return error is not None and OF_ORDER.search(str(error[1])) is not None


def _others(warned: list[Any]) -> list[Any]:
    """Return warnings without the names of functions: those of programs that several functions share depend on what came first."""
    found = [w for w in warned if not OF_ORDER.search(w[1])]
    return [(category, text.partition(" in ")[0], *line) for category, text, *line in found]


def _compare_kinds(k: int, x: Any, y: Any, call: Call) -> None:
    where = f"result {k} of {call}"
    if type(x) is not type(y):
        raise Wrong("type", f"{where}: {type(x)} and not {type(y)}")
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        raise Wrong("dtype or shape", f"{where}: {x.dtype}{x.shape}, not {y.dtype}{y.shape}")
    if isinstance(x, np.ndarray):
        if y.size and _order(x) != _order(y):
            raise Wrong("order of memory", f"{where}: strides {x.strides} and not {y.strides}")
        if x.flags.writeable != y.flags.writeable or x.flags.aligned != y.flags.aligned:
            raise Wrong("flags", f"{where}: {x.flags}\nand not\n{y.flags}")


def _order(x: Any) -> list[int]:
    """Return the axes in the order in which they lie in memory."""
    axes = [a for a, n in enumerate(x.shape) if n > 1]
    return sorted(axes, key=lambda a: -abs(x.strides[a]))


def _compare_rounded(
    found: list[Any], expected: list[Any], unsure: list[int], library: Compiled, call: Call
) -> None:
    """Compare results with those of the program rounded at random."""
    xs = arguments(call)
    expr = library.f.lower(*xs).simplified
    for runs in (0, *RUNS):
        spreads = spread(expr, [np.asarray(x)[()] for x in xs], runs, runs)
        wrong = [k for k in unsure if not _is_within(found[k], expected[k], *spreads[k], runs)]
        if not wrong:
            tally["results within 2 ulp" if not runs else "results within a bound"] += len(unsure)
            return
    k = wrong[0]
    x, y, (center, bound, exact) = found[k], expected[k], spreads[k]
    bad = ~_agrees(x, y, center, bound)
    at = np.argwhere(bad)[:5].tolist()
    bound = np.broadcast_to(bound, np.shape(x))
    shown = [np.asarray(z)[bad][:5] for z in (x, y, center, bound)]
    text = f"{bad.sum()} of {np.size(x)}, at {at}:\n{shown[0]}\nand not\n{shown[1]}\nprecisely\n{shown[2]}\nwithin\n{shown[3]}"
    kind = "exact" if exact else "rounding"
    raise Wrong(f"{kind} {y.dtype.kind}", f"result {k} of {call}: {text}")


def _is_within(x: Any, y: Any, center: Any, bound: Any, exact: bool, runs: int) -> bool:
    if exact:
        return bool(np.all(_agrees(x, y, y, 0.0)))
    if not runs:
        if y.dtype.kind not in "fc":
            return False
        with np.errstate(all="ignore"):
            bound = NEAR * np.maximum(
                np.abs(y) * np.finfo(y.dtype).eps / 2, np.finfo(y.dtype).smallest_subnormal
            )
        center = y
    return bool(np.all(_agrees(x, y, center, bound)))


def _agrees(x: Any, y: Any, center: Any, bound: Any) -> Any:
    """Return where a result is no further from what is precise than a bound, beyond what the other result is."""
    x, y, center = np.asarray(x), np.asarray(y), np.asarray(center)
    if y.dtype.kind not in "fc":
        return (x == y) | (bound > 0)
    wide = WIDE[y.dtype.str[1:]]
    with np.errstate(all="ignore"):
        apart, error = [np.abs(z.astype(wide) - center.astype(wide)) for z in (x, y)]
        near = apart <= bound + np.where(np.isnan(error), 0, error)
    return (x == y) | (np.isnan(x) & np.isnan(y)) | near | np.isinf(bound)


# Shrinking


def smaller(native: Native) -> Iterator[Native]:
    """Yield simpler programs, fewer calls, and arguments that lie in C order."""
    for call in native.calls:
        if len(native.calls) > 1:
            yield native._replace(calls=(call,))
    if native.threads > 1:
        yield native._replace(threads=1)
    if native.cut:
        yield native._replace(cut=False)
    if native.way != "plain":
        yield native._replace(way="plain")
    for program in language.smaller(native.program):
        kept = set(language.assigned(program.arguments))
        calls = [
            call._replace(arguments=tuple(a for a in call.arguments if a.split(" = ")[0] in kept))
            for call in native.calls
        ]
        yield native._replace(program=program, calls=tuple(calls))
    for j, call in enumerate(native.calls):
        for simpler in _simpler(call):
            yield native._replace(calls=(*native.calls[:j], simpler, *native.calls[j + 1 :]))


def _simpler(call: Call) -> Iterator[Call]:
    if call.mode != "usual":
        yield call._replace(mode="usual")
    for i, text in enumerate(call.arguments):
        head, layout, values = text.removesuffix(")").rsplit(", ", 2)
        for other in (f"{head}, 'C', {values})", f"{head}, {layout}, 'tame')"):
            if other != text:
                yield call._replace(
                    arguments=(*call.arguments[:i], other, *call.arguments[i + 1 :])
                )


def readable(native: Native) -> str:
    """Return the program."""
    return f"{language.readable(native.program)}\n{native.way}, {native.threads} threads"

"""Run a program of `language` under transforms, and compare with the same program on NumPy arrays.

Derivatives are compared with differences where the function is smooth, and with each other: reverse with forward
mode, compiled with not, a batch with a loop.
"""

from __future__ import annotations

import re
import traceback
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad as fg
from fungrad.core.tracer import current_trace
from tests.fuzz.campaign import Mismatch
from tests.fuzz.language import Program, arguments, build, moderate, with_zeros
from tests.fuzz.pure_python import fungrad_names, python_names

STEP = 1e-5
DIFFERENT = re.compile(r"einsum|convolve|correlate|\*\* -?\d|\d \*\*|norm|i0\(|vander|poly| @ ")
"""What `docs/dtypes.md` lists: there jit rounds in another way."""
LANES = 3


class Wrong(Exception):
    """Something differs."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.mismatch = Mismatch(kind, text)


class NoDerivative(Exception):
    """A derivative is not finite."""


class NotAProgram(Exception):
    """NumPy cannot run it, or its numbers are not moderate."""


class Case(NamedTuple):
    """A program with what it gives on NumPy arrays."""

    program: Program
    xs: list[Any]
    expected: list[Any]
    held: list[np.ndarray]
    """What the arrays that it closes over hold afterwards."""
    pure: bool
    """Whether it leaves these as they are."""
    moving: list[int]
    """Which arguments can be differentiated by."""
    varying: list[int]
    """Which results have derivatives."""
    tolerance: float

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(repr(self.program).encode()))

    def at(self, ys: Sequence[Any]) -> list[Any]:
        """Return the arguments with `ys` for those to differentiate by."""
        xs = list(self.xs)
        for i, y in zip(self.moving, ys, strict=True):
            xs[i] = y
        return xs

    @property
    def ys(self) -> list[Any]:
        return [self.xs[i] for i in self.moving]

    def run(self, xs: Sequence[Any]) -> list[Any]:
        """Run on NumPy arrays; raises NotAProgram if that cannot be."""
        f, _ = build(self.program, python_names)
        return on_numpy(f, xs)

    def directions(self, like: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        found = []
        for x in like:
            v = rng.normal(size=np.shape(x))
            if np.asarray(x).dtype.kind == "c":
                v = v + 1j * rng.normal(size=np.shape(x))
            found.append(np.asarray(v).astype(np.asarray(x).dtype)[()])
        return found


NUMPYS = ("to index an array", "an index, a length, a shape", "a boolean mask picks")
"""Words of errors where NumPy's own array asks for a value, of which nobody tells us."""


def on_numpy(f: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
    try:
        with np.errstate(all="raise", under="ignore"):
            results = [np.array(x) for x in f(*[np.array(x)[()] for x in xs])]
    except Exception as error:
        raise NotAProgram from error
    if not all(x.dtype.kind in "fcbiu" and moderate(x) for x in results):
        raise NotAProgram
    return results


def case_of(program: Program) -> Case:
    """Run a program on NumPy arrays."""
    try:
        xs = arguments(program)
        f, held = build(program, python_names)
    except Exception as error:
        raise NotAProgram from error
    before = [x.copy() for x in held]
    expected = on_numpy(f, xs)
    used = repr(program)
    tolerance = 1e-9
    if any(t in used for t in ("'f4'", "'c8'", "float32", "complex64")):
        tolerance = 2e-3
    if any(t in used for t in ("'f2'", "float16")):
        tolerance = 0.1
    return Case(
        program,
        xs,
        expected,
        held,
        all(map(np.array_equal, before, held)),
        [i for i, x in enumerate(xs) if np.asarray(x).dtype.kind in "fc"],
        [i for i, x in enumerate(expected) if x.dtype.kind in "fc"],
        tolerance,
    )


def compare(
    kind: str, found: Sequence[Any], expected: Sequence[Any], tolerance: float, types: bool = True
) -> None:
    """Raise `Wrong` if two lists of arrays differ; a tolerance of 0 means bit for bit."""
    if len(found) != len(expected):
        raise Wrong(f"{kind}: number of results", f"{len(found)} and not {len(expected)}")
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape:
            raise Wrong(f"{kind}: shape", f"result {i} is {x.shape} and not {y.shape}")
        if types and x.dtype != y.dtype:
            raise Wrong(f"{kind}: dtype", f"result {i} is {x.dtype} and not {y.dtype}")
        if tolerance == 0 or y.dtype.kind in "biu":
            good = np.array_equal(x, y, equal_nan=y.dtype.kind in "fc")
        else:
            least = (
                1e-2 if tolerance < 0.1 else 0.1
            )  # of half precision, more is left where all cancels
            scale = float(np.max(np.abs(y), initial=least))
            good = np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if not good:
            raise Wrong(kind, f"result {i} is\n{x}\nand not\n{y}")


def same_types(kind: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Compare shapes and dtypes."""
    zeros = [[np.zeros_like(x) for x in xs] for xs in (found, expected)]
    compare(kind, zeros[0], zeros[1], 0)


class Runner:
    """Runs a program under transforms, each time with arrays to close over that are made anew."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.names = fungrad_names | {"np": np} if case.program.plain else fungrad_names
        self.rng = case.rng()
        self.tangents = case.directions(case.ys, self.rng)
        self.cts = case.directions([case.expected[i] for i in case.varying], self.rng)

    def f(self) -> Callable[..., Any]:
        """Return the function of all arguments."""
        f, self.made = build(self.case.program, self.names)
        return f

    def g(self) -> Callable[..., Any]:
        """Return the function of what can be differentiated by."""
        f = self.f()

        def g(*ys: Any) -> Any:
            results = f(*self.case.at(ys))
            return [results[i] for i in self.case.varying]

        return g

    def closed_over(self, kind: str) -> None:
        compare(f"{kind}: arrays closed over", self.made, self.case.held, 0)

    def expected(self) -> list[Any]:
        return [self.case.expected[i] for i in self.case.varying]

    # The ways

    def eager(self) -> None:
        with np.errstate(all="raise", under="ignore"):
            found = self.f()(*self.case.xs)
        compare("eager", found, self.case.expected, 0 if self.exact() else self.case.tolerance)
        self.closed_over("eager")

    def exact(self) -> bool:
        """Whether a compiled program should give the same bits."""
        program = self.case.program
        return not program.has("rounding") and not any(map(DIFFERENT.search, program.lines))

    def jit(self) -> None:
        f = fg.jit(self.f())
        with np.errstate(all="raise", under="ignore"):
            found = f(*self.case.xs)
        compare("jit", found, self.case.expected, self.case.tolerance)
        self.closed_over("jit")
        if self.exact():
            compare("jit, bit for bit", found, self.case.expected, 0)
        compare("jit, second call", f(*self.case.xs), found, 0)

    def vjp(self) -> None:
        case = self.case
        value, pull = fg.vjp(self.g(), *case.ys)
        self.closed_over("vjp")
        compare("vjp: value", value, self.expected(), case.tolerance)
        self.pulled = pull(self.cts)
        same_types("vjp: cotangents", self.pulled, case.ys)

    def jvp(self) -> None:
        case = self.case
        value, self.pushed = fg.jvp(self.g(), tuple(case.ys), tuple(self.tangents))
        self.closed_over("jvp")
        compare("jvp: value", value, self.expected(), case.tolerance)
        same_types("jvp: tangents", self.pushed, self.expected())
        if not all(np.all(np.isfinite(t)) for t in self.pushed):
            raise NoDerivative  # as that of a square root at 0, which JAX has infinite or NaN, too

    def forward_and_reverse(self) -> None:
        self.agree("forward and reverse mode differ", self.pushed)

    def agree(self, kind: str, pushed: Sequence[Any]) -> None:
        """Check that tangents and cotangents have the same inner products."""
        terms = [np.real(c * t) for c, t in zip(self.cts, pushed, strict=True)]
        others = [np.real(c * t) for c, t in zip(self.pulled, self.tangents, strict=True)]
        a, b = (sum(float(np.sum(x, dtype=float)) for x in xs) for xs in (terms, others))
        scale = sum(float(np.sum(np.abs(x), dtype=float)) for x in [*terms, *others])
        scale += 1e-3 if self.case.tolerance < 1e-6 else 1.0  # of cancelled sums noise is left
        tolerance = self.case.tolerance if pushed is self.pushed else 1e-5
        if not abs(a - b) <= tolerance * scale:
            raise Wrong(kind, f"{a} and {b}")

    pushed: Sequence[Any] = ()

    def slopes(self, f: Callable[[list[Any]], list[Any]], here: list[Any]) -> list[Any] | None:
        """Return derivatives by differences, or None if `f` is not smooth."""
        case = self.case

        def moved(step: float) -> list[Any]:
            return [np.asarray(y + step * t)[()] for y, t in zip(case.ys, self.tangents)]

        try:
            there = [f(moved(s * STEP)) for s in (1, -1, 0.5, -0.5)]
        except NotAProgram:
            return None
        found = []
        for rows in zip(here, *there, strict=True):
            rows = [np.asarray(x) for x in rows]
            if len({x.shape for x in rows}) > 1:
                return None
            x, a, b, c, d = rows
            first, second = (a - b) / (2 * STEP), (c - d) / STEP
            one_sided = [(a - x) / STEP, (x - b) / STEP]
            scale = np.max(np.abs(second), initial=1.0)
            if np.any(np.abs(first - second) > 1e-5 * scale):
                return None
            if np.any(np.abs(one_sided[0] - one_sided[1]) > 1e-2 * scale):
                return None
            found.append(second)
        return found

    def differences(self) -> None:
        case = self.case
        if case.tolerance > 1e-9 or case.program.has("derivative"):
            return

        def f(ys: list[Any]) -> list[Any]:
            results = case.run(case.at(ys))
            return [results[i] for i in case.varying]

        slopes = self.slopes(f, self.expected())
        if slopes is None:
            return
        if case.program.has("reverse"):
            self.agree("differences", slopes)
        else:
            compare("differences", self.pushed, slopes, 2e-5, types=False)
            self.smooth = True

    smooth = False

    def second(self) -> None:
        """Second derivatives: forward over reverse against differences."""
        if not self.smooth or not self.case.pure:
            return
        pull = lambda *ys: fg.vjp(self.g(), *ys)[1](self.cts)
        found = fg.jvp(pull, tuple(self.case.ys), tuple(self.tangents))[1]
        if not all(np.all(np.abs(x) < 1e6) for x in found):
            return
        slopes = self.slopes(lambda ys: list(pull(*ys)), list(self.pulled))
        if slopes is not None:
            compare("second derivatives", found, slopes, 2e-4, types=False)
        again = fg.vjp(pull, *self.case.ys)[1](tuple(self.tangents))  # Hessians are symmetric
        if not all(np.all(np.isfinite(x)) for x in again):
            return
        if all(np.asarray(y).dtype.kind == "f" for y in self.case.ys):
            compare("reverse over reverse", again, found, 1e-7)

    def jit_of_vjp(self) -> None:
        g = self.g()
        found = fg.jit(lambda *ys: fg.vjp(g, *ys)[1](self.cts))(*self.case.ys)
        compare("jit of vjp", found, self.pulled, self.case.tolerance)

    def jit_of_jvp(self) -> None:
        g = self.g()
        found = fg.jit(lambda ys, ts: fg.jvp(g, ys, ts)[1])(
            tuple(self.case.ys), tuple(self.tangents)
        )
        compare("jit of jvp", found, self.pushed, self.case.tolerance)

    def vjp_of_jit(self) -> None:
        found = fg.vjp(fg.jit(self.g()), *self.case.ys)[1](self.cts)
        compare("vjp of jit", found, self.pulled, self.case.tolerance)

    def linearize(self) -> None:
        value, push = fg.linearize(self.g(), *self.case.ys)
        compare("linearize: value", value, self.expected(), self.case.tolerance)
        compare("linearize", push(*self.tangents), self.pushed, self.case.tolerance)

    def lanes(self) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return arguments for each lane, and what NumPy gives for them."""
        case = self.case
        lanes = [case.xs]
        while len(lanes) < (LANES if case.pure else 1):
            moved = [
                np.asarray(y * (1 + 0.02 * len(lanes)), np.asarray(y).dtype)[()] for y in case.ys
            ]
            lanes.append(case.at(moved))
        results = [case.run(xs) for xs in lanes]
        if len({tuple(x.shape for x in row) for row in results}) > 1:
            raise NotAProgram
        return lanes, results

    def vmap(self) -> None:
        lanes, results = self.lanes()
        f = self.f()
        axes, batched = [], []
        for i, column in enumerate(zip(*lanes)):
            if self.rng.random() < (0.2 if i in self.case.moving else 0.6):
                axes.append(None)
                batched.append(column[0])
                results = [self.case.run(xs) for xs in self._unmoved(lanes, i)]
            else:
                axis = int(self.rng.integers(np.ndim(column[0]) + 1))
                axes.append(axis)
                batched.append(np.stack(column, axis))
        if all(axis is None for axis in axes):
            return
        found = fg.vmap(f, in_axes=tuple(axes))(*batched)
        self.closed_over("vmap")
        compare("vmap", found, [np.stack(x) for x in zip(*results)], self.case.tolerance)

    def _unmoved(self, lanes: list[list[Any]], i: int) -> list[list[Any]]:
        for xs in lanes:
            xs[i] = lanes[0][i]
        return lanes

    def vmap_of_jvp(self) -> None:
        g = self.g()
        ys = [np.stack([y] * 2) for y in self.case.ys]
        ts = [np.stack([t, -2 * t]) for t in self.tangents]
        found = fg.vmap(lambda ys, ts: fg.jvp(g, tuple(ys), tuple(ts))[1])(ys, ts)
        expected = [np.stack([t, -2 * t]) for t in self.pushed]
        if self.case.pure:
            compare("vmap of jvp", found, expected, self.case.tolerance)

    def vmap_of_vjp(self) -> None:
        g = self.g()
        ys = [np.stack([y] * 2) for y in self.case.ys]
        cts = [np.stack([c, -2 * c]) for c in self.cts]
        found = fg.vmap(lambda ys, cts: fg.vjp(g, *ys)[1](cts))(ys, cts)
        expected = [np.stack([c, -2 * c]) for c in self.pulled]
        if self.case.pure:
            compare("vmap of vjp", found, expected, self.case.tolerance)

    def vjp_of_vmap(self) -> None:
        g = self.g()
        ys = [np.stack([y] * 2) for y in self.case.ys]
        cts = [np.stack([c, -2 * c]) for c in self.cts]
        found = fg.vjp(fg.vmap(g), *ys)[1](cts)
        expected = [np.stack([c, -2 * c]) for c in self.pulled]
        if self.case.pure:
            compare("vjp of vmap", found, expected, self.case.tolerance)

    def checkpoint(self) -> None:
        found = fg.vjp(fg.checkpoint(self.g()), *self.case.ys)[1](self.cts)
        compare("vjp of checkpoint", found, self.pulled, self.case.tolerance)


WAYS = [
    "jit",
    "jit",
    "jit_of_vjp",
    "jit_of_jvp",
    "vjp_of_jit",
    "linearize",
    "vmap",
    "vmap",
    "vmap_of_jvp",
    "vmap_of_vjp",
    "vjp_of_vmap",
    "second",
    "checkpoint",
]
ALWAYS = ["eager", "vjp", "jvp", "forward_and_reverse", "differences"]
WITHOUT_VALUES = {way for way in WAYS if "jit" in way or "vmap" in way} | {"checkpoint"}
FORWARD = {way for way in [*WAYS, *ALWAYS] if "jvp" in way or way in ("linearize", "second")}
REVERSE = {way for way in [*WAYS, *ALWAYS] if "vjp" in way or way in ("checkpoint", "second")}
WITHOUT_DERIVATIVES = {"eager", "jit", "vmap"}


def check(program: Program) -> Mismatch | None:
    """Return in what fungrad differs from NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            case = case_of(program)
        except NotAProgram:
            return None
        with np.errstate(all="ignore"):
            found = _check(case)
        return None if found is not None and hangs_on_signs(program) else found


def of_plain_arguments(runner: Runner) -> bool:
    """Whether arrays of NumPy are made of integer arguments alone, which derivatives leave as they are: jit traces all."""
    case = runner.case
    if len(case.moving) == len(case.xs):
        return False
    try:
        fg.jit(runner.f())(*case.xs)
    except Exception:
        return False
    return True


EMPTY = re.compile(r"\(0,")


def hangs_on_signs(program: Program) -> bool:
    """Whether NumPy's own results depend on the signs of zeros that sums of products come to: each kernel has its own.

    Sums of nothing have none.
    """
    shapes = [line.split(",", 1)[-1] for line in (*program.arguments, *program.captured)]
    if not program.has("rounding") or any(map(EMPTY.search, shapes)):
        return False
    try:
        a, b = (case_of(with_zeros(program, zero)).expected for zero in ("0.0", "-0.0"))
        compare("zeros", a, b, 1e-9)
    except (NotAProgram, Wrong) as error:
        return isinstance(error, Wrong)
    return False


def _check(case: Case) -> Mismatch | None:
    program = case.program
    given = [np.array(x) for x in case.xs]
    ways = [*ALWAYS, *program.ways]
    if not case.moving or not case.varying:
        ways = [way for way in ways if way in WITHOUT_DERIVATIVES]
    no = (FORWARD if program.has("reverse") else set()) | (
        REVERSE if program.has("forward") else set()
    )
    if no:
        ways = [way for way in ways if way not in no and way != "forward_and_reverse"]
    if not {"vjp", "jvp"} & set(ways):
        ways = [way for way in ways if way in WITHOUT_DERIVATIVES]
    runner = Runner(case)
    for way in ways:
        try:
            getattr(runner, way)()
        except Wrong as wrong:
            return wrong.mismatch
        except NotAProgram:
            continue
        except NoDerivative:
            return None
        except fg.ConcretizationError as error:
            # NumPy's own array cannot ask us; a mask without values serves some statements only.
            ours = not any(x in str(error) for x in NUMPYS)
            if ours and not (way in WITHOUT_VALUES and program.has("value")):
                return Mismatch(f"{way} asks for values", traceback.format_exc())
            if way in ALWAYS:
                return None
        except fg.LostDerivativeError:
            arrays = program.captured or any("numpy." in x for x in program.lines)
            known = arrays or "NumPy does not let" in traceback.format_exc()
            known = known or of_plain_arguments(runner)
            if not program.plain and not known:  # else the error says what to change
                return Mismatch(f"{way} makes a NumPy array", traceback.format_exc())
            return None
        except np.linalg.LinAlgError:  # a derivative may need to solve where a value does not
            if way in WITHOUT_DERIVATIVES:
                return Mismatch(f"{way} raises LinAlgError", traceback.format_exc())
            return None
        except (
            TypeError
        ) as error:  # a masked selection given to what takes arrays, or a view that may be a copy
            if "depends on how NumPy lays it out" in str(error):
                return None
            refused = "nonzero(mask, size=n)" in str(error)
            refused = refused and way in WITHOUT_VALUES and program.has("value")
            if not refused and "float16 is unsupported in linalg" not in str(error):
                return Mismatch(f"{way} raises TypeError", traceback.format_exc())
            if way in ALWAYS:
                return None
        except ValueError as error:  # NumPy's own array, whose `flat` hides why it takes no tracer
            if "Error setting single item" not in str(error) or not program.captured:
                return Mismatch(f"{way} raises ValueError", traceback.format_exc())
            return None
        except Exception as error:
            return Mismatch(f"{way} raises {type(error).__name__}", traceback.format_exc())
        if current_trace.get() is not None:
            return Mismatch(f"{way}: a trace is left open", "", fatal=True)
        for x, y in zip(case.xs, given, strict=True):
            if not np.array_equal(x, y):
                return Mismatch(f"{way}: an argument is changed", f"{x}\nand not\n{y}")
    return None

"""Random programs for kernels and routines, of arrays of all sizes and dtypes that lie in memory in all ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

import fungrad.scipy.special
from tests.compile.random_kernels import LAYOUTS
from tests.fuzz import programs
from tests.fuzz.language import Program, Template, Writer, draw, is_data
from tests.fuzz.pure_python import fungrad_names, python_names

MODES = ["usual"] * 8 + ["ignore", "raise", "warn of all"]
WAYS = ["plain"] * 12 + ["value and grad"] * 3 + ["vjp"] * 2 + ["jvp", "jvp", "vmap", "vmap"]
WAYS += ["vmap of grad", "jvp of grad"]


class Call(NamedTuple):
    """The arguments of one call, and what is done about floating-point errors."""

    arguments: tuple[str, ...]
    mode: str = "usual"


class Native(NamedTuple):
    """A program that is compiled, and calls of it."""

    program: Program
    way: str
    """The transform that it is under; one of `WAYS`."""
    calls: tuple[Call, ...]
    threads: int
    cut: bool
    """Whether small kernels, too, are cut into parts for threads."""


# Arguments

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 7.5, 1e10, -1e10, 1e-10]


def laid(
    seed: int, shape: tuple[int, ...], dtype: str, layout: str = "C", values: str = "tame"
) -> Any:
    """Return an array that lies in memory in some way: moderate numbers, or some that are not."""
    if layout == "broadcast" and shape:
        axis = seed % len(shape)
        one = (*shape[:axis], min(shape[axis], 1), *shape[axis + 1 :])
        return np.broadcast_to(laid(seed, one, dtype, "C", values), shape)
    x = np.asarray(draw(seed, shape, dtype))
    rng = np.random.default_rng((seed, 1))
    if values == "special":
        x = np.where(_some(rng, shape), _specials(rng, x), x)
    elif values == "zeros":
        x = np.where(rng.random(shape) < 0.3, np.zeros_like(x), x)
    if not shape:
        return x[()] if layout != "0-d" else np.array(x)
    if layout == "odd bytes" or (layout == "misaligned" and not x.size):
        layout = "misaligned" if x.size else "C"
    return LAYOUTS[layout](x)


def _some(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return which elements are special: some, or a single one, which few of the parts of a kernel meet."""
    share = rng.choice([0.0, 0.02, 0.3])
    found = np.asarray(rng.random(shape) < share)
    if not share and found.size:
        found.reshape(-1)[rng.integers(found.size)] = True
    return found


def _specials(rng: np.random.Generator, x: Any) -> Any:
    if x.dtype.kind == "b":
        return ~x
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        numbers = [limits.min, limits.max, 0, limits.max // 2, 100, max(-4, limits.min)]
        return np.array(numbers, x.dtype)[rng.integers(len(numbers), size=x.shape)]
    of = np.finfo(x.dtype)
    numbers = np.array([*SPECIAL, of.tiny, of.smallest_subnormal, -of.smallest_subnormal])
    with np.errstate(over="ignore"):
        return numbers.astype(x.dtype)[rng.integers(len(numbers), size=x.shape)]


ALL_LAYOUTS = [*LAYOUTS, "broadcast"]
NAMES: dict[str, Any] = {**python_names, "laid": laid, "sp": scipy.special}
TRACED: dict[str, Any] = {**fungrad_names, "laid": laid, "sp": fungrad.scipy.special}

# Statements

ONE = """
np.sin({r}); np.cos({r}); np.tan({r} * 0.7); np.exp({r} * 0.5); np.log(np.abs({r}) + 0.3); np.tanh({r}); np.sqrt(np.abs({r}))
np.log({r} * {r} + 0.1); np.square({a}); np.abs({a}); -{f}; 1 / ({f} + 3); np.arctan({r}); np.expm1({r} * 0.5); np.log1p(np.abs({r}))
np.sinh({r} * 0.3); np.cosh({r} * 0.3); np.cbrt({r}); np.exp2({r} * 0.4); np.log2(np.abs({r}) + 1); np.log10(np.abs({r}) + 1)
np.sign({r}); np.floor({r} * 3); np.ceil({r}); np.rint({r} * 2); np.trunc({r} * 2); np.isfinite({f}); np.isnan({r}); np.signbit({r})
np.arcsin({r} * 0.1); np.arccos({r} * 0.1); np.arctanh({r} * 0.1); np.arccosh(np.abs({r}) + 1.5); np.arcsinh({r}); sp.erf({r})
sp.expit({r}); sp.erfc({r}); {a} * {a}; {f} ** 3; {r} ** -2; np.sqrt({r} * {r} + 0.5); {a} + 1; 2 * {a} - 1; {s} - {f}; {a} * {s}
np.clip({r}, -0.5, 0.8); np.where({r} > 0, {r}, 0); np.logical_not({a}); ~{n}; ~{p}; abs({n}); {a} + np.arange({a}.shape[-1])
np.reciprocal({r}); np.deg2rad({f}); np.positive({a}); np.isinf({f}); np.nan_to_num({r}); np.sinc({r}); np.log({r} ** 2 + 1) * {r}
np.where({p}, 1.5, -2.0); np.sqrt({r} + 1.4); np.log({r} + 1.5); np.real({f}); np.arange(len({a})) % 3
""".replace("\n", ";")
TWO = """
{a} + {b}; {a} - {f}; {a} * {b}; {f} / {f2}; {f} / ({f2} * {f2} + 1); np.maximum({r}, {r2}); np.minimum({r}, {r2}); {a} + {b} * {s}
np.where({p}, {a}, {b}); np.where({r} > {r2}, {r}, {r2} * 2); np.copysign({r}, {r2}); np.hypot({r}, {r2}); np.arctan2({r}, {r2})
np.logaddexp({r}, {r2}); np.power(np.abs({r}) + 0.5, {r2}); {r} < {r2}; {a} == {b}; {a} != {b}; {r} >= {r2}; np.logical_and({a}, {b})
{r} % 0.9; {r} // 0.8; np.fmod({r}, 0.7); np.mod({r}, {r2}); np.fmax({r}, {r2}); np.fmin({r}, {r2}); np.ldexp({r}, {n}); {r} * {r2} + {r3}
{r} * {r2} - {r} / (1.5 + {r2} * {r2}); ({r} > {r2}) * {a}; {a} * {p}; ({r} - {r2}) ** 2; np.abs({r} - {r2}); {r} * np.exp(-{r2} * {r2})
sp.xlogy(np.abs({r}), np.abs({r2})); np.heaviside({r}, {r2}); np.clip({r}, {r2}, 1.0); np.float32({s}) * {a}; np.logical_xor({p}, {p2})
np.select([{r} > 0.5, {r} < -0.5], [{r}, -{r2}], 0.1); np.add({a}, {b}); np.multiply({a}, {f}); {f} - {a}; {f} * {f2} - {f}
""".replace("\n", ";")
INTEGERS = """
{n} + {n2}; {n} - {n2}; {n} * {n2}; {n} & {n2}; {n} | {n2}; {n} ^ {n2}; {n} << 2; {n} >> 1; {n} // 2; {n} % 3; {n} // ({n2} | 1); {n} % 5
np.maximum({n}, {n2}); np.minimum({n}, {n2}); 100 // ({n} + 4); 7 % ({n} * {n} + 1); {n} ** 2; {n} / 4; {n} * 0.25; np.abs({n}); -{n}
np.where({n} == 0, 1, {n}); {n} * {a}; {p} & {p2}; {p} | {p2}; {p} ^ {p2}; {n} > {n2}; {n} == 1; np.where({p}, {n}, {n2}); {n} >> {n2}
np.bitwise_count({n}); {n} * {p}; np.sign({n}); np.gcd({n}, {n2}); np.invert({n}); np.left_shift({n}, {n2} & 3); {n} + np.int8(3)
""".replace("\n", ";")
CASTS = """
{a}.astype(np.float32); {a}.astype(float); {a}.astype(np.int32); {a}.astype(np.int8); {r}.astype(int); {a}.astype(bool)
({r} * 3).astype(np.int16); {n}.astype(np.uint8); {p}.astype(float); {n}.astype(np.float32); {a}.astype(np.float16); {p}.astype(np.int64)
{a}.astype(complex); {n}.astype(np.uint64); ({r} * 20).astype(np.uint8)
""".replace("\n", ";")
REDUCTIONS = """
np.sum({a}, axis={ax}); np.mean({a}, axis={ax}); np.max({r}, axis={ax}); np.min({r}, axis={ax}); np.prod({r} * 0.9, axis={ax})
np.any({p}, axis={ax}); np.all({a}, axis={ax}); np.std({f}, axis={ax}); np.var({r}, axis={ax}, keepdims=True); np.sum({a} * {b})
{a} - np.mean({a}, axis={axis}, keepdims=True); {r} - np.max({r}, axis={axis}, keepdims=True); np.sum({n}, axis={ax}); np.max({n}, axis={ax})
np.exp({r}) / np.sum(np.exp({r}), axis={axis}, keepdims=True); np.log(np.sum(np.exp({r}), axis={axis})); np.argmax({r}, axis={ax})
np.sum({r} * {r}, axis={axis}); {r} / np.sqrt(np.sum({r} * {r}, axis={axis}, keepdims=True) + 1); np.count_nonzero({a}, axis={ax})
np.sum({a}, axis=tuple(range({a}.ndim)), keepdims=True); np.linalg.norm({f}); np.ptp({r}, axis={ax}); np.prod({n} % 3, axis={ax})
np.mean({r} > 0, axis={ax}); np.cumsum({a}, axis={axis}); np.sum(np.where({r} > 0, {r}, 0), axis={ax}); {r} * np.sum({r2}); np.min({n}, axis={ax})
np.sum(({r} - {r2}) ** 2, axis={ax}); np.mean({r} * {r2}); np.sum({p}, axis={ax}); np.max({r}) - np.min({r}); np.dot({f}.ravel(), {f}.ravel())
""".replace("\n", ";")
MOVES = """
np.reshape({a}, -1); {a}.T; {a}[::-1]; {a}[..., ::-1]; {a}[..., ::2]; {a}[1:]; {a}[..., {i}]; {a}[{i}]; {a}[None]; {a}[..., None]; {a}[:, {i}]
np.roll({a}, {i}); np.concatenate([{a}, {a}], axis={axis}); np.stack([{a}, {b}], axis={axis}); np.broadcast_to({a}, (2, *np.shape({a})))
np.concatenate([{a}, {b}]); np.tile({a}, 2); np.pad({a}, 1); np.tril({m}); np.triu({m}, 1); np.swapaxes({a}, 0, -1); np.flip({a}, axis={axis})
{a}[1:] - {a}[:-1]; {f}[..., 1:] * {f}[..., :-1]; np.repeat({a}, 2, axis={axis}); np.diagonal({m}); np.transpose({a}); {a}.reshape({a}.shape[::-1])
np.roll({a}, 1, axis={axis}) + {a}; np.array_split({a}, 2)[{k}]; np.moveaxis({a}, -1, 0) * {s}; {a}[:3]; {a}[-2:]; {a}.ravel()[:9]; {a}[::-2]
""".replace("\n", ";")
INDEXING = """
{a}[{n}]; {a}[{n} % 2]; np.take({a}, [0, -1], axis={axis}); {a}[[0, -1]]; {a}[..., [0, 0]]; set_at({a}, {i}, {s}); add_at({f}, [0, 0, -1], {s})
set_at({a}, [0], {b}); add_at({f}, {n}, {s}); set_at({f}, {n}, {s}); {a}[{n}.sum() % len({a})]; {a}[np.argmax({r})]; {a}[np.arange(2), 0]
np.take_along_axis({r}, np.argsort({r}, axis=-1), axis=-1); np.where({r} > 0, {r}, {a}[..., :1]); {a}[{n}, {n}]; np.sort({r}, axis={axis})
add_at({f}, {i}, {f}[0] * 0.5); set_at({f}, {n}, {f}[{n}] * 2); np.take({a}, {n})
""".replace("\n", ";")
LINEAR = """
{f} @ {f2}; {m} @ {m2}; {m}.T @ {m}; {m} @ {m}.T; np.dot({a}, {b}); np.outer({f}, {f2}); np.einsum('ij,jk->ik', {m}, {m2}); np.inner({f}, {f2})
np.einsum('...i,...i->...', {f}, {f2}); np.linalg.solve({m} + 3 * np.eye(len({m})), {f}); np.linalg.inv({m} + 3 * np.eye(len({m})))
np.linalg.det({m} + 3 * np.eye(len({m}))); np.linalg.cholesky({m} @ {m}.T + np.eye(len({m}))); np.trace({m}); np.tensordot({f}, {f2}, 1)
np.linalg.slogdet({m} + 3 * np.eye(len({m})))[1]; {n} @ {n2}; np.vdot({f}, {f2}); np.linalg.solve({m}, {f})
""".replace("\n", ";")


def _statements(table: str) -> list[Template]:
    return [f"{{v}} = {line.strip()}" for line in table.split(";") if line.strip()]


ONES, TWOS, REDUCED, MOVED = map(_statements, (ONE, TWO, REDUCTIONS, MOVES))
OTHERS = [_statements(t) for t in (INTEGERS, CASTS, INDEXING)]
SMALL = [
    _statements(LINEAR),
    [t for t in programs.CONTROL if t not in (programs.by_if, programs.by_while)],
]
DTYPES = (
    ["f8"] * 7
    + ["f4"] * 5
    + ["i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "b1", "f2", "c16", "c8"]
)


class NativeWriter(Writer):
    """Writes programs of arrays that can be large."""

    most = 1 << 10

    def pick(self, fits: Callable[[Any], bool] = lambda x: True, large: bool = False) -> str:
        """Return the name of an array, rather one of the last."""
        names = [k for k, v in self.arrays.items() if fits(v)]
        if not names:
            raise LookupError
        n = len(names)
        return names[max(self.rng.randrange(n), self.rng.randrange(n))]

    def add(self, line: str) -> bool:
        """Add a statement if it can be run, and gives no array that is too large."""
        if not super().add(line):
            return False
        name = line.split(" = ")[0]
        made = self.scope.get(name)
        if made is not None and np.size(made) > self.most:
            self.lines.pop()
            self.replay()
            return False
        return True


def _lengths(rng: random.Random, size: str) -> tuple[int, int, int]:
    """Return three lengths, of which shapes are made."""
    if size == "tiny":
        return rng.randrange(1, 4), rng.randrange(1, 5), rng.randrange(1, 6)
    if size == "small":
        return rng.randrange(1, 4), rng.randrange(1, 13), rng.randrange(1, 70)
    if size == "empty":
        lengths = [rng.randrange(1, 4), rng.randrange(1, 5), rng.randrange(1, 6)]
        lengths[rng.randrange(3)] = 0
        return lengths[0], lengths[1], lengths[2]
    total = rng.randrange(9000, 40_000) if size == "medium" else rng.randrange(100_000, 300_000)
    last = rng.choice([total, rng.randrange(2, 400), rng.randrange(400, 9000), 3, 4])
    return 1, max(total // last, 1), last


def generate(seed: int) -> Native:
    """Return the program of a seed, and calls of it."""
    rng = random.Random(f"native {seed}")
    size = rng.choices(["tiny", "small", "medium", "large", "empty"], [22, 40, 22, 8, 8])[0]
    k, n, m = _lengths(rng, size)
    shapes = [(m,), (n, m), (n, m), (n, m), (n, 1), (1, m), (k, n, m), ()]
    shapes += [(m, n), (n,), (3,), (m, m), (n, n)] if size in ("tiny", "small") else []
    w = NativeWriter(seed, NAMES)
    w.rng = rng
    w.most = {"medium": 50_000, "large": 350_000}.get(size, 5000)
    count = rng.randrange(1, 5)
    kinds = [
        (rng.choice(shapes) if i else (n, m), rng.choice(DTYPES if i else DTYPES[:12]))
        for i in range(count)
    ]
    arguments = [_argument(f"x{i}", seed + i, *kind) for i, kind in enumerate(kinds)]
    captured = (
        [f"c0 = draw({seed % 1000}, {rng.choice(shapes)}, 'f8')"] if rng.random() < 0.2 else []
    )
    w.begin(arguments, captured)
    tables = [ONES] * 3 + [TWOS] * 5 + [REDUCED] * 3 + [MOVED] + OTHERS
    if size in ("tiny", "small"):
        tables += SMALL * rng.choice([0, 1, 3]) + [MOVED] * rng.randrange(3)
    for _ in range(rng.randrange(2, 6 if size == "large" else 9)):
        w.try_(rng.choice(tables))
    made = [name for name in w.arrays if name[0] == "v" and is_data(w.arrays[name])]
    results = made[-1:] + [name for name in made[:-1] if rng.random() < 0.35]
    program = Program(tuple(arguments), tuple(captured), tuple(w.lines), tuple(results or ["x0"]))
    way = rng.choice(WAYS)
    if program.has("forward") and "grad" in way + "vjp":
        way = rng.choice(["plain", "jvp", "vmap"])
    calls = [_call(rng, seed + 10 * j, kinds, j) for j in range(rng.randrange(2, 4))]
    return Native(program, way, tuple(calls), rng.choice([1, 2, 2, 3]), rng.random() < 0.7)


def _argument(name: str, seed: int, shape: tuple[int, ...], dtype: str, *more: str) -> str:
    rest = "".join(f", {x!r}" for x in more)
    return f"{name} = laid({seed % 10_000}, {shape}, {dtype!r}{rest})"


def _call(rng: random.Random, seed: int, kinds: list[Any], number: int) -> Call:
    arguments = []
    hard = number > 0 and rng.random() < 0.6
    for i, (shape, dtype) in enumerate(kinds):
        layout = rng.choice(["C", *ALL_LAYOUTS]) if shape else rng.choice(["C", "0-d"])
        values = rng.choice(["special", "zeros", "tame"]) if hard else "tame"
        arguments.append(_argument(f"x{i}", seed + i, shape, dtype, layout, values))
    return Call(tuple(arguments), rng.choice(MODES))

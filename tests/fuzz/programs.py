"""Programs that compute new arrays from arrays, with control flow; against NumPy and differences."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.language import Program, Template, Writer, is_data
from tests.fuzz.language import readable as readable
from tests.fuzz.language import smaller as smaller
from tests.fuzz.oracle import WAYS
from tests.fuzz.oracle import check as check
from tests.fuzz.pure_python import python_names

SHAPES = ["()", "()", "(3,)", "(3,)", "(4,)", "(2, 3)", "(3, 3)", "(1, 3)", "(2, 1)", "(2, 2, 3)"]
SHAPES += ["(0,)", "(0, 3)", "(1,)"]
DTYPES = ["f8"] * 8 + ["c16", "c16", "f4", "i8", "i4", "b1", "u1", "f2", "c8"]

UNARY = """
sin({a}); cos({a}); tanh({a}); exp({f} * 0.3); sqrt(np.abs({r}) + 0.5); log({r} * {r} + 1); square({a})
abs({a}); arctan({r}); expm1({r} * 0.5); log1p(np.abs({r})); sinh({r} * 0.3); negative({f}); conj({a}); real({a})
imag({a}); sign({r}); floor({r}); rint({r}); reciprocal({f} + 3); sinc({r}); i0({r}); deg2rad({r}); cbrt({r} * 0.4 + 1)
arcsinh({r}); exp2({r} * 0.4); isfinite({f}); logical_not({a}); invert({n}); positive({f}); nan_to_num({r})
angle({a}); log2(np.abs({r}) + 1); arccos({r} * 0.1); trunc({r}); spacing({r}) * 0; unwrap({r}); signbit({r})
""".replace("\n", ";")
BINARY = """
add({a}, {b}); subtract({f}, {b}); multiply({a}, {b}); maximum({r}, {r2}); minimum({r}, {r2}); arctan2({r}, {r2})
hypot({r}, {r2}); logaddexp({r}, {r2}); copysign({r}, {r2}); heaviside({r}, 0.5); fmod({r}, 0.7); mod({r}, 1.3)
power(np.abs({r}) + 0.5, {r2}); floor_divide({r}, 0.9); greater({r}, {r2}); equal({a}, {b}); logical_and({a}, {b})
fmax({r}, {r2}); ldexp({r}, {n}); bitwise_xor({n}, {n2}); left_shift({n}, 1); float_power(np.abs({r}) + 1, {s})
outer({a}, {b}); kron({a}, {b}); logaddexp2({r}, {r2}); float_power(np.abs({r}) + 1, {r2})
gcd({n}, {n2}); divide({f}, {f2} * np.conj({f2}) + 1); convolve({a}, {b}); correlate({a}, {b}); cross({a}, {b})
""".replace("\n", ";")
REDUCTIONS = """
sum({a}, axis={ax}); mean({a}, axis={ax}); max({r}, axis={ax}); min({r}, axis={ax}); prod({a}, axis={ax})
std({f}, axis={ax}); var({a}, axis={ax}); ptp({r}, axis={ax}); median({r}, axis={ax}); any({a}, axis={ax})
argmax({r}, axis={ax}); argmin({r}, axis={ax}); cumsum({a}, axis={ax}); cumprod({a}, axis={ax})
sum({a}, axis={ax}, keepdims=True); nansum({r}, axis={ax}); quantile({r}, 0.3, axis={ax}); trapezoid({r}, axis={axis})
average({a}, axis={ax}); diff({f}, axis={axis}); count_nonzero({a}, axis={ax}); all({a}, axis={ax})
max({r}, axis={ax}, initial=0.1); sum({a}, axis={ax}, where={b} != 0.5); gradient({r}, axis={axis})
sum({a}, dtype=np.float32); nanmax({r}, axis={ax}); std({f}, axis={ax}, ddof=1); ediff1d({r}); nanmean({r}, axis={ax})
""".replace("\n", ";")
SHAPES_OF = """
reshape({a}, -1); transpose({a}); swapaxes({a}, 0, -1); expand_dims({a}, {k}); squeeze({a}); roll({a}, {i})
broadcast_to({a}, (2, *np.shape({a}))); concatenate([{a}, {a}], axis={axis}); stack([{a}, {a}], axis={axis})
concatenate([{a}, {b}]); stack([{a}, {b}]); tile({a}, 2); repeat({a}, 2, axis={ax}); flip({a}); rot90({m})
pad({a}, 1); pad({a}, 1, mode='edge'); pad({a}, 1, mode='reflect'); tril({m}); triu({m}, 1); diag({a})
ravel({a}); moveaxis({a}, -1, 0); atleast_2d({a}); hstack([{a}, {b}]); vstack([{a}, {b}]); diagonal({m})
array_split({a}, 2)[{k}]; take({a}, [0, -1], axis={ax}); meshgrid({a}, {b})[{k}]; append({a}, {b}); trace({m})
delete({a}, 0, axis={axis}); insert({a}, 0, {s}, axis={axis}); resize({a}, (2, 2)); fliplr({m}); dstack([{a}, {b}])
column_stack([{a}, {b}]); block([[{a}, {b}]]); broadcast_arrays({a}, {b})[{k}]
fft.fftshift({a}); vander({r}, 3); full_like({a}, {s}); ones_like({a}) * {b}; copy({a}); rollaxis({a}, -1)
""".replace("\n", ";")
CHOOSING = """
where({a} > 0.1, {a}, {b}); where({p}, {a}, {b}); clip({r}, -0.8, 0.9); select([{r} > 0.5, {r} < -0.5], [{r}, -{r}], 0.1)
sort({r}, axis={axis}); argsort({r}, axis={axis}); searchsorted(np.sort({r}.ravel()), {r2})
take_along_axis({r}, np.argsort({r}, axis=-1), axis=-1); interp({r}, [-1.0, 0.0, 1.0], [0.2, 0.5, -0.3])
choose({n} % 2, [{a}, {b}]); digitize({r}, [-0.5, 0.5]); piecewise({r}, [{r} > 0], [lambda t: t * t, lambda t: -t])
isin({n}, [1, 2]); lexsort(({r}, {r})); interp(0.1, np.sort({r}.ravel()), {r}.ravel()); argpartition({r}, 0)[..., :1]
tril_indices(3)[{k}]; clip({r}, {r2}, 1.0); fmin({r}, {s}); polyval([1.0, 0.5, 0.2], {f}); polyval({f}.ravel()[:3], 0.3)
histogram({r}.ravel(), 3, (-2, 2))[0]; apply_along_axis(lambda t: t * t[0], 0, {r}); array([{a}.sum(), 1.0])
""".replace("\n", ";")
LINEAR = """
dot({a}, {b}); matmul({a}, {b}); vdot({a}, {b}); inner({a}, {b}); tensordot({a}, {b}, 1); einsum('...i,...i->...', {a}, {b})
einsum('ij,jk->ik', {m}, {m2}); einsum('ij->ji', {m}); einsum('i,j', {a}, {b}); einsum('ii', {m}); linalg.norm({f})
linalg.norm({f}, axis={axis}); linalg.det({m} + np.eye(3)); linalg.inv({m} + 3 * np.eye(3)); linalg.norm({f}, ord=1, axis=-1)
linalg.solve({m} + 3 * np.eye(3), {a}); linalg.slogdet({m} + 3 * np.eye(3))[1]; linalg.matrix_power({m}, 2)
linalg.cholesky({m} @ {m}.T + np.eye(3)); linalg.eigvalsh({m} + {m}.T); linalg.svd({m}, compute_uv=False)
linalg.qr({m} + 3 * np.eye(3))[1]; linalg.pinv({m} * 1.0); linalg.multi_dot([{m}, {m2}, {m}]); fft.fft({a}); fft.ifft({a}); fft.rfft({r})
fft.irfft({a}); fft.fft2({m}); linalg.lstsq({m} + 3 * np.eye(3), {a})[0]; linalg.eigh({m} + {m}.T)[0]; matvec({m}, {a})
""".replace("\n", ";")
OPERATORS = """
{a} + {b}; {a} * {b}; {a} - {f}; {f} / ({f2} * {f2} + 2); {a} ** 2; {a} ** 3; -{f}; {a} @ {b}; {r} % 0.9; {r} // 0.8
{a} * {s}; {s} - {f}; {a} / {s}; {f} ** -1; {a}[{i}]; {a}[{i}:]; {a}[::-1]; {a}[..., {i}]; {a}[None]; {a}[[0, -1]]
{a}[:, {i}]; {a}[..., None]; {a}[[[0], [1]]]; {a}[[0, 1], [1, 0]]; {a}[:, [1, 0]]; {a}[1:, ..., 0]; {a}[-1:]; {a}[()]
{a}[..., ::2]; {a}[np.array([True, False, True])]; {a}[[0], 1:]; {a}[np.newaxis, 0]; {a}[np.arange(2), ..., 0]
{a}.T; {a}.sum(); {a}.sum({axis}); {a}.mean(); {a}.reshape(-1); {a}.astype(np.float32); {a}.astype(complex); {a}.ravel()
{a}.astype(float); {a}.astype(int); {a}.real; {a}.imag; {a}.conj(); {a}.max(); {a}.copy(); {a}.flatten(); {a}.cumsum()
{a} > {s}; {a} == {b}; {p} | {p2}; ~{p}; {p} & {p2}; {n} & 1; {n} + {s}; {n} * {a}; {n} // 2; {n} % 3; {n} ** 2; abs({f})
{a}.take([0, -1]); {a}.clip(-1, 1); {a}.round(1); {a}.std(); {a}.prod(); {a}.argsort(); {a}.squeeze(); {a}.swapaxes(0, -1)
{a}[{n}]; {a}[{n} % 2]; {a}[np.argmax({r})]; {a}.flat[0]; np.float32({s}) * {a}; np.int8(2) * {a}; True * {a}; 1j * {a}
({r} > {r2}) * {a}; 2.0 ** {r}; divmod({r}, 0.9)[{k}]; {a}.dot({b}); {a}.ptp() if False else {a}; {a}[..., -1:] * {b}
set_at({a}, {i}, {s}); add_at({a}, {i}, {b}); add_at({f}, [0, 0, 1], {s}); set_at({a}, [0], {s}); {a}.astype(np.float16)
""".replace("\n", ";")
LARGE = """
{L}[:3] * {a}; {L}.sum() * {a}; {L}[{i}] * {a}; ({L} * {f}.sum()).mean(); np.where({L} > 0, {L}, {f}.ravel()[0])[:3]
{L}[:9].reshape(3, 3) @ {a}; ({L}[::500] + {f}.ravel()[0]).sum(); np.dot({L}, {L} * {f}.sum()) * 1e-3; {L}[10:13] + {a}
""".replace("\n", ";")
BY_VALUE = """
{a}[{a} > 0]; {a}[{p}]; np.nonzero({a})[0]; np.compress([True, False], {a}); np.extract({r} > 0, {r}); np.unique({r})
np.flatnonzero({r} > 0); np.argwhere({p}); {a}[np.nonzero({p})]; np.where({p})[0]; {a}[int({n}.sum()) % 2]; np.trim_zeros({r})
{a} * int({r}.sum() > 0); np.array([t * 2 for t in {r}.ravel() if t > 0]); np.repeat({a}, np.abs({n})); max({r}.ravel().tolist()) * 0
np.setdiff1d({r}, {r2}); np.bincount({n}.ravel()); {a}.reshape(len({a}), -1) if {a}.sum() > 0 else {a}.reshape(1, -1)
""".replace("\n", ";")


def _statements(table: str, prefix: str = "", mark: str = "") -> list[Template]:
    lines = [line.strip() for line in table.split(";")]
    return [f"{{v}} = {prefix}{line}{mark}" for line in lines if line]


# What may stand in the body of a loop or a branch, of arrays `t` and `c`.
BODIES = [
    "np.sin({t}) * {c}",
    "{c} * 0.5 + {t}",
    "np.tanh({c} + {t})",
    "np.where({t} > {c}, {c}, {t})",
    "{c} - 0.3 * {c} * {t}",
    "np.maximum({c}, {t}) * 0.9",
    "np.cumsum({c} * {t}, axis=-1) * 0.3",
    "np.roll({c}, 1) * {t}",
    "{c}[::-1] + {t}",
    "np.sort({c}) * 0.7 + {t}",
    "set_at({c}, 0, {c}[-1] * 0.5) * {t}",
    "np.real(np.exp(1j * {c})) * {t}",
    "{c} * {t}.sum() * 0.3",
    "{c} / (1.5 + {t} * {t})",
    "{c} * 1.0",
    "np.concatenate([{c}[1:], {c}[:1]]) * {t}",
    "{c} + {o}",
    "{c} * np.abs({o}).max() * 0.2",
    "add_at({c}, [0, 0], {t}.sum() * 0.1)",
    "np.clip({c}, -0.5, 0.6) + {t}",
    "np.linalg.norm({c}) * {t} + {c}",
    "np.zeros_like({c})",
    "jit(lambda u: u * {t})({c})",
    "checkpoint(lambda u: np.sin(u) * {t})({c})",
]


def body(w: Writer, carry: str, row: str, outer: str) -> str:
    """Return an expression of the names given."""
    inner = w.rng.choice(BODIES).format(c=carry, t=row, o=outer)
    if w.rng.random() < 0.3:
        inner = w.rng.choice(BODIES).format(c=f"({inner})", t=row, o=outer)
    return inner


def _float(w: Writer) -> str:
    return w.pick(lambda x: x.dtype == float)


def _with_axis(w: Writer) -> str:
    return w.pick(lambda x: x.dtype == float and x.ndim > 0 and len(x) < 7)


def by_if(w: Writer) -> str:
    v, a, b, t = w.fresh(), w.pick(), _float(w), _float(w)
    first, second = body(w, b, a, t), body(w, b, t, a)
    test = w.rng.choice(
        [f"{t}.sum() > 0.2", f"np.any({a} > 0)", f"float(np.max({t})) < 0.5", f"{a}.any()"]
    )
    return f"if {test}:  # value\n    {v} = {first}\nelse:\n    {v} = {second}"


def by_while(w: Writer) -> str:
    v, b, t, o, n = w.fresh(), _float(w), _float(w), _float(w), w.rng.randrange(1, 4)
    return (
        f"{v} = {b} * 1\nk = 0\nwhile np.sum(np.abs({v})) < 20 and k < {n}:  # value\n"
        f"    {v} = {body(w, v, t, o)}\n    k += 1"
    )


def by_for(w: Writer) -> str:
    v, b, t, o = w.fresh(), _float(w), _with_axis(w), _float(w)
    return f"{v} = {b} * 1\nfor row in {t}:\n    {v} = {body(w, v, 'row', o)}"


def by_comprehension(w: Writer) -> str:
    t, b, o = _with_axis(w), _float(w), _float(w)
    return f"{w.fresh()} = np.stack([{body(w, b, 'row', o)} for row in {t}])"


def by_cond(w: Writer) -> str:
    v, a, b, t, o = w.fresh(), _float(w), _float(w), _float(w), _float(w)
    first, second = body(w, "c", "t", o), body(w, "c", "t", a)
    return f"{v} = lax.cond({a}.sum() > 0.1, lambda c, t: {first}, lambda c, t: {second}, {b}, {t})"


def by_cond_closures(w: Writer) -> str:
    v, a, b, t, o = w.fresh(), _float(w), _float(w), _float(w), _float(w)
    return (
        f"{v} = lax.cond({a}.sum() > 0.1, lambda: {body(w, b, t, o)}, lambda: {body(w, b, a, t)})"
    )


def by_switch(w: Writer) -> str:
    v, n, b, t, o = (
        w.fresh(),
        w.rng.choice(["np.argmax({a})", "{n}.sum() % 4", "1", "7"]),
        _float(w),
        _float(w),
        _float(w),
    )
    n = w.fill(n)
    cases = ", ".join(f"lambda c: {body(w, 'c', t, o)}" for _ in range(w.rng.randrange(1, 4)))
    return f"{v} = lax.switch({n}, [{cases}], {b})"


def by_scan(w: Writer) -> str:
    v, b, t, o, ys = w.fresh(), _float(w), _with_axis(w), _float(w), w.fresh()
    reverse = w.rng.choice(["", ", reverse=True"])
    out = w.rng.choice(["c", "r", body(w, "c", "r", o), "c.sum()", "(r * c).sum()"])
    return f"{v}, {ys} = lax.scan(lambda c, r: ({body(w, 'c', 'r', o)}, {out}), {b}, {t}{reverse})"


def by_scan_of_two(w: Writer) -> str:
    v, b, t, o = w.fresh(), _float(w), _with_axis(w), _float(w)
    return (
        f"{v}, _ = lax.scan(lambda c, r: (({body(w, 'c[0]', 'r', o)}, c[0] * 0.5, c[2] + 1), None), "
        f"({b}, {b}, 0), {t})\n{v} = {v}[{w.rng.randrange(2)}]"
    )


def by_fori_loop(w: Writer) -> str:
    v, b, t, o, n = w.fresh(), _float(w), _float(w), _float(w), w.rng.randrange(4)
    row = w.rng.choice([t, f"{t}[i % len({t})]", f"({t} * i)"])
    return f"{v} = lax.fori_loop(0, {n}, lambda i, c: {body(w, 'c', row, o)}, {b})"


def by_while_loop(w: Writer) -> str:
    v, b, t, o, n = w.fresh(), _float(w), _float(w), _float(w), w.rng.randrange(1, 4)
    return (
        f"{v} = lax.while_loop(lambda s: (np.abs(s[0]).sum() < 9) & (s[1] < {n}), "
        f"lambda s: ({body(w, 's[0]', t, o)}, s[1] + 1), ({b}, np.array(0)))[0]  # forward"
    )


def by_map(w: Writer) -> str:
    t, b, o = _with_axis(w), _float(w), _float(w)
    how = w.rng.choice(
        [
            f"lax.map(lambda r: {body(w, b, 'r', o)}, {t})",
            f"vmap(lambda r: {body(w, b, 'r', o)})({t})  # rounding",
        ]
    )
    return f"{w.fresh()} = {how}"


def by_rule(w: Writer) -> str:
    how = w.rng.choice(["rule_jvp", "rule_vjp", "jit", "checkpoint"])
    t, b = _float(w), _float(w)
    captured = w.rng.choice(["u", "u", "u", "0.5", t]) if how in ("jit", "checkpoint") else "u"
    mark = "  # reverse" if how == "rule_vjp" else ""
    return f"{w.fresh()} = {how}(lambda u: {body(w, 'u', captured, 'u')})({b}){mark}"


def by_function(w: Writer) -> str:
    v, g, b, t = w.fresh(), f"g{w.count}", _float(w), _float(w)
    return f"def {g}(u, w):\n    u = u * 1\n    return {body(w, 'u', 'w', t)}\n{v} = {g}({b}, {t}) + {g}({t}, {b})"


CONTROL: list[Template] = [
    by_if, by_while, by_for, by_comprehension, by_cond, by_cond_closures, by_switch, by_scan, by_scan_of_two,
    by_fori_loop, by_while_loop, by_map, by_rule, by_function,
]  # fmt: skip

ELEMENTARY = _statements(UNARY, "np.") + _statements(BINARY, "np.")
TABLES: list[list[Template]] = [
    _statements(UNARY, "np."),
    _statements(BINARY, "np."),
    _statements(REDUCTIONS, "np.", "  # rounding"),
    _statements(SHAPES_OF, "np."),
    _statements(CHOOSING, "np."),
    _statements(LINEAR, "np.", "  # rounding"),
    _statements(OPERATORS),
    _statements(OPERATORS),
    _statements(BY_VALUE, mark="  # value"),
]


def generate(seed: int, dtypes: Sequence[str] = DTYPES) -> Program:
    """Return the program of a seed."""
    rng = random.Random(seed)
    w = Writer(seed, python_names)
    arguments = [
        f"x{i} = draw({seed % 1000 + i}, {rng.choice(SHAPES)}, '{'f8' if i == 0 else rng.choice(dtypes)}')"
        for i in range(rng.randrange(1, 4))
    ]
    captured = [
        f"c{i} = draw({seed % 1000 + 7 + i}, {rng.choice(SHAPES)}, '{rng.choice(dtypes)}')"
        for i in range(rng.randrange(3))
    ]
    tables = list(TABLES)
    if rng.random() < 0.2:
        captured.append("L = draw(5, (5000,), 'f8')")
        tables += [_statements(LARGE)] * 3
    if rng.random() < 0.5:
        tables.remove(_statements(BY_VALUE, mark="  # value"))
    if rng.random() < 0.6:
        tables += [CONTROL] * rng.randrange(1, 8)
    w.begin(arguments, captured)
    for _ in range(rng.randrange(2, 10)):
        w.try_(rng.choice(tables))
    made = [name for name in w.arrays if name[0] == "v" and is_data(w.arrays[name])]
    results = made[-1:] + [name for name in made[:-1] if rng.random() < 0.3]
    ways = rng.sample(WAYS, rng.choice([1, 1, 2]))
    return Program(
        tuple(arguments),
        tuple(captured),
        tuple(w.lines),
        tuple(results or ["x0"]),
        False,
        tuple(dict.fromkeys(ways)),
    )

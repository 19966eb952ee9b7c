"""Programs that make views of all kinds and assign through them, against the same programs on NumPy arrays."""

from __future__ import annotations

import random

from tests.fuzz.language import Program, Template, Writer, is_data
from tests.fuzz.language import readable as readable
from tests.fuzz.language import smaller as smaller
from tests.fuzz.oracle import WAYS
from tests.fuzz.oracle import check as check
from tests.fuzz.pure_python import python_names

SHAPES = [
    "(4, 2)",
    "(3,)",
    "(2, 3)",
    "(2, 2, 3)",
    "(1, 3)",
    "(1,)",
    "(2, 1, 2)",
    "(3, 3)",
    "(0, 2)",
]

VIEWS = """
{w}[{i}]; {w}[{i}:]; {w}[{i}:, ...]; {w}[{i}, ...]; {w}[{i}, {k}, ...]; {w}[..., 0]; {w}[::-1]; {w}[..., ::2]; {w}[None]
{w}.T; {w}.reshape(-1); {w}.reshape(2, -1); {w}.reshape(()); {w}.reshape(1, -1)
{w}.ravel(); {w}.squeeze(); np.swapaxes({w}, 0, -1); np.moveaxis({w}, -1, 0); np.flip({w}, -1); np.squeeze({w})
np.atleast_1d({w}); np.atleast_2d({w}); np.array_split({w}, 2)[{k}]; np.rot90({w}); {w}.view(); np.diagonal({w})
np.broadcast_to({w}, (2, *np.shape({w}))); {w}.real; {w}.imag; {w}[...]; {w}[()]; {w}[:, None]; {w}[:, {k}]; {w}[{k}::2, ...]
np.expand_dims({w}, 0); np.asarray({w}); np.ascontiguousarray({w}); np.transpose({w}); {w}.swapaxes(0, -1)
np.fliplr({w}); np.flipud({w}); {w}[0:1, ..., 0]; {w}.diagonal(); np.hsplit({w}, 2)[{k}]
{w}[-1:]; {w}[:0]; {w}.transpose(); np.real({w}); {w}[1:-1]; {w}[{i}][{k}, ...]
{w}[:1].reshape(()); {w}.flat[{k}:]; np.reshape({w}, (-1, 1)); {w}.squeeze(0); np.rollaxis({w}, -1); {w}[np.newaxis, ..., {k}]
np.asanyarray({w}); np.unstack({w})[{k}]; list({w})[{k}]; next(iter({w})); np.split({w}, [1])[{k}]; np.positive({w}); +{w}
{w}.ravel('F'); {w}.reshape(-1, order='F'); np.reshape({w}.T, (2, -1)); {w}.T.ravel(); np.asarray({w}, order='F'); np.asfortranarray({w}); np.ascontiguousarray({w}.T)
{w}[t]; {w}[t, ...]; {w}[..., t]; {w}[:, t]; {w}.reshape(-1, 2, order='F'); {w}[:1].squeeze()
numpy.lib.stride_tricks.sliding_window_view({w}, 2, axis=0); {w}[np.array({k})]; {w}
np.conj({w}); np.copy({w}); np.meshgrid({w}, {w2})[{k}]; np.array({w}); np.vstack([{w}, {w2}]); np.permute_dims({w})
""".replace("\n", ";")
COPIES = """
{a} * 1; {a}.copy(); {w}.flatten(); {w}[[{k}, 0]]; np.take({w}, [0, {k}], axis=0); np.concatenate([{w}, {w2}]); {a} * {b}
np.sort({w}, axis=-1); np.roll({w}, {i}); np.sin({a}); {w} + {b}; np.where({w} > 0, {w}, {b}); np.zeros_like({a})
np.zeros_like({a}[{i}]); np.ones_like({a}); np.empty_like({a}) * 0 + 1; np.zeros(3) + 0 * {f}.sum(); np.full_like({a}, 0.5)
{w}[{w2} > 0.1].sum() * {a}  # value # rounding; {a}.astype(complex); {a} @ {b}; np.stack([{w}, {w}]); {w}.sum(0)  # rounding; {w}.max(); np.float64(2) * {a}
{w} + {w2}; {w}.T + {w2}.T; {w}.T * 2; np.positive({w}.T); {w}.T.astype(complex); np.where({w}.T > 0, {w}.T, 0.5); {w}.swapaxes(0, -1) + 1
{w}.copy('K'); {w}.copy('F'); {w}.T.copy('A'); {w}.T.copy(); np.array({w}.T, order='F'); np.array({w}.T); {w}[:, [0, -1]]; {w}[..., [{k}]]; -{w}.T; np.zeros_like({w}.T) + {x}
np.full({w}.shape, 0.5, order='F') * {x}; np.einsum('ij,kj->ki', {w}, {w}); {w} @ {w}.T; np.sort({w}.T); np.concatenate([{w}.T, {w}.T]); {w}.T.sum(0, keepdims=True)  # rounding; np.roll({w}.T, 1)
np.outer({w}, {b}); np.tile({w}, 2); {w}.cumsum(); {a}[()] * 1; {w}.sum(axis=0, keepdims=True)  # rounding; np.zeros((2, 3)) + 0 * {f}.sum()
""".replace("\n", ";")
WRITES = """
{w}[{i}] = {x}; {w}[{i}:] += {x}; {w}[...] = {w}[::-1]; {w}[::2] *= 0.5; {w} += {x}; {w} *= {w}; {w} -= {b}; {w} /= 2.0
{w}[{w} > {x}] = {x}; {w}[{w} > 0] *= {x}; {w}[{w} < 0] = 0; {w}[[0, {k}]] = {x}; {w}[[0, {k}]] += {b}; {w}.fill({x}); {w}.sort()
{w}.sort(axis=0); {w}.flat[{i}] = {x}; {w}.T[{k}] -= {x}; np.add({w}, {x}, out={w}); np.multiply({w}, {x}, out={w}, where={w} > 0)
np.add.at({w}, [0, 0, {k}], {x}); np.subtract.at({w}, {k}, {x}); np.multiply.at({w}, ([0, {k}], [0, 0]), {x}); np.add.at({w}, (), {x})
np.copyto({w}, {b}); np.copyto({w}, {x}, where={w} > 0); np.cumsum({w}, axis=0, out={w}); {w}[-1] = {w}[0] * {x}; {w}[()] = {x}
{w}[...] = {x}; {w}[...] = {b}; {w}[...] += {b}; {w}[None] *= {x}; np.sin({w}, out={w}); np.exp({w} * 0.1, out={w}); np.put({w}, [0, -1], {x})
{w}.put({k}, {x}); np.putmask({w}, {w} > 0, {x}); np.place({w}, {w} > 0, [0.5]); np.fill_diagonal({w}, {x}); {w}.sort()
np.put_along_axis({w}, np.argmax({w}, axis=-1, keepdims=True), {x}, axis=-1); swap({w}, 0, -1); swap({w}, 0, {k}); inc({w}, {x})
inc({w}[{k}:], {x}); inc({w}[{i}, ...], {x}); scale({w}.T, {x}); scale({w}.reshape(-1), 0.5); assign({w}[{i}:], {x}); assign({w}, {b})
assign({w}[{k}, ...], {x}); {w}[[0, 1]] = {w}[[1, 0]]; {w}.real = {x}; {w}.imag = {x}; {w}.imag += {x}; {w}.real *= 2; {w}.flat = {x}
{w}.T[...] = {b}; {w} **= 2; np.clip({w}, -0.5, 0.7, out={w}); {w}.clip(-0.5, 0.7, out={w}); np.sum({w}, axis=0, out={w2})  # rounding
{w}.sum(axis=0, out={w2})  # rounding; np.matmul({m}, {m2}, out={m3}) if '{m3}'[0] == 'v' else None; np.take({w}, [0, 1], axis=0, out={w2})
np.maximum({w}, {x}, {w}); np.negative({w}, {w}); {w}[..., 0] = {x}
{w}[{i}, {k}] = {x}; {w}[{i}, {k}] += {x}; {w}[:, {k}] *= {x}; {w}[{k}, ..., None] += {x}; {w}[:, [0, -1]] = {x}; {w}[::-1] -= {b}
{w}[:1, ...] *= {x}; np.nan_to_num({w}, copy=False); {w}[{n}] = {x}; {w}[np.argmax({w})] = {x}; np.dot({w}, {w2}, out={c}) if '{c}'[0] == 'v' else None
{w}[1:] = {w}[:-1]; {w}[:-1] += {w}[1:]; {w}[::2], {w}[1::2] = {w}[1::2].copy(), {w}[::2].copy(); np.logaddexp({w}, {x}, out={w})
{w} //= 0.5; {w} %= 0.7; {w}[{k}][...] = {x}; {w}[{i}:][0] = {x}; {w}[{i}:][0, ...] += {x}; {w}.reshape(-1)[{k}] = {x}; {w}[:, {k}][{i}] = {x}
{w}[t] += {x}; {w}[t] = {x}; {w}[t][{k}] = {x}; {w}[t, ...] *= {x}; {w}[..., t] -= {x}; np.add({w}, {x}, out={w}[{i}, ...]); np.sum({b}, out={w})  # rounding
np.add.at({w}, t, {x}); {w}[[t, {k}]] = {x}; inc({w}[t, ...], {x}); {w}.sort(axis=-1); {w}[::2] *= {x}
np.add({w}, {w2}, {w}[...]); np.add.accumulate({w}, out={w}); np.subtract(1.0, {w}, out={w}); {w}.cumprod(axis=0, out={w}); {w}.mean(0, out={w2})  # rounding
""".replace("\n", ";")
BLOCKS = [
    "for row in {w}:\n    row *= {x}",
    "for row in {w}:\n    row[...] += {x}",
    "for i in range(len({w})):\n    {w}[i] = {w}[i - 1] * {x}",
    "for i in range(len({w}) - 1):\n    {w}[i + 1] += {w}[i] * {x}",
    "for i, row in enumerate({w}):\n    row[...] = row * i",
    "pair = [{w}, {w2}]\npair[0] += {x}\npair[1][...] *= 0.5",
    "for out in ({w}, {w2}):\n    out += {x}",
    "for i in np.ndindex(*{w}.shape):\n    {w}[i] *= {x}",
    "d = dict(p={w})\nd['p'] -= {x}",
    "if np.all({w} > 0):  # value\n    {w}[...] = {x}\nelse:\n    {w}[0] = {x}",
    "k = 0\nwhile {w}.sum() < 2 and k < 3:  # value\n    {w} += 0.7\n    k += 1",
    "def change(out):\n    out += {x}\n    out = out * 2\n    out[...] = 0\nchange({w})",
    "{w} += lax.fori_loop(0, 2, lambda i, c: c * {x}, {w})",
    "{w}[...] = jit(lambda u: u * {x})({w})",
    "{v} = checkpoint(lambda u: set_at(u, 0, {x}))({w})",
    "def g(u):\n    u = u.copy()\n    z = u[:1]\n    z *= {x}\n    return u\n{v} = jit(g)({w})",
    "def g(c, r):\n    c = c * 1\n    c[0] += r.sum()\n    return c, c[0]\n{v}, {v2} = lax.scan(g, {w}, {w2})",
]
BUFFERS = """
{b0} = numpy.zeros({size}); {b0} = numpy.ones({size}); {b0} = {B}[:]; {b0} = {B}[::2]; {b0} = {B}.reshape(-1, 1); {b0} = {B}.reshape(-1)[1:]
{B}[...] += 1; {B}[:] = 2; {B}[0] = 3; inc({B}, 0.5); numpy.add({B}, 1, out={B}); {B}.fill(0.25); {B}[1:] *= 0.5; {B} [:2] = 0.1
{v} = {B} * {x}; {v} = {B}.sum() * {f}; {v} = np.sum({B} * {x}); {v} = {B}[:3] + {x}; {v} = np.sin({B}) * {x}; {v} = {B}.reshape(-1)[:2] * {f}.sum()  # rounding
{v} = ({f}.sum() * {B}).sum()  # rounding; {v} = np.where({B} > 0, {x}, {B}); {v} = {B} @ ({B} * {x}); {v} = {B}[..., :1] - {x}; {v} = {B}.mean() + {f}
numpy.multiply({B}, 0.5, {B}); numpy.copyto({B}, 0.3); {B}.sort(); {v} = np.dot({B}, {B}) * {x}; {v} = np.maximum({B}, {x})
""".replace("\n", ";")


def _statements(table: str, prefix: str = "") -> list[Template]:
    return [f"{prefix}{line.strip()}" for line in table.split(";") if line.strip()]


def _filled(template: Template, w: Writer) -> str:
    """Fill the holes that are this campaign's own: a number, a new buffer, a size."""
    assert isinstance(template, str)
    scalars = [k for k, v in w.arrays.items() if v.ndim == 0 and v.dtype == float]
    x = w.rng.choice(["0.5", "-1.5", "2", *scalars, *scalars])
    size = w.rng.choice(["3", "3", "4", "6000", "6000"])
    w.count += "{b0}" in template
    return w.fill(template.replace("{x}", x).replace("{b0}", f"b{w.count}").replace("{size}", size))


def _drawn(templates: list[Template]) -> list[Template]:
    return [lambda w, t=t: _filled(t, w) for t in templates]


TABLES = {
    "views": _drawn(_statements(VIEWS, "{v} = ")),
    "copies": _drawn(_statements(COPIES, "{v} = ")),
    "writes": _drawn(_statements(WRITES.replace("{w", "{u"))),
    "blocks": _drawn([block.replace("{w", "{u") for block in BLOCKS]),
    "buffers": _drawn(_statements(BUFFERS)),
}


def generate(seed: int) -> Program:
    """Return the program of a seed."""
    rng = random.Random(seed)
    w = Writer(seed, python_names)
    kinds = ["f8", "f8", "f8", "f8", "c16", "f4"]
    arguments = [
        f"x{i} = draw({seed % 1000 + i}, {rng.choice(SHAPES)}, '{rng.choice(kinds) if i else 'f8'}')"
        for i in range(rng.randrange(1, 3))
    ]
    arguments.append(f"s = draw({seed % 1000 + 9}, (), 'f8')")
    if rng.random() < 0.5:
        arguments.append(f"t = draw({seed % 1000 + 10}, (), 'i8') % 2")
    captured = []
    if rng.random() < 0.4:
        captured.append(f"b0 = draw(3, ({rng.choice([3, 3, 6000])},), 'f8')")
        if rng.random() < 0.6:
            captured.append("bv = b0[:]")
    w.begin(arguments, captured)
    w.add("v0 = x0.copy()")
    kinds = ["views", "views", "writes", "writes", "writes", "copies", "blocks"]
    if captured or rng.random() < 0.2:
        kinds += ["buffers"] * 4
    for _ in range(rng.randrange(3, 10)):
        w.try_(TABLES[rng.choice(kinds)])
    made = [name for name in w.arrays if name[0] == "v" and is_data(w.arrays[name])]
    return Program(
        tuple(arguments),
        tuple(captured),
        tuple(w.lines),
        tuple(made[:1] + made[-4:] if len(made) > 5 else made),
        rng.random() < 0.4,
        (rng.choice([way for way in WAYS if way != "second"]),),
    )

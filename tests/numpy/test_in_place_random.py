"""Random programs that make views and assign through them, against NumPy."""

import hypothesis
import hypothesis.strategies as st
import numpy as np

import fungrad as fg
import fungrad.numpy as fnp

VIEWS = [
    "{v} = {a}[{i}]",
    "{v} = {a}[{i}:, ...]",
    "{v} = {a}[::-1]",
    "{v} = {a}[..., ::2]",
    "{v} = {a}[None]",
    "{v} = {a}.T",
    "{v} = {a}.reshape(-1)",
    "{v} = {a}.reshape(2, -1)",
    "{v} = {a}.reshape(-1, 2, order='F')",
    "{v} = {a}.ravel()",
    "{v} = np.swapaxes({a}, 0, -1)",
    "{v} = np.moveaxis({a}, -1, 0)",
    "{v} = np.flip({a}, -1)",
    "{v} = np.squeeze({a})",
    "{v} = np.atleast_2d({a})",
    "{v} = np.array_split({a}, 2)[{k}]",
    "{v} = np.rot90({a})",
    "{v} = {a}.view()",
    "{v} = np.diagonal({a})",
    "{v} = np.broadcast_to({a}, (2, *{a}.shape))",
    "{v} = {a}.real",
    "{v} = {a}[{i}, ...]",
    "{v} = {a}[..., {k}]",
    "{v} = {a}[{k}, ..., {i}]",
    "{v} = {a}[t]",
    "{v} = {a}[t, ...]",
    "{v} = {a}[..., t]",
    "{v} = {a}[:, t]",
    "{v} = {a}.reshape(())",
    "{v} = {a}[:1].squeeze()",
    "{v} = np.atleast_1d({a})",
    "{v} = fnp.asarray({a})",
    "{v} = {a}[...]",
    "{v} = np.lib.stride_tricks.sliding_window_view({a}, 2, axis=0)",
    "{v} = fnp.ascontiguousarray({a})",
]
COPIES = [
    "{v} = {a} * 1",
    "{v} = {a}.copy()",
    "{v} = {a}.flatten()",
    "{v} = {a}[[{k}, 0]]",
    "{v} = np.take({a}, [0, {k}], axis=0)",
    "{v} = np.concatenate([{a}, {a}])",
    "{v} = np.sort({a}, axis=-1)",
    "{v} = np.roll({a}, {i})",
    "{v} = np.zeros_like({a})",
    "{v} = fnp.array({a})",
    "{v} = {a}[np.array({k})]",
    "{v} = np.where({a} > 0, {a}, {x})",
    "{v} = {a}.sum()",
    "{v} = {a}",
]
WRITES = [
    "{a}[{i}] = {x}",
    "{a}[{i}:] += {x}",
    "{a}[...] = {a}[::-1]",
    "{a}[::2] *= {b}[0] * 0.1 if {b}[0].shape == () else 0.5",
    "{a} += {x}",
    "{a} *= {a}",
    "{a}[{a} > {x}] = {x}",
    "{a}[[0, {k}]] = {x}",
    "{a}.fill({x})",
    "{a}.sort(axis=-1)",
    "{a}.flat[{i}] = {x}",
    "{a}.T[{k}] -= {x}",
    "np.add({a}, {x}, out={a})",
    "np.multiply({a}, {x}, out={a}, where={a} > 0)",
    "np.add.at({a}, [0, 0, {k}], {x})",
    "np.copyto({a}, {b}) if {a}.shape == {b}.shape else None",
    "np.cumsum({a}, axis=0, out={a})",
    "{a}[-1] = {a}[0] * {x}",
    "{a}[...] = {x}",
    "{a}[t] += {x}",
    "{a}[t][{k}] = {x}",
    "np.add({a}, {x}, out={a}[{i}, ...])",
    "np.add.at({a}, (), {x})",
    "np.sum({b}, out={a})",
    "np.nan_to_num({a}, copy=False)",
]


@st.composite
def programs(draw):
    names, lines = ["a0"], []
    for _ in range(draw(st.integers(3, 9))):
        kind = draw(st.sampled_from([VIEWS, VIEWS, COPIES, WRITES, WRITES, WRITES]))
        line = draw(st.sampled_from(kind)).format(
            v=f"a{len(names)}",
            a=draw(st.sampled_from(names)),
            b=draw(st.sampled_from(names)),
            i=draw(st.integers(-2, 2)),
            k=draw(st.integers(0, 1)),
            x=draw(st.sampled_from(["s[0]", "s[1]", "0.25"])),
        )
        if kind is not WRITES:
            names.append(line.split()[0])
        lines.append(line)
    return lines


def run(lines, a, s, t):
    """Run the lines that NumPy can run; return those and all arrays there are in the end."""
    scope = {"np": np, "fnp": fnp, "a0": a, "s": s, "t": t}
    done = []
    for line in lines:
        try:
            if line.startswith("np."):  # these sometimes forget to check
                target = scope[line[line.index("(") + 1 : line.index(",")]]
                if not target.flags.writeable:
                    continue
            exec(line, scope)
        except (ValueError, IndexError, TypeError, AttributeError, LookupError, NameError):
            continue
        done.append(line)
    return done, [scope[name] for name in sorted(scope) if name[0] == "a" and name[1:].isdigit()]


def same(found, expected):
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


@hypothesis.settings(max_examples=120)
@hypothesis.given(programs(), st.integers(0, 2**16))
def test_random_programs(lines, seed):
    rng = np.random.default_rng(seed)
    a, s = rng.uniform(-1, 1, (4, 2)), rng.uniform(0.5, 1, 2)
    t = np.int64(seed % 2)
    done, expected = run(lines, a.copy(), s, t)
    expected = [np.array(x) for x in expected]

    def program(a, s, t=t):
        scope = {"np": np, "fnp": fnp, "a0": a.copy(), "s": s, "t": t}
        for line in done:
            exec(line, scope)
        return [scope[name] for name in sorted(scope) if name[0] == "a" and name[1:].isdigit()]

    value, pull = fg.vjp(program, a, s)
    same(value, expected)
    same(fg.jit(program)(a, s, t), expected)
    same([x[0] for x in fg.vmap(program)(a[None], s[None])], expected)
    same([x[0] for x in fg.vmap(program)(a[None], s[None], t[None])], expected)

    # The derivative: in a random direction, against the program run on moved arguments.
    v, w = rng.normal(size=a.shape), rng.normal(size=s.shape)
    tangents = fg.jvp(program, (a, s), (v, w))[1]
    cts = [rng.normal(size=np.shape(x)) for x in expected]
    forward = sum(np.sum(t * c) for t, c in zip(tangents, cts, strict=True))
    ct_a, ct_s = pull(cts)
    np.testing.assert_allclose(np.sum(ct_a * v) + np.sum(ct_s * w), forward, rtol=1e-9, atol=1e-9)
    step = 1e-7
    there = [run(done, a + h * v, s + h * w, t) for h in (step, -step)]
    if any(lines != done for lines, _ in there):
        return
    slopes = [(x - y) / (2 * step) for x, y in zip(there[0][1], there[1][1], strict=True)]
    if all(np.all(np.abs(x) < 1e3) for x in slopes):  # no order or mask changed in between
        for t, x in zip(tangents, slopes, strict=True):
            np.testing.assert_allclose(t, x, rtol=1e-4, atol=1e-5)

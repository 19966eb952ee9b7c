"""Convolutions and pooling with random parameters under fungrad and under JAX: values and derivatives."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
import fungrad.lax as flax  # noqa: E402

BATCHES = 10
CONVOLUTIONS, POOLS = 140, 60


def numbers(rng, *shape, dtype):
    """Random numbers of a dtype; of integers, those that are exact in any of the sums."""
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-3, 4, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def some(rng, low, high, d):
    return tuple(rng.integers(low, high, d).tolist())


def layout(rng, d):
    """Random dimension numbers: strings, positions or None."""
    letters = "HWDT"[:d]
    specs = tuple(
        "".join(rng.permutation(list(named + letters)).tolist()) for named in ("NC", "OI", "NC")
    )
    return specs if rng.random() < 0.7 else None


def convolution(rng):
    """Draw keyword arguments of `conv_general_dilated`, and operands."""
    d = int(rng.choice([0, 1, 1, 2, 2, 2, 3]))
    dtype = rng.choice(["f8", "f8", "f8", "f4", "c16", "f2", "i4"])
    features, batches = [(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)][rng.integers(5)]
    c, o = rng.integers(1, 4, 2).tolist()
    window = some(rng, 1, 4, d)
    plain = rng.random() < 0.5
    arguments = {
        "window_strides": some(rng, 1, 4, d),
        "lhs_dilation": None if plain else some(rng, 1, 3, d),
        "rhs_dilation": None if rng.random() < 0.5 else some(rng, 1, 3, d),
        "feature_group_count": features,
        "batch_group_count": batches,
    }
    names = arguments["dimension_numbers"] = layout(rng, d)
    pads = [some(rng, -1, 3, 2) for _ in range(d)]
    arguments["padding"] = rng.choice(["SAME", "VALID", "SAME_LOWER"]) if plain else pads
    shapes = [
        (batches * rng.integers(1, 3), features * c, *some(rng, 3, 7, d)),
        (features * batches * o, c, *window),
    ]
    if names:
        canonical = flax.conv_general_permutations(names)
        shapes = [tuple(np.array(s)[np.argsort(p)]) for s, p in zip(shapes, canonical)]
    operands = [numbers(rng, *s, dtype=dtype) for s in shapes]
    return lambda lax: lambda x, w: lax.conv_general_dilated(x, w, **arguments), operands, arguments


def transposed(rng):
    """Draw keyword arguments of `conv_transpose`, and operands."""
    d = int(rng.choice([1, 2]))
    arguments = {
        "strides": some(rng, 1, 4, d),
        "padding": ["SAME", "VALID", [some(rng, 0, 3, 2) for _ in range(d)]][rng.integers(3)],
        "rhs_dilation": None if rng.random() < 0.5 else some(rng, 1, 3, d),
        "transpose_kernel": bool(rng.random() < 0.5),
        "use_consistent_padding": bool(rng.random() < 0.5),
    }
    c, o = rng.integers(1, 4, 2).tolist()
    x = numbers(rng, 2, *some(rng, 3, 6, d), c, dtype="f8")
    channels = (o, c) if arguments["transpose_kernel"] else (c, o)
    w = numbers(rng, *some(rng, 1, 4, d), *channels, dtype="f8")
    return lambda lax: lambda x, w: lax.conv_transpose(x, w, **arguments), [x, w], arguments


def unshared(rng):
    """Draw keyword arguments of `conv_general_dilated_local` or `..._patches`, and operands."""
    d = int(rng.choice([1, 2]))
    window = some(rng, 1, 4, d)
    arguments = {
        "filter_shape": window,
        "window_strides": some(rng, 1, 3, d),
        "padding": rng.choice(["SAME", "VALID"]),
        "rhs_dilation": some(rng, 1, 3, d),
        "dimension_numbers": layout(rng, d),
    }
    axes = [range(d + 2)] * 3
    if arguments["dimension_numbers"]:
        axes = flax.conv_general_permutations(arguments["dimension_numbers"])
    shape = np.array((2, 3, *some(rng, 5, 8, d)))[np.argsort(axes[0])]
    x = numbers(rng, *shape, dtype="f8")
    patches = flax.conv_general_dilated_patches(x, **arguments)
    if rng.random() < 0.5:
        run = lambda lax: lambda x: lax.conv_general_dilated_patches(x, **arguments)
        return run, [x], arguments
    _, channels, *places = np.array(patches.shape)[list(axes[2])]
    w = numbers(rng, *np.array((2, channels, *places))[np.argsort(axes[1])], dtype="f8")
    return (
        lambda lax: lambda x, w: lax.conv_general_dilated_local(x, w, **arguments),
        [x, w],
        arguments,
    )


def pool(rng):
    """Draw arguments of `reduce_window`, and the operand: often with ties."""
    ndim = int(rng.choice([1, 2, 3, 4]))
    kind = rng.choice(["max", "max", "min", "add", "add", "mul"])
    dtype = rng.choice(["f8", "f8", "f4", "i4"])
    shape = some(rng, 3, 6, ndim)
    x = numbers(rng, *shape, dtype=dtype)
    if rng.random() < 0.5:
        x = np.round(x)
    limit = np.iinfo(dtype) if dtype == "i4" else np.finfo(dtype)
    lowest, highest = (limit.min, limit.max) if dtype == "i4" else (-np.inf, np.inf)
    init = {"max": lowest, "min": highest, "add": 0, "mul": 1}[kind]
    plain = rng.random() < 0.6
    arguments = {
        "computation": kind,
        "window_dimensions": some(rng, 1, 4, ndim),
        "window_strides": some(rng, 1, 4, ndim),
        "padding": rng.choice(["SAME", "VALID", "SAME_LOWER"])
        if plain
        else [some(rng, 0, 3, 2) for _ in range(ndim)],
        "base_dilation": None if plain else some(rng, 1, 3, ndim),
        "window_dilation": None if plain else some(rng, 1, 3, ndim),
    }
    arguments["init_value"] = x.dtype.type(init)

    def make(lax):
        given = {**arguments, "computation": getattr(lax, kind)}
        return lambda x: lax.reduce_window(x, **given)

    return make, [x], arguments


def tangents(f, operands):
    """Return a function and a tangent for each operand by itself."""
    for i, x in enumerate(operands):
        t = numbers(np.random.default_rng(i), *x.shape, dtype=x.dtype)
        yield (lambda x, i=i: f(*operands[:i], x, *operands[i + 1 :])), x, t


def cotangent(value):
    return numbers(np.random.default_rng(9), *value.shape, dtype=value.dtype)


def results(lib, f, operands, reverse):
    """Return the value, the tangent by each operand, and the cotangents if there is reverse mode."""
    value = f(*operands)
    if operands[0].dtype.kind not in "fc":
        return [value]
    found = [value, *[lib.jvp(g, (x,), (t,))[1] for g, x, t in tangents(f, operands)]]
    return [*found, *lib.vjp(f, *operands)[1](cotangent(value))] if reverse else found


def is_reversible(arguments):
    """Whether JAX can pull cotangents back."""
    factors = [*(arguments.get("base_dilation") or ()), *(arguments.get("window_dilation") or ())]
    return arguments.get("computation", "add") == "add" or (
        arguments["computation"] != "mul" and max(factors, default=1) == 1
    )


def compare(draws):
    ours = [results(fg, make(flax), xs, True) for make, xs, _ in draws]
    # JAX compiles one program of all; it would compile each operation by itself.
    theirs = jax.jit(
        lambda: [results(jax, make(jax.lax), xs, is_reversible(about)) for make, xs, about in draws]
    )()
    for (make, operands, arguments), found, expected in zip(draws, ours, theirs, strict=True):
        about = f"{arguments} of {[(x.dtype, x.shape) for x in operands]}"
        dtype = operands[0].dtype
        tolerance = 64 * float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0
        n, count = len(operands), len(expected)
        if count == 1 + n:  # no reverse mode: the pairing tells as much
            ct = cotangent(found[0])
            for (_, _, t), tangent, pulled in zip(
                tangents(None, operands), expected[1:], found[1 + n :], strict=True
            ):
                pairs = np.sum(ct * np.asarray(tangent)), np.sum(pulled * t)
                np.testing.assert_allclose(*pairs, 1e3 * tolerance, 1e3 * tolerance, err_msg=about)
        jitted = fg.jit(make(flax))(*operands)
        for x, y in zip([*found[:count], jitted], [*expected, expected[0]], strict=True):
            y = np.asarray(y)
            assert (x.shape, x.dtype) == (y.shape, y.dtype), about
            scale = max(1.0, float(np.abs(y[np.isfinite(y)]).max(initial=0)))
            np.testing.assert_allclose(x, y, tolerance, tolerance * scale, err_msg=about)


DRAWS = {
    "convolution": (convolution, CONVOLUTIONS - 40),
    "transposed": (transposed, 20),
    "unshared": (unshared, 20),
    "pool": (pool, POOLS),
}
CASES = [(name, batch) for name, (_, total) in DRAWS.items() for batch in range(total // BATCHES)]


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_random_configurations(name, batch):
    draw, _ = DRAWS[name]
    compare([draw(np.random.default_rng([batch, i, len(name)])) for i in range(BATCHES)])

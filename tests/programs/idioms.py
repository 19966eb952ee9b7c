"""Idioms of NumPy: building, joining, repeating, vectorizing, ufunc methods."""

import numpy as np


def joined(x, y):
    return np.concatenate([np.hstack([x, y]), np.r_[x, 0.0, y[::-1]], np.append(x, y)])


def columns(x, y):
    return np.c_[x, y, np.ones(len(x))] * np.column_stack([y, x, x])


def tiled_and_repeated(x):
    return np.tile(x, (2, 2)) + np.repeat(x, 2) - np.repeat(x, [1, 2, 3])[: 2 * len(x)]


def blocked(a, b):
    return np.block([[a, b], [np.zeros_like(a), np.eye(2)]])


def along_axis(m):
    return np.apply_along_axis(lambda row: row / row.sum(), 1, m) + np.apply_over_axes(
        np.sum, m, [0]
    )


def scalar_function(t, scale):
    if t > 0:
        return np.sin(t) * scale
    return t * scale**2


def vectorized(x, scale):
    return np.vectorize(scalar_function)(x, scale)


def vectorized_with_signature(a, b):
    return np.vectorize(lambda u, v: u @ v, signature="(n),(n)->()")(a, b)


def split_and_stacked(m):
    left, right = np.split(m, 2, axis=1)
    top, bottom = np.vsplit(m, 2)
    return np.dstack([left * right, left @ right]) * (top @ bottom.T).sum()


def grid_of_functions(a):
    x, y = np.mgrid[0:3, 0:2]
    return np.sin(a * x) + y**2 * a


def inserted_and_deleted(x):
    longer = np.insert(x, [1, 3], [x[0] ** 2, x[-1]])
    return np.delete(longer, 2) * np.flip(np.delete(longer, [0]))


def ufunc_reductions(x):
    return (
        np.multiply.reduce(x, axis=1)
        + np.logaddexp.reduce(x, axis=1)
        + np.add.accumulate(x, axis=1)[:, -1]
        + np.maximum.reduce(x, axis=1, initial=0.5)
        + np.hypot.reduce(x, axis=1)
    )


def axes_moved(t):
    return np.moveaxis(t, 0, -1) * np.swapaxes(t, 0, 2).transpose(1, 0, 2).transpose(1, 0, 2).sum()


def gradient_on_a_grid(x, y):
    return np.gradient(y, x) * np.gradient(y, x, edge_order=2) + np.trapezoid(y, x)


def remainders(x, y):
    whole, rest = np.divmod(x, y)
    return rest + np.fmod(x, y) + whole * y + np.modf(x)[0] + np.mod(x, 1.0)


def signs_and_steps(x):
    return (
        np.copysign(x**2, -x) + np.heaviside(x, 0.5) * x + np.fabs(x) + np.sign(x) * np.floor(x) * x
    )


def elementary(x):
    return (
        np.sinc(x) + np.log1p(x**2) * np.expm1(-x) + np.cbrt(np.abs(x)) + np.logaddexp2(x, 1.0)
        + np.arcsinh(x) + np.exp2(x) + np.i0(x) + np.square(x) - np.reciprocal(3 + x) + np.deg2rad(x)
    )  # fmt: skip


def comparisons(x, y):
    return (x > y) * x + np.logical_and(x > 0, y > 0) * y + np.isclose(x, x) * np.fmax(x, y)


def triangles(m):
    lower = np.tril(m, -1)
    return lower + lower.T + np.diag(np.diag(m)) + np.diagflat(m[0]) @ np.triu(m) + np.tri(3)


def nan_functions(x):
    a = np.where(np.abs(x) < 0.5, np.nan, x)
    return (
        np.nansum(a, axis=0),
        np.nanprod(a),
        np.nanmin(a, axis=1),
        np.nanvar(a),
        np.nanquantile(a, 0.4),
    )


def taken(m):
    return np.take(m, [2, 0, 0], axis=1) + np.take(m, [5, -1, 1], mode="wrap") + m.take(1)


def unraveled(m):
    i, j = np.unravel_index(np.argmax(m), m.shape)
    return m[i, j] * m[np.unravel_index([0, 4], m.shape)]


def arranged(a, b):
    return (
        np.linspace(a, b, 4) ** 2 + np.arange(4) * a + np.geomspace(a + 3, b + 4, 4) + np.full(4, b)
    )


def methods_chained(m):
    return (
        m.reshape(3, -1)
        .T.ravel()
        .clip(-1, 1)
        .cumsum()
        .repeat(2)
        .reshape(4, -1)
        .mean(axis=0)
        .dot(m.ravel()[:3])
    )


def windows_multiplied(x):
    n = len(x)
    window = np.hamming(n) * np.kaiser(n, 4.0) + np.bartlett(n) - np.blackman(n)
    return np.correlate(x * window, x[:3], mode="full") + np.convolve(x, [1.0, -1.0, 0.5])


def new_axes(x):
    return (
        np.expand_dims(x, (0, 2)) * x[np.newaxis, :, None]
        + np.atleast_3d(x).squeeze()
        - np.ravel(x)
    )


def text_free_tables(x):
    rows = [np.sum(x**k) for k in range(4)]
    return np.array([rows, rows[::-1]]) / np.array(rows)


def list_of_lists(x):
    return np.asarray([[x[0], 1.0], [2, x[1] * x[2]]]) @ np.asarray([x[0], x[1]])


def sums_with_masks(x):
    positive = x > 0
    return np.sum(x, where=positive) * np.mean(x, axis=0, where=x > -9) + np.max(
        x, where=positive, initial=0
    )


def padded(x):
    return sum(
        np.pad(x, 2, mode=mode) for mode in ("constant", "edge", "linear_ramp", "mean", "symmetric")
    )


def inputs(rng):
    n, u = rng.normal, rng.uniform
    x, m = n(size=3), n(size=(3, 3))
    return {
        "joined": (x, n(size=3)),
        "columns": (x, n(size=3)),
        "tiled_and_repeated": (x,),
        "blocked": (n(size=(2, 2)), n(size=(2, 2))),
        "along_axis": (u(0.5, 1, (2, 3)),),
        "vectorized": (np.array([-0.4, 0.7, 1.2]), np.float64(1.3)),
        "vectorized_with_signature": (n(size=(2, 3)), n(size=(2, 3))),
        "split_and_stacked": (n(size=(2, 4)),),
        "grid_of_functions": (np.float64(0.7),),
        "inserted_and_deleted": (n(size=4),),
        "ufunc_reductions": (n(size=(2, 3)),),
        "axes_moved": (n(size=(2, 3, 2)),),
        "gradient_on_a_grid": (np.array([0.0, 0.4, 1.1, 2.0]), n(size=4)),
        "remainders": (np.array([1.3, -2.6, 3.4]), np.array([0.7, 1.1, -0.9])),
        "signs_and_steps": (np.array([1.3, -2.6, 0.4]),),
        "elementary": (np.array([1.3, -2.6, 0.4]),),
        "comparisons": (x, n(size=3)),
        "triangles": (m,),
        "nan_functions": (np.array([[0.7, -0.2, 1.5], [0.9, -1.1, 0.1]]),),
        "taken": (m,),
        "unraveled": (m,),
        "arranged": (np.float64(0.7), np.float64(1.9)),
        "methods_chained": (n(size=(2, 3)),),
        "windows_multiplied": (n(size=5),),
        "new_axes": (x,),
        "text_free_tables": (x,),
        "list_of_lists": (x,),
        "sums_with_masks": (np.array([0.7, -0.2, 1.5]),),
        "padded": (x,),
    }


NOT_OVERRIDABLE = {
    "text_free_tables": "np.array",
    "list_of_lists": "np.asarray",
    "joined": "np.r_",
    "columns": "np.c_",
    "vectorized": "np.vectorize",
    "vectorized_with_signature": "np.vectorize",
    "arranged": "np.full",
}
LOOKS_AT_VALUES = {"vectorized": "if"}

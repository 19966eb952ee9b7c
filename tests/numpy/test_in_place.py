"""Assignment, views and in-place functions on tracers: NumPy's meaning under every transform.

Each program is plain NumPy but for the arrays it creates. It runs on plain arrays for reference.
"""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting

X = np.array([[0.3, -1.2, 0.7, 2.1], [1.5, 0.4, -0.6, 0.9], [-0.2, 1.1, 0.8, -1.7]])


def loop(x):
    out = fnp.zeros(x.shape)
    for i in range(x.shape[0]):
        out[i] = x[i] ** 2
        out[i, 1:] += x[i, :-1]
    return out


def through_row(x):
    a = x * 1
    b = a[0]
    b *= 3
    b[1] = a[2, 2]
    return a + b


def through_transpose(x):
    a = x + 0
    t = a.T
    t[1] = t[0] * t[2]
    a[0] = 5 * a[1]
    return t


def through_reshape(x):
    a = x * 1
    flat = a.reshape(-1)
    flat[::3] = a[1]
    a[:, 0] += 1
    return flat


def reshape_of_a_transpose_is_a_copy(x):
    a = x * 1
    flat = a.T.reshape(-1)
    flat[:] = 0
    same = a.T[:2].reshape(2, 1, -1)
    same *= 2
    return a + flat.sum()


def ravel_and_flatten(x):
    a = x * 1
    a.ravel()[1] = 7
    a.flatten()[2] = 8
    a.flat[3] = a[2, 0]
    a.flat[[5, 6]] = a[0, :2]
    return a


def parts_of_flat_are_copies(x):
    a = x * 1
    flat = a.flat
    part, row = flat[2:], a[1].flat[:]
    part *= 5
    row *= 7
    a += 1
    flat[3:] *= part[1:]
    return a * flat[0] + part[0] + row[1]


def ravel_of_views_with_gaps_is_a_copy(x):
    a = x * 1
    a[0, ::2].ravel()[0] = 7
    a[:, :1].ravel()[1] = 8
    a[::-1, 0].ravel()[2] = 9
    whole, row = a.ravel(), a[1].ravel()
    row[2] = a[0, 1] * 2
    whole[5:] *= x[0, 0]
    return a


def assignments_of_overlapping_views(x):
    a = x * 1
    flipped = np.flip(a)
    flipped[...] = a
    corner = a[1:, 1:]
    np.copyto(a[:2, :3], corner)
    turned = a[:, :3].T
    turned[...] = a[:, :3]
    a[0] = turned[1] = a[1, ::-1][:3].sum()
    return a + flipped * corner.sum() * turned[0, 1]


def diagonals_see_later_changes(x):
    a = np.stack([x, x**2])
    inner = np.diagonal(np.diagonal(a, axis1=0, axis2=2))
    last = np.flip(np.diagonal(a.T))[1:]
    a[0] = x[0] * 2
    return inner.sum() * last


def views_of_views(x):
    a = np.copy(x)
    middle = a[1:, 1:]
    corner = middle[::-1, ::2]
    corner += 10 * a[:2, :2]
    middle[0] = corner[1, 0]
    return a * corner.sum()


def views_see_later_changes(x):
    a = x * 2
    view = np.flip(np.swapaxes(a, 0, 1), 0)
    before = view * 1
    a[1] = x[0] * x[1]
    return before + view


def read_before_write(x):
    a = x * 1
    first = a[0] * 1
    y = np.sin(a)
    a[0] = a[1]
    return y * a + first


def swapped_rows(x):  # the views are read when it is too late, in NumPy as here
    a = x * 1
    a[0], a[1] = a[1], a[0]
    return a


def swapped_elements(x):
    a = x * 1
    a[0, 0], a[1, 1] = a[1, 1], a[0, 0]
    return a


def mask(x):
    a = x * 1
    a[a < 0] = 0
    a[x > 1] = x[0, 0]
    a[a[:, 1] > 0.5] = x[1]
    return a


def index_arrays(x):
    a = x * 1
    a[[0, 2]] = x[[2, 0]] ** 2
    a[:, [1, 1]] += 1
    a[np.arange(3), [0, 1, 2]] = x[:, 3]
    return a


def slices_with_steps(x):
    a = np.zeros_like(x)
    a[::2, ::-1] = x[1:]
    a[..., 1] -= x[:, 0]
    a[1:2, None] = x[0]
    return a


def operators(x):
    a = np.ones_like(x)
    a += x
    a -= 0.5
    a *= x[0]
    a /= 3
    a **= 2
    a //= 0.37
    a += x
    a %= 0.71
    return a


def scalars_are_rebound(x):
    total = x[0, 0]
    other = total
    total += x[1, 1]
    total *= 2
    return total - other


def rows_of_a_loop(x):
    a = x * 1
    for row in a:
        row += row[::-1]
    for row, other in zip(a, a.T, strict=False):
        row[:3] = other
    return a


def out_arguments(x):
    a, b = np.empty_like(x), np.zeros_like(x)
    np.add(x, 1, out=a)
    np.multiply(a, x, b)
    np.sin(b, out=b)
    np.sum(x, axis=1, out=a[:, 0])
    np.exp(x, where=x > 0, out=b)
    np.matmul(x, x.T, out=a[:, 1:])
    np.cumsum(x[0], out=b[1])
    np.clip(x, -1, 1, out=a)
    np.subtract.outer(x[0, :3], x[1], out=b)
    np.add.reduce(x, 0, out=b[2])
    return a + b


def out_where_a_mask_holds(x):
    a = np.where(x > 1, 0, x)  # zeros, where derivatives are infinite
    b = np.zeros_like(x)
    np.divide(x[0], a, out=b, where=a != 0)
    np.divide(x, np.array([0, 1, 2, 0]), out=b, where=[False, True, True, False])
    np.log(a, out=b, where=a > 0)
    np.sqrt(a[1], out=b[1], where=a[1] > 0)
    return b


def whole_functions(x):
    a = np.empty_like(x)
    np.copyto(a, x[0])
    np.copyto(a, 2 * x, where=x > 0)
    np.copyto(a[0], x[None, None, 1])
    np.put(a, [0, -1, 5], x[0, :2])
    np.place(a, x < -1, [1, 2])
    np.putmask(a, x > 2, x**2)
    np.fill_diagonal(a, x[1, :3])
    np.put_along_axis(a, np.array([[3], [2], [1]]), x[:, :1], axis=1)
    return a


def methods(x):
    a = x * 1
    a.sort()
    b = a[:, ::-1]
    b.sort(axis=0)
    c = np.empty_like(x)
    c.fill(x[0, 0])
    a.put([1, 2], x[2, :2])
    a.put(3, 0.5)
    a[0].partition(2)
    return np.sort(a, axis=1) + b + c


def ufunc_at(x):
    a = x * 1
    np.add.at(a, [0, 0, 1], x[:1])
    np.subtract.at(a, ([1, 1], [2, 2]), x[0, :2])
    np.multiply.at(a, (slice(None), [0, 0]), 2)
    np.maximum.at(a, 2, x[0])
    np.divide.at(a, [1, 1], 1 + x[0] ** 2)
    np.hypot.at(a, [0, 2], x[1])
    np.negative.at(a, (1, 1))
    return a


def real_and_imaginary(x):
    z = x[:, :2] + 1j * x[:, 2:]
    z.real *= 2
    z.imag[0] = z.real[1]
    z.real = z.real + 1
    w = z.T
    w[0] = w[1] ** 2
    return z.real * z.imag


def created(x):
    a, b, c = fnp.ones((3, 4)), fnp.full((3, 4), 2.0), fnp.eye(3, 4)
    d, e = fnp.arange(4.0), fnp.linspace(0, 1, 4)
    f, g = fnp.array([[1.0, 2.0, 3.0, 4.0]] * 3), fnp.empty((3, 4))
    a[0] = x[1]
    b[:, 1] = x[:, 2]
    c += x
    d *= x[0]
    e[2:] = d[:2]
    f[f > 2] = x[0, 0]
    g[...] = x
    return a * b + c * d + e * f + g


def splits(x):
    a = x * 1
    left, right = np.hsplit(a, 2)
    left += right
    top, *_ = np.vsplit(a, 3)
    top[...] = 0
    np.atleast_3d(a)[1] = 2
    np.squeeze(a[:, :1])[2] = x[0, 0]
    np.moveaxis(a, 0, 1)[3] *= x[:, 1]
    np.expand_dims(a, 0)[:, 1, 1] = 4
    np.rot90(a, k=2)[0, 0] = 9
    return a


def einsum_views(x):
    a = x[:, :3] * 1
    np.einsum("ii->i", a)[:] = x[0, :3] ** 2
    np.einsum("ij->ji", a)[1] *= 2
    np.einsum("ij->i", a)[:] = 7
    return a


def reduceat(x):
    return np.add.reduceat(x, [0, 2, 1], axis=1) * np.maximum.reduceat(x, [1, 3, 0], axis=-1)


def stencil(x):
    u = x * 1
    for _ in range(3):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        new[0] = new[-1]
        u = new
    return u


def buffer(x):
    work, total = fnp.zeros(4), fnp.zeros(4)
    for row in x:
        work[:] = row
        work *= work
        total += work
    return total


def results_are_scalars(x):
    s = x.sum()
    t = s
    s += 1
    row = np.atleast_1d(s)
    row += x[0, 0]
    s.reshape(1)[0] = 3
    return np.stack([s, t, row[0]])


def zeros_of_no_axes_are_an_array(x):
    a = fnp.zeros(())
    same, row = a, a[None]
    np.copyto(a, x.sum())
    row *= 2
    same += 1
    return a + row * x


def added(out, value):
    out += value


def views_of_no_axes(x):
    a = x * 1
    v = a[1, 2, ...]
    v *= 10
    a[:1, :1].squeeze()[...] = x[0, 1] * v
    w = a[2:, 3:].reshape(())
    np.multiply(x[0, 0], v, out=w)
    np.add.at(v, (), x[1, 1])
    a[0, 3, ...].fill(x[2, 2])
    a[1] += w
    added(v[None], w)
    return a * v * w


def sums_in_arrays_of_no_axes(x):
    total, product = np.zeros_like(x[0, 0]), np.ones_like(x[0, 0])
    largest = fnp.array(x[0, 0])
    for row in x:
        for value in row:
            added(total, value**2)
            np.multiply(product, value, out=product)
            np.maximum(largest, value, out=largest)
    return x * total + product * largest


def rows_at_a_computed_index(x):
    a = x * 1
    row = a[np.argmax(x[:, 0])]
    row[1:] *= 3
    a[np.argmin(x[:, 3])][0] = row[1]
    column = a.T[np.argmax(x[0])][::-1].reshape(3, 1)
    column += x[:, :1]
    a[0] -= 1
    return a * row * column


def masks_of_no_axes(x):
    a = x * 1
    v = a[0, 0, ...]
    v[v > 0] *= x[1, 1]
    v[v > 9] = 4
    a[1, 1, ...][x[0, 0] > 0] += v
    return a


def copyto_ignores_surplus_axes(x):
    a = x[0] * 1
    np.copyto(a, x[None, 1:2] ** 2)
    return a


def windows_see_later_changes(x):
    a = x * 1
    windows = np.lib.stride_tricks.sliding_window_view(a, (2, 2))
    a[1] *= x[0]
    return windows.sum(axis=(-1, -2))


PROGRAMS = [
    views_of_no_axes,
    sums_in_arrays_of_no_axes,
    rows_at_a_computed_index,
    masks_of_no_axes,
    copyto_ignores_surplus_axes,
    windows_see_later_changes,
    loop,
    through_row,
    through_transpose,
    through_reshape,
    reshape_of_a_transpose_is_a_copy,
    ravel_and_flatten,
    parts_of_flat_are_copies,
    ravel_of_views_with_gaps_is_a_copy,
    assignments_of_overlapping_views,
    diagonals_see_later_changes,
    views_of_views,
    views_see_later_changes,
    read_before_write,
    swapped_rows,
    swapped_elements,
    mask,
    index_arrays,
    slices_with_steps,
    operators,
    scalars_are_rebound,
    rows_of_a_loop,
    out_arguments,
    out_where_a_mask_holds,
    whole_functions,
    methods,
    ufunc_at,
    real_and_imaginary,
    created,
    splits,
    einsum_views,
    reduceat,
    stencil,
    buffer,
    results_are_scalars,
    zeros_of_no_axes_are_an_array,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    def scalar(x):
        y = f(x)
        return np.sum(y * np.cos(y))

    given = X.copy()
    expected = f(X)
    np.testing.assert_array_equal(given, X)
    value, pull = fg.vjp(f, X)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(f)(X), expected, rtol=1e-13)
    batch = np.stack([X, X + 0.01, X - 0.02])
    np.testing.assert_allclose(fg.vmap(f)(batch), [f(x) for x in batch], rtol=1e-13)

    v = np.random.default_rng(0).normal(size=X.shape)
    step = 1e-6
    central = (f(X + step * v) - f(X - step * v)) / (2 * step)
    np.testing.assert_allclose(fg.jvp(f, (X,), (v,))[1], central, rtol=1e-6, atol=1e-7)
    ct = np.cos(expected)
    np.testing.assert_allclose(np.sum(pull(ct)[0] * v), np.sum(ct * central), rtol=1e-6, atol=1e-7)
    gradient = fg.grad(scalar)
    np.testing.assert_allclose(fg.jit(gradient)(X), gradient(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        fg.vmap(gradient)(batch), [gradient(x) for x in batch], rtol=1e-12, atol=1e-13
    )
    second = fg.jvp(gradient, (X,), (v,))[1]
    differences = (gradient(X + step * v) - gradient(X - step * v)) / (2 * step)
    np.testing.assert_allclose(second, differences, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.__setitem__(0, 1.0), "an argument of `grad.*changed in place.*Copy first"),
        (lambda x: x[1:].__imul__(2), "a view of an argument"),
        (lambda x: np.add(x, 1, out=x), "an argument of"),
        (lambda x: x.T.reshape(4, 3).fill(0), "a view of an argument"),
        (lambda x: np.broadcast_to(x[0] * 1, (2, 4)).__setitem__(0, 1), "read-only"),
        (lambda x: (x * 1).diagonal().__setitem__(0, 1), "read-only"),
        (lambda x: np.zeros(3).__setitem__(0, x[0, 0]), "fungrad.numpy.zeros"),
        (lambda x: np.zeros((3, 4)).__iadd__(x), "fungrad.numpy.zeros"),
        (lambda x: np.add(x, x, out=np.zeros((3, 4))), "fungrad.numpy.zeros"),
        (lambda x: np.sum(x, out=np.zeros(())), "fungrad.numpy.zeros"),
        (lambda x: np.add.at(np.zeros(4), [0], x[0]), "fungrad.numpy.zeros"),
        (lambda x: np.copyto(np.zeros((3, 4)), x), "fungrad.numpy.zeros"),
        (lambda x: fnp.arange(12).reshape(3, 4).__iadd__(x), "Cannot cast output.*same_kind"),
        (lambda x: (x * 1).__iadd__(np.ones((2, 3, 4))), "non-broadcastable output"),
        (lambda x: np.sin(x, where=x > 0), "give `out` too"),
        (lambda x: (x * 1).resize((12,)), "cannot be resized"),
        (lambda x: x.sum().fill(1.0), r"a scalar of type float64.*fungrad.numpy.array\(s\) a copy"),
        (lambda x: (x * 1)[0, 0].__setitem__(..., 1.0), "a scalar of type float64"),
        (lambda x: np.add(x[0, 0], 1, out=x.sum()), "a scalar of type float64"),
        (lambda x: np.add.at(x.sum(), (), 1.0), "a scalar of type float64"),
        (lambda x: (x * 1).view(np.int64), "no bytes"),
        (lambda x: x.T.ravel("K"), "ravel: order='K' takes elements as they lie in memory"),
        (lambda x: x.reshape(-1, order="A"), "reshape: order='A' .*give order='C' or 'F'"),
        (lambda x: x.flatten("Q"), "order must be one of"),
    ],
)
def test_error(change, message):
    def f(x):
        change(x)
        return fnp.sum(x)

    with setting(reading="fungrad.numpy.zeros" not in message):  # what is read makes no such arrays
        with pytest.raises((TypeError, ValueError), match=f"(?s){message}"):
            fg.grad(f)(X)
        with pytest.raises((TypeError, ValueError, fg.ConcretizationError)):
            fg.jit(f)(X)


def test_a_broadcast_scalar_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        fg.jit(lambda x: np.broadcast_to(x.sum(), 3).fill(1.0))(X)


def test_an_inner_function_cannot_change_an_outer_array():
    def f(x):
        total = fnp.zeros(3)

        def inner(y):
            total[0] = y
            return y * y

        return fg.grad(inner)(x) + total[0]

    with pytest.raises(TypeError, match=r"made in `grad\(f\)` is changed in place inside of `grad"):
        fg.grad(f)(2.0)


def test_an_inner_function_cannot_change_an_outer_array_at_its_own_index():
    def f(x):
        a = x * 1

        def inner(i):
            row = a[i]
            row += 1
            return row.sum()

        return fg.vmap(inner)(np.arange(3)).sum()

    with pytest.raises(TypeError, match=r"made in `grad\(f\)` is changed in place inside of `vmap"):
        fg.grad(f)(X)


def test_an_inner_function_changes_its_copy_at_an_index_of_its_own():
    def f(x):
        def inner(i):
            a = x * 1  # computed in the outer trace
            row = a[i]
            row *= 2
            return a.sum()

        return fg.vmap(inner)(np.arange(3)).sum()

    np.testing.assert_array_equal(fg.grad(f)(X), np.full(X.shape, 4.0))


def test_an_outer_array_changed_between_inner_functions():
    def f(x):
        a = fnp.zeros(2)
        a[0] = x
        first = fg.grad(lambda y: y * a[0] * a[0])(x)  # x^2
        a[0] = 3 * x
        inner = fg.vmap(lambda y: y * a.sum())(fnp.ones(2))
        a *= 0
        return first + inner.sum() + a.sum()  # x^2 + 6 x

    assert fg.grad(f)(2.0) == 10.0
    assert fg.jit(fg.grad(f))(2.0) == 10.0


def test_a_view_of_a_captured_trace_keeps_its_time():
    def f(x):
        a = x * 1
        return fg.jit(lambda y: y * a)(x), a.__imul__(2)

    np.testing.assert_array_equal(fg.jit(f)(X)[0], X * X)


def test_buffer_of_the_caller_reused_in_a_loop():
    for n in (4, 100_000):
        buffer = np.zeros(n)

        def f(x, buffer=buffer):
            total = 0.0
            for k in range(3):
                buffer[:] = k
                total = total + fnp.sum(x * buffer)
            return total

        np.testing.assert_array_equal(fg.grad(f)(np.ones(n)), np.full(n, 3.0))


def test_views_are_not_kept_alive():
    def f(x):
        a = x * 1
        for i in range(3000):
            a[i % 3] += x[(i + 1) % 3, 0]
        assert len(a._memory.references) < 100
        return a.sum()

    fg.grad(f)(X)


def test_updates_through_a_mask():
    def f(x):
        a = x * 1
        a[x > 1] *= x[0, 0]
        a[a < 0] += a[0, :1]
        return a

    np.testing.assert_array_equal(fg.vjp(f, X)[0], f(X))
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="where"):
        fg.jit(f)(X)


def test_at():
    i = np.array([0, 2, 2])
    for x in (X, np.arange(12).reshape(3, 4)):
        v = x[:1]
        for method, ufunc in {
            "add": np.add,
            "subtract": np.subtract,
            "multiply": np.multiply,
            "min": np.minimum,
            "max": np.maximum,
        }.items():
            expected = x.copy()
            ufunc.at(expected, i, v)
            for get in (fg.at, lambda y: fg.jit(lambda z: z)(y)):
                if get is fg.at:
                    np.testing.assert_allclose(getattr(fg.at(x)[i], method)(v), expected)
            traced = fg.jit(lambda y, v, m=method: getattr(y.at[i], m)(v))
            np.testing.assert_allclose(traced(x, v), expected)
    np.testing.assert_array_equal(fg.at(X)[1:, 0].set(5), fg.jit(lambda x: x.at[1:, 0].set(5))(X))
    np.testing.assert_allclose(fg.at(X)[0].divide(2)[0], X[0] / 2)
    np.testing.assert_allclose(fg.jit(lambda x: x.at[0].power(2))(X)[0], X[0] ** 2)
    np.testing.assert_allclose(fg.jit(lambda x: x.at[0].apply(np.sin))(X)[0], np.sin(X[0]))
    np.testing.assert_array_equal(fg.at(X)[1].get(), X[1])


@pytest.mark.parametrize(
    "kind", ["set", "add", "subtract", "multiply", "divide", "power", "min", "max"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_at_broadcasts_values_of_one_axis_to_an_index_of_several(kind, dtype):
    if (dtype is np.complex128 and kind in ("min", "max")) or (
        dtype is np.int64 and kind == "power"
    ):
        kind = "add"
    rng = np.random.default_rng(0)
    x, values = (rng.uniform(1, 4, n).astype(dtype) for n in (50, 4))
    index = rng.integers(0, 50, (5, 4))
    whole = np.broadcast_to(values, index.shape).copy()
    for there, given in [(values, whole), (values[:1], whole[:, :1]), (values[None], whole)]:
        expected = getattr(fg.at(x)[index.ravel()], kind)((there + 0 * whole).ravel())
        for z in (there, given):
            np.testing.assert_allclose(getattr(fg.at(x)[index], kind)(z), expected, rtol=1e-6)
            jitted = fg.jit(lambda x, z, i: getattr(x.at[i], kind)(z))
            np.testing.assert_allclose(jitted(x, z, index), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", ["clip", "drop", "wrap", "raise", "promise_in_bounds"])
def test_at_out_of_bounds(mode):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    i, v = np.array([-1, 9, -6]), np.array([10.0, 20.0, 30.0])
    expected = {
        "clip": [30.0, 2.0, 3.0, 20.0],
        "drop": [1.0, 2.0, 3.0, 10.0],
        "wrap": [1.0, 20.0, 30.0, 10.0],
    }.get(mode)
    traced = fg.jit(lambda x, v, i: x.at[i].set(v, mode=mode))
    if expected is None:
        with pytest.raises(IndexError):
            fg.at(x)[i].set(v, mode=mode)
        with pytest.raises(IndexError):
            traced(x, v, i)
        return
    np.testing.assert_array_equal(fg.at(x)[i].set(v, mode=mode), expected)
    np.testing.assert_array_equal(traced(x, v, i), expected)
    got = fg.at(x)[i].get(mode=mode, fill_value=-1)
    np.testing.assert_array_equal(
        fg.jit(lambda x, i: x.at[i].get(mode=mode, fill_value=-1))(x, i), got
    )
    assert got[0] == {"clip": 4, "drop": 4, "wrap": 4}[mode]


def test_at_refuses_unknown_modes():
    with pytest.raises(ValueError, match="mode is one of"):
        fg.at(X)[0].set(1.0, mode="nearest")


def test_inplace_false():
    a = np.zeros((2, 2))
    np.testing.assert_array_equal(fnp.fill_diagonal(a, 3.0, inplace=False), np.eye(2) * 3)
    assert not a.any()
    index = np.array([[1], [0]])
    put = fg.jit(lambda x: fnp.put_along_axis(x, index, 5.0, axis=1, inplace=False))
    np.testing.assert_array_equal(put(a), [[0, 5], [5, 0]])
    assert fnp.fill_diagonal(a, 1.0) is None
    assert a.sum() == 2


def test_constants_have_values_where_arguments_have_none():
    def f(x):
        table = fnp.arange(3) * 2
        table[1] = 7
        if table[1] == 7 and float(fnp.ones(3).sum()) == 3.0:
            return x[: int(table[2])] * table[1]
        return x

    np.testing.assert_array_equal(fg.jit(f)(np.arange(8.0)), np.arange(4.0) * 7)
    np.testing.assert_array_equal(fg.vmap(f)(np.ones((2, 8))), np.full((2, 4), 7.0))
    by_argument = lambda x: x if fnp.arange(3).sum() < x else -x
    assert fg.jit(by_argument)(1.0) == -1
    with setting(reading=False), pytest.raises(fg.ConcretizationError):
        fg.jit(by_argument)(1.0)
    # What comes from an enclosing function has a value if that has one.
    outer = lambda y: (
        fg.vmap(lambda x: x * 2 if (y * fnp.ones(3)).sum() > 0 else x)(fnp.ones(2)) * y
    )
    np.testing.assert_array_equal(fg.jacobian(outer)(3.0), [2.0, 2.0])
    np.testing.assert_array_equal(fg.jit(outer)(3.0), [6.0, 6.0])
    np.testing.assert_array_equal(fg.jit(outer)(-3.0), [-3.0, -3.0])
    with setting(reading=False), pytest.raises(fg.ConcretizationError):
        fg.jit(outer)(3.0)


# What is assigned to after a transform has taken or given it: arguments are as they were, and results arrays of their own


def _write(x):
    x[...] = 0.5


def _later_pullback(v):
    y, pull = fg.vjp(lambda c: c * c * c, v)
    _write(v)
    return pull(y)[0]


def _later_pullback_of_its_own_result(v):
    y, pull = fg.vjp(np.exp, v)
    _write(y)
    return pull(v)[0]


def _later_derivative(v):
    y, push = fg.linearize(lambda c: c * np.exp(c), v)
    _write(v)
    _write(y)
    return push(np.ones_like(v))


def _later_transpose(v):
    transposed = fg.linear_transpose(lambda c: c * v, v)
    _write(v)
    return transposed(np.ones_like(v))[0]


def _pullback_of_nothing(v):
    ct = v * 2
    _write(fg.vjp(lambda c: c, v)[1](ct)[0])
    return ct * v


def _value(v):
    _write(fg.vjp(lambda c: c, v)[0])
    return v * 1


def _given_back(v):
    y = fg.vjp(lambda c: c, v)[0]
    _write(v)
    return y * 1


def _tangent(v):
    t = v * 2
    _write(fg.jvp(lambda c: c, (v,), (t,))[1])
    return t * v


def _twice(v):
    y, z = fg.vmap(lambda c: (c, c))(v)
    _write(y)
    return z * v


def _auxiliary(v):
    (_, aux), _ = fg.value_and_grad(lambda c: (c.sum(), c), has_aux=True)(v)
    _write(aux)
    return v * 1


def _series(v):
    _write(fg.jet(lambda c: c, (v,), ((v,),))[0])
    return v * 1


@pytest.mark.parametrize(
    "f",
    [
        *(_later_pullback, _later_pullback_of_its_own_result, _later_derivative, _later_transpose),
        *(_pullback_of_nothing, _value, _given_back, _tangent, _twice, _auxiliary, _series),
    ],
)
def test_what_transforms_take_and_give_may_be_assigned_to_within_others(f):
    x = np.array([1.0, 2.0, 3.0])
    expected = f(x.copy())
    g = lambda x: f(x * 1)
    for found in (
        fg.jit(g)(x),
        fg.vjp(g, x)[0],
        fg.jvp(g, (x,), (x,))[0],
        fg.vmap(g)(x[None])[0],
        fg.jit(fg.vmap(g))(x[None])[0],
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("indices", [[0, 2, 3], slice(1, 4), [1, 1, 4]])
def test_quotients_at_indices_are_those_of_numpy(indices):
    """To the last bit where no index repeats, also where 1 / b is infinite."""

    def f(a, b):
        a = a + 0
        np.divide.at(a, indices, b)
        return a

    rng = np.random.default_rng(0)
    a = rng.normal(size=5)
    for b in (rng.normal(size=3), np.array([1.0, 7.0, 5e-324])):
        zero = np.where(b < 1e-300, 0.0, 1.0).min()
        expected = f(a * zero, b)
        for g in (fg.jit(f), lambda a, b: fg.vjp(f, a, b)[0]):
            if indices == [1, 1, 4]:
                np.testing.assert_allclose(g(a * zero, b), expected, rtol=1e-15)
            else:
                np.testing.assert_array_equal(g(a * zero, b), expected)

"""What shares memory with what, and what is a scalar: results of calls are written into, as are their operands.

Every call stands in one program, which then changes the result in place, also through another name, and the operands. It is run by
NumPy, and under each transform; all arrays must end up alike. So a view is a view, a copy a copy, and a scalar a
scalar exactly where they are in NumPy.
"""

import copy
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

OPERANDS = """
y = x.copy()
v = y[1, ...]
s = y[0]
one = x[:1].copy()
m3 = x[:, None] * x + 3 * np.eye(3)
c = x + 1j * y
w = c[0, ...]
z = v
i = np.array([3, 1, 2])
u = np.array([3, 1, 2], np.uint8)
b = y > 4
k = i[1, ...]
j = i[1]
"""
OUTPUTS = ("y", "one", "m3", "c", "i", "u", "k", "same", "r")

# Of `x`: y is 1-d, v a view without axes, s a scalar, one of one element, m3 a matrix, c complex, w a view of an element of it; i and u
# are integers, b is a mask, k an array without axes, j a scalar, and one_index an array that is no tracer.
EXPRESSIONS = """
y[0, ...] ; y[..., 0] ; y[0][...] ; s[...] ; s[()] ; v[...] ; v[()] ; v[None] ; v.copy()
s.copy() ; np.copy(s) ; np.copy(v) ; np.array(s) ; np.asarray(s) ; np.asarray(v) ; np.array(v)
np.zeros_like(s) ; np.full_like(s, 3) ; np.squeeze(one) ; one.squeeze() ; one.reshape(())
np.squeeze(s) ; s.squeeze() ; np.reshape(s, ()) ; s.reshape(()) ; s.reshape(1) ; np.ravel(s)
s.ravel() ; v.ravel() ; s.flatten() ; v.T ; s.T ; np.transpose(s) ; np.transpose(v)
v.transpose() ; v.real ; s.real ; np.real(s) ; np.real(v) ; v.imag ; c.real ; c.imag ; np.real(c)
np.imag(c) ; c[()].real ; c[()].imag ; np.imag(c[()]) ; np.atleast_1d(v) ; np.atleast_1d(s)
np.atleast_2d(v) ; np.atleast_3d(v) ; np.broadcast_to(v, ()) ; np.broadcast_to(v, (2,))
np.broadcast_to(s, ()) ; np.broadcast_arrays(v, v) ; np.broadcast_arrays(s, s)
np.broadcast_arrays(s, y) ; np.expand_dims(v, 0) ; np.expand_dims(s, 0) ; np.unstack(y)
np.unstack(y[None]) ; np.ascontiguousarray(v) ; np.ascontiguousarray(s) ; np.asfortranarray(v)
np.asanyarray(v) ; np.asanyarray(s) ; np.flip(v) ; np.flip(s) ; np.flip(v, ()) ; np.squeeze(v)
np.split(y, 3) ; np.diagonal(np.ones((1, 1))) ; np.diag(np.ones((1, 1))) ; np.einsum('i->i', y)
np.einsum('->', v) ; np.einsum('ii->i', np.ones((1, 1))) ; np.einsum('', v) ; np.take(y, 0)
y.take(0) ; np.take(y, np.array(0)) ; y[np.array(0)] ; y[np.array(0), ...] ; y[np.int64(0)]
y[True, 0] ; y[0, True] ; y[[0], ...] ; y[np.array(0), None] ; np.moveaxis(v, (), ())
np.permute_dims(v, ()) ; np.permute_dims(v) ; np.squeeze(y[:1]) ; y.view()[0, ...] ; v.view()
s.view() ; y[:1].reshape(()) ; y[:1].reshape([]) ; np.nan_to_num(s) ; np.nan_to_num(v) ; np.abs(v)
np.sum(v) ; np.sum(y) ; np.positive(v) ; v + 0 ; +v ; np.real_if_close(c) ; np.real_if_close(v)
np.real_if_close(s) ; np.round(v) ; v.round() ; s.round() ; np.clip(v, 0, 1) ; np.clip(s, 0, 1)
v.clip(0, 1) ; np.astype(v, float) ; v.astype(float) ; s.astype(float)
v.astype(float, copy=False) ; s.astype(float, copy=False) ; np.full((), s) ; np.full((), 3.0)
np.where(True, v, s) ; np.where(True, s, s) ; np.select([True], [s])
np.piecewise(s, [True], [s]) ; np.choose(0, [s, s]) ; np.sort(y)[0] ; np.mean(y) ; np.median(y)
np.linalg.norm(y) ; np.dot(y, y) ; np.inner(y, y) ; np.vdot(y, y) ; np.tensordot(y, y, 1)
np.tensordot(y, y, 0) ; np.tensordot(s, s, 0) ; np.einsum('i,i', y, y) ; np.einsum('i->', y)
np.kron(s, s) ; np.outer(s, s) ; np.interp(s, y, y) ; np.interp(v, y, y)
np.trace(np.ones((2, 2))) ; np.cumsum(s) ; np.diff(y)[0] ; np.add.reduce(y) ; np.add.outer(s, s)
np.apply_along_axis(np.sum, 0, y) ; np.apply_over_axes(np.sum, y, 0)
np.vectorize(lambda t: t)(s) ; np.vectorize(lambda t: t)(v) ; np.linalg.det(np.eye(2))
np.polyval([1, 2], s) ; np.polyval([1, 2], v) ; np.sinc(s) ; np.sinc(v) ; np.i0(s) ; np.i0(v)
np.heaviside(s, s) ; np.angle(s) ; np.angle(v) ; np.angle(c) ; np.unwrap(y)[0] ; np.fix(s)
np.fix(v) ; np.stack([s, s]) ; np.concatenate([y, y]) ; np.block(s) ; np.block([[s]])
np.array([s, s]) ; np.arange(3)[0, ...] ; np.squeeze(np.sum(y, keepdims=True))
np.sum(y, keepdims=True) ; np.argmax(y) ; np.argmax(v) ; np.conj(v) ; v.conj() ; s.conj()
c.conj() ; np.searchsorted(y, s) ; np.searchsorted(y, v) ; np.digitize(s, y) ; np.count_nonzero(y)
np.ptp(y) ; np.quantile(y, 0.5) ; np.quantile(y, np.array(0.5)) ; np.percentile(v, 50)
np.average(y) ; np.nansum(y) ; np.nanmax(y) ; np.take_along_axis(y, np.array([0]), 0)
np.trapezoid(y) ; np.cross(np.ones(3), np.ones(3))[0, ...] ; np.linalg.norm(v)
np.swapaxes(np.ones((1, 1)), 0, 1)[0, 0, ...] ; np.isclose(s, s) ; np.isclose(v, v)
np.rot90(np.ones((1, 1)))[0, 0, ...] ; np.meshgrid(s) ; np.meshgrid(v, v) ; np.roll(v, 1)
np.roll(s, 1) ; np.tile(s, ()) ; np.tile(s, 1) ; np.repeat(s, 1) ; np.resize(y, ())
np.resize(s, ()) ; np.delete(y, 0) ; np.pad(v, 0) ; np.pad(s, 0) ; np.triu(np.ones((2, 2)))
np.nanmean(y) ; np.linalg.slogdet(np.eye(2))[0] ; np.frexp(s) ; np.frexp(v) ; np.modf(v)
np.divmod(v, 2) ; np.copy(y)[0] ; np.broadcast_to(3.0, ())
np.lib.stride_tricks.sliding_window_view(y, 1)[0, 0, ...] ; np.cumulative_sum(v)
np.asarray_chkfinite(s) ; np.isin(s, y) ; np.isin(v, y) ; np.ediff1d(s) ; np.gradient(y)
np.convolve(y, y) ; np.nan_to_num(v, copy=False) ; np.array(v, copy=False)
np.array(v, copy=None) ; np.asarray(v, copy=True) ; np.vecdot(y, y) ; np.linalg.vecdot(y, y)
np.bitwise_count(np.array(3)) ; np.einsum('i->i', y)[0, ...] ; np.cov(y) ; np.corrcoef(y)
np.linalg.multi_dot([y, y]) ; np.linalg.multi_dot([y, m3, y]) ; np.linalg.tensordot(y, y, axes=1)
np.linalg.matrix_norm(m3) ; np.linalg.vector_norm(y) ; np.linalg.trace(m3) ; np.linalg.cond(m3)
np.linalg.matrix_rank(m3) ; np.linalg.slogdet(m3)[1] ; np.linalg.lstsq(m3, y)[0][0]
np.nanmedian(y) ; np.nanpercentile(y, 50) ; np.nanquantile(y, np.array(0.5)) ; np.nanstd(y)
np.polyval(y, s) ; np.polyval(y, v) ; np.poly(y)[0, ...]
np.ravel_multi_index((np.array(0),), (3,)) ; np.extract([True], v) ; np.compress([True], y)
np.take(v, 0) ; np.take_along_axis(v, np.array([0]), None) ; np.insert(y, 0, s)[0, ...]
np.append(s, s) ; np.isreal(v) ; np.iscomplex(v) ; np.isneginf(v) ; np.nanargmax(y)
np.sort_complex(y)[0, ...] ; np.permute_dims(y[None], (1, 0))[0, 0, ...]
np.rollaxis(y[None], 1)[0, 0, ...] ; m3.T[0, 0, ...] ; m3.diagonal()[0, ...]
np.diagonal(m3)[0, ...] ; y[::-1][0, ...] ; y[None, 0, ...] ; y[...] ; y[..., None][0, 0, ...]
y.reshape(3, 1)[0, 0, ...] ; y.ravel()[0, ...] ; y.flat[0] ; v[..., None] ; v[None, ...]
v.reshape(-1) ; v.reshape(1, 1) ; v.reshape(()) ; v.flatten() ; v.squeeze()
np.atleast_1d(v, s)[1] ; s[None] ; c.real[0, ...] ; c[0, ...].real ; c[0, ...].imag
c.T[0, ...].imag ; w.real ; w.imag ; w.conj() ; w[()] ; np.real(w) ; m3[1, 1, ...] ; m3[1, ..., 1]
m3[..., 1, 1] ; m3[1][1, ...] ; m3[1:2, 1:2].squeeze() ; m3[1:2, 1:2].reshape(())
np.squeeze(m3[:1, :1], 0)[0, ...] ; np.squeeze(m3[:1, :1], axis=(0, 1)) ; v.astype(np.float32)
np.asarray(v, np.float32) ; np.asarray(s, np.float32) ; np.ascontiguousarray(v, np.float32)
copy.copy(v) ; copy.copy(s) ; copy.deepcopy(v) ; np.sum(y, out=v) ; np.add(v, 1, out=v)
np.stack([v, v])[0, ...] ; v.max() ; v.take(0) ; np.vectorize(lambda t: 2 * t)(v)
np.apply_along_axis(lambda t: t[0] * 1, 0, y) ; np.array(3.0) ; np.asarray(3.0) ; np.zeros(())
np.ones(()) ; np.empty(()) * 0 ; np.full((), 2.0) ; np.arange(3.0)[0, ...] ; np.zeros_like(v)
np.ones_like(s) ; np.empty_like(s) * 0 ; np.full_like(v, 2) ; np.zeros_like(y, shape=())
np.array([s])[0, ...] ; np.linspace(0, 1, 2)[0, ...] ; np.eye(1)[0, 0, ...]
np.where(y > 0, y, y)[0, ...] ; np.where(s > 0, s, 2) ; np.where(v > 0, v, 2.0)
np.select([s > 0, v > 0], [s, v], 1.0) ; np.piecewise(v, [v > 0], [s]) ; np.roll(v, 0)
np.tile(v, ()) ; np.flip(v, axis=()) ; np.flipud(y)[0, ...]
np.moveaxis(y[None], 0, 1)[0, 0, ...] ; np.split(y, 3)[0].squeeze()
np.hsplit(y, 3)[0].reshape(()) ; np.unstack(y[None])[0][0, ...]
np.einsum('ij->ji', m3)[0, 0, ...] ; np.einsum('ii->i', m3)[0, ...] ; np.einsum('...->...', v)
np.einsum(v, []) ; np.broadcast_to(y, (3,)) ; np.broadcast_to(y, (2, 3))[0, 0, ...]
np.broadcast_arrays(y, y)[0] ; np.real(y) ; np.real_if_close(y) ; np.asarray_chkfinite(y)
np.asarray_chkfinite(v) ; np.flip(y, ()) ; np.atleast_1d(y) ; np.squeeze(y) ; np.transpose(y)
y.conj() ; np.conj(y) ; np.positive(y) ; np.round(y) ; np.nan_to_num(y)
np.nan_to_num(y, copy=False) ; np.asarray(y) ; np.asarray(y, copy=True) ; np.trim_zeros(y)
np.sort(y) ; np.unwrap(y) ; np.resize(y, 3) ; np.tile(y, 1) ; np.repeat(y, 1) ; np.pad(y, 0)
np.roll(y, 0) ; np.delete(y, []) ; np.insert(y, [], []) ; np.append(y, []) ; np.concatenate([y])
np.block([y]) ; np.block(y) ; np.diff(y, 0) ; np.rot90(m3, 0) ; np.tril(m3, 5)
np.linalg.matrix_power(m3, 1) ; np.cumsum(y[:1]) ; np.cumsum(y, out=y)
np.choose([0, 0, 0], [y, y]) ; np.astype(y, float) ; np.astype(y, float, copy=False)
y.astype(float, copy=False) ; y.astype(float) ; y.view() ; y.view(np.ndarray) ; np.fft.fftshift(y)
np.interp(1.0, y, y) ; np.ix_(y)[0] ; np.meshgrid(y)[0] ; np.meshgrid(y, copy=False)[0]
np.meshgrid(y, s, copy=False)[0] ; np.meshgrid(y, sparse=True, copy=False)[0]
np.meshgrid(y, y, sparse=True, copy=False)[0] ; np.apply_over_axes(np.sum, m3, ())
np.array(y, copy=False) ; np.array(y, copy=None) ; np.array(y, ndmin=2, copy=None)
np.array(v, ndmin=1, copy=None) ; np.asanyarray(y) ; np.copy(y) ; y.copy() ; y[:] ; y[()] ; m3[0]
m3[0, :] ; np.reshape(y, (3,), copy=True) ; np.reshape(y, (3,), copy=False) ; c.real.ravel()
c.real.reshape(-1) ; c.imag.ravel() ; c.real.flatten() ; np.ravel(c.real) ; m3.T.ravel()
m3.T.reshape(-1) ; m3.T.reshape(-1, order='F') ; m3.ravel(order='F') ; np.linalg.diagonal(m3)
np.diag(m3) ; np.nanmax(y, keepdims=True) ; np.average(y, keepdims=True) ; np.sum(m3, axis=())
np.mean(v, axis=()) ; np.all(v) ; np.cumprod(v) ; np.linalg.inv(m3)[0, 0, ...]
np.float64(2.0)[...] ; np.swapaxes(m3, 0, 0) ; np.moveaxis(m3, 0, 0) ; np.rollaxis(m3, 0)
np.expand_dims(y, 0) ; np.expand_dims(v, ()) ; np.squeeze(v, axis=())
np.lib.stride_tricks.sliding_window_view(y, 2) ; np.bartlett(1) ; np.select([y > -99], [y])
np.imag(y) ; y.imag ; y.real ; np.unique(y) ; np.heaviside(v, v) ; np.hypot(v, s)
np.astype(v, np.float32) ; np.linalg.norm(y, axis=0) ; np.linalg.det(m3) ; np.cross(y, y)[0, ...]
np.gradient(y)[0, ...] ; np.histogram(y)[0][0, ...] ; np.bincount([0, 1], y[:2])[0, ...]
np.angle(w) ; np.floor(i) ; np.trunc(i) ; np.ceil(i) ; np.rint(y) ; np.conj(i) ; np.conjugate(y)
np.positive(i) ; np.abs(u) ; np.abs(b) ; np.round(i) ; np.around(i, 2) ; np.fix(i) ; np.round(a=i)
np.nan_to_num(i) ; np.nan_to_num(i, copy=False) ; np.nan_to_num(x=y) ; i.round() ; i.conj()
np.isfinite(i) ; np.invert(i) ; np.bitwise_or(i, 0) ; np.right_shift(i, 0) ; k ; k.copy()
np.squeeze(a=v) ; np.squeeze(a=y) ; np.transpose(a=y) ; np.ravel(a=y) ; np.ravel(a=v)
np.moveaxis(a=y, source=0, destination=0) ; np.broadcast_to(array=y, shape=(3,))
np.expand_dims(a=v, axis=0) ; np.flip(m=y) ; np.rot90(m=m3) ; np.diagonal(a=m3)
np.swapaxes(a=m3, axis1=0, axis2=1) ; np.real(val=c) ; np.asarray(a=v) ; np.asarray(a=y)
np.array(object=y, copy=False) ; np.copy(a=v) ; np.zeros_like(a=s) ; np.roll(a=y, shift=0)
np.diff(a=y, n=0) ; np.array_split(ary=y, indices_or_sections=3)
np.split(ary=y, indices_or_sections=3) ; np.roll(i, 0) ; np.sum(v, axis=None) ; np.add(y, 0)
y + 0 ; y * 1 ; y ** 1 ; i ** 1 ; +y ; abs(u) ; ~i ; i >> 0 ; y.clip(-9, 99) ; y.sum()
np.linalg.inv(m3) ; np.heaviside(v, 1.0) ; np.einsum('ij->ij', m3) ; np.interp(y, y, y)
np.apply_along_axis(lambda t: t, 0, y) ; np.vectorize(lambda r: r, signature='(n)->(n)')(y)
np.vectorize(lambda r: r.sum(), signature='(n)->()')(y) ; np.vectorize(lambda r: r)(y)
np.piecewise(y, [y > 0], [lambda t: t]) ; np.average(y, weights=y) ; np.median(m3)
np.quantile(y, [0.5])[0, ...] ; np.nancumsum(v) ; np.asarray(v, copy=False)
np.asarray(v, dtype=float) ; np.asanyarray(v, dtype=np.float32) ; np.array(v, dtype=np.float32)
np.full_like(y, s, shape=()) ; np.full((), v) ; np.full((), s, dtype=np.float32)
np.select([b], [y], 0.0)[0, ...] ; np.compress(b, y) ; np.extract(b, y) ; y[b] ; y[b][0, ...]
y[[0]] ; y[i[1], ...] ; y[k, ...] ; y[k] ; m3[k, ..., 0] ; m3[k, ...] ; y[..., k] ; np.take(y, k)
y[...,] ; v[...,] ; c.real[0:1].squeeze() ; c.real[0:1].reshape(()) ; c[0:1].reshape(()).imag
np.atleast_1d(c[0, ...].imag) ; c.real.T[1, ...] ; m3.T[1:].T[2, 0, ...]
m3[::-1, ::-1][0, 0, ...] ; m3.reshape(-1)[4, ...] ; m3[:, 1][..., 2]
np.linalg.matrix_power(m3, 0) ; np.linalg.matrix_power(m3, -1) ; np.asfortranarray(m3)
np.ascontiguousarray(m3) ; np.ascontiguousarray(m3.T) ; np.asfortranarray(m3.T) ; y ; m3[j]
m3[:, j] ; m3[j, j, ...] ; m3[j, j] ; m3[1:, j, ...] ; m3[j, ..., j] ; m3[-j][1:]
m3.T[j].reshape(-1) ; m3[j].reshape(3, 1)[::-1] ; m3[j, None, ::-1] ; m3[np.argmax(y)]
m3[j][j, ...] ; m3[j][[0, 1]] ; y[j, ...] ; y[j] ; m3[:, 1][j, ...] ; m3[np.int64(1)]
m3[one_index] ; m3[one_index, 1:] ; y[one_index, ...] ; m3[one_index, ...] ; c[j, ...].real
np.asarray(y, order='F') ; np.asarray(m3, order='F') ; np.array(m3.T, copy=None, order='C')
m3.T.astype(float, order='C', copy=False) ; m3.T.astype(float, copy=False)
m3.astype(float, 'F', copy=False) ; np.lib.stride_tricks.sliding_window_view(m3, (2, 2))
np.lib.stride_tricks.sliding_window_view(m3, 2, axis=1)[0] ; s.imag ; np.imag(s) ; j.imag
"""
EXPRESSIONS = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" ; ")]

NEED_VALUES = ("asarray_chkfinite", "trim_zeros", "unique(", "real_if_close(c)", "y[b]", "(b, y)")
"""What the shape or the error depends on: no transform without values takes these."""

X = np.array([3.2, 4.3, 5.1])
READ_ONLY = "read-only"


def written(expression, changes):
    """Return the program that makes the changes to the result of an expression."""
    first = ["if isinstance(r, (tuple, list)): r = r[0]", "same = r"]
    code = compile("\n".join([OPERANDS, f"r = {expression}", *first, *changes]), expression, "exec")

    def program(x):
        scope = {"np": fnp, "x": x, "copy": copy, "one_index": np.array(1)}
        exec(code, scope)
        return [scope[name] for name in OUTPUTS]

    return program


def changes_of(expression):
    """Return what NumPy lets one do to the result of an expression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = written(expression, [])(X)[-1]
        if isinstance(result, np.ndarray) and not result.flags.writeable:
            return READ_ONLY
    logical = result.dtype == bool
    changes = ["r ^= True" if logical else "r += 10"]
    if isinstance(result, np.ndarray):
        changes += ["r[...] = True" if logical else "r[...] = r * 3", "r[()] = same"]
        changes += [
            "y[1:] *= 2",
            "y[0] -= 1",
            "m3.T[1] = y",
            "c.imag = 2 * y",
            "i[::-1] += 1",
            "u[0] = 9",
        ]
    return changes


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        warnings.simplefilter("ignore", FutureWarning)  # of broadcast_arrays, and of casts
        yield


def same(found, expected):
    for name, a, b in zip(OUTPUTS, found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_memory(expression):
    changes = changes_of(expression)
    if changes == READ_ONLY or expression in WARNED:
        refused(expression)
        return
    f = written(expression, changes)
    expected = [np.array(a) for a in f(X)]
    same(fg.vjp(f, X)[0], expected)
    same(fg.linearize(f, X)[0], expected)

    def number(x):
        return sum(np.sum(np.real(a) * 0.1**n) for n, a in enumerate(f(x)) if a.dtype.kind in "fc")

    tangent, step = np.array([0.3, -0.2, 0.5]), 1e-4
    forward = fg.jvp(number, (X,), (tangent,))[1]
    np.testing.assert_allclose(fg.grad(number)(X) @ tangent, forward, rtol=1e-10, atol=1e-10)
    central = (number(X + step * tangent) - number(X - step * tangent)) / (2 * step)
    np.testing.assert_allclose(forward, central, rtol=1e-5, atol=1e-5)
    if not any(name in expression for name in NEED_VALUES):
        same(fg.jit(f)(X), expected)
        same([a[1] for a in fg.vmap(f)(np.stack([X + 1, X]))], expected)


WARNED = ("np.broadcast_arrays(s, y)", "np.meshgrid(y, s, copy=False)[0]")
"""What NumPy will not let one write to in future, as a warning says; here it is read-only."""


def refused(expression):
    f = written(expression, ["r[...] = 1"])
    with pytest.raises(ValueError, match=READ_ONLY):
        fg.vjp(f, X)
    with pytest.raises(ValueError, match=READ_ONLY):
        fg.jit(f)(X)


ORDERS = """
fnp.asfortranarray(a) ; fnp.zeros((2, 3), order="F") ; fnp.array(a, order="F") ; fnp.full((2, 3), a[0, 0], order="F") ; np.copy(a)
fnp.full((2, 3), 2.0, order="F") ; np.ones_like(a, order="F") ; np.copy(a, order="F") ; fnp.eye(2, 3, order="F") ; np.zeros_like(a)
np.copy(a.T) ; np.zeros_like(a.T) ; a.T.copy() ; fnp.array(a.T) ; fnp.array(a.T, order="C") ; np.full_like(a.T, 3.0) ; f.copy()
np.zeros_like(a.T, shape=(4, 5)) ; np.zeros_like(a.T, shape=4) ; fnp.asarray(a.T, dtype=np.float32) ; a.T.astype(np.float32) ; a.T.astype(float)
np.astype(a.T, np.float32) ; np.zeros_like(f) ; np.copy(f) ; fnp.array(f) ; f.astype(float) ; f.astype("f4") ; copy.copy(f) ; f.T.copy()
copy.deepcopy(f) ; np.copy(f.T) ; fnp.array([[1.0, 2.0], [3.0, 4.0]], order="F") ; np.choose(np.zeros((2, 3), int), [a]) ; f.copy("K") ; f.T
"""
ORDERS = [e.strip() for line in ORDERS.strip().splitlines() for e in line.split(" ; ")]


@pytest.mark.parametrize("turned", ["b.ravel()", "b.T.reshape(-1)"])
@pytest.mark.parametrize("expression", ORDERS)
def test_order_in_memory(expression, turned):
    """Whether a flat array is a view depends on the order that was asked for, or copied."""

    def f(x):
        scope = {"np": np, "fnp": fnp, "copy": copy, "a": x * 1}
        scope["f"] = fnp.asfortranarray(scope["a"])
        b = scope["b"] = eval(expression, scope)
        flat = eval(turned, scope)
        flat[0] += 100
        b[...] = b + np.sum(x)
        return scope["a"], scope["f"], b, flat

    x = np.arange(6.0).reshape(2, 3) + 1
    expected = f(x)
    for found in (fg.vjp(f, x)[0], fg.jit(f)(x), [a[0] for a in fg.vmap(f)(x[None])]):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)

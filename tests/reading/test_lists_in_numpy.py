"""NumPy's functions of lists that hold traced values: a list of results, as people hand it on."""

import math

import numpy as np
import pytest

import fungrad as fg

CALLS = [
    "np.fft.rfft(L)",
    "np.fft.fft(L)",
    "np.fft.ifft(L)",
    "np.fft.fft2(M)",
    "np.fft.fftn(M)",
    "np.fft.irfft(L)",
    "np.fft.fftshift(L)",
    "np.fft.ifftshift(L)",
    "np.fft.rfftn(M)",
    "np.fft.rfft2(M)",
    "np.fft.hfft(L)",
    "np.fft.ihfft(L)",
    "np.interp(0.3, [0,1,2,3], L)",
    "np.interp(L, [0,1,2], [1.,3.,2.])",
    "np.trapezoid(L)",
    "np.convolve(L, [1,2])",
    "np.correlate(L, L)",
    "np.histogram(L, bins=2, range=(-5,5))[0]",
    "np.histogram([0.5,1.5,2.5,.2], bins=2, weights=L)[0]",
    "np.cumsum(L)",
    "np.cumprod(L)",
    "np.diff(L)",
    "np.ediff1d(L)",
    "np.gradient(L)",
    "np.sort(L)",
    "np.argsort(L)",
    "np.median(L)",
    "np.percentile(L, 30)",
    "np.quantile(L, .3)",
    "np.mean(L)",
    "np.std(L)",
    "np.var(L)",
    "np.average(L, weights=[1,2,3,4])",
    "np.average([1,2,3,4], weights=L)",
    "np.ptp(L)",
    "np.max(L)",
    "np.min(L)",
    "np.argmax(L)",
    "np.sum(L)",
    "np.prod(L)",
    "np.nansum(L)",
    "np.nanmean(L)",
    "np.any(L)",
    "np.all(L)",
    "np.clip(L, -1, 1)",
    "np.where([True,False,True,True], L, 0.0)",
    "np.select([[True,False,True,True]], [L], 0.0)",
    "np.choose([0,0,0,0], [L])",
    "np.stack([L,L])",
    "np.concatenate([L,L])",
    "np.vstack([L,L])",
    "np.hstack([L,L])",
    "np.column_stack([L,L])",
    "np.dstack([L,L])",
    "np.block([[L, L]])",
    "np.append(L, 1.0)",
    "np.insert(L, 1, 2.0)",
    "np.delete(L, 1)",
    "np.roll(L, 1)",
    "np.flip(L)",
    "np.fliplr(M)",
    "np.flipud(M)",
    "np.rot90(M)",
    "np.tile(L, 2)",
    "np.repeat(L, 2)",
    "np.resize(L, 6)",
    "np.reshape(L, (2,2))",
    "np.ravel(M)",
    "np.transpose(M)",
    "np.squeeze([L])",
    "np.expand_dims(L, 0)",
    "np.atleast_1d(L)",
    "np.atleast_2d(L)",
    "np.atleast_3d(L)",
    "np.broadcast_to(L, (2,4))",
    "np.outer(L, L)",
    "np.inner(L, L)",
    "np.dot(L, L)",
    "np.vdot(L, L)",
    "np.matmul(M, M)",
    "np.tensordot(M, M)",
    "np.kron(L, L)",
    "np.cross(L[:3], L[1:])",
    "np.einsum('i,i', L, L)",
    "np.trace(M)",
    "np.diag(L)",
    "np.diagonal(M)",
    "np.tril(M)",
    "np.triu(M)",
    "np.polyfit([0,1,2,3], L, 1)",
    "np.polyval(L, 0.5)",
    "np.polyadd(L, L)",
    "np.polymul(L, L)",
    "np.polyder(L)",
    "np.polyint(L)",
    "np.vander(L)",
    "np.unwrap(L)",
    "np.angle(L)",
    "np.real(L)",
    "np.imag(L)",
    "np.sin(L)",
    "np.add(L, 1)",
    "np.maximum(L, 0.0)",
    "np.hypot(L, 1)",
    "np.linalg.norm(L)",
    "np.linalg.det(M)",
    "np.linalg.inv(M)",
    "np.linalg.solve(M, [1.,2.])",
    "np.linalg.solve([[1.,2.],[3.,5.]], L[:2])",
    "np.linalg.eigvalsh(M)",
    "np.linalg.svd(M)[1]",
    "np.linalg.qr(M)[1]",
    "np.linalg.lstsq(M, [1.,2.], rcond=None)[0]",
    "np.linalg.pinv(M)",
    "np.linalg.matrix_power(M, 2)",
    "np.linalg.slogdet(M)[1]",
    "np.linalg.multi_dot([M, M, M])",
    "np.linalg.cond(M)",
    "np.linalg.matrix_rank(M)",
    "np.cov(L, L)",
    "np.corrcoef(L, [1,2,0,4])",
    "np.searchsorted([0.,1.,2.], L)",
    "np.digitize(L, [0.,1.])",
    "np.bincount([0,1,1,0], weights=L)",
    "np.unique(L)",
    "np.count_nonzero(L)",
    "np.isfinite(L)",
    "np.isnan(L)",
    "np.allclose(L, L)",
    "np.isclose(L, 1.0)",
    "np.array_equal(L, L)",
    "np.round(L, 2)",
    "np.meshgrid(L, L)[0]",
    "np.asarray(L)",
    "np.ascontiguousarray(L)",
    "np.apply_along_axis(np.sum, 0, M)",
    "np.piecewise(L, [np.array(L) > 0], [1.0, 2.0])",
    "np.nan_to_num(L)",
    "np.heaviside(L, .5)",
    "np.sinc(L)",
    "np.i0(L)",
    "np.cumulative_sum(L)",
    "np.split(np.array(L), 2)[0]",
    "np.array_split(L, 2)[0]",
    "np.take(L, [0, 2])",
    "np.take_along_axis(np.array(L), np.array([0,1]), 0)",
    "np.compress([True,False,True,False], L)",
    "np.extract([True,False,True,False], L)",
    "np.pad(L, 1)",
    "np.trim_zeros(L)",
    "np.lexsort([L])",
    "np.partition(L, 2)",
    "np.argpartition(L, 2)",
    "np.swapaxes(M, 0, 1)",
    "np.moveaxis(M, 0, 1)",
    "np.maximum.accumulate(L)",
    "np.add.reduce(L)",
    "np.multiply.outer(L, L)",
    "np.subtract.accumulate(L)",
    "np.mod(L, 1)",
    "np.sign(L)",
    "np.copysign(1.0, L)",
    "np.r_[L, 1.0]",
    "np.c_[L, L]",
    "np.setdiff1d(L, [1.])",
    "np.intersect1d(L, L)",
    "np.isin(L, [1.])",
    "np.matrix_transpose(M)",
    "np.linalg.vecdot(L, L)",
    "np.vecdot(L, L)",
    "np.lib.stride_tricks.sliding_window_view(np.array(L), 2)",
    "np.histogram2d(L, L, bins=2)[0]",
    "np.histogram_bin_edges(L, 3)",
    "np.nanmax(L)",
    "np.nanstd(L)",
    "np.nanmedian(L)",
    "np.nanpercentile(L, 40)",
    "np.nancumsum(L)",
    "np.fmin(L, 0)",
    "np.fix(L)",
    "np.trunc(L)",
    "np.spacing(L)",
    "np.frexp(L)[0]",
    "np.ldexp(L, 2)",
    "np.modf(L)[0]",
    "np.divmod(L, 2)[1]",
    "np.linalg.eigh(M)[0]",
    "np.linalg.cholesky(np.array(M) @ np.array(M).T + np.eye(2))",
    "np.linalg.tensorsolve(np.eye(4), L)",
    "np.broadcast_arrays(L, 1.0)[0]",
    "np.unstack(np.array(M))[0]",
    "np.copy(L)",
    "np.asanyarray(L)",
    "np.require(L)",
    "np.diagflat(L)",
]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """A function for each call, in a file that they can be read from."""
    lines = ["import math", "import numpy as np", ""]
    for k, call in enumerate(CALLS):
        lines += [f"def f{k}(x):", "    L = [x * 1.3, x - 0.7, math.sin(x), 2.0]"]
        lines += ["    M = [[x, 1.0], [0.5, x * x]]", f"    return {call}", ""]
    path = tmp_path_factory.mktemp("lists") / "lists.py"
    path.write_text("\n".join(lines))
    module = {"__name__": "lists"}
    exec(compile("\n".join(lines), str(path), "exec"), module)
    return {call: module[f"f{k}"] for k, call in enumerate(CALLS)}


@pytest.mark.parametrize("call", CALLS)
def test_list_of_traced_values(call, functions):
    f, x = functions[call], 0.83
    expected = np.asarray(f(x))
    np.testing.assert_allclose(fg.jit(f)(x), expected, rtol=1e-9)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.4, x]))[1], expected, rtol=1e-9)
    if expected.dtype.kind == "f":
        slope = (np.asarray(f(x + 1e-6)) - np.asarray(f(x - 1e-6))) / 2e-6
        np.testing.assert_allclose(fg.jacobian(f)(x), slope, rtol=1e-4, atol=1e-5)


def test_one_program_serves_all_values():
    """A list is a traced array, not a guard on each of its values."""

    def f(x):
        terms = [x, 2 * x, math.cos(x)]
        return np.sum(np.sqrt(terms)) + np.abs(np.fft.rfft(terms)).max()

    expr = fg.make_expr(f)(0.5)  # which has no values to guard
    assert [e.primitive.name for e in expr.equations].count("sqrt") == 1
    jitted = fg.jit(f)
    for x in np.linspace(0.3, 1.3, 12):
        np.testing.assert_allclose(jitted(x), f(x))


def test_lists_in_attributes():
    class Track:
        def __init__(self):
            self.points = []

        def length(self):
            return np.sum(np.square(self.points))

    def f(x):
        track = Track()
        for k in range(3):
            track.points.append(k * x)
        return track.length() + np.hypot(track.points, 1.0).sum()

    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fg.grad(f)(0.7), slope, rtol=1e-7)

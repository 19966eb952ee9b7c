"""Dtypes, shapes, values and errors of elementwise functions for all combinations of dtypes: NumPy's.

Each test loops over the combinations and reports all that differ at once.
"""

import itertools
import operator

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.types import is_added, kind_of

DTYPES = [*np.typecodes["AllInteger"].lower(), *np.typecodes["UnsignedInteger"], *"?efdgFDG"]
DTYPES = sorted({np.dtype(code) for code in DTYPES}, key=lambda d: (d.kind, d.itemsize))
PYTHON = [True, 2, 2.5, 1.5 + 0.5j]
NAMES = [name for name in fnp.__all__ if isinstance(getattr(np, name, None), np.ufunc)]
UFUNCS = {f.__name__: f for f in [getattr(np, name) for name in NAMES] if not f.signature}


class Slot:
    """Stands for a traced array among the operands of a call."""

    def __init__(self, array):
        self.array = array

    def __str__(self):
        return f"tracer of {getattr(self.array, 'dtype', self.array)}"


def sample(dtype, shape):
    """Return a few numbers, as different as the dtype allows."""
    numbers = 1 + np.arange(np.prod(shape)).reshape(shape)
    if kind_of(dtype) in "fc":
        numbers = numbers * 0.625
    return (numbers * (1 - 0.25j) if dtype.kind == "c" else numbers).astype(dtype)


COLUMN = [Slot(sample(d, (2, 1))) for d in DTYPES]
ROW = [Slot(sample(d, (3,))) for d in DTYPES]
SCALARS = [sample(d, (1,))[0] for d in DTYPES]
WEAK = [Slot(x) for x in PYTHON]
ZERO_D = [sample(d, ()) for d in DTYPES]


def attempt(function, operands, failed):
    try:
        return function(*operands)
    except (TypeError, ValueError, OverflowError) as error:
        return failed(error)


def differences(function, reference, calls, ulps=1):
    """Return how traced calls of `function` differ from NumPy's `reference`: a list of messages.

    A call is a tuple of operands. All calls are traced in one jitted function.
    """
    slots = list({id(x): x for call in calls for x in call if isinstance(x, Slot)}.values())
    place = {id(slot): i for i, slot in enumerate(slots)}
    errors = []

    def traced(arrays):
        errors.clear()
        results = []
        for i, call in enumerate(calls):
            operands = [arrays[place[id(x)]] if isinstance(x, Slot) else x for x in call]
            results.append(attempt(function, operands, lambda e, i=i: errors.append((i, e))))
        return results

    with np.errstate(all="ignore"):
        found = fg.jit(traced)([slot.array for slot in slots])
        failed = dict(errors)
        messages = []
        for i, call in enumerate(calls):
            operands = [x.array if isinstance(x, Slot) else x for x in call]
            expected = attempt(reference, operands, lambda e: e)
            message = difference(failed.get(i, found[i]), expected, ulps)
            if message:
                messages.append(f"{[*map(str, call)]}: {message}")
    return messages


def difference(found, expected, ulps):
    """Return in what two results of a call differ; None if they are the same."""
    if isinstance(found, Exception) or isinstance(expected, Exception):
        kinds = (TypeError, ValueError, OverflowError)
        same = any(isinstance(found, k) and isinstance(expected, k) for k in kinds)
        return None if same else f"{found!r}, NumPy's is {expected!r}"
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"{x.dtype}{x.shape}, NumPy's is {y.dtype}{y.shape}"
        if not same_values(x, y, ulps):
            return f"{x} {x.dtype}, NumPy's is {y}"
    return None


def same_values(x, y, ulps):
    if y.dtype.kind == "c" and ulps == 1:
        return same_values(x.real, y.real, ulps) and same_values(x.imag, y.imag, ulps)
    if kind_of(y.dtype) not in "fc":
        return np.array_equal(x, y)
    if is_added(y.dtype):  # NumPy's `spacing` has no loop for it
        return np.array_equal(x.astype(np.float32), y.astype(np.float32), equal_nan=True)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= ulps * np.spacing(np.abs(y))
    return bool(np.all(near | (x == y) | (np.isnan(x) & np.isnan(y))))


def pairs(zero_d=True):
    """Return operands for a function of two: all dtypes with all, and with every kind of scalar."""
    return [
        *itertools.product(COLUMN, ROW),
        *(itertools.product(ROW, SCALARS) if zero_d else ()),
        *(itertools.product(ZERO_D, ROW) if zero_d else ()),
        *itertools.product(ROW, PYTHON),
        *itertools.product(PYTHON, ROW),
        *itertools.product(ROW, WEAK),
        *itertools.product(WEAK, ROW),
    ]


def check(function, reference, calls, ulps=1):
    messages = differences(function, reference, calls, ulps)
    assert not messages, "\n".join([f"{len(messages)} of {len(calls)} differ", *messages[:9]])


def test_other_names_are_the_same_functions():
    for name in NAMES:
        assert getattr(fnp, name) is getattr(fnp, getattr(np, name).__name__)


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_ufunc(name):
    ufunc = UFUNCS[name]
    check(getattr(fnp, name), ufunc, [(x,) for x in ROW] if ufunc.nin == 1 else pairs())


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"])
def test_ufuncs_of_added_dtypes(name):
    added = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    dtypes = [np.dtype(code) for code in ("?", "i2", "f2", "f4", "F")]
    row, column = Slot(sample(added, (3,))), Slot(sample(added, (2, 1)))
    others = [column, *[x for x in ROW if x.array.dtype in dtypes], *PYTHON, *WEAK]
    for ufunc_name, ufunc in UFUNCS.items():
        calls = [(row, x) for x in others] + [(x, row) for x in others]
        function = getattr(fnp, ufunc_name)
        messages = differences(function, ufunc, calls if ufunc.nin == 2 else [(row,)])
        # Here `rad2deg` is `degrees`, for which NumPy's loops are others.
        assert not messages or ufunc_name in ("rad2deg", "deg2rad"), "\n".join(messages)


def test_eager_calls_are_those_of_numpy():
    plain = [tuple(x.array if isinstance(x, Slot) else x for x in call) for call in pairs()]
    for name, ufunc in UFUNCS.items():
        for call in [call[: ufunc.nin] for call in plain[:: 37 if ufunc.nin > 1 else 1]]:
            with np.errstate(all="ignore"):
                found, expected = (attempt(f, call, repr) for f in (getattr(fnp, name), ufunc))
            assert type(found) is type(expected), (name, call)
            assert difference(found, expected, ulps=0) is None, (name, call)


@pytest.mark.parametrize("name", ["divmod", "ldexp", "logaddexp", "power", "where"])
def test_abstract_evaluation(name):
    """The types alone, without values, are those of the results."""
    for x, y in itertools.product(COLUMN, ROW):
        function = (lambda x, y: fnp.where(x > y, x, y)) if name == "where" else getattr(fnp, name)
        with np.errstate(all="ignore"):
            expected = attempt(function, (x.array, y.array), type)
        found = attempt(fg.eval_shape, (function, x.array, y.array), type)
        if isinstance(expected, type):
            assert issubclass(expected, found), (x, y)
            continue
        for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), (str(x), str(y))


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"]
OPERATORS += ["and_", "or_", "xor", "eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    function = getattr(operator, name)
    calls = [*pairs(), *[(x, x) for x in ROW]]  # of different shapes, and of one type
    if name == "pow":  # NumPy looks at the value of the exponent, and a traced one may have none
        calls = [(x, y) for x, y in calls if not (y in WEAK and x.array.dtype == bool)]
    check(function, function, calls)


@pytest.mark.parametrize("name", ["pow", "matmul"])
def test_more_operators(name):
    function = getattr(operator, name)
    exponents = [0, 1, 2, 3, 0.5, 2.0, -1.0, 0.0]
    inexact = [x for x in ROW if x.array.dtype.kind in "fc"]
    matrices = [Slot(sample(d, (3, 3))) for d in DTYPES]
    calls = {"pow": [*itertools.product(ROW, exponents), *itertools.product(exponents, ROW)]}
    calls["pow"] += itertools.product(inexact, [-1, -2])
    calls["matmul"] = [*itertools.product(matrices, ROW), *itertools.product(ROW, matrices)]
    check(function, function, calls[name], ulps=2)


BOUNDS = [-(2**63) - 1, -(2**63), -129, -1, 0, 127, 128, 255, 256, 2**31, 2**63, 2**64, 10**30]


@pytest.mark.parametrize(
    "name", ["add", "mul", "floordiv", "and_", "eq", "ne", "lt", "le", "gt", "ge"]
)
def test_python_integers_beyond_the_dtype(name):
    function = getattr(operator, name)
    check(function, function, [*itertools.product(ROW, BOUNDS), *itertools.product(BOUNDS, ROW)])


def of_namespace(call):
    """Return a call of functions of a namespace, for fungrad's and for NumPy's."""
    return lambda *operands: call(fnp, *operands), lambda *operands: call(np, *operands)


ELEMENTWISE = {
    "allclose": lambda xp, x: xp.allclose(x, x),
    "angle": lambda xp, x: xp.angle(x),
    "angle_deg": lambda xp, x: xp.angle(x, deg=True),
    "around": lambda xp, x: xp.around(x),
    "array_equal": lambda xp, x: xp.array_equal(x, x),
    "array_equal_nan": lambda xp, x: xp.array_equal(x, x, equal_nan=True),
    "array_equiv": lambda xp, x: xp.array_equiv(x, x),
    "astype": lambda xp, x: [
        xp.astype(x, d) for d in DTYPES if d.kind == "c" or x.dtype.kind != "c"
    ],
    "clip": lambda xp, x: xp.clip(x, 1, 2),
    "clip_max": lambda xp, x: xp.clip(x, None, 1.5),
    "clip_min": lambda xp, x: xp.clip(x, min=1.5),
    "copy": lambda xp, x: xp.copy(x),
    "diff": lambda xp, x: xp.diff(x),
    "ediff1d": lambda xp, x: xp.ediff1d(x),
    "fix": lambda xp, x: xp.fix(x),
    "full_like": lambda xp, x: xp.full_like(x, 1),
    "gradient": lambda xp, x: xp.gradient(x),
    "imag": lambda xp, x: xp.imag(x),
    "isclose": lambda xp, x: xp.isclose(x, x),
    "iscomplex": lambda xp, x: xp.iscomplex(x),
    "isneginf": lambda xp, x: xp.isneginf(x),
    "isposinf": lambda xp, x: xp.isposinf(x),
    "isreal": lambda xp, x: xp.isreal(x),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x),
    "nan_to_num_of": lambda xp, x: xp.nan_to_num(x, nan=1.5, posinf=2, neginf=-3),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "real": lambda xp, x: xp.real(x),
    "round": lambda xp, x: xp.round(x),
    "round_down": lambda xp, x: xp.round(x, -1),
    "round_up": lambda xp, x: xp.round(x, 1),
    "sinc": lambda xp, x: xp.sinc(x),
    "trapezoid": lambda xp, x: xp.trapezoid(x),
    "unwrap": lambda xp, x: xp.unwrap(x),
    "where_0": lambda xp, x: xp.where(x, x, 0),
    "where_1j": lambda xp, x: xp.where(x > x[0], 0.5j, x),
    "where_float": lambda xp, x: xp.where(x > x[0], x, 0.5),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    check(*of_namespace(ELEMENTWISE[name]), [(x,) for x in ROW], ulps=2)


OF_TWO = {
    "allclose": lambda xp, x, y: xp.allclose(x, y),
    "append": lambda xp, x, y: xp.append(x, y),
    "array_equal": lambda xp, x, y: xp.array_equal(x, y),
    "clip": lambda xp, x, y: xp.clip(x, y, y),
    "clip_max": lambda xp, x, y: xp.clip(x, None, y),
    "clip_min": lambda xp, x, y: xp.clip(x, y, None),
    "concatenate": lambda xp, x, y: xp.concatenate([xp.ravel(x), xp.ravel(y)]),
    "geomspace": lambda xp, x, y: xp.geomspace(x, y, 3),
    "isclose": lambda xp, x, y: xp.isclose(x, y),
    "kron": lambda xp, x, y: xp.kron(x, y),
    "linspace": lambda xp, x, y: xp.linspace(x, y, 3),
    "logspace": lambda xp, x, y: xp.logspace(x, y, 3),
    "logspace_base": lambda xp, x, y: xp.logspace(0, x, 3, base=y),
    "outer": lambda xp, x, y: xp.outer(x, y),
    "result_type": lambda xp, x, y: xp.zeros(1, xp.result_type(x, y)),
    "where": lambda xp, x, y: xp.where(x > y, x, y),
    "where_not": lambda xp, x, y: xp.where([True, False, True], x, y),
}


@pytest.mark.parametrize("name", OF_TWO)
def test_elementwise_of_two(name):
    check(*of_namespace(OF_TWO[name]), pairs(zero_d=False), ulps=8)


REDUCTIONS = {
    "all": lambda xp, x: xp.all(x),
    "any": lambda xp, x: xp.any(x),
    "argmax": lambda xp, x: xp.argmax(x),
    "argmin": lambda xp, x: xp.argmin(x),
    "argsort": lambda xp, x: xp.argsort(x),
    "average": lambda xp, x: xp.average(x),
    "average_of_axis": lambda xp, x: xp.average(x, weights=x.real),
    "corrcoef": lambda xp, x: xp.corrcoef(x),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x),
    "cov": lambda xp, x: xp.cov(x),
    "cumprod": lambda xp, x: xp.cumprod(x),
    "cumsum": lambda xp, x: xp.cumsum(x),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, include_initial=True),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, include_initial=True),
    "diag": lambda xp, x: xp.diag(x),
    "lexsort": lambda xp, x: xp.lexsort((x, x)),
    "max": lambda xp, x: xp.max(x),
    "mean": lambda xp, x: xp.mean(x),
    "mean_float32": lambda xp, x: xp.mean(x.real, dtype="f4"),
    "median": lambda xp, x: xp.median(x),
    "min": lambda xp, x: xp.min(x),
    "nanargmax": lambda xp, x: xp.nanargmax(x),
    "nancumprod": lambda xp, x: xp.nancumprod(x),
    "nancumsum": lambda xp, x: xp.nancumsum(x),
    "nanmax": lambda xp, x: xp.nanmax(x),
    "nanmean": lambda xp, x: xp.nanmean(x),
    "nanmedian": lambda xp, x: xp.nanmedian(x.real),
    "nanmin": lambda xp, x: xp.nanmin(x),
    "nanpercentile": lambda xp, x: xp.nanpercentile(x, 30),
    "nanprod": lambda xp, x: xp.nanprod(x),
    "nanquantile": lambda xp, x: xp.nanquantile(x, 0.3),
    "nanstd": lambda xp, x: xp.nanstd(x),
    "nansum": lambda xp, x: xp.nansum(x),
    "nanvar": lambda xp, x: xp.nanvar(x),
    "partition": lambda xp, x: xp.partition(x, 1),
    "percentile": lambda xp, x: xp.percentile(x, 30),
    "percentiles": lambda xp, x: xp.percentile(x, [30, 40]),
    "prod": lambda xp, x: xp.prod(x),
    "prod_int16": lambda xp, x: xp.prod(x.real, dtype="f4"),
    "ptp": lambda xp, x: xp.ptp(x),
    "quantile": lambda xp, x: xp.quantile(x, 0.3),
    "quantile_nearest": lambda xp, x: xp.quantile(x, 0.3, method="nearest"),
    "searchsorted": lambda xp, x: xp.searchsorted(x, x),
    "sort": lambda xp, x: xp.sort(x),
    "sort_complex": lambda xp, x: xp.sort_complex(x),
    "std": lambda xp, x: xp.std(x),
    "sum": lambda xp, x: xp.sum(x),
    "sum_initial": lambda xp, x: xp.sum(x, initial=1.5),
    "sum_float32": lambda xp, x: xp.sum(x.real, dtype="f4"),
    "trace": lambda xp, x: xp.trace(x[:, None] + x),
    "vander": lambda xp, x: xp.vander(x),
    "var": lambda xp, x: xp.var(x),
    "var_float32": lambda xp, x: xp.var(x.real, dtype="f4"),
}


@pytest.mark.filterwarnings("ignore:invalid value|divide by zero|Degrees of freedom:RuntimeWarning")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name):
    check(*of_namespace(REDUCTIONS[name]), [(x,) for x in ROW], ulps=8)


PRODUCTS = {
    "cross": lambda xp, x, y: xp.cross(x, y),
    "digitize": lambda xp, x, y: xp.digitize(x, y),
    "dot": lambda xp, x, y: xp.dot(x, y),
    "einsum": lambda xp, x, y: xp.einsum("i,i", x, y),
    "einsum_outer": lambda xp, x, y: xp.einsum("i,j->ij", x, y),
    "inner": lambda xp, x, y: xp.inner(x, y),
    "interp": lambda xp, x, y: xp.interp(xp.arange(3.0), [1, 2, 3], y) + 0 * x,
    "interp_at": lambda xp, x, y: xp.interp(x, [1, 2, 3], [1, 2, 3]) + 0 * y,
    "interp_knots": lambda xp, x, y: xp.interp(x, y if y.dtype != bool else [1, 2, 3], [1, 2, 3]),
    "isin": lambda xp, x, y: xp.isin(x, y),
    "matmul": lambda xp, x, y: xp.matmul(x, y),
    "matvec": lambda xp, x, y: xp.matvec(x[None], y),
    "searchsorted": lambda xp, x, y: xp.searchsorted(x, y),
    "stack": lambda xp, x, y: xp.stack([x, y]),
    "hstack": lambda xp, x, y: xp.hstack([x, y]),
    "block": lambda xp, x, y: xp.block([x, y]),
    "select": lambda xp, x, y: xp.select([x > x[0]], [x], y),
    "insert": lambda xp, x, y: xp.insert(x, 1, y),
    "average": lambda xp, x, y: xp.average(x, weights=y),
    "tensordot": lambda xp, x, y: xp.tensordot(x, y, 1),
    "trapezoid": lambda xp, x, y: xp.trapezoid(x, y),
    "vdot": lambda xp, x, y: xp.vdot(x, y),
    "vecdot": lambda xp, x, y: xp.vecdot(x, y),
    "vecmat": lambda xp, x, y: xp.vecmat(x, y[:, None]),
}


@pytest.mark.filterwarnings("ignore:::numpy")
@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name):
    check(*of_namespace(PRODUCTS[name]), [*itertools.product(ROW, ROW)], ulps=8)


MATRICES = {
    "add.accumulate": lambda xp, x: np.add.accumulate(x, 1),
    "add.outer": lambda xp, x: np.add.outer(x[0], x[1]),
    "add.reduce": lambda xp, x: np.add.reduce(x),
    "add.reduceat": lambda xp, x: np.add.reduceat(x, [0, 1], axis=1),
    "convolve": lambda xp, x: xp.convolve(x[0], x[1]),
    "correlate": lambda xp, x: xp.correlate(x[0], x[1]),
    "fft": lambda xp, x: xp.fft.fft(x),
    "fftn": lambda xp, x: xp.fft.fftn(x),
    "fftshift": lambda xp, x: xp.fft.fftshift(x),
    "hfft": lambda xp, x: xp.fft.hfft(x),
    "histogram": lambda xp, x: xp.histogram(x.real, bins=3, range=(0, 10)),
    "ifft": lambda xp, x: xp.fft.ifft(x),
    "ihfft": lambda xp, x: xp.fft.ihfft(x),
    "irfft": lambda xp, x: xp.fft.irfft(x),
    "linalg.cholesky": lambda xp, x: xp.linalg.cholesky(x),
    "linalg.cond": lambda xp, x: xp.linalg.cond(x),
    "linalg.det": lambda xp, x: xp.linalg.det(x),
    "linalg.eigh": lambda xp, x: xp.linalg.eigh(x)[0],
    "linalg.inv": lambda xp, x: xp.linalg.inv(x),
    "linalg.matrix_norm": lambda xp, x: xp.linalg.matrix_norm(x),
    "linalg.matrix_power": lambda xp, x: xp.linalg.matrix_power(x, 3),
    "linalg.matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "linalg.multi_dot": lambda xp, x: xp.linalg.multi_dot([x, x, x]),
    "linalg.norm": lambda xp, x: xp.linalg.norm(x),
    "linalg.norm_inf": lambda xp, x: xp.linalg.norm(x, np.inf),
    "linalg.pinv": lambda xp, x: xp.linalg.pinv(x),
    "linalg.qr": lambda xp, x: xp.abs(xp.linalg.qr(x)[1]),
    "linalg.slogdet": lambda xp, x: tuple(xp.linalg.slogdet(x)),
    "linalg.solve": lambda xp, x: xp.linalg.solve(x, x[0]),
    "linalg.svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "linalg.trace": lambda xp, x: xp.linalg.trace(x),
    "linalg.vector_norm": lambda xp, x: xp.linalg.vector_norm(x),
    "logical_and.reduce": lambda xp, x: np.logical_and.reduce(x),
    "maximum.reduce": lambda xp, x: np.maximum.reduce(x),
    "multiply.reduce": lambda xp, x: np.multiply.reduce(x),
    "pad": lambda xp, x: xp.pad(x, 1, mode="mean"),
    "pad_constant": lambda xp, x: xp.pad(x, 1, constant_values=2.5),
    "polyfit": lambda xp, x: xp.polyfit(x[0], x[1], 1),
    "polyval": lambda xp, x: xp.polyval(x[0], x[1]),
    "rfft": lambda xp, x: xp.fft.rfft(x),
    "take": lambda xp, x: xp.take(x, 1, axis=0),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x), 1),
}


def matrix(dtype):
    """Return a positive definite matrix."""
    return np.array([[8, 1, 2], [1, 6, 1], [2, 1, 4]] if dtype.kind != "b" else np.eye(3)).astype(
        dtype
    )


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.filterwarnings("ignore:Converting input from bool:RuntimeWarning")
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name):
    dtypes = [d for d in DTYPES if not (d == np.float16 and name in ("ifft", "ihfft"))]
    calls = [(Slot(matrix(d)),) for d in dtypes]  # NumPy rounds 1/n to float16 there
    check(*of_namespace(MATRICES[name]), calls, ulps=200)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: lambda x: fg.vmap(f)(np.ones(2))])
def test_numbers_that_are_traced_become_no_objects(transform):
    """Elements of an array of objects would be constants, and so would be what is made of them."""

    def listed(x):
        return fnp.sum(fnp.array(fnp.array([x, 2.0 * x], dtype=object), dtype=float) ** 2)

    for f in (listed, lambda x: fnp.sum(fnp.asarray(x).astype(object)), lambda x: x.astype("S3")):
        with pytest.raises(TypeError, match="leave `dtype` out"):
            transform(f)(1.5)

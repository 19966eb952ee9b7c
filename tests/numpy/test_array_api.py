"""`fungrad.numpy` as a namespace of the array API standard, version 2024.12 (https://data-apis.org/array-api)."""

import inspect
import re
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core import tree
from tests.backends.fake_cupy import make_module
from tests.folding import each

# The standard's functions with their parameters; a default of None may also mean that there is none.

MAIN = """
abs(x, /)
acos(x, /)
acosh(x, /)
add(x1, x2, /)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
argsort(x, /, *, axis=-1, descending=False, stable=True)
asarray(obj, /, *, dtype=None, device=None, copy=None)
asin(x, /)
asinh(x, /)
astype(x, dtype, /, *, copy=True, device=None)
atan(x, /)
atan2(x1, x2, /)
atanh(x, /)
bitwise_and(x1, x2, /)
bitwise_invert(x, /)
bitwise_left_shift(x1, x2, /)
bitwise_or(x1, x2, /)
bitwise_right_shift(x1, x2, /)
bitwise_xor(x1, x2, /)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
ceil(x, /)
clip(x, /, min=None, max=None)
concat(arrays, /, *, axis=0)
conj(x, /)
copysign(x1, x2, /)
cos(x, /)
cosh(x, /)
count_nonzero(x, /, *, axis=None, keepdims=False)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
divide(x1, x2, /)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
equal(x1, x2, /)
exp(x, /)
expand_dims(x, /, axis)
expm1(x, /)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
finfo(type, /)
flip(x, /, *, axis=None)
floor(x, /)
floor_divide(x1, x2, /)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
greater(x1, x2, /)
greater_equal(x1, x2, /)
hypot(x1, x2, /)
iinfo(type, /)
imag(x, /)
isdtype(dtype, kind)
isfinite(x, /)
isin(x1, x2, /, *, invert=False)
isinf(x, /)
isnan(x, /)
less(x1, x2, /)
less_equal(x1, x2, /)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
log(x, /)
log10(x, /)
log1p(x, /)
log2(x, /)
logaddexp(x1, x2, /)
logical_and(x1, x2, /)
logical_not(x, /)
logical_or(x1, x2, /)
logical_xor(x1, x2, /)
matmul(x1, x2, /)
matrix_transpose(x, /)
max(x, /, *, axis=None, keepdims=False)
maximum(x1, x2, /)
mean(x, /, *, axis=None, keepdims=False)
meshgrid(*arrays, indexing='xy')
min(x, /, *, axis=None, keepdims=False)
minimum(x1, x2, /)
moveaxis(x, source, destination, /)
multiply(x1, x2, /)
negative(x, /)
nextafter(x1, x2, /)
nonzero(x, /)
not_equal(x1, x2, /)
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
permute_dims(x, /, axes)
positive(x, /)
pow(x1, x2, /)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
real(x, /)
reciprocal(x, /)
remainder(x1, x2, /)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
result_type(*arrays_and_dtypes)
roll(x, /, shift, *, axis=None)
round(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
sign(x, /)
signbit(x, /)
sin(x, /)
sinh(x, /)
sort(x, /, *, axis=-1, descending=False, stable=True)
sqrt(x, /)
square(x, /)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
subtract(x1, x2, /)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
tan(x, /)
tanh(x, /)
tensordot(x1, x2, /, *, axes=2)
tile(x, repetitions, /)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
trunc(x, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
unstack(x, /, *, axis=0)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
vecdot(x1, x2, /, *, axis=-1)
where(condition, x1, x2, /)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
"""

LINALG = """
cholesky(x, /, *, upper=False)
cross(x1, x2, /, *, axis=-1)
det(x, /)
diagonal(x, /, *, offset=0)
eigh(x, /)
eigvalsh(x, /)
inv(x, /)
matmul(x1, x2, /)
matrix_norm(x, /, *, keepdims=False, ord='fro')
matrix_power(x, n, /)
matrix_rank(x, /, *, rtol=None)
matrix_transpose(x, /)
outer(x1, x2, /)
pinv(x, /, *, rtol=None)
qr(x, /, *, mode='reduced')
slogdet(x, /)
solve(x1, x2, /)
svd(x, /, *, full_matrices=True)
svdvals(x, /)
tensordot(x1, x2, /, *, axes=2)
trace(x, /, *, offset=0, dtype=None)
vecdot(x1, x2, /, *, axis=-1)
vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""

FFT = """
fft(x, /, *, n=None, axis=-1, norm='backward')
fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fftn(x, /, *, s=None, axes=None, norm='backward')
fftshift(x, /, *, axes=None)
hfft(x, /, *, n=None, axis=-1, norm='backward')
ifft(x, /, *, n=None, axis=-1, norm='backward')
ifftn(x, /, *, s=None, axes=None, norm='backward')
ifftshift(x, /, *, axes=None)
ihfft(x, /, *, n=None, axis=-1, norm='backward')
irfft(x, /, *, n=None, axis=-1, norm='backward')
irfftn(x, /, *, s=None, axes=None, norm='backward')
rfft(x, /, *, n=None, axis=-1, norm='backward')
rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
rfftn(x, /, *, s=None, axes=None, norm='backward')
"""

NAMESPACES = {"": MAIN, "linalg": LINALG, "fft": FFT}
FUNCTIONS = {
    (f"{module}." if module else "") + line.partition("(")[0]: line
    for module, lines in NAMESPACES.items()
    for line in lines.strip().splitlines()
}


def find(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def parameters(line):
    """Return how many positional parameters a line of the standard has, and the names of the others."""
    text = re.sub(r"\[[^]]*\]|\([^()]*\)(?=,|$)", "", line.partition("(")[2].rpartition(")")[0])
    names = [item.partition("=")[0].strip() for item in text.split(",") if item.strip()]
    if "*" in names:
        star = names.index("*")
        before, keywords = names[:star], names[star + 1 :]
    else:
        before, keywords = names, []
    slash = before.index("/") if "/" in before else 0
    return len([n for n in before[:slash] if n]), [n for n in before[slash:] if n != "/"], keywords


@each("name", FUNCTIONS)
def test_signature(name):
    """Everything can be passed as the standard says, by position and by name."""
    line, function = FUNCTIONS[name], find(fnp, name)
    signature = inspect.signature(function)
    if "(*" in line and not line.partition("(*")[2].startswith(","):  # of any number of arrays
        signature.bind(None, None, **({"indexing": "xy"} if "indexing" in line else {}))
        return
    positional, either, keywords = parameters(line)
    signature.bind(*[None] * (positional + len(either)), **dict.fromkeys(keywords))
    signature.bind(*[None] * positional, **dict.fromkeys([*either, *keywords]))
    for i, p in enumerate(either):  # by position and by name in one call, too
        signature.bind(*[None] * (positional + i), **dict.fromkeys(either[i:]))
        assert list(signature.parameters)[positional + i] == p


# One call or more of each function. Elementwise ones are called with one or two arrays.
X = np.array([[0.5, -1.5, 0.75], [2.0, 0.25, -1.0]])
Y = np.array([1.25, 0.5, 2.0])
SQUARE = np.array([[2.0, 0.5], [0.5, 1.0]])
ELEMENTWISE = {
    name: {"x, /": 1, "x1, x2, /": 2}.get(line.partition("(")[2][:-1])
    for name, line in FUNCTIONS.items()
    if "." not in name and not name.startswith(("unique", "nonzero", "matrix", "matmul"))
}
ELEMENTWISE = {name: count for name, count in ELEMENTWISE.items() if count}
ON_INTEGERS = ("bitwise_", "logical_")
CALLS = {
    "all": lambda xp, x: xp.all(x > 0, axis=1, keepdims=True),
    "any": lambda xp, x: xp.any(x > 0, axis=(0, 1)),
    "arange": lambda xp, x: xp.arange(1, 6, 2, dtype=xp.float32, device="cpu"),
    "argmax": lambda xp, x: xp.argmax(x, axis=0, keepdims=True),
    "argmin": lambda xp, x: xp.argmin(x),
    "argsort": lambda xp, x: xp.argsort(x, axis=0, stable=True),
    "asarray": lambda xp, x: [xp.asarray(x, dtype=xp.float32, copy=True), xp.asarray([1, 2])],
    "astype": lambda xp, x: xp.astype(x, xp.float32, copy=False),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[0]),
    "broadcast_shapes": lambda xp, x: xp.broadcast_shapes((2, 1), (3,)),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (4, 2, 3)),
    "can_cast": lambda xp, x: [xp.can_cast(x, xp.float32), xp.can_cast(xp.int8, xp.int16)],
    "clip": lambda xp, x: [xp.clip(x, min=0.0), xp.clip(x, -1, x[0])],
    "concat": lambda xp, x: [xp.concat([x, x], axis=None), xp.concat((x, x), axis=-1)],
    "count_nonzero": lambda xp, x: xp.count_nonzero(x > 0, axis=1, keepdims=True),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda xp, x: xp.diff(x, axis=1, n=2, prepend=x, append=x),
    "empty": lambda xp, x: xp.shape(xp.empty((2, 3), dtype=xp.int8)),
    "empty_like": lambda xp, x: xp.empty_like(x, dtype=xp.int8).shape,
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "eye": lambda xp, x: xp.eye(2, 3, k=1, dtype=xp.float32),
    "finfo": lambda xp, x: [xp.finfo(x.dtype).eps, xp.finfo(xp.complex64).bits],
    "flip": lambda xp, x: xp.flip(x, axis=(0, 1)),
    "from_dlpack": lambda xp, x: xp.from_dlpack(np.ones(2)),
    "full": lambda xp, x: xp.full((2,), 3.5, dtype=xp.float32),
    "full_like": lambda xp, x: xp.full_like(x, 2, dtype=xp.int16),
    "iinfo": lambda xp, x: xp.iinfo(xp.int8).max,
    "isdtype": lambda xp, x: [xp.isdtype(x.dtype, ("integral", "real floating"))],
    "isin": lambda xp, x: xp.isin(x, x[0], invert=True),
    "linspace": lambda xp, x: xp.linspace(0, x[0, 0], 4, endpoint=False, dtype=xp.float32),
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "max": lambda xp, x: xp.max(x, axis=(0, 1), keepdims=True),
    "mean": lambda xp, x: xp.mean(x, axis=-1),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[1], indexing="ij"),
    "min": lambda xp, x: xp.min(x, axis=0),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "nonzero": lambda xp, x: xp.nonzero(x > 0),
    "ones": lambda xp, x: xp.ones(3, dtype=xp.bool),
    "ones_like": lambda xp, x: xp.ones_like(x, dtype=xp.int8),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "prod": lambda xp, x: xp.prod(x, axis=0, dtype=xp.float32),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=1),
    "reshape": lambda xp, x: xp.reshape(x, (3, 2), copy=True),
    "result_type": lambda xp, x: [xp.ones(1, dtype=xp.result_type(x, xp.complex64, 1))],
    "roll": lambda xp, x: xp.roll(x, (1, 2), axis=(0, 1)),
    "searchsorted": lambda xp, x: xp.searchsorted(
        x[1], x[0], side="right", sorter=xp.argsort(x[1])
    ),
    "sort": lambda xp, x: xp.sort(x, axis=0, stable=False),
    "squeeze": lambda xp, x: xp.squeeze(x[None], axis=0),
    "stack": lambda xp, x: xp.stack([x, x], axis=-1),
    "std": lambda xp, x: xp.std(x, axis=1, correction=1.0, keepdims=True),
    "sum": lambda xp, x: xp.sum(x, axis=(), dtype=xp.float32, keepdims=True),
    "take": lambda xp, x: xp.take(x, xp.asarray([0, 0, 1]), axis=1),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x)),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((0, 1), (0, 1))),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 2)),
    "tril": lambda xp, x: xp.tril(x, k=1),
    "triu": lambda xp, x: xp.triu(x, k=-1),
    "unique_all": lambda xp, x: tuple(xp.unique_all(x)),
    "unique_counts": lambda xp, x: xp.unique_counts(x).counts,
    "unique_inverse": lambda xp, x: xp.unique_inverse(x).inverse_indices,
    "unique_values": lambda xp, x: xp.sort(xp.unique_values(x)),
    "unstack": lambda xp, x: xp.unstack(x, axis=1),
    "var": lambda xp, x: xp.var(x, axis=(0, 1), correction=2),
    "vecdot": lambda xp, x: xp.vecdot(x, x, axis=0),
    "where": lambda xp, x: [xp.where(x > 0, x, 0.0), xp.where(x > 0, 1, x)],
    "zeros": lambda xp, x: xp.zeros((2, 2), device="cpu"),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "linalg.cholesky": lambda xp, s: xp.linalg.cholesky(s, upper=True),
    "linalg.cross": lambda xp, x: xp.linalg.cross(x, x[::-1], axis=-1),
    "linalg.det": lambda xp, s: xp.linalg.det(s),
    "linalg.diagonal": lambda xp, x: xp.linalg.diagonal(x, offset=1),
    "linalg.eigh": lambda xp, s: xp.linalg.eigh(s).eigenvalues,
    "linalg.eigvalsh": lambda xp, s: xp.linalg.eigvalsh(s),
    "linalg.inv": lambda xp, s: xp.linalg.inv(s),
    "linalg.matmul": lambda xp, s: xp.linalg.matmul(s, s),
    "linalg.matrix_norm": lambda xp, s: xp.linalg.matrix_norm(s, ord="nuc", keepdims=True),
    "linalg.matrix_power": lambda xp, s: xp.linalg.matrix_power(s, -2),
    "linalg.matrix_rank": lambda xp, s: xp.linalg.matrix_rank(s, rtol=1e-6),
    "linalg.matrix_transpose": lambda xp, x: xp.linalg.matrix_transpose(x),
    "linalg.outer": lambda xp, x: xp.linalg.outer(x[0], x[1]),
    "linalg.pinv": lambda xp, x: xp.linalg.pinv(x, rtol=1e-6),
    "linalg.qr": lambda xp, s: xp.linalg.qr(s, mode="reduced").R,
    "linalg.slogdet": lambda xp, s: xp.linalg.slogdet(s).logabsdet,
    "linalg.solve": lambda xp, s: xp.linalg.solve(s, s[:, 0]),
    "linalg.svd": lambda xp, s: xp.linalg.svd(s, full_matrices=False).S,
    "linalg.svdvals": lambda xp, s: xp.linalg.svdvals(s),
    "linalg.tensordot": lambda xp, x: xp.linalg.tensordot(x, x, axes=2),
    "linalg.trace": lambda xp, x: xp.linalg.trace(x, offset=1, dtype=xp.float32),
    "linalg.vecdot": lambda xp, x: xp.linalg.vecdot(x, x, axis=-1),
    "linalg.vector_norm": lambda xp, x: xp.linalg.vector_norm(x, axis=1, ord=3, keepdims=True),
    "fft.fftfreq": lambda xp, x: xp.fft.fftfreq(4, d=0.5, device="cpu"),
    "fft.fftshift": lambda xp, x: xp.fft.fftshift(x, axes=1),
    "fft.ifftshift": lambda xp, x: xp.fft.ifftshift(x),
    "fft.rfftfreq": lambda xp, x: xp.fft.rfftfreq(4, d=0.5),
}
for _name in FUNCTIONS:
    if _name.startswith("fft.") and "shift" not in _name and "freq" not in _name:
        n = {"s": (2, 4), "axes": (0, 1)} if _name.endswith("n") else {"n": 5, "axis": 0}
        CALLS[_name] = lambda xp, x, f=_name, n=n: find(xp, f)(x, **n, norm="ortho")
VALUES_DECIDE = ("unique_", "nonzero")  # the shape of the result, so `jit` needs `size=`


def call_of(name):
    if name in CALLS:
        return CALLS[name]
    if name.startswith(ON_INTEGERS):
        f = (lambda x: (x > 0) + 3) if name.startswith("bitwise") else (lambda x: x > 0.3)
        return lambda xp, x: getattr(xp, name)(*[f(z) for z in (x, x[0])][: ELEMENTWISE[name]])
    return lambda xp, x: getattr(xp, name)(*(x, x[0])[: ELEMENTWISE[name]])


def same(found, expected, what):
    found, expected = tree.leaves(found), tree.leaves(expected)
    for a, b in zip(found, expected, strict=True):
        assert getattr(a, "dtype", type(a)) == getattr(b, "dtype", type(b)), what
        np.testing.assert_allclose(a, b, 1e-12, 1e-12, err_msg=what)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    """On arrays it is NumPy's; on tracers, with known values and under `jit`, it gives the same."""
    call = call_of(name)
    matrix = name.startswith("linalg.") and "s" in inspect.signature(call).parameters
    x = SQUARE if matrix else X
    with np.errstate(all="ignore"):
        expected = call(np, x)
        same(call(fnp, x), expected, "plain")
        same(fg.vjp(lambda x: call(fnp, x), x)[0], expected, "known values")
        if not name.startswith(VALUES_DECIDE):
            same(fg.jit(lambda x: call(fnp, x))(x), expected, "jit")


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_constants_can_be_given_to_other_libraries_and_others_cannot(transform):
    x = np.array([2.0, 3.0])
    constant = transform(lambda x: fnp.sum(x * np.from_dlpack(fnp.array([4.0, 5.0]) * 2)))
    np.testing.assert_array_equal(constant(x), [8, 10])
    with pytest.raises(BufferError, match="lost to the transform"):
        transform(lambda x: fnp.sum(np.from_dlpack(x * 2)))(x)


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_descending_order(name):
    function = getattr(fnp, name)
    x = np.array([[3, 1, 3, 2, 1], [0, 5, 1, 1, 5]])
    for axis in (0, 1, -1):
        order = np.argsort(-x, axis=axis, stable=True)  # equal elements stay in order
        expected = np.take_along_axis(x, order, axis) if name == "sort" else order
        for f in (function, fg.jit(function, static_argnames=("axis", "descending", "stable"))):
            np.testing.assert_array_equal(f(x, axis=axis, descending=True, stable=True), expected)
    gradient = fg.grad(lambda x: fnp.sort(x, descending=True)[0])(np.array([1.0, 3.0, 2.0]))
    np.testing.assert_array_equal(gradient, [0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("x", "order"),
    [
        (np.array([1.0, np.nan, 3.0, np.nan, -0.0, 0.0]), [2, 0, 4, 5, 1, 3]),
        (np.array([0, 200, 7], np.uint8), [1, 2, 0]),
        (np.array([-128, 127, 0], np.int8), [1, 2, 0]),
        (np.array([False, True, False]), [1, 0, 2]),
        (np.array([1 + 2j, complex(1, np.nan), 1 + 3j, np.nan]), [2, 0, 1, 3]),
        (np.zeros(0), []),
    ],
)
def test_descending_order_of_every_dtype_has_nan_last(x, order):
    """As in NumPy since 2.5."""
    transforms = (lambda f: f, fg.jit, lambda f: lambda x: fg.vmap(f)(x[None])[0])
    for transform in transforms:
        found = transform(lambda x: fnp.sort(x, descending=True))(x)
        np.testing.assert_array_equal(found, x[order])
        assert found.dtype == x.dtype
        found = transform(lambda x: fnp.argsort(x, descending=True, stable=True))(x)
        np.testing.assert_array_equal(found, order)
    with pytest.raises(ValueError, match="`kind` and keyword parameters can't be provided"):
        fnp.sort(x, kind="stable", descending=True)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint32", "bool", "float32", "complex64"]
)
def test_results_of_reductions(dtype):
    """Small integers are summed in the default integer dtype, floats in their own."""
    x = np.array([[1, 0, 1], [1, 1, 0]], dtype)
    for f in (
        lambda xp, x: xp.sum(x),
        lambda xp, x: xp.prod(x, axis=0),
        lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
        lambda xp, x: xp.cumulative_prod(x, axis=0),
        lambda xp, x: xp.count_nonzero(x),
        lambda xp, x: xp.take_along_axis(x, xp.asarray([[1, 0]]), axis=1),
        lambda xp, x: xp.linalg.trace(x),
        lambda xp, x: xp.linalg.vecdot(x, x),
    ):
        same(fg.jit(lambda x, f=f: f(fnp, x))(x), f(np, x), "jit")


def test_results_of_the_unique_family():
    x = np.array([3.0, 1.0, 3.0, 2.0])
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        expected = getattr(np, name)(x)
        found, _ = fg.vjp(lambda x, name=name: getattr(fnp, name)(x)._asdict(), x)
        assert list(found) == list(expected._fields)
        same(found, expected._asdict(), name)


SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["atan2", "copysign", "hypot", "logaddexp", "nextafter", "pow"])
def test_special_values(name):
    x, y = [np.array(v) for v in zip(*[(a, b) for a in SPECIAL for b in SPECIAL], strict=True)]
    with np.errstate(all="ignore"):
        found, expected = fg.jit(getattr(fnp, name))(x, y), getattr(np, name)(x, y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_signs_and_bounds():
    x = np.array(SPECIAL)
    np.testing.assert_array_equal(fg.jit(fnp.signbit)(x), np.signbit(x))
    for low, high in ((-1, 1), (None, 1), (-1, None), (np.nan, 1), (x[::-1], 2), (2, -1)):
        found = fg.jit(lambda x, low=low, high=high: fnp.clip(x, low, high))(x)
        np.testing.assert_array_equal(found, np.clip(x, low, high))


# The namespace and the arrays themselves


def test_namespace():
    assert fnp.__array_api_version__ == np.__array_api_version__
    info = fnp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert {"boolean indexing", "data-dependent shapes"} <= set(info.capabilities())
    for name, dtype in info.default_dtypes().items():
        assert info.dtypes()[str(dtype)] == dtype, name
    for name, dtype in info.dtypes(kind=("real floating", "complex floating")).items():
        assert getattr(fnp, name) is dtype.type
        assert fg.jit(lambda: fnp.ones(2, dtype=dtype))().dtype == dtype  # noqa: B023
    assert (fnp.e, fnp.pi, fnp.inf, fnp.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(fnp.nan)


ATTRIBUTES = """
T device dtype mT ndim shape size to_device
__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__
__float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__
__matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__
__truediv__ __xor__ __radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__
__rpow__ __rrshift__ __rsub__ __rtruediv__ __rxor__ __iadd__ __iand__ __ifloordiv__ __ilshift__
__imatmul__ __imod__ __imul__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__
"""


def test_attributes_of_tracers():
    seen = []

    def f(x):
        seen.extend(name for name in ATTRIBUTES.split() if not hasattr(type(x), name))
        assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is fnp
        assert x.device == "cpu"
        assert x.to_device("cpu") is x
        assert x.mT.shape == x.T.shape == (3, 2)
        y = x * 1
        view = y[:]
        y @= fnp.eye(3)
        return view.sum()

    np.testing.assert_array_equal(fg.grad(f)(X), np.ones((2, 3)))
    fg.jit(f)(X)
    fg.vmap(f)(X[None])
    assert seen == []


def test_the_device_is_that_of_the_arguments(monkeypatch):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    seen = []

    def f(x):
        seen.append((x.device, (x * 2).to_device(x.device).device))
        return fnp.sum(x * x)

    x = cupy.asarray(np.ones(2))
    fg.grad(f)(x)
    fg.vjp(fg.grad(f), x)
    assert seen == [(cupy.asarray(0.0).device,) * 2] * 2
    fg.jit(lambda x: seen.append(x.device) or x)(x)
    assert seen[-1] == "cpu"  # as long as it is not known


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: x.to_device("gpu"),
            ValueError,
            "move the arguments of the transformed function",
        ),
        (lambda x: x.__dlpack__(), BufferError, "no memory.*lost to the transform"),
        (lambda x: x.__dlpack_device__(), BufferError, "no memory.*lost to the transform"),
        (fnp.from_dlpack, BufferError, "no memory.*lost to the transform"),
        (lambda x: x.__array_namespace__(api_version="1999.01"), ValueError, "not supported"),
    ],
    ids=["to_device", "dlpack", "dlpack_device", "from_dlpack", "version"],
)
def test_what_tracers_cannot(call, error, message):
    for transform in (fg.grad, fg.jit):
        with pytest.raises(error, match=f"(?s){message}"):
            transform(call)(1.0)


# Code written against the standard


def standardized(x):
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0)
    spread = xp.std(x, axis=0, correction=1)
    return xp.sum(xp.where(spread > 0, centred / spread, xp.zeros_like(x)) ** 3)


def whitened(x):
    xp = x.__array_namespace__()
    covariance = xp.linalg.matmul(x.mT, x) / x.shape[0] + xp.eye(x.shape[1], dtype=x.dtype)
    values, vectors = xp.linalg.eigh(covariance)
    return xp.linalg.vector_norm((x @ vectors) / xp.sqrt(values))


def smoothed(x):
    xp = x.__array_namespace__()
    spectrum = xp.fft.rfft(x, axis=0)
    keep = xp.astype(xp.arange(spectrum.shape[0]) < 2, x.dtype, copy=False)[:, None]
    return xp.sum(xp.fft.irfft(spectrum * keep, n=x.shape[0], axis=0) ** 2)


def ranked(x):
    xp = x.__array_namespace__()
    order = xp.argsort(x, axis=0, descending=True)
    weights = xp.reshape(xp.arange(1, x.shape[0] + 1, dtype=x.dtype), (-1, 1))
    return xp.sum(xp.take_along_axis(x, order, axis=0) / weights)


@pytest.mark.parametrize("f", [standardized, whitened, smoothed, ranked], ids=lambda f: f.__name__)
def test_code_written_against_the_standard(f, rng):
    def on_arrays(x):  # of which the namespace is NumPy, without `descending`
        return (
            float(f(x)) if f is not ranked else float((np.sort(x, 0)[::-1].T / [1, 2, 3, 4]).sum())
        )

    x, t = rng.normal(size=(2, 4, 3))
    slope = (on_arrays(x + 1e-6 * t) - on_arrays(x - 1e-6 * t)) / 2e-6
    for gradient in (fg.grad(f)(x), fg.jit(fg.grad(f))(x), fg.vmap(fg.grad(f))(x[None])[0]):
        assert np.sum(gradient * t) == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(
        fg.vmap(f)(np.stack([x, t])),
        [f(x), f(t)] if f is not ranked else [on_arrays(x), on_arrays(t)],
        1e-12,
    )


def test_array_api_compat_finds_the_namespace():
    compat = pytest.importorskip("array_api_compat")

    def f(x):
        xp = compat.array_namespace(x, 2.0)
        assert xp is fnp
        assert compat.is_array_api_obj(x)
        return compat.to_device(xp.sum(x * x), compat.device(x))

    np.testing.assert_array_equal(fg.grad(f)(X), 2 * X)


def test_the_list_of_functions_is_that_of_the_standard():
    strict = pytest.importorskip("array_api_strict")
    flags = {"array_api_strict_flags", "Flags"}
    for module in NAMESPACES:
        namespace = getattr(strict, module) if module else strict
        theirs = {
            name
            for name in namespace.__all__
            if inspect.isfunction(getattr(namespace, name)) and "flags" not in name
        }
        ours = {name.rpartition(".")[2] for name in FUNCTIONS if name.rpartition(".")[0] == module}
        assert theirs - ours - flags <= {"__array_namespace_info__"}

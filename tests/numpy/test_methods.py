"""The methods and properties of tracers are those of NumPy arrays."""

import copy

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import check_function

A = np.random.default_rng(0).normal(size=(2, 3, 4)) + 0.1
B = A[0, :, :3]
V = B[0]
I = np.array([[3, -1, 2], [0, 5, 3]])
C = B + 1j * B.T
INDEX = np.array([2, 0])

CALLS = [
    *[(name, x, args, {}) for name in ("sum", "prod", "mean", "std", "var", "min", "max")
      for x in (A, I) for args in ((), (0,), (-1,))],
    *[(name, I, args, {}) for name in ("all", "any", "argmin", "argmax", "cumsum", "cumprod")
      for args in ((), (1,))],
    ("sum", A, (), {"axis": (0, 1), "keepdims": True}),
    ("var", A, (), {"ddof": 1}),
    ("argsort", B, (0,), {}),
    ("argpartition", I[0], (1,), {}),
    ("round", A, (1,), {}),
    ("clip", A, (0,), {}),
    ("clip", A, (-0.5, 0.5), {}),
    ("clip", A, (), {"max": 0.2}),
    ("conj", C, (), {}),
    ("conjugate", I, (), {}),
    ("conj", I > 1, (), {}),
    ("reshape", A, (4, 6), {}),
    ("reshape", A, ((4, -1),), {}),
    ("reshape", A, (-1,), {"order": "F"}),
    ("reshape", V[:1], ((),), {}),
    ("ravel", A, (), {}),
    ("ravel", A, ("F",), {}),
    ("flatten", C, (), {}),
    ("transpose", A, (), {}),
    ("transpose", A, (None,), {}),
    ("transpose", A, (1, 0, 2), {}),
    ("transpose", A, ((2, 0, 1),), {}),
    ("swapaxes", A, (0, -1), {}),
    ("squeeze", A[:1], (), {}),
    ("squeeze", A[:, :1], (1,), {}),
    ("repeat", A, (2, 1), {}),
    ("take", A, ([2, 0], 1), {}),
    ("trace", B, (), {}),
    ("diagonal", A, (1, 1, 2), {}),
    ("dot", B, (V,), {}),
    ("copy", A, (), {}),
    ("choose", np.array([0, 1, 1]), ([V, 2 * V],), {}),
    ("searchsorted", np.sort(V), (0.2,), {}),
    *[("astype", B, (dtype,), {}) for dtype in (int, "f4", np.complex128, float)],
    ("astype", I, (float,), {"casting": "safe", "copy": False}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "x", "args", "kwargs"),
    CALLS,
    ids=[f"{name}-{x.dtype}-{args}-{kwargs}".replace("\n", "") for name, x, args, kwargs in CALLS],
)
def test_method(name, x, args, kwargs):
    f = lambda x: getattr(x, name)(*args, **kwargs)
    check_function(f, f, (x,), vmap=name != "searchsorted")


@pytest.mark.parametrize("name", ["T", "real", "imag", "shape", "dtype", "ndim", "size"])
def test_property(name):
    for x in (A, I, C):
        f = lambda x: getattr(x, name)
        if name in ("T", "real", "imag"):
            check_function(f, f, (x,))
        else:
            fg.jit(lambda t, x=x: [t][getattr(t, name) != getattr(x, name)])(x)


def test_matrix_transpose():
    check_function(lambda x: x.mT, lambda x: x.mT, (A,))
    with pytest.raises(ValueError, match="at least 2-dimensional"):
        fg.jit(lambda x: x.mT)(V)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x @ x[0],
        lambda x: x @ V,
        lambda x: V @ x,
        lambda x: x @ V.tolist(),
        lambda x: x @ x,
        lambda x: x[1:, ::2],
        lambda x: x[[0, 2]],
        lambda x: x[..., None, -1],
        lambda x: sum(row * i for i, row in enumerate(x)),
        lambda x: np.stack([row.sum() for row in x]),
        lambda x: x.flat[4],
        lambda x: sum(x.flat),
        lambda x: divmod(x, 2)[1],
        lambda x: abs(x) + -x,
    ],
)
def test_operators_and_protocols(f):
    check_function(f, f, (B,))


def test_every_method_of_arrays_is_here_or_cannot_be():
    of_layout = {"base", "byteswap", "ctypes", "data", "flags", "strides", "setflags"}
    of_files = {"dump", "dumps", "tobytes", "tofile", "getfield", "setfield"}
    methods = {name for name in dir(np.ndarray) if not name.startswith("_")}
    assert methods - set(dir(fg.Tracer)) == (of_layout | of_files) & methods


def test_what_needs_values_works_where_they_are_known():
    def f(x):
        assert 3.0 in x
        assert 4.0 not in x
        assert round(x[0]) == 1
        assert list(x[x.nonzero()]) == [1.0, 3.0]
        return (x.compress(x > 2) ** 2).sum()

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 0.0, 3.0])), [0, 0, 6])
    for needs in (lambda x: 3.0 in x, lambda x: x.nonzero(), lambda x: x.compress(x > 2)):
        np.testing.assert_array_equal(fg.jit(needs)(V), needs(V))
        with setting(reading=False), pytest.raises(fg.ConcretizationError):
            fg.jit(needs)(V)


def test_a_0d_array_has_no_items():
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        fg.grad(lambda x: sum(x))(1.0)
    with pytest.raises(TypeError, match="unsized object"):
        fg.grad(len)(1.0)


@pytest.mark.parametrize(
    "statement",
    ["x[0] = 1", "x.sort()", "x.fill(0)", "x.partition(1)", "x.put(0, 1)", "x += 1", "x.flat = 1"],
)
def test_changing_an_argument_raises(statement):
    def f(x):
        exec(statement)

    with pytest.raises(
        TypeError, match=r"an argument of `jit\(f\)` is changed in place.*x.copy\(\)"
    ):
        fg.jit(f)(V)


@pytest.mark.parametrize("statement", ["del x[0]", "x.resize(2)"])
def test_changing_the_shape_raises(statement):
    def f(x):
        exec(statement)

    with pytest.raises(ValueError, match=r"use .*fungrad\.numpy"):
        fg.jit(f)(V)


def test_errors_are_numpys():
    for f, kind, message in [
        (lambda x: x.astype(int, casting="safe"), TypeError, "Cannot cast array data"),
        (lambda x: x.reshape(7), ValueError, "cannot reshape array of size 3"),
        (lambda x: x.sum(2), np.exceptions.AxisError, "axis 2 is out of bounds"),
        (lambda x: x[5], IndexError, "index 5 is out of bounds"),
        (lambda x: x.reshape(), TypeError, r"reshape\(\) takes exactly 1 argument \(0 given\)"),
        (lambda x: x @ 2.0, ValueError, "matmul"),
    ]:
        with pytest.raises(kind, match=message):
            f(V)
        with pytest.raises(kind, match=message):
            fg.jit(f)(V)


def test_what_is_left_out_is_no_attribute():
    with pytest.raises(AttributeError, match="strides"):
        fg.jit(lambda x: x.strides)(V)
    with pytest.raises(TypeError, match="unsupported operand"):
        fg.jit(lambda x: x @ "text")(V)


def test_copies_are_tracers_of_the_same_value():
    f = lambda x: copy.copy(x) * copy.deepcopy([x])[0] * x.copy()
    assert fg.grad(f)(2.0) == 12.0


def test_methods_have_names_and_documentation():
    for name in ("sum", "reshape", "astype", "sort"):
        method = getattr(fg.Tracer, name)
        assert method.__name__ == name
        assert method.__doc__
    assert fnp.sum.__doc__

"""What is taken for parameters beyond what NumPy takes: None for what is not given, lists of axes, structs for arrays."""

import inspect
import operator

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.numpy.parameters import NOT_GIVEN
from tests.folding import each
from tests.numpy.calls import aliases, calls, functions
from tests.numpy.checker import Case

X = np.array([[0.3, -1.2, 0.7], [1.5, 0.4, -0.6]])
PARAMETERS = ("where", "initial", "mean", "correction", "prepend", "append")


def of(name):
    return operator.attrgetter(name)(fnp)


def parameters(f):
    """Return the names of the parameters of the rule of a function, and of what is in its place."""
    found = set()
    while f is not None:
        if callable(f) and not isinstance(f, np.ufunc):
            found |= set(inspect.signature(f, follow_wrapped=False).parameters)
        f = getattr(f, "__wrapped__", None)
    return found


def having(*wanted):
    return [
        (name, parameter)
        for name in functions()
        for parameter in wanted
        if parameter in parameters(of(name))
    ]


def same(found, expected):
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_parameters_are_known():
    assert set(NOT_GIVEN) == set(PARAMETERS)
    names = {name for name, _ in having("where", "initial")}
    assert names >= {"sum", "max", "all", "mean", "nanvar", "nanmin", "add", "copyto"}


@each("name", functions)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_none_is_what_is_not_given(name, parameter):
    f = of(name)
    if parameter not in parameters(f):
        return
    if name == "copyto":
        a = fnp.zeros(2)
        f(a, X[0, 0], where=None)
        assert a.tolist() == [X[0, 0]] * 2
        np.testing.assert_array_equal(
            fg.jit(lambda x: (a := fnp.zeros(3), f(a, x, where=None))[0])(X[0]), X[0]
        )
        return
    rows = calls()[aliases().get(name, name)]
    case = next(c for c in rows if parameter not in c.kwargs and type(c) is Case)
    args = case.args
    expected = f(*args, **case.kwargs)
    given = {**case.kwargs, parameter: None}
    if parameter == "correction" and "ddof" in parameters(f):
        given["ddof"] = 0
    same(f(*args, **given), expected)
    traced = [
        i
        for i, x in enumerate(args)
        if isinstance(x, (np.ndarray, np.generic)) and i not in case.static
    ]

    def call(*arrays):
        filled = list(args)
        for i, x in zip(traced, arrays, strict=True):
            filled[i] = x
        return f(*filled, **given)

    arrays = [args[i] for i in traced]
    if arrays:
        same(fg.jit(call)(*arrays), expected)


def test_none_by_position():
    for run in (lambda f: f(X), lambda f: fg.jit(f)(X), lambda f: fg.vjp(f, X)[0]):
        total = run(lambda x: fnp.sum(x, None, None, None, False, None, None))
        np.testing.assert_allclose(total, X.sum())
        np.testing.assert_allclose(run(lambda x: fnp.max(x, 0, None, False, None)), X.max(0))
    np.testing.assert_array_equal(fg.grad(lambda x: fnp.sum(x, 0, where=None)[1])(X)[:, 1], 1.0)


AXES = [
    "sum",
    "prod",
    "max",
    "min",
    "all",
    "any",
    "mean",
    "std",
    "var",
    "count_nonzero",
    "ptp",
    "median",
    "average",
]
AXES += [
    "nansum",
    "nanmax",
    "nanmean",
    "nanstd",
    "nanmedian",
    "linalg.norm",
    "linalg.vector_norm",
    "flip",
    "roll",
]
AXES += ["expand_dims", "squeeze", "quantile"]


@pytest.mark.parametrize("name", AXES)
@each("axis", [[0], [1, 0], [-1], np.array([0, 1]), np.array(1)], ids=str)
def test_lists_and_arrays_of_axes(name, axis):
    f = of(name)
    x = X[None, None, :1, :1] if name == "squeeze" else X
    more = {"roll": (2,), "quantile": (0.3,)}.get(name, ())
    plain = tuple(axis) if np.ndim(axis) else int(axis)
    expected = f(x, *more, axis=plain)
    same(f(x, *more, axis=axis), expected)
    same(fg.jit(lambda x: f(x, *more, axis=axis))(x), expected)
    same(fg.vjp(lambda x: f(x, *more, axis=axis), x)[0], expected)


STRUCT = fg.ShapeDtypeStruct((2, 3), np.float32)


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "full_like"])
def test_arrays_like_a_struct(name):
    more = (7,) if name == "full_like" else ()
    for found in (of(name)(STRUCT, *more), fg.jit(lambda: of(name)(STRUCT, *more))()):
        assert (found.shape, found.dtype) == ((2, 3), np.float32)
        assert type(found) is np.ndarray
        if name != "empty_like":
            np.testing.assert_array_equal(found, {"zeros_like": 0, "ones_like": 1}.get(name, 7))
    assert of(name)(STRUCT, *more, dtype=np.int8).dtype == np.int8
    assert of(name)(STRUCT, *more, shape=(4,)).shape == (4,)


def test_a_struct_made_in_a_trace_can_be_assigned_to():
    def f(x):
        out = fnp.zeros_like(fg.ShapeDtypeStruct(x.shape, x.dtype))
        out[1] = x[0]
        return out

    np.testing.assert_array_equal(fg.vjp(f, X)[0], [[0] * 3, X[0]])


@pytest.mark.parametrize(
    "call",
    [
        fnp.asarray,
        np.asarray,
        np.zeros_like,
        fnp.copy,
        fnp.sum,
        fnp.sin,
        lambda s: fnp.array([s, s]),
        lambda s: fnp.stack([s]),
        lambda s: fnp.where(True, s, 1.0),
        lambda s: fnp.add(1.0, s),
        lambda s: fg.lax.add(s, s),
        lambda s: fg.lax.broadcast(s, (2,)),
        lambda s: fg.at(s)[0].set(1.0),
    ],
)
def test_a_struct_has_no_values(call):
    with pytest.raises(
        TypeError, match=r"(?s)ShapeDtypeStruct\(shape=\(2, 3\).*no values.*zeros_like"
    ):
        call(STRUCT)
    with pytest.raises(TypeError):
        fg.jit(lambda x: call(STRUCT) + x)(1.0)

"""What is said of mistakes that beginners make: the argument is named, and what to write instead."""

import decimal
import fractions
import functools
import math
import pickle
import re
import textwrap

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn

X = np.ones(3)


@fg.jit
def method(self, x):
    return self.w * x


masked = fg.custom_jvp(lambda x, mask: x * mask, nondiff_argnums=(1,))
masked.defjvp(lambda mask, p, t: (p[0] * mask, t[0] * mask))


def masked_loss(x, mask):
    step = lambda c, _: ((masked(*c), c[1]), None)
    return lax.scan(step, (x, mask), None, length=2)[0][0].sum()


def squares_by_nditer(x):
    r = np.empty_like(x)
    with np.nditer([x, r], op_flags=[["readonly"], ["writeonly"]]) as both:
        for a, b in both:
            b[...] = a * a
    return r.sum()


OPTIONS = {
    "axis": (fnp.sum, 0),
    "ddof": (fnp.std, 0),
    "ord": (fnp.linalg.norm, 2),
    "n": (fnp.diff, 1),
    "keepdims": (fnp.sum, True),
}
FLOAT = r"tracer of type float64\[\]\. Write x\[i\.astype\(int\)\]; no derivative flows through an index"
CASES = {
    "a dtype as a function": (
        lambda: fg.grad(lambda x: np.float32(x) * 2)(1.0),
        r"write x\.astype\(np\.float32\)",
    ),
    "nditer": (
        lambda: fg.grad(squares_by_nditer)(X),
        "a tracer has none: iterate over x.ravel",
    ),
    "keyword of vmap": (
        lambda: fg.vmap(lambda x, k: x * k)(X, k=2.0),
        "argument 'k'.*functools.partial",
    ),
    "a list of numbers": (lambda: fg.vmap(lambda x: x)([1.0, 2.0]), r"pass numpy\.array\(x\)"),
    "a tracer is pickled": (lambda: fg.jit(pickle.dumps)(X), "cannot be pickled"),
    "self": (lambda: method(object(), X), "does not see them change.*register_dataclass"),
    "axes by name": (
        lambda: fg.vmap(lambda x, y: x * y, in_axes={"y": None})(X, 2.0),
        r"got the dict \{'y': None\}.*write in_axes=\(0, None\)",
    ),
    "axes of a dict": (
        lambda: fg.vmap(lambda d: d["a"], in_axes={"a": 0})({"a": X}),
        r"write in_axes=\(\{'a': 0\},\)",
    ),
    "axes of another tree": (
        lambda: fg.vmap(lambda p, x: p["w"] * x, in_axes=({"v": 0}, None))({"w": X}, 2.0),
        r"in_axes\[0\] lacks the key 'w'.*argument 0 .* in_axes=\(\{'w': 0\}, None\)",
    ),
    "a float picks an element": (
        lambda: fg.jit(lambda x, i: x[i])(X, 1.0),
        FLOAT,
    ),
    "a float picks an element of NumPy": (
        lambda: fg.grad(lambda i: X[i])(1.0),
        FLOAT + r".*fungrad\.numpy\.array\(a\)\[i\.astype\(int\)\]",
    ),
    "a float picks a place": (lambda: fg.jit(lambda x, i: fg.at(x)[i].set(2.0))(X, 1.0), FLOAT),
    "a float is taken": (lambda: fg.jit(fnp.take)(X, 1.0), FLOAT),
    "floats are taken along an axis": (
        lambda: fg.jit(lambda x: fnp.take_along_axis(x, x, 0))(X),
        r"Write x\[i\.astype\(int\)\]",
    ),
    "a float picks from a list": (lambda: fg.grad(lambda i: [1.0, i][i])(1.0), r"write int\(i\)"),
    "np.vectorize": (
        lambda: fg.grad(lambda x: np.vectorize(lambda a: a * a)(x).sum())(X),
        r"fungrad\.numpy\.vectorize\(f\)\(x\)",
    ),
    "an instance of np.vectorize": (
        lambda: fg.jit(np.vectorize(lambda a: a * a))(X),
        r"fungrad\.numpy\.vectorize\(f\)\(x\)",
    ),
    "a Fraction times a tracer": (
        lambda: fg.grad(lambda x: fractions.Fraction(1, 2) * x)(1.0),
        r"write float\(q\) in place of the Fraction",
    ),
    "a tracer times a Decimal": (
        lambda: fg.grad(lambda x: x * decimal.Decimal("0.5"))(1.0),
        r"write float\(d\) in place of the Decimal",
    ),
    "Decimal of a tracer": (
        lambda: fg.grad(lambda x: decimal.Decimal(x))(1.0),
        "make a Decimal of the result, outside",
    ),
    "Fraction of a tracer": (
        lambda: fg.grad(lambda x: fractions.Fraction(x))(1.0),
        "make a Fraction of the result, outside",
    ),
    "nondiff_argnums": (
        lambda: fg.grad(fg.jit(masked_loss))(X, np.array([True, False, True])),
        "Leave arrays out of nondiff_argnums",
    ),
    "classes as probabilities": (
        lambda: nn.softmax_cross_entropy(np.ones((2, 3)), np.array([0, 2])),
        "write softmax_cross_entropy_with_integer_labels",
    ),
    "classes that broadcast": (
        lambda: nn.softmax_cross_entropy(np.ones((3, 3)), np.array([0, 2, 2])),
        "write softmax_cross_entropy_with_integer_labels",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_advice(name, as_written):
    call, advice = CASES[name]
    with pytest.raises(Exception, match=f"(?s){advice}"):
        call()


@pytest.mark.parametrize("name", OPTIONS)
def test_settings_that_are_traced_are_named(name, as_written):
    function, value = OPTIONS[name]
    f = lambda x, value: function(x, **{name: value})
    with pytest.raises(fg.ConcretizationError, match=f"`{name}` decides.*static_argnames='{name}'"):
        fg.jit(f)(X, value)
    g = lambda x, **options: function(x, **options)
    expected = function(X, **{name: value})
    np.testing.assert_array_equal(fg.jit(g, static_argnames=name)(X, **{name: value}), expected)


def test_settings_that_have_values_are_taken():
    assert fg.grad(lambda x, a: fnp.sum(fnp.std(x, axis=int(a))))(X, 0).shape == (3,)


def test_probabilities_that_are_integers():
    labels = np.array([[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(nn.softmax_cross_entropy(np.zeros((2, 3)), labels), np.log(3))
    np.testing.assert_allclose(nn.softmax_cross_entropy(np.zeros((3, 3)), labels[0]), np.log(3))


TRANSFORMS = {
    "grad": lambda f: fg.grad(f)(2.0),
    "value_and_grad": lambda f: fg.value_and_grad(f)(2.0),
    "vjp": lambda f: fg.vjp(f, 2.0),
    "jvp": lambda f: fg.jvp(f, (2.0,), (1.0,)),
    "linearize": lambda f: fg.linearize(f, 2.0),
    "jacfwd": lambda f: fg.jacfwd(f)(2.0),
    "hessian": lambda f: fg.hessian(f)(2.0),
    "jet": lambda f: fg.jet(f, (2.0,), ([1.0],)),
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f))(2.0),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(2.0),
    "grad of cond": lambda f: fg.grad(lambda x: lax.cond(x > 0, f, f, x))(2.0),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_compiled_functions_that_lose_the_derivative_are_refused(name, as_written):
    """Also where it is fungrad that calls them."""
    for f in (math.sin, functools.partial(math.pow, 2.0)):
        with pytest.raises(fg.LostDerivativeError, match=r"fnp\.sqrt instead of math\.sqrt"):
            TRANSFORMS[name](f)


def test_what_is_advised_works():
    np.testing.assert_array_equal(fg.vmap(lambda x, y: x * y, in_axes=(0, None))(X, 2.0), 2 * X)
    np.testing.assert_array_equal(fg.vmap(lambda d: d["a"], in_axes=({"a": 0},))({"a": X}), X)
    f = lambda p, x: p["w"] * x
    np.testing.assert_array_equal(fg.vmap(f, in_axes=({"w": 0}, None))({"w": X}, 2.0), 2 * X)
    np.testing.assert_array_equal(fg.vmap(lambda x: x)(np.array([1.0, 2.0])), [1, 2])
    a = np.array([3.0, 4.0])
    assert fg.jit(lambda x, i: x[i.astype(int)])(a, 1.0) == 4
    assert fg.grad(lambda i: fnp.array(a)[i.astype(int)] * i)(1.0) == 4
    assert fg.grad(lambda i: [1.0, i][int(i)])(1.0) == 1
    assert fg.grad(lambda x: fnp.array([1.0, 2.0])[x.astype(int)] * x)(1.0) == 2
    np.testing.assert_array_equal(
        fg.grad(lambda x: fnp.vectorize(lambda a: a * a)(x).sum())(X), 2 * X
    )
    assert fg.grad(lambda x: float(fractions.Fraction(1, 2)) * x)(1.0) == 0.5


class Settled:
    """Made of what it holds."""

    def __init__(self, w, name):
        self.w, self.name = w, name

    @fg.jit
    def scaled(self, x):
        return self.w * x


class Made:
    """Made of another thing than it holds."""

    def __init__(self, k):
        self.w, self.name = 2.0 * k, "made"

    @fg.jit
    def scaled(self, x):
        return self.w * x


@pytest.mark.parametrize("model", [Settled(2.0, "a"), Made(1.0)], ids=["settled", "made"])
def test_the_way_of_pytrees_sees_attributes_change(model):
    with pytest.raises(TypeError, match=r"does not see them change, as by m\.w = 5") as error:
        model.scaled(3.0)
    text = str(error.value)
    start = (
        text.index("    def unflatten") if isinstance(model, Made) else text.index("fungrad.tree")
    )
    end = text.index("\n\n Name it") if isinstance(model, Made) else text.index(" once, below")
    exec(textwrap.dedent(text[start:end]), {"fungrad": fg, "Made": Made, "Settled": Settled})
    assert model.scaled(3.0) == 6
    model.w = 5.0
    assert model.scaled(3.0) == 15
    assert fg.grad(lambda m: m.scaled(3.0))(model).w == 3


class Table:
    """As wide as one of pandas: it is not written out in messages; and its text may fail."""

    shape = (100, 2)

    def __init__(self, fails=False):
        self.fails = fails

    def __repr__(self):
        if self.fails:
            raise KeyError("no text")
        return "1.0 2.0\n" * 100


RETURNING = {
    "grad": lambda x: fg.grad(lambda _: x)(1.0),
    "jit": lambda x: fg.jit(lambda _: x)(1.0),
    "vmap": lambda x: fg.vmap(lambda _: x)(X),
    "a tuple": lambda x: fg.grad(lambda _: (x, x))(1.0),
    "scan": lambda x: lax.scan(lambda c, y: x, 0.0, X),
    "has_aux": lambda x: fg.grad(lambda _: x, has_aux=True)(1.0),
    "argument": lambda x: fg.jit(lambda y: y)(x),
    "condition": lambda x: lax.cond([x], lambda: 1.0, lambda: 2.0),
    "vmap of jit": lambda x: fg.vmap(fg.jit(lambda _: x))(X),
    "no function": lambda x: fg.grad(x),
}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", RETURNING)
def test_tables_are_not_written_out(name, fails):
    with pytest.raises(TypeError) as error:
        RETURNING[name](Table(fails))
    text = str(error.value)
    assert "1.0 2.0" not in text
    assert "(100, 2)" in text or "structure" in text


def exception_of(package, message):
    """Return an error of a class that a library has."""
    return type("OfLibrary", (Exception,), {"__module__": f"{package}.errors"})(message)


@pytest.mark.parametrize(
    ("package", "advice"),
    [
        ("numba", r"f\.py_func\(x\)"),
        ("pydantic_core", "M.model_construct"),
        ("torch", r"t\.detach\(\)\.numpy\(\)"),
    ],
)
def test_errors_of_libraries_that_meet_a_tracer(package, advice, as_written):
    def f(x):
        raise exception_of(package, f"cannot determine the type of {type(x)}")

    with pytest.raises(Exception, match="cannot determine") as error:
        fg.grad(f)(1.0)
    assert re.search(advice, error.value.__notes__[0])
    with pytest.raises(Exception, match="of something else") as error:
        fg.grad(lambda x: (_ for _ in ()).throw(exception_of(package, "of something else")))(1.0)
    assert not hasattr(error.value, "__notes__")

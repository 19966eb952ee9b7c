"""Programs as modules that need NumPy alone, which are run without fungrad."""

import ast
import collections
import contextlib
import dataclasses
import io
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, tree
from tests.samples import rows
from tests.samples.row import Sample

NOT_WRITTEN = {
    "continuous_riccati",
    "debug_callback",
    "discrete_riccati",
    "io_callback",
    "pure_callback",
}
"""Primitives that run functions of the user's, or programs that decide by values."""


def imported(module: ast.Module) -> set[str]:
    """Return the packages that a module imports."""
    nodes = [*ast.walk(module)]
    names = [x.name for node in nodes if isinstance(node, ast.Import) for x in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def assert_a_module_of(name: str, text: str, library: str = "numpy") -> None:
    """Check that a text imports libraries of arrays alone, and defines one public function."""
    allowed = (
        {"numpy", "scipy", "ml_dtypes"}
        if library == "numpy"
        else {"numpy", "scipy", "cupy", "cupyx"}
    )
    module = ast.parse(text)
    assert imported(module) <= sys.stdlib_module_names | allowed
    definitions = [x for x in module.body if isinstance(x, ast.FunctionDef | ast.ClassDef)]
    assert [x.name for x in definitions if x.name[0] != "_"] == [name]


def run(text: str, name: str, args: tuple, library: str = "numpy") -> object:
    """Return what the function of a text gives of arrays."""
    assert_a_module_of(name, text, library)
    found: dict = {}
    exec(compile(text, f"<{name}>", "exec"), found)
    assert found["__all__"] == [name]
    return found[name](*args)


def assert_same(found: object, expected: object, rtol: float = 1e-12) -> None:
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert (type(x), np.shape(x), x.dtype) == (type(y), np.shape(y), y.dtype)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-300)


def by_primitive() -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in rows():
        found.setdefault(sample.primitive.name, []).append(sample)
    return found


BY_PRIMITIVE = by_primitive()


def check_samples(samples: list[Sample]) -> None:
    """Check one module that computes what samples of a primitive give."""

    def f(*operands):
        return [s.primitive(*given) for s, given in zip(samples, operands, strict=True)]

    operands = tuple([sample.operands for sample in samples])
    found = run(fg.to_source(f)(*operands), "f", operands)
    for sample, given, result in zip(samples, operands, found, strict=True):
        assert_same(result, sample.primitive(*given), 1e-14)


@pytest.mark.parametrize("name", BY_PRIMITIVE)
def test_every_primitive(name, subtests):
    """All samples of a primitive are in one module, which has what they share once; if it is wrong, each has its own."""
    samples = BY_PRIMITIVE[name]
    if name in NOT_WRITTEN:
        for sample in samples:
            with pytest.raises(NotImplementedError, match="cannot be written with NumPy alone: "):
                fg.to_source(lambda *x, s=sample: s.primitive(*x))(*sample.operands)
        return
    try:
        check_samples(samples)
    except Exception:
        for sample in samples:
            with subtests.test(str(sample)):
                check_samples([sample])
        raise


def steps(x):
    return lax.scan(lambda c, row: (np.tanh(c * row + 0.1), c[::-1]), x[0], x, reverse=True)


def newton(x):
    going = lambda state: (state[0] < 20) & (np.abs(state[1] ** 2 - x) > 1e-12)
    return lax.while_loop(going, lambda s: (s[0] + 1, (s[1] + x / s[1]) / 2), (0, x))[1]


def branches(x):
    return lax.switch(np.argmax(x), [np.sin, np.cos, lambda x: x[::-1]], x)


def blocks(x):
    c, ys = lax.scan(lambda c, row: (c + row, c * row), np.zeros(x.shape[1]), x, unroll=2)
    return c, ys, lax.fori_loop(0, 3, lambda i, y: y * 2 + i, x[0])


LOOPS = {
    "scan": steps,
    "gradient of scan": fg.grad(lambda x: np.sum(steps(x)[1] ** 2)),
    "while": newton,
    "batched while": fg.vmap(newton),
    "branches": branches,
    "batched branches": fg.vmap(branches),
    "blocks": blocks,
    "gradient of blocks": fg.grad(lambda x: np.sum(blocks(x)[1])),
    "checkpoint": fg.grad(fg.checkpoint(lambda x: np.sum(np.sin(np.exp(x))))),
    "jit inside": lambda x: fg.jit(np.tanh)(x) * 2,
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    shape = (3,) if name in ("branches", "while") else (4, 3)
    x = np.random.default_rng(0).uniform(0.2, 0.9, shape)
    x = x[0] if name == "while" else x
    x = x.ravel() if name == "batched while" else x
    f = LOOPS[name]
    assert_same(run(fg.to_source(f, name="f")(x), "f", (x,)), f(x))


def test_the_text_has_the_names_of_the_arguments_and_the_results_of_the_function():
    Point = collections.namedtuple("Point", ["x", "y"])

    def moved(point, by, *, scale):
        return {"to": Point(point.x + by["x"] * scale, None), "was": [point, 1.5], "n": ()}

    args, scale = (Point(np.ones(2), np.arange(3)), {"x": 2.0}), np.float32(3)
    text = fg.to_source(moved)(*args, scale=scale)
    assert "def moved(point, by, *, scale):" in text
    assert "point_x, point_y, by_x, scale = _leaves(\n        (point, by, scale),\n" in text
    found: dict = {}
    exec(text, found)
    result = found["moved"](*args, scale=scale)
    assert_same(result, fg.jit(moved)(*args, scale=scale))
    assert list(result) == ["to", "was", "n"]
    assert result["to"]._fields == ("x", "y")
    assert result["to"].y is None
    assert result["was"][0].x is not args[0].x


Pair = collections.namedtuple("Pair", ["y", "x"])

NESTED = {
    "dict": {"b": 2.0, "a": 1.0},
    "ordered": collections.OrderedDict(b=2.0, a=1.0, c=collections.OrderedDict()),
    "default": collections.defaultdict(float, {"b": 2.0, "a": 1.0}),
    "default of lists": collections.defaultdict(list, {"b": [2.0, 3.0], "a": []}),
    "without default": collections.defaultdict(None, {"b": 2.0, "a": 1.0}),
    "named tuple": Pair(2.0, {"y": 1.0, "x": 3.0}),
    "numbers": {10: 2.0, 2: 1.0, -1: 3.0},
    "tuples": {(1, "a"): 2.0, (0, "b"): 1.0},
    "several kinds": {"a": 2.0, 10: 1.0, (1,): 3.0},
    "strings of NumPy": {np.str_("b"): 2.0, np.str_("a"): 1.0},
    "nested": {"z": [{"b": 2.0, "a": 1.0}, {3: 4.0, 1: (5.0,)}], "a": {"y": 6.0, "x": None}},
    "None": {"b": None, "c": 2.0, "a": [None, 1.0, ()]},
    "one name": {"a_b": 1.0, "a": {"b": 2.0}, "a b": 3.0, "a_b_1": 4.0, "": {"é": 5.0, "è": 6.0}},
}
"""Pytrees whose leaves have an order of their own, or names that are alike."""


def shape_of(x: object) -> object:
    """Return the classes and keys of a pytree, in their order."""
    if isinstance(x, dict):
        return type(x), [(key, shape_of(y)) for key, y in x.items()]
    return (type(x).__name__, [*map(shape_of, x)]) if isinstance(x, (tuple, list)) else x is None


@pytest.mark.parametrize("name", NESTED)
def test_each_leaf_is_where_fungrad_has_it(name):
    given = NESTED[name]
    primes = iter([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])
    weights = tree.map(lambda _: next(primes), given)

    def f(p, p_a):
        return sum(tree.leaves(tree.map(lambda x, w: w * x**2, p, weights))) + p_a["b"], p

    both = lambda p, p_a: (f(p, p_a), fg.grad(lambda *args: f(*args)[0], (0, 1))(p, p_a))
    p_a = {"b": 100.0, "a": 1000.0}
    text = fg.to_source(both, name="f")(given, p_a)
    expected = fg.jit(both)(given, p_a)
    found = run(text, "f", (given, p_a))
    assert_same(found, expected, 0)
    assert shape_of(found) == shape_of(expected)
    assert found[0][0] == 100 + sum(
        w * x**2 for w, x in zip(tree.leaves(weights), tree.leaves(given), strict=True)
    )
    if type(given) is dict:  # whichever order a caller has
        assert_same(run(text, "f", (dict(reversed(given.items())), p_a)), expected, 0)


def test_results_have_their_keys_in_the_order_of_the_function():
    def f(x):
        inner = collections.OrderedDict([("z", x), ("y", -x)])
        return {"b": x * 2, "a": inner, 3: collections.defaultdict(int, {"q": x, "p": x * 3})}

    found, expected = run(fg.to_source(f)(2.0), "f", (2.0,)), f(2.0)
    assert shape_of(found) == shape_of(expected)
    assert (found["b"], dict(found["a"]), dict(found[3])) == (
        4,
        {"z": 2, "y": -2},
        {"q": 2, "p": 6},
    )
    assert found[3].default_factory is int


def test_named_tuples_of_one_name():
    one, two = (collections.namedtuple("Point", fields) for fields in ("x y", "y x"))
    f = lambda Point, q: (two(Point.x, q.x), one(q.y, Point.y), q)
    args = one(1.0, 2.0), two(3.0, 4.0)
    found, expected = run(fg.to_source(f, name="f")(*args), "f", args), f(*args)
    assert [x._asdict() for x in found] == [x._asdict() for x in expected]
    assert {type(x).__name__ for x in found} == {"Point"}


@dataclasses.dataclass
class Line:
    slope: float
    start: float


tree.register_dataclass(Line)


def test_nodes_of_other_classes_are_refused():
    with pytest.raises(NotImplementedError, match="an argument has a node of the class Line"):
        fg.to_source(lambda line: line.slope * 2)(Line(1.0, 2.0))
    with pytest.raises(NotImplementedError, match="a result has a node of the class Line"):
        fg.to_source(lambda x: Line(x, x))(1.0)
    with pytest.raises(NotImplementedError, match="an argument has a node of the class deque"):
        fg.to_source(lambda d: d[0])(collections.deque([1.0]))
    with pytest.raises(NotImplementedError, match="the key nan of a dict is no literal"):
        fg.to_source(lambda x: {float("nan"): x})(1.0)
    with pytest.raises(NotImplementedError, match=r"defaultdict of .* not Python's own"):
        fg.to_source(lambda x: collections.defaultdict(lambda: 3, {"a": x}))(1.0)


def test_names_that_the_text_needs_itself():
    """A function or an argument of such a name would be taken for what the text means by it."""
    root = np.arange(5.0) ** 0.5
    scan = lambda carry1, v1: (lax.scan(lambda c, x: (c * x, c), carry1, v1), carry1 * 2)
    args = 2.0, np.arange(3.0) + 1
    assert_same(run(fg.to_source(scan, name="f")(*args), "f", args), fg.jit(scan)(*args))
    for name in ("len", "np", "_leaves"):
        with pytest.raises(
            ValueError, match=f"name={name!r} is a name that the generated source uses"
        ):
            fg.to_source(lambda x: x * 2, name=name)(1.0)
    for f in (
        lambda _leaves, y: _leaves * y,
        lambda CONSTANT0, y: CONSTANT0 * y * root,
        lambda namedtuple, y: Pair(namedtuple, y),
        lambda int, y: lax.switch(int, [np.sin, np.cos], y),
    ):
        with pytest.raises(
            ValueError, match=r"an argument is called \w+, a name that the generated source"
        ):
            fg.to_source(f, name="f")(1, 2.0)
    with pytest.raises(ValueError, match="the argument 'class' has no name of Python"):
        fg.to_source(lambda **given: given["class"])(**{"class": 1.0})
    f = lambda *args, **given: given["a0"] * 10 + args[0]
    text = fg.to_source(f, name="f")(1.0, a0=2.0)
    found: dict = {}
    exec(text, found)
    assert found["f"](1.0, a0=2.0) == 21


def test_arguments_of_other_types_are_refused():
    text = fg.to_source(lambda p: p["a"] * p["b"][0], name="f")({"a": 1.0, "b": [np.ones(3)]})
    found: dict = {}
    exec(text, found)
    f = found["f"]
    np.testing.assert_array_equal(f({"a": 2.0, "b": [np.ones(3)]}), [2, 2, 2])
    with pytest.raises(TypeError, match=r"f\[0\]\['b'\]\[0\] is float64\[4\]; .* float64\[3\]"):
        f({"a": 2.0, "b": [np.ones(4)]})
    with pytest.raises(TypeError, match=r"f\[0\]\['a'\] is int64\[\]"):
        f({"a": 2, "b": [np.ones(3)]})
    for other in ({"a": 2.0}, {"a": 2.0, "b": []}, {"a": 2.0, "b": np.ones(3)}, 1.0):
        with pytest.raises(TypeError, match=r"structure|float64"):
            f(other)
    nothing = {}
    exec(fg.to_source(lambda p, x: x * 2, name="f")(None, 1.0), nothing)
    assert nothing["f"](None, 2.0) == 4
    for other in ([1.0], 1.0, {}):
        with pytest.raises(TypeError, match=r"f\[0\] has another structure"):
            nothing["f"](other, 2.0)


def test_constants():
    large = np.random.default_rng(0).normal(size=(20, 30))
    special = np.array([np.nan, np.inf, -0.0, 5e-324])
    single = np.float32(0.1)

    def f(x):
        return x @ large, x[:4] * special, np.where(x > 0.5, -np.inf, x), x * single, x / 3

    x = np.linspace(0, 1, 20)
    found = run(fg.to_source(f)(x), "f", (x,))
    for a, b in zip(found, fg.jit(f)(x), strict=True):
        np.testing.assert_array_equal(a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.signbit(found[1]), np.signbit(x[:4] * special))


@pytest.mark.parametrize(
    "number", [complex(np.nan, 1), complex(0, -np.inf), complex(-np.inf, np.nan)]
)
def test_complex_numbers_that_are_not_finite(number):
    for x in (np.arange(3.0), 2.0):

        def f(x):
            return x + number, np.where(x > 1, number, x)

        with np.errstate(all="ignore"):
            for a, b in zip(run(fg.to_source(f)(x), "f", (x,)), f(x), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "uint16", "bool", "float16"])
def test_dtypes(dtype):
    def f(x):
        y = x[::-1] + x[1] * 3
        return y, y.sum(axis=0), x.real.astype(np.float32) * 0.1, np.maximum(x, x[0])

    x = np.array([[1, 0], [1, 1]]).astype(dtype)
    assert_same(run(fg.to_source(f)(x), "f", (x,)), fg.jit(f)(x), 0)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    f = lambda x: np.exp(x).astype(np.float32) + x.astype(np.float32)
    assert_same(run(fg.to_source(f, name="f")(x), "f", (x,)), fg.jit(f)(x))


def test_what_cannot_be_written_says_why():
    def calls(x):
        fg.debug.print("{}", x)
        return x

    with pytest.raises(NotImplementedError, match=r"to_source\(calls\) .*debug_callback"):
        fg.to_source(calls)(1.0)
    with pytest.raises(NotImplementedError, match="another transformation traces"):
        fg.jit(lambda y: len(fg.to_source(lambda x: x * y)(1.0)) * y)(2.0)
    with pytest.raises(ValueError, match="name is a name of Python, got 'a b'"):
        fg.to_source(np.sin, name="a b")(1.0)
    with pytest.raises(ValueError, match="an argument is called np"):
        fg.to_source(lambda np: np * 2)(1.0)
    with pytest.raises(TypeError, match="to_source"):
        fg.to_source(3)


def test_lines_are_short_and_the_text_is_the_same_every_time():
    def f(params):
        return [fnp.tanh(p * 2 + q) for p, q in itertools.pairwise(params)]

    params = [np.ones(3) * i for i in range(30)]
    texts = [fg.to_source(f)(params) for _ in range(2)]
    assert texts[0] == texts[1]
    body = texts[0][texts[0].index("def f(") :]
    assert max(map(len, body.splitlines())) <= 100


DETERMINED = """
import numpy as np
import fungrad as fg
import fungrad.numpy as fnp

def f(x, a):
    return (fnp.sort(fnp.sin(x)) * fnp.polymul(x, x)[:4]).sum() + fnp.linalg.eigh(a)[0].sum()

args = np.arange(4.0) + 1, np.eye(3)
print(fg.to_source(fg.grad(f, (0, 1)))(*args))
lowered = fg.jit(fg.grad(f, (0, 1))).lower(*args)
print(lowered.expr, lowered.simplified, lowered.schedule, lowered.source)
"""


def test_other_processes_write_the_same():
    """Processes that run together depend on it: the order of their collectives is that of the program."""
    here = io.StringIO()
    with contextlib.redirect_stdout(here):
        exec(DETERMINED, {"__name__": "__main__"})
    texts = {here.getvalue()}
    for seed in "12":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", DETERMINED]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        texts.add(done.stdout)
    assert len(texts) == 1

"""Arrays that a function makes, keeps anywhere, and writes to with traced values."""

import collections
import dataclasses
import itertools
import types  # noqa: F401  the functions of `text_of` use it

import numpy as np
import pytest
import scipy.interpolate

import fungrad as fg

CONSTANT = np.array([1.0, 2.0, 3.0])
Named = collections.namedtuple("Named", "u v")


class Holder:
    """An object with an array."""

    def __init__(self, u):
        self.u = u


class Writer(Holder):
    """One that writes to it."""

    def put(self, x):
        self.u[0] = x


@dataclasses.dataclass
class Data:
    """A record of arrays, one of which it makes itself."""

    u: np.ndarray
    v: np.ndarray = dataclasses.field(default_factory=lambda: np.ones(3))


def write(a, x):
    a["w"][0] = x


MAKERS = {
    "zeros": "np.zeros(3)",
    "drawn": "np.random.default_rng(0).standard_normal(3)",
    "computed": "0.5 * CONSTANT",
    "view": "np.ones(4)[1:]",
    "copied": "CONSTANT[::-1].copy()",
}
HOLDERS = {
    "name": ("a = {m}", "a"),
    "two names": ("a = b = {m}", "b"),
    "walrus": ("assert (a := {m}) is not None", "a"),
    "rest": ("_, *rest = [{m}, {m}]", "rest[0]"),
    "loop": ("for a in [{m}]:\n        pass", "a"),
    "dict": ("d = {{'w': {m}}}", "d['w']"),
    "call of dict": ("d = dict(w={m})", "d['w']"),
    "list of dicts": ("d = [dict(w={m}), dict(w=2.0)]", "d[0]['w']"),
    "tuple in a list": ("d = [({m}, 1.0)]", "d[0][0]"),
    "comprehension": ("d = [[{m} for _ in range(2)] for _ in range(2)]", "d[0][1]"),
    "dict comprehension": ("d = {{k: {m} for k in 'ab'}}", "d['a']"),
    "append": ("d = []\n    d.append({m})", "d[0]"),
    "element": ("d = {{}}\n    d['w'] = {m}", "d['w']"),
    "setdefault": ("d = {{}}\n    d.setdefault('w', {m})", "d['w']"),
    "update": ("d = {{}}\n    d.update(w={m})", "d['w']"),
    "object": ("d = Holder({m})", "d.u"),
    "object by keyword": ("d = Holder(u={m})", "d.u"),
    "dataclass": ("d = Data({m})", "d.u"),
    "field of its own": ("d = Data({m})", "d.v"),
    "namedtuple": ("d = Named({m}, v=1.0)", "d.u"),
    "namespace": ("d = types.SimpleNamespace(u={m})", "d.u"),
    "defaultdict": ("d = collections.defaultdict(lambda: {m})", "d['q']"),
    "zip": ("d = dict(zip(['w'], [{m}]))", "d['w']"),
    "map": ("d = list(map(lambda k: {m}, range(2)))", "d[0]"),
    "function": ("make = lambda: {{'w': [{m}]}}\n    d = make()", "d['w'][0]"),
    "method": ("d = Writer({m})\n    d.put(2 * x)", "d.u"),
    "callee": ("d = {{'w': {m}}}\n    write(d, 2 * x)", "d['w']"),
}
WRITES = {"element": "{p}[0] = x", "update": "{p} += x", "part": "{p}[1:] *= x"}
CASES = [
    (holder, maker, write)
    for holder, maker, write in itertools.product(HOLDERS, MAKERS, WRITES)
    if not (write == "update" and "tuple" in holder)  # Python refuses it
]


def text_of(name, holder, maker, write):
    made, place = HOLDERS[holder]
    lines = [made.format(m=MAKERS[maker]), WRITES[write].format(p=place)]
    body = "\n    ".join([*lines, f"return np.sum({place} * np.sin({place}))"])
    return f"def {name}(x):\n    {body}\n"


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """The functions of all cases, in a file that they can be read from."""
    names = [f"f{k}" for k in range(len(CASES))]
    text = "\n".join(text_of(name, *case) for name, case in zip(names, CASES, strict=True))
    path = tmp_path_factory.mktemp("held") / "held.py"
    path.write_text(text)
    module = {**globals(), "__name__": "held"}
    exec(compile(text, str(path), "exec"), module)
    return dict(zip(CASES, [module[name] for name in names], strict=True))


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_array_takes_traced_elements(case, functions):
    f = functions[case]
    slope = (f(0.8 + 1e-6) - f(0.8 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fg.grad(f)(0.8), slope, rtol=1e-6)
    jitted = fg.jit(f)
    for x in (0.8, -0.3):
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)


SHARED = {"w": np.zeros(3)}


def test_arrays_that_others_hold_stay_as_they_are():
    def f(x):
        d = SHARED
        d["w"][0] = 1.0
        e = dict(SHARED)
        e["v"] = x
        return np.sum(e["w"]) * e["v"]

    assert fg.grad(f)(2.0) == 1.0
    assert type(SHARED["w"]) is np.ndarray


def test_only_attributes_that_are_written_to_become_traced():
    kinds = []

    class Model:
        def __init__(self, weights, data):
            self.weights, self.data = weights, data

        def step(self, x):
            self.weights[0] -= x
            kinds.append(type(self.data))
            return np.sum(self.weights @ self.data)

    fg.grad(lambda x: Model(np.ones(3), np.random.default_rng(0).normal(size=(3, 2))).step(x))(0.5)
    assert kinds == [np.ndarray]


MASKS = {
    "and": "a = np.ones(6, bool); a &= x * C > -0.2",
    "or of a part": "a = np.zeros(6, bool); a[1:] |= x * C[1:] > 0.2",
    "comparison": "a = C > -0.5; a &= x * C > 0.2",
    "out": "a = np.ones(6, bool); np.logical_and(a, x * C > 0.2, out=a)",
    "compared": "a = np.ones(6, bool); np.greater(x * C, 0.2, out=a)",
    "counts": "a = np.zeros(6, int); a += x * C > 0.2",
    "integers": "a = np.arange(6); a *= np.sign(x * C).astype(int)",
    "bits": "a = np.zeros(6, np.uint8); a |= (x * C > 0.2).astype(np.uint8); a <<= 1",
    "at": "a = np.zeros(6, int); np.add.at(a, np.floor(3 + x * C).astype(int), 1)",
    "element": "a = np.zeros(6, bool); a[2] = x > 0.5; a[3] ^= x > 0.3",
}
C = np.linspace(-1.0, 1.0, 6)


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    lines = [
        f"def f{k}(x):\n    {text}; return x * (a @ np.arange(6))\n"
        for k, text in enumerate(MASKS.values())
    ]
    path = tmp_path_factory.mktemp("masks") / "masks.py"
    path.write_text("\n".join(lines))
    module = {**globals(), "__name__": "masks"}
    exec(compile("\n".join(lines), str(path), "exec"), module)
    return dict(zip(MASKS, [module[f"f{k}"] for k in range(len(MASKS))], strict=True))


@pytest.mark.parametrize("name", MASKS)
def test_truth_values_and_integers_in_place(name, masked):
    f, xs = masked[name], np.array([0.83, 0.41, 1.7])
    slopes = [(f(x + 1e-6) - f(x - 1e-6)) / 2e-6 for x in xs]
    np.testing.assert_allclose([fg.grad(f)(x) for x in xs], slopes, rtol=1e-6)
    for transformed in (fg.jit(fg.grad(f)), lambda x: fg.vmap(fg.grad(f))(xs)[list(xs).index(x)]):
        np.testing.assert_allclose([transformed(x) for x in xs], slopes, rtol=1e-6)
    np.testing.assert_allclose(fg.vmap(f)(xs), [f(x) for x in xs])


def test_integers_take_no_float_that_has_a_derivative():
    def f(x):
        a = np.ones(3, int)
        np.multiply(a, x, out=a, casting="unsafe")
        return a.sum()

    with pytest.raises(fg.LostDerivativeError, match="derivative would be lost"):
        fg.grad(f)(0.5)


@pytest.mark.parametrize(
    "spline",
    [
        lambda x: scipy.interpolate.interp1d(np.arange(4.0), np.arange(4.0) ** 2, "cubic")(x),
        lambda x: scipy.interpolate.BSpline(np.arange(9.0), np.arange(5.0) ** 2, 3)(x),
        lambda x: scipy.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)(x),
    ],
)
def test_objects_of_scipy_keep_plain_arrays(spline):
    """Their methods are SciPy's own, even if some write to attributes: no traced element gets there."""
    x = np.array([[1.5, 2.5], [2.2, 1.7]])
    for transform in (fg.vmap, fg.jit, lambda f: fg.jit(fg.vmap(f))):
        np.testing.assert_allclose(transform(spline)(x), spline(x))

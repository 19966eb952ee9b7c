"""A function that is saved and loaded is the function: its values, derivatives and batches, also in another process."""

import collections
import dataclasses
import inspect
import pickle
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn, random, tree
from fungrad.core.primitive import Primitive
from fungrad.primitives.callback import _Callback
from fungrad.primitives.ufunc import Function
from fungrad.programs.decoding import Decoder
from fungrad.programs.encoding import Encoder, file_name
from fungrad.scipy.sparse.linalg import cg
from tests.check import expr_of
from tests.optional import needs, optional
from tests.samples import rows

ml_dtypes = optional("ml_dtypes")
X = np.array([0.3, 1.2, -0.7])


class Layer(NamedTuple):
    w: object
    b: object


@fg.tree_util.register_dataclass
@dataclasses.dataclass
class Scaled:
    x: object
    unit: str = tree.static(default="m")


@fg.custom_jvp
def softplus(x):
    return fnp.log1p(fnp.exp(x))


@softplus.defjvp
def softplus_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return softplus(x), (
        1 - 1 / (1 + fnp.exp(x))
    ) * t  # it calls its own function: rules for all orders


@fg.custom_vjp
def clipped(x, bound):
    return x * x


clipped.defvjp(
    lambda x, bound: (x * x, (x, bound)),
    lambda kept, g: (fnp.clip(2 * kept[0] * g, -kept[1], kept[1]), None),
)


def looped(x):
    total = x
    for i in range(5):
        total = np.sin(total) + i * x
    return total.sum()


def scanned(x):
    return lax.scan(lambda c, y: (c * y + 1.0, c), x[0], x)[1].sum()


def chosen(x):
    return lax.cond(x[0] > 0, lambda x: x.sum() ** 2, lambda x: np.prod(x), x)


def rooted(x):
    return scipy.optimize.root(lambda y: y**3 + y - x, np.ones(3)).x.sum()


def checkpointed(x):
    policy = fg.checkpoint_policies.save_only_these_names("h")
    return fg.checkpoint(lambda x: np.sum(np.sin(np.sin(x)) * x), policy=policy)(x)


SCALARS = {
    "loop": looped,
    "scan": scanned,
    "cond": chosen,
    "custom_jvp": lambda x: softplus(x).sum(),
    "custom_vjp": lambda x: clipped(x, 0.5).sum(),
    "rule in a loop": lambda x: lax.fori_loop(0, 3, lambda i, y: softplus(y), x).sum(),
    "rule mapped": lambda x: fg.vmap(softplus)(x).sum(),
    "gradient inside": lambda x: np.sum(fg.grad(scanned)(x) * x),
    "implicit": rooted,
    "Krylov": lambda x: cg(lambda v: 2 * v + v.sum(), x)[0].sum(),
    "checkpoint": checkpointed,
    "logsumexp": lambda x: scipy.special.logsumexp(x),
    "constants": lambda x: np.sum(np.arange(6.0).reshape(2, 3)[:, ::-1] @ x * 1.5),
}


def loaded(f, *args, types=(), **kwargs):
    return fg.load(fg.export(f)(*args, **kwargs).serialize(), types=types)


def assert_same(found, expected):
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


# Programs


@pytest.mark.parametrize("name", SCALARS)
def test_functions_and_derivatives(name):
    f = SCALARS[name]
    g, given = loaded(f, X), fg.jit(f)
    assert_same(g(X), given(X))
    assert_same(fg.jit(fg.grad(g))(X), fg.jit(fg.grad(given))(X))
    batch = np.stack([X, 2 * X])
    assert_same(fg.vmap(g)(batch), fg.vmap(given)(batch))
    if name not in ("custom_vjp", "implicit"):  # of the one there is no second derivative forwards
        np.testing.assert_allclose(fg.hessian(g)(X), fg.hessian(given)(X), rtol=1e-12)


def test_every_primitive_is_read_as_it_was():
    left = [row.primitive for row in rows() if not isinstance(row.primitive, _Callback)]
    assert len(left) > 1000
    encoder = Encoder("samples")
    numbers = [encoder.primitive(p) for p in left]
    decoder = Decoder(encoder.tables, ())
    assert [decoder._primitive(n) for n in numbers] == left  # they are interned: the same objects


def test_programs_of_every_row():
    for row in rows()[::40]:
        if isinstance(row.primitive, _Callback):
            continue
        f = lambda *xs, p=row.primitive: p(*xs)
        assert_same(loaded(f, *row.operands)(*row.operands), fg.jit(f)(*row.operands))
        assert len(loaded(f, *row.operands).in_avals) == len(expr_of(row).inputs)


def test_names_of_primitives_are_unique():
    def below(cls):
        return {cls}.union(*map(below, cls.__subclasses__()))

    own = [c for c in below(Primitive) if c.__module__.startswith("fungrad.")]
    concrete = [c for c in own if "__dataclass_fields__" in vars(c) and "is_family" not in vars(c)]
    declared = {
        id(x): x.name
        for name, module in sys.modules.copy().items()
        if name.startswith("fungrad.primitives")
        for x in vars(module).values()
        if isinstance(x, Function)
    }
    names = [*map(file_name, concrete), *declared.values()]
    assert [n for n, count in collections.Counter(names).items() if count > 1] == []


def test_other_process_without_the_source(tmp_path):
    scale = np.linspace(1.0, 2.0, 3)

    def model(params, x):
        for layer in params:
            x = np.tanh(layer["w"] @ x + layer["b"]) * scale
        return {"out": x, "norm": np.sum(x * x)}

    params = [{"w": np.eye(3) * k, "b": X} for k in (1.0, 2.0)]
    fg.export(fg.jit(model))(params, X).save(tmp_path / "model.fungrad")
    np.savez(
        tmp_path / "expected.npz",
        g=fg.grad(lambda x: model(params, x)["norm"])(X),
        **model(params, X),
    )
    text = f"""
import numpy as np, fungrad as fg
f = fg.load({str(tmp_path / "model.fungrad")!r})
X = np.array([0.3, 1.2, -0.7])
params = [dict(w=np.eye(3) * k, b=X) for k in (1.0, 2.0)]
expected = np.load({str(tmp_path / "expected.npz")!r})
found = f(params, X)
np.testing.assert_allclose(found["out"], expected["out"], rtol=1e-14)
np.testing.assert_allclose(found["norm"], expected["norm"], rtol=1e-14)
np.testing.assert_allclose(fg.grad(lambda x: f(params, x)["norm"])(X), expected["g"], rtol=1e-13)
assert fg.vmap(f, (None, 0))(params, np.ones((4, 3)))["out"].shape == (4, 3)
"""
    subprocess.run([sys.executable, "-c", text], check=True)


# Types, trees and arguments


DTYPES = [
    bool,
    np.int8,
    np.uint64,
    np.float16,
    np.float32,
    float,
    np.longdouble,
    np.complex64,
    complex,
    ">f8",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    x = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    constant = x[0].copy()
    f = lambda x: (x[::-1] + constant, constant)
    assert_same(loaded(f, x)(x), fg.jit(f)(x))


def test_keys_of_random_numbers():
    key = random.key(3)
    f = lambda key: random.normal(random.split(key)[1], (3,))
    assert_same(loaded(f, key)(key), fg.jit(f)(key))
    of_constant = lambda x: x * random.normal(random.fold_in(key, 1))
    assert_same(loaded(of_constant, 1.0)(2.0), fg.jit(of_constant)(2.0))


@needs("ml_dtypes")
def test_dtypes_of_other_packages():
    x = np.ones(3, ml_dtypes.bfloat16)
    f = lambda x: x * 2 + x.astype(np.float32)
    assert_same(loaded(f, x)(x), fg.jit(f)(x))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_shapes(shape):
    x = np.ones(shape)
    f = lambda x: (np.exp(x), x.sum())
    assert_same(loaded(f, x)(x), fg.jit(f)(x))


def test_trees_of_arguments_and_results():
    f = lambda p, *, bias: {"b": [p["a"] * bias, (p["c"], None)], "a": Layer(p["a"], 1.0)}
    p = {"c": X, "a": np.float32(2)}
    g = loaded(f, p, bias=3.0, types=[Layer])
    assert_same(g(p, bias=3.0), fg.jit(f)(p, bias=3.0))
    assert [*g(p, bias=3.0)] == [*fg.jit(f)(p, bias=3.0)]


def test_classes_of_trees_are_named_to_load():
    f = lambda s: Scaled(2 * s.x, s.unit)
    data = fg.export(f)(Scaled(X)).serialize()
    with pytest.raises(fg.ExportError, match=r"holds .*Scaled.* pass types="):
        fg.load(data)
    g = fg.load(data, types=[Scaled])
    assert g(Scaled(X)).unit == "m"
    with pytest.raises(TypeError, match="saved for other arguments"):
        g(Scaled(X, "km"))


def test_specifications_static_and_donated_arguments():
    f = fg.jit(lambda x, n, y: x**n + y, static_argnums=1, donate_argnums=2)
    g = fg.load(
        fg.export(f)(
            fg.ShapeDtypeStruct((3,), float), 3, fg.ShapeDtypeStruct((3,), float)
        ).serialize()
    )
    y = np.ones(3)
    assert_same(g(X, y), X**3 + 1)
    assert_same(y, np.ones(3))
    assert repr(g) == "<exported <lambda>(float64[3], float64[3]) -> float64[3]>"


def test_numbers_follow_the_types():
    g = loaded(lambda x, n: x * n, np.float32(1), 2)
    assert g(np.float32(2), 3).dtype == np.float32
    assert g(2.0, 3) == 6
    with pytest.raises(
        TypeError, match=r"saved for a int64\[\] as argument 1, and is called with float64\[\]"
    ):
        g(np.float32(2), 3.5)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (np.ones(4), 1.0),
            {},
            r"<lambda> was saved for a float64\[3\] as argument 0\['a'\], and is called with float64\[4\]",
        ),
        (
            ({"a": X}, X),
            {},
            r"was saved for a float64\[\] as argument 1, and is called with float64\[3\].*fungrad.vmap",
        ),
        (
            ({"a": X.astype(int)}, 1.0),
            {},
            r"argument 0\['a'\], and is called with int64\[3\]. Convert it",
        ),
        (
            ({"a": X},),
            {},
            r"expected a tuple of length 2, got a tuple of length 1. Static arguments",
        ),
        (({"b": X}, 1.0), {}, r"saved for other arguments: at \[0\]\[0\]"),
        (({"a": "x"}, 1.0), {}, r"argument 0\['a'\], and is called with str"),
    ],
)
def test_other_arguments(args, kwargs, message):
    g = loaded(lambda p, y: p["a"] * y, {"a": X}, 1.0)
    if not isinstance(args[0], dict):
        args = ({"a": args[0]}, *args[1:])
    with pytest.raises(TypeError, match=message):
        g(*args, **kwargs)


def test_it_is_a_function_among_others():
    g = loaded(lambda x, y: np.sin(x) * y, 1.0, 2.0)
    f = lambda x: g(x, x) + g(2.0, x)
    expected = np.cos(2.0) * 2.0 + np.sin(2.0) + np.sin(2.0)
    for slope in (
        fg.grad(f),
        fg.jit(fg.grad(f)),
        fg.grad(fg.jit(f)),
        lambda x: fg.jvp(f, (x,), (1.0,))[1],
    ):
        np.testing.assert_allclose(slope(2.0), expected, rtol=1e-14)
    assert str(fg.make_expr(g)(1.0, 2.0)).count("calling") <= 1
    assert inspect.signature(g) is not None


def test_saved_twice_is_the_same(tmp_path):
    e = fg.export(looped)(X)
    e.save(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == e.serialize() == fg.load(tmp_path / "f").serialize()
    with open(tmp_path / "f", "rb") as file:
        assert_same(fg.load(file)(X), e(X))
    assert_same(pickle.loads(pickle.dumps(e))(X), e(X))
    with np.load(tmp_path / "f") as arrays:  # plain arrays in a plain archive
        assert set(arrays.files) >= {"tree.json"}


def test_networks():
    f = lambda x: nn.softmax(nn.relu(x) + nn.gelu(x))
    assert_same(loaded(f, X)(X), fg.jit(f)(X))

"""fungrad.tree and fungrad.tree_util: nodes of every kind, under transforms, and errors that name paths.

What the functions return is compared with JAX in tests/peers/test_jax_tree.py.
"""

import collections
import copy
import dataclasses
import functools
import pickle
import re

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import tree
from fungrad import tree_util as tu

Point = collections.namedtuple("Point", ["x", "y"])


@tu.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    b: object = 0.0
    name: str = tree.static(default="", metadata={"unit": None})
    calls: int = dataclasses.field(default=0, init=False)


@functools.partial(
    tu.register_dataclass, data_fields=["w"], meta_fields=["act"], drop_fields=["cache"]
)
@dataclasses.dataclass
class Dropping:
    w: object
    act: str
    cache: object = None


class Plain:
    def __init__(self, w, tag):
        self.w, self.tag = w, tag


tu.register_dataclass(Plain, data_fields=["w"], meta_fields=["tag"])


class Range:
    def __init__(self, low, high, unit=None):
        self.low, self.high, self.unit = low, high, unit


tu.register_pytree_node(
    Range, lambda r: (iter((r.low, r.high)), r.unit), lambda unit, xs: Range(*xs, unit)
)


@tu.register_pytree_node_class
class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten(self):
        return (self.x, self.y), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


@tu.register_pytree_with_keys_class
class Keyed:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def tree_flatten_with_keys(self):
        return ((k, getattr(self, k.name)) for k in map(tu.GetAttrKey, "wb")), "aux"

    @classmethod
    def tree_unflatten(cls, aux, children):
        assert aux == "aux"
        return cls(*children)


class Functions:
    def __init__(self, x):
        self.x = x


tu.register_pytree_node(
    Functions,
    lambda f: ((f.x,), None),
    lambda _, xs: Functions(*xs),
    lambda f: ((("the x", f.x),), None),
)


@tu.register_static
class Mode(str):
    pass


def scale(a, x, b=0.0):
    return a * x + b


X = np.array([1.0, 2.0])
NODES = {
    "dataclass": (Layer(2.0, X, "n"), [".w", ".b"]),
    "dropping": (Dropping(X, "relu", cache="old"), [".w"]),
    "plain class": (Plain(X, 3), [".w"]),
    "functions": (Range(1.0, X, "m"), ["[<flat index 0>]", "[<flat index 1>]"]),
    "methods": (Pair(X, 2.0), ["[<flat index 0>]", "[<flat index 1>]"]),
    "keyed methods": (Keyed(X, 2.0), [".w", ".b"]),
    "keyed functions": (Functions(X), ["the x"]),
    "static": ([Mode("a"), X], ["[1]"]),
    "partial": (
        tu.Partial(scale, X, b=2.0),
        ["[<flat index 0>][0]", "[<flat index 1>]['b']"],
    ),
    "nested": (
        {"a": [Pair(Layer(2.0), None)], "p": Point(X, 1.0)},
        ["['a'][0][<flat index 0>].w", "['a'][0][<flat index 0>].b", "['p'].x", "['p'].y"],
    ),
    "deque": (collections.deque([X, 1.0]), ["[0]", "[1]"]),
}


def total(node):
    return sum(fnp.sum(fnp.sin(leaf)) for leaf in tree.leaves(node))


def equal(a, b):
    (found, spec), (expected, other) = tree.flatten(a), tree.flatten(b)
    assert spec == other
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-15)


@pytest.mark.parametrize("name", NODES)
def test_nodes(name):
    node, paths = NODES[name]
    found, treedef = tree.flatten(node)
    assert [tu.keystr(path) for path, _ in tree.leaves_with_path(node)] == paths
    assert len(found) == treedef.num_leaves == len(paths)
    again = tree.unflatten(treedef, found)
    assert type(again) is type(node)
    equal(again, node)
    assert hash(tree.structure(again)) == hash(treedef)


@pytest.mark.parametrize("name", NODES)
def test_nodes_under_transforms(name):
    node, _ = NODES[name]
    cosines = tree.map(np.cos, node)
    doubled = tree.map(lambda x: 2 * x, node)
    equal(fg.grad(total)(node), cosines)
    equal(fg.jit(fg.grad(total))(node), cosines)
    equal(fg.jit(lambda t: tree.map(lambda x: 2 * x, t))(node), doubled)
    _, tangent = fg.jvp(lambda t: tree.map(lambda x: 2 * x, t), (node,), (node,))
    equal(tangent, doubled)
    _, pull = fg.vjp(lambda t: tree.map(lambda x: 2 * x, t), node)
    equal(pull(node)[0], doubled)
    stacked = tree.map(lambda x: np.stack([x, 3 * np.asarray(x)]), node)
    equal(fg.vmap(fg.grad(total))(stacked), tree.map(np.cos, stacked))


def test_static_parts_are_part_of_the_structure():
    calls = []

    @fg.jit
    def f(mode, layer, x):
        calls.append((str(mode), layer.name))
        return layer.w * x if mode == "mul" else layer.w + x

    assert float(f(Mode("mul"), Layer(2.0), 3.0)) == 6.0
    assert float(f(Mode("add"), Layer(2.0), 3.0)) == 5.0
    assert float(f(Mode("mul"), Layer(4.0), 3.0)) == 12.0
    f(Mode("mul"), Layer(2.0, name="other"), 3.0)
    assert calls == [("mul", ""), ("add", ""), ("mul", "other")]


def test_fields_that_are_dropped_have_their_defaults():
    layer = Layer(1.0)
    layer.calls = 5
    assert tree.map(lambda x: x, layer).calls == 0
    assert tree.map(lambda x: x, Dropping(1.0, "a", cache=3)) == Dropping(1.0, "a")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"data_fields": ["w"], "meta_fields": []}, ValueError, "'b' is in none"),
        ({"data_fields": ["w", "b"], "meta_fields": ["b"]}, ValueError, "'b' is in several"),
        ({"data_fields": ["w", "b", "q"], "meta_fields": []}, ValueError, "'q' is no field"),
        ({"drop_fields": ["w"], "data_fields": ["w"]}, ValueError, "'w' is in several"),
    ],
)
def test_dataclasses_that_cannot_be_registered(arguments, error, message):
    @dataclasses.dataclass
    class Two:
        w: float
        b: float

    with pytest.raises(error) as caught:
        tu.register_dataclass(Two, **arguments)
    assert message in str(caught.value)


def test_classes_that_cannot_be_registered():
    class Bare:
        __hash__ = None

    with pytest.raises(TypeError, match="for another class give both data_fields and meta_fields"):
        tu.register_dataclass(Bare, data_fields=["w"])
    with pytest.raises(TypeError, match=r"Bare needs the methods \['tree_flatten', 'tree_unf"):
        tu.register_pytree_node_class(Bare)
    with pytest.raises(TypeError, match=r"Bare needs the methods \['tree_flatten_with_keys'"):
        tu.register_pytree_with_keys_class(Bare)
    with pytest.raises(TypeError, match="instances of Bare have no hash"):
        tu.register_static(Bare)
    with pytest.raises(ValueError, match=r"Pair.*already registered"):
        tu.register_pytree_node_class(Pair)
    with pytest.raises(ValueError, match=r"list.*built-in"):
        tu.register_pytree_node(list, lambda x: (x, None), lambda _, x: x)


def test_partial():
    f = tu.Partial(scale, X, b=1.0)
    np.testing.assert_array_equal(fg.jit(lambda f, x: f(x))(f, 3.0), [4.0, 7.0])
    gradient = fg.grad(lambda f: fnp.sum(f(3.0)))(f)
    assert type(gradient) is tu.Partial
    assert gradient.func is scale
    np.testing.assert_array_equal(gradient.args[0], [3.0, 3.0])
    assert float(gradient.keywords["b"]) == 2.0
    made = fg.jit(lambda a: tu.Partial(scale, 2 * a))(X)
    np.testing.assert_array_equal(made(1.0), [2.0, 4.0])
    mapped = fg.vmap(lambda f, x: f(x), (0, None))(tu.Partial(scale, X, b=X), 10.0)
    np.testing.assert_array_equal(mapped, [11.0, 22.0])


def test_partial_of_partial():
    joined = tu.Partial(tu.Partial(scale, 2.0, b=1.0), 5.0, b=3.0)
    assert (joined.func, joined.args, joined.keywords) == (scale, (2.0, 5.0), {"b": 3.0})
    assert joined() == 13.0
    inner = functools.partial(scale, 2.0)
    kept = tu.Partial(inner, 5.0)
    assert tree.leaves(kept) == [5.0]
    assert kept(b=1.0) == 11.0
    assert tree.map(lambda x: 2 * x, kept)() == 20.0
    assert tree.structure(kept) == tree.structure(tu.Partial(inner, 7.0))
    assert tree.structure(kept) != tree.structure(tu.Partial(functools.partial(scale, 2.0), 5.0))
    assert copy.copy(joined)() == 13.0
    assert pickle.loads(pickle.dumps(tu.Partial(np.add, 1.0)))(2.0) == 3.0


DIFFERENCES = [
    ([1, 2], [1, 2, 3], "the root: expected a list of length 2, got a list of length 3"),
    ({"a": [(1, 2)]}, {"a": [[1, 2]]}, "['a'][0]: expected a tuple of length 2, got a list of len"),
    ({"a": [1, 2]}, {"a": 3.0}, "['a']: expected a list of length 2, got a leaf of type float"),
    ({"a": None}, {"a": X}, "['a']: expected None, got a leaf of type ndarray"),
    ([{"a": 1, "b": 2}], [{"a": 1, "c": 2}], "[0]: the dict lacks the keys ['b'] and has the unexpe"),
    ([{"a": 1}], [{"a": 1, "c": 2}], "[0]: the dict has the unexpected keys ['c']"),
    ({"a": 1}, type("Dict", (dict,), {})(a=1), "the root: expected {'a': *}, got a leaf of type Dict"),
    (Point(1, (2, 3)), Point(1, None), ".y: expected a tuple of length 2, got None"),
    (Point(1, 2), (1, 2), "the root: expected Point(x=*, y=*), got a tuple of length 2"),
    (Layer((1, 2)), Layer([1, 2]), ".w: expected a tuple of length 2, got a list of length 2"),
    ([Layer(1, 2, "p")], [Layer(1, 2, "q")], "CustomTreeNode(Layer[('p',)], [*, *]), got CustomTreeN"),
    ([1, Pair(1, 2)], [1, Keyed(1, 2)], "[1]: expected CustomTreeNode(Pair[None], [*, *]), got Custom"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "message"), DIFFERENCES)
def test_trees_that_differ(first, second, message):
    calls = {
        "tree.map: tree number 3 of the call": lambda: tree.map(
            lambda *xs: xs, first, first, second
        ),
        "tree.map_with_path: tree number 2 of the call": lambda: tree.map_with_path(
            lambda *xs: xs, first, second
        ),
        "tree.broadcast: tree number 2 of the call": lambda: tree.broadcast(first, second),
    }
    for start, call in calls.items():
        expected = f"^{start} does not have the structure of the first; they differ at .*{re.escape(message)}"
        with pytest.raises(ValueError, match=expected):
            call()


def test_long_descriptions_are_cut():
    first = collections.OrderedDict((f"parameter {i}", i) for i in range(100))
    with pytest.raises(ValueError, match=r"parameter 1': .*\.\.\., got a leaf of type int\nMore: "):
        tree.map(lambda x, y: x, first, 1)


def test_errors_of_the_function_stay_as_they_are():
    def fail(x, y):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        tree.map(fail, [1], [2])


def test_errors_of_a_node_stay_as_they_are():
    class Broken:
        pass

    def fail(node):
        raise ValueError("mine")

    tu.register_pytree_node(Broken, fail, lambda aux, xs: Broken())
    for call in (tree.leaves, lambda x: tree.map(lambda x: x, x)):
        with pytest.raises(ValueError, match=r"^mine$"):
            call([Broken()])


def test_is_leaf_with_paths():
    value = {"a": [1, (2, 3)], "b": {"c": Layer(4, [5])}, "d": None, "e": ()}
    stops = {
        "['a'][1]": ["['a'][0]", "['a'][1]", "['b']['c'].w", "['b']['c'].b[0]"],
        "['b']['c'].b": ["['a'][0]", "['a'][1][0]", "['a'][1][1]", "['b']['c'].w", "['b']['c'].b"],
        "['d']": ["['a'][0]", "['a'][1][0]", "['a'][1][1]", "['b']['c'].w", "['b']['c'].b[0]", "['d']"],
        "": [""],
    }  # fmt: skip

    def is_at(text):
        return lambda path, _: tu.keystr(path) == text

    for stop, expected in stops.items():
        found, treedef = tree.flatten_with_path(value, is_at(stop), is_leaf_takes_path=True)
        assert [tu.keystr(path) for path, _ in found] == expected
        assert tree.unflatten(treedef, [x for _, x in found]) == value
        assert treedef.num_leaves == len(found)
    mapped = tree.map_with_path(
        lambda path, x, y: (len(path), x, y), value, value,
        is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True,
    )  # fmt: skip
    assert mapped == {k: (1, x, x) for k, x in value.items()}


@pytest.mark.parametrize(
    ("outer", "inner", "value", "error", "message"),
    [
        ([0, 0], {"a": 0}, [{"a": 1}, {"b": 2}], TypeError, "at [1]: the dict lacks the keys ['a'] and"),
        ([0, 0], {"a": 0}, [{"a": 1}, {"a": (2, 3)}], TypeError, "at [1]['a']: expected a leaf, got a tup"),
        ([0, 0], None, [(1, 2), (1,)], TypeError, "at [1]: expected a tuple of length 2, got a tuple of"),
        ([0, 0], None, (1, 2), ValueError, "tree number 2 of the call does not have the structure of the first; they differ at the root"),
        ([], None, [], ValueError, "outer_treedef has no leaves; give an inner_treedef"),
    ],
)  # fmt: skip
def test_transposes_that_do_not_fit(outer, inner, value, error, message):
    inner = inner if inner is None else tree.structure(inner)
    with pytest.raises(error) as caught:
        tree.transpose(tree.structure(outer), inner, value)
    assert message in str(caught.value)


def test_arguments_that_are_no_structures():
    message = (
        "treedef must be the structure of a tree, as fungrad.tree.structure returns it, got list"
    )
    for call in (
        lambda: tree.unflatten([1], [1]),
        lambda: tree.transpose([1], None, [1]),
        lambda: tree.transpose(tree.structure([1]), [1], [1]),
        lambda: tu.treedef_children([1]),
        lambda: tu.treedef_is_leaf([1]),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(TypeError, match=r"treedefs\[1\] must be the structure"):
        tu.treedef_tuple([tree.structure(1), 2])


@pytest.mark.parametrize(
    ("value", "leaves"), [([1, 2], [1]), ([1, 2], [1, 2, 3]), (1, []), (1, [1, 2])]
)
def test_wrong_numbers_of_leaves(value, leaves):
    count = len(tree.leaves(value))
    with pytest.raises(ValueError, match=f"has {count} leaves, got {len(leaves)}"):
        tree.unflatten(tree.structure(value), iter(leaves))


def test_reductions_of_nothing():
    with pytest.raises(TypeError, match="no leaves; give an initializer"):
        tree.reduce(max, [None])
    with pytest.raises(TypeError, match="no leaves; give an identity"):
        tree.reduce_associative(max, ())
    assert tree.reduce(max, [], None) is None
    assert tree.reduce_associative(max, [], identity=None) is None


def test_what_of_optree_is_wider_than_jax():
    assert tree.leaves({"a": 1, 2: 3}) == [3, 1]
    mixed = tree.map(lambda x, y: x + y, {"a": 1, "b": 2}, collections.OrderedDict(b=20, a=10))
    assert mixed == {"a": 11, "b": 22}
    assert list(tree.map(lambda x: x, {"b": 1, "a": 2})) == ["b", "a"]
    pairs = [{"a": 1, "b": 2}, collections.OrderedDict(b=4, a=3)]
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    assert tree.transpose(outer, inner, pairs) == {"a": [1, 3], "b": [2, 4]}


class Module:
    """What libraries of layers do: each subclass is a frozen dataclass and a node."""

    def __init_subclass__(cls):
        tu.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


class Linear(Module):
    w: object
    b: object
    activation: str = tree.static(default="tanh")

    def __call__(self, x):
        return getattr(fnp, self.activation)(self.w @ x + self.b)


class Network(Module):
    layers: tuple

    @fg.jit
    def __call__(self, x):
        return functools.reduce(lambda y, layer: layer(y), self.layers, x)


def test_modules_that_are_trees_with_an_optimizer():
    State = collections.namedtuple("State", ["count", "mean"])
    rng = np.random.default_rng(0)
    sizes = [(4, 3), (1, 4)]
    model = Network(tuple(Linear(rng.normal(size=s), np.zeros(s[0])) for s in sizes))
    x, y = rng.normal(size=(16, 3)), rng.uniform(-0.5, 0.5, size=(16, 1))

    def loss(model):
        return fnp.mean((fg.vmap(model)(x) - y) ** 2)

    @fg.jit
    def step(model, state):
        gradient = fg.grad(loss)(model)
        mean = tree.map(lambda m, g: 0.5 * m + g, state.mean, gradient)
        biases = tree.map_with_path(lambda path, _: path[-1] == tu.GetAttrKey("b"), model)
        rates = tree.map(lambda b: 0.05 if b else 0.1, biases)
        model = tree.map(lambda p, m, rate: p - rate * m, model, mean, rates)
        return model, State(state.count + 1, mean)

    state = State(0, tree.map(np.zeros_like, model))
    before = loss(model)
    for _ in range(20):
        model, state = step(model, state)
    assert (type(model), type(state), int(state.count)) == (Network, State, 20)
    assert loss(model) < before / 2


@pytest.mark.parametrize("transform", [fg.jit, fg.grad, fg.vmap])
def test_partial_as_the_function(transform):
    f, g = tu.Partial(fnp.multiply, 3.0), lambda x: 3.0 * x
    x = np.ones(2) if transform is fg.vmap else 2.0
    np.testing.assert_array_equal(transform(f)(x), transform(g)(x))


def test_one_level():
    assert tu.flatten_one_level([1, (2, 3)]) == ((1, (2, 3)), None)
    assert tu.flatten_one_level(None) == ((), None)
    pairs, names = tu.flatten_one_level_with_keys({"b": [1], "a": 2})
    assert ([(str(k), x) for k, x in pairs], names) == ([("['a']", 2), ("['b']", [1])], ("a", "b"))
    assert tu.default_registry.flatten_one_level(1.0) is None
    assert tu.default_registry.flatten_one_level_with_keys(1.0) is None
    for one_level in (tu.flatten_one_level, tu.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="a leaf, of type float, has no children"):
            one_level(1.0)


def test_modules():
    for name in ("tree_map", "tree_leaves", "tree_structure", "tree_reduce", "tree_all"):
        assert f"{getattr(tu, name).__module__}.{getattr(tu, name).__name__}" == (
            name.replace("tree_", "fungrad.tree.")
        )
    assert fg.tree_util is tu
    assert isinstance(tree.structure([1]), tu.PyTreeDef)
    for module in (tree, tu):
        assert sorted(module.__all__) == list(module.__all__)
        assert all(getattr(module, name) is not None for name in module.__all__)

"""Every transform over every kind of tree."""

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

Pair = collections.namedtuple("Pair", "a b")


@fg.tree.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = dataclasses.field(default="layer", metadata={"static": True})


class Node:
    def __init__(self, children, label):
        self.children, self.label = children, label


fg.tree.register_node(Node, lambda n: (n.children, n.label), lambda label, c: Node(list(c), label))


X = np.array([1.0, 2.0])
TREES = {
    "array": X,
    "number": 3.0,
    "tuple": (X, 2.0),
    "list": [X, [2.0]],
    "dict": {"b": X, "a": 2.0},
    "ordered": collections.OrderedDict([("z", X), ("a", 2.0)]),
    "default": collections.defaultdict(list, {"z": X, "a": 2.0}),
    "deque": collections.deque([X, 2.0]),
    "none": (None, X, {"n": None}),
    "empty": {"a": (), "b": [], "c": {}, "x": X},
    "namedtuple": Pair(X, Pair(2.0, None)),
    "dataclass": Layer(np.ones((2, 2)), X),
    "node": Node([X, {"a": 2.0}], "root"),
    "mixed": {"layers": [Layer(X, 1.0, "first"), Layer(Pair(2.0, X), None)], "n": Node([3.0], 7)},
    "integer keys": {2: X, 1: 2.0},
    "no leaves": {"a": None, "b": ()},
    "float32": (np.ones(2, np.float32), np.float64(2)),
}


def sum_of_squares(tree):
    return sum([fnp.sum(x * x) for x in fg.tree.leaves(tree)], 0.0)


def equal(a, b):
    a, b = fg.tree.flatten(a), fg.tree.flatten(b)
    assert a[1] == b[1]
    for x, y in zip(a[0], b[0]):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-14)


def doubled(tree):
    return fg.tree.map(lambda x: np.asarray(2 * np.asarray(x))[()], tree)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["plain", "jit"])
def test_derivatives(name, wrap):
    tree = TREES[name]
    for _ in range(2):
        g = wrap(fg.grad(sum_of_squares))(tree)
        equal(g, doubled(tree))
        assert type(g) is (np.float64 if name == "number" else type(tree))
        value, pulled = wrap(lambda t: (lambda v, p: (v, p(1.0)[0]))(*fg.vjp(sum_of_squares, t)))(
            tree
        )
        equal(pulled, doubled(tree))
        value, tangent = wrap(lambda t: fg.jvp(sum_of_squares, (t,), (t,)))(tree)
        np.testing.assert_allclose(tangent, 2 * value, rtol=1e-14)
        _, push = fg.linearize(sum_of_squares, tree)
        np.testing.assert_allclose(push(tree), 2 * value, rtol=1e-14)


@pytest.mark.parametrize("name", TREES)
def test_trees_as_results(name):
    tree = TREES[name]
    make = lambda s: fg.tree.map(lambda x: x * s, tree)
    for f in (make, fg.jit(make)):
        result = f(2.0)
        equal(result, doubled(tree))
    value, tangent = fg.jvp(make, (2.0,), (1.0,))
    equal(value, doubled(tree))
    equal(tangent, fg.tree.map(lambda x: np.asarray(x)[()], tree))
    _, pullback = fg.vjp(make, 2.0)
    ct = fg.tree.map(lambda x: np.ones_like(x)[()], tree)
    np.testing.assert_allclose(
        pullback(ct)[0], sum(np.sum(x) for x in fg.tree.leaves(tree)), rtol=1e-14
    )
    assert fg.tree.structure(fg.eval_shape(make, 2.0)) == fg.tree.structure(tree)


@pytest.mark.parametrize("name", [n for n in TREES if n != "no leaves"])
def test_vmap(name):
    tree = fg.tree.map(lambda x: np.stack([np.asarray(x), 3 * np.asarray(x)]), TREES[name])
    result = fg.vmap(lambda t: fg.tree.map(lambda x: x * 2, t))(tree)
    equal(result, fg.tree.map(lambda x: x * 2, tree))
    g = fg.vmap(fg.grad(sum_of_squares))(tree)
    equal(g, fg.tree.map(lambda x: x * 2, tree))
    both = fg.vmap(lambda t, s: fg.tree.map(lambda x: x * s, t), (0, None), (0))(tree, 2.0)
    equal(both, fg.tree.map(lambda x: x * 2, tree))


@pytest.mark.parametrize("name", TREES)
def test_jit_traces_once_for_a_tree(name):
    traces = []

    @fg.jit
    def f(t):
        traces.append(None)
        return sum_of_squares(t)

    tree = TREES[name]
    copy = fg.tree.map(lambda x: x, tree)
    assert f(tree) == f(copy) == f(tree)
    assert len(traces) == 1


def test_static_fields_are_part_of_the_key():
    traces = []

    @fg.jit
    def f(layer):
        traces.append(layer.name)
        return layer.weight * (2 if layer.name == "double" else 1)

    assert [f(Layer(1.0, None, n)) for n in ("a", "double", "a", "double")] == [1, 2, 1, 2]
    assert traces == ["a", "double"]


@pytest.mark.parametrize("jacobian", [fg.jacfwd, fg.jacrev])
def test_jacobians(jacobian):
    f = lambda t: Pair(t["a"] * X, [t["b"]])
    result = jacobian(f)({"a": 2.0, "b": X})
    assert type(result) is Pair
    np.testing.assert_array_equal(result.a["a"], X)
    np.testing.assert_array_equal(result.a["b"], np.zeros((2, 2)))
    np.testing.assert_array_equal(result.b[0]["b"], np.eye(2))
    layer = jacobian(lambda p: p.weight * X)(Layer(2.0, 1.0, "n"))
    assert (type(layer), layer.name) == (Layer, "n")
    np.testing.assert_array_equal(layer.weight, X)


def test_order_of_leaves():
    # Dicts are sorted by key, ordered dicts are not.
    assert fg.tree.leaves({"b": 1, "a": 2}) == [2, 1]
    assert fg.tree.leaves(collections.OrderedDict([("b", 1), ("a", 2)])) == [1, 2]
    g = fg.grad(lambda t: t["b"] * 2 + t["a"] * 3)({"b": 1.0, "a": 1.0})
    assert list(g) == ["b", "a"] or list(g) == ["a", "b"]
    assert g == {"b": 2, "a": 3}


def test_one_leaf_in_two_places():
    g = fg.grad(sum_of_squares)([X, X])
    equal(g, [2 * X, 2 * X])
    assert not np.shares_memory(g[0], g[1])


def test_deep_and_wide_trees():
    wide = {f"k{i}": float(i) for i in range(300)}
    assert fg.grad(sum_of_squares)(wide) == {k: 2 * v for k, v in wide.items()}
    deep = 3.0
    for _ in range(100):
        deep = [deep]
    g = fg.jit(fg.grad(sum_of_squares))(deep)
    for _ in range(100):
        (g,) = g
    assert g == 6


def test_generators_and_sets_are_not_trees():
    with pytest.raises(TypeError, match="not an array or a number"):
        fg.grad(sum_of_squares)({1.0, 2.0})
    with pytest.raises(TypeError, match="not an array or a number"):
        fg.jit(lambda x: x)(y for y in [1.0])


def test_aux_and_argnums_over_trees():
    def f(a, b):
        return sum_of_squares(a) * b["x"], {"node": Node([a], "aux")}

    (ga, gb), aux = fg.grad(f, (0, 1), has_aux=True)(Pair(1.0, X), {"x": 2.0})
    equal(ga, Pair(np.float64(4), 4 * X))
    assert gb == {"x": 6}
    equal(aux["node"].children[0], Pair(np.float64(1), X))


def test_hessian_over_trees():
    h = fg.hessian(lambda t: t["a"] ** 2 * t["b"][0])({"a": 2.0, "b": (3.0,)})
    assert h == {"a": {"a": 6.0, "b": (4.0,)}, "b": ({"a": 4.0, "b": (0.0,)},)}


def test_trees_of_integers_pass_through_other_arguments():
    def f(x, config):
        return x * config["n"] if config["mode"] == "mul" else x

    assert fg.grad(f)(2.0, {"n": 3, "mode": "mul"}) == 3

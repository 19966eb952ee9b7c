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
    fg.test_util.assert_allclose(a, b, rtol=1e-14, atol=0.0)


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


AB, BA = {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}
ORDERS = {
    "dict": (lambda d: fnp.stack(list(d.values())), AB, BA),
    "defaultdict": (
        lambda d: fnp.stack(list(d.values())),
        collections.defaultdict(float, AB),
        collections.defaultdict(float, BA),
    ),
    "OrderedDict": (
        lambda d: fnp.stack(list(d.values())),
        collections.OrderedDict(AB),
        collections.OrderedDict(BA),
    ),
    "inner": (lambda t: fnp.stack([*t[0]["x"].values()]), ({"x": AB},), ({"x": BA},)),
    "in a node": (lambda t: fnp.stack([*t.weight.values()]), Layer(AB, 0.0), Layer(BA, 0.0)),
    "result": (lambda d: {k: 2 * x for k, x in d.items()}, AB, BA),
    "first key": (lambda d: d[next(iter(d))] * 10, AB, BA),
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("first", [0, 1])
def test_jit_gives_what_python_gives_for_each_order_of_keys(name, first):
    f, *trees = ORDERS[name]
    g = fg.jit(f)
    for x in (trees[first], trees[1 - first], trees[first]):
        found, expected = g(x), f(x)
        equal(found, fg.tree.map(np.float64, expected))
        if isinstance(expected, dict):
            assert [*found] == [*expected]
    compiled = fg.jit(f).lower(trees[first]).compile()
    for x in trees if name != "OrderedDict" else trees[first : first + 1]:
        assert str(compiled(x)) == str(g(x))


def test_the_order_of_keywords_counts_where_a_function_can_see_it():
    f = fg.jit(lambda **kw: fnp.stack(list(kw.values())))
    assert [f(a=1.0, b=2.0).tolist(), f(b=2.0, a=1.0).tolist()] == [[1, 2], [2, 1]]
    g = fg.jit(lambda *, a, b: a - b)
    assert [g(a=1.0, b=2.0), g(b=2.0, a=1.0), g.cache_info().misses] == [-1, -1, 1]
    with_static = fg.jit(lambda n, d: n * fnp.stack(list(d.values())), static_argnums=0)
    compiled = with_static.lower(3, AB).compile()
    assert [compiled(AB).tolist(), compiled(BA).tolist()] == [[3, 6], [6, 3]]


def test_a_dict_in_another_order_is_said_to_be_why_it_is_traced_again(caplog):
    f = fg.jit(lambda d: d["a"])
    with fg.explain_cache_misses():
        f(AB), f(BA)
    assert (
        "the keys of a dict were in the order ['a', 'b'], and are in the order ['b', 'a'] now"
        in (caplog.text)
    )


@pytest.mark.parametrize("first", [0, 1])
def test_callbacks_and_rules_see_the_keys_in_the_order_of_the_call(first):
    dicts = (AB, BA) if first == 0 else (BA, AB)
    shape = fg.ShapeDtypeStruct((2,), float)

    def listed(d):
        return np.array(list(d.values()), float)

    def called(d):
        return fg.pure_callback(listed, shape, d)

    @fg.custom_jvp
    def ratio(d):
        return d["a"] / d["b"]

    seen = []

    @ratio.defjvp
    def rule(primals, tangents):
        seen.append([*primals[0]])
        return ratio(*primals), tangents[0]["a"]

    for d in dicts:
        np.testing.assert_array_equal(called(d), listed(d))
        np.testing.assert_array_equal(fg.jit(called)(d), listed(d))
        fg.grad(ratio)(d)
        fg.grad(fg.jit(ratio))(d)
        fg.vmap(fg.grad(ratio))(fg.tree.map(lambda x: np.full(3, x), d))
        fg.hessian(fg.jit(ratio))(d)
        assert {*map(tuple, seen)} == {tuple(d)}
        seen.clear()


def test_carries_and_branches_match_whatever_the_order_of_their_keys():
    swapped = lambda d: {k: d[k] + 1 for k in reversed(d)}
    total, _ = fg.lax.scan(lambda c, _: (swapped(c), None), AB, length=3)
    assert total == {"a": 4.0, "b": 5.0}
    assert fg.lax.fori_loop(0, 3, lambda i, c: swapped(c), AB) == {"a": 4.0, "b": 5.0}
    f = fg.jit(lambda p, d: fg.lax.cond(p, swapped, lambda d: d, d))
    for d in (AB, BA):
        assert f(True, d) == {"a": 2.0, "b": 3.0}
        assert f(False, d) == AB
    assert fg.tree.map(lambda x, y: x - y, AB, BA) == {"a": 0.0, "b": 0.0}
    _, pullback = fg.vjp(swapped, AB)
    assert pullback(BA) == (AB,)


def test_pullbacks_that_differ_in_the_order_of_keys_are_told_apart_by_jit():
    pull = fg.jit(lambda pullback: pullback(1.0))
    for d in (AB, BA, AB):
        _, pullback = fg.vjp(lambda d: d["a"] * d["b"], d)
        (found,) = pull(pullback)
        assert [*found.items()] == [(k, d["a"] * d["b"] / d[k]) for k in d]

"""Pytrees: None is empty, custom nodes and dataclasses are nodes, prefixes broadcast."""

import collections
import dataclasses

import numpy as np
import pytest

import fungrad as fg
from fungrad.core import tree

Point = collections.namedtuple("Point", ["x", "y"])


@tree.register_dataclass
@dataclasses.dataclass(frozen=True)
class Layer:
    w: object
    b: object
    name: str = dataclasses.field(default="", metadata={"static": True})


class Pair:
    def __init__(self, first, second, tag):
        self.first, self.second, self.tag = first, second, tag


tree.register_node(Pair, lambda p: ((p.first, p.second), p.tag), lambda tag, xs: Pair(*xs, tag))

ARRAY = np.ones(2)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (1.0, 1),
        (ARRAY, 1),
        (np.float32(1), 1),
        (None, 0),
        ((), 0),
        ({}, 0),
        ([1, (2, None), {"a": 3}], 3),
        ({"b": 1, "a": (2, [3])}, 3),
        (collections.OrderedDict(b=1, a=2), 2),
        (collections.defaultdict(list, b=1), 1),
        (Point(1, [2, 3]), 3),
        (Layer(1, (2, 3), "l"), 3),
        ("text", 1),
        (len, 1),
    ],
    ids=str,
)
def test_round_trip(value, count):
    leaves, structure = tree.flatten(value)
    assert len(leaves) == count
    again = tree.unflatten(structure, leaves)
    assert type(again) is type(value)
    assert again is value or again == value
    assert tree.leaves(value) == leaves
    assert tree.structure(value) == structure


def test_equal_structures_are_equal_keys():
    def structure(value):
        return tree.flatten(value)[1]

    assert structure(1.0) is tree.LEAF is structure(ARRAY) is structure(np.int8(1))
    assert hash(structure([1, 2])) == hash(structure([3, 4]))
    kinds = [1, (1,), [1], {"a": 1}, {"b": 1}, (1, 2), (1, None), Point(1, 2), ((1,),)]
    kinds += [Layer(1, 2, "a"), Layer(1, 2, "b"), Layer(1, (2,), "a")]
    assert len({structure(k) for k in kinds}) == len(kinds)


def test_dictionaries_are_ordered_by_key():
    assert tree.leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree.structure({"b": 1, "a": 2}) == tree.structure({"a": 1, "b": 2})


def test_custom_nodes():
    p = tree.map(lambda x: x * 2, Pair(1, [2, 3], "tag"))
    assert (p.first, p.second, p.tag) == (2, [4, 6], "tag")
    gradient = fg.grad(lambda p: p.first * p.second)(Pair(2.0, 3.0, "t"))
    assert (float(gradient.first), float(gradient.second), gradient.tag) == (3.0, 2.0, "t")


def test_dataclasses():
    layer = tree.map(lambda x: x + 1, Layer(1, 2, "name"))
    assert layer == Layer(2, 3, "name")

    @dataclasses.dataclass
    class Chosen:
        a: int
        b: int

    tree.register_dataclass(Chosen, data_fields=["b"], meta_fields=["a"])
    assert tree.leaves(Chosen(1, 2)) == [2]


def test_dataclasses_that_cannot_be_registered():
    with pytest.raises(TypeError, match="takes a dataclass"):
        tree.register_dataclass(int)

    @dataclasses.dataclass
    class Three:
        a: int
        b: int
        c: int

    for fields, fault in [
        ((["a"], ["b"]), "'c' is in none"),
        ((["a", "b"], ["b", "c"]), "'b' is in several"),
        ((["a", "b"], ["c"], ["b"]), "'b' is in several"),
        ((["a", "b"], ["c", "d"]), "'d' is no field"),
    ]:
        with pytest.raises(ValueError, match=f"exactly one of data_fields .*; {fault}$"):
            tree.register_dataclass(Three, *fields)
    tree.register_dataclass(Three, data_fields=["a"])
    assert tree.leaves(Three(1, 2, 3)) == [1]


def test_map_over_several():
    assert tree.map(lambda x, y, z: x + y + z, [1, (2,)], [10, (20,)], [100, (200,)]) == [
        111,
        (222,),
    ]
    with pytest.raises(ValueError, match=r"[Ee]xpected|length"):
        tree.map(lambda x, y: x, [1, 2], [1, 2, 3])
    assert tree.map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]


def test_paths():
    value = [{"w": 1, "b": (2, 3)}, 4]
    found = tree.leaves_with_paths(value)
    assert found == [("[0]['b'][0]", 2), ("[0]['b'][1]", 3), ("[0]['w']", 1), ("[1]", 4)]


@pytest.mark.parametrize(
    ("prefix", "full", "expected"),
    [
        (0, [1, (2, 3)], [0, 0, 0]),
        (None, [1, (2, 3)], [None, None, None]),
        ([0, None], [1, (2, 3)], [0, None, None]),
        ((0, {"a": 1, "b": None}), (1, {"a": (2, 3), "b": 4}), [0, 1, 1, None]),
        ((0, 1), ((), 5), [1]),
        ([0, (None, 2)], [1, (2, 3)], [0, None, 2]),
    ],
)
def test_prefixes(prefix, full, expected):
    assert tree.broadcast_prefix(prefix, full, "axes") == expected


@pytest.mark.parametrize(
    ("prefix", "full"),
    [
        ([0], (1,)),
        ((0, 1), (1,)),
        ({"a": 0}, {"b": 1}),
        ((0,), 5.0),
        (collections.OrderedDict(b=1, a=0), {"a": 1, "b": 2}),
        ([{"a": 0}], [collections.OrderedDict(a=1)]),
    ],
)
def test_what_is_no_prefix(prefix, full):
    with pytest.raises(ValueError, match=r"^axes.* must be an integer, None, or a tree"):
        tree.broadcast_prefix(prefix, full, "axes")


def test_transforms_over_trees():
    def loss(params, batch):
        total = batch["x"] * params["layers"][0].w + params["layers"][1].b
        return (total * params["scale"][0]).sum()

    params = {
        "layers": [Layer(2.0, 1.0, "a"), Layer(3.0, np.ones(2), "b")],
        "scale": Point(4.0, None),
    }
    gradient = fg.grad(loss)(params, {"x": np.array([1.0, 2.0])})
    assert tree.structure(gradient) == tree.structure(params)
    assert float(gradient["layers"][0].w) == 12.0
    assert float(gradient["layers"][0].b) == 0.0
    np.testing.assert_array_equal(gradient["layers"][1].b, [4.0, 4.0])
    assert float(gradient["scale"].x) == 8.0
    assert gradient["scale"].y is None

"""fungrad.tree and fungrad.tree_util against jax.tree and jax.tree_util."""

import collections
import dataclasses
import inspect
import operator

import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402

Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = dataclasses.field(default="", metadata={"static": True})


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten(self):
        return (self.x, self.y), "aux"

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    def __eq__(self, other):
        return type(other) is Pair and (self.x, self.y) == (other.x, other.y)

    __hash__ = None


class Custom:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return type(other) is Custom and (self.x, self.y) == (other.x, other.y)

    __hash__ = None


for lib in (fg, jax):
    lib.tree_util.register_dataclass(Layer)
    lib.tree_util.register_pytree_node_class(Pair)
    lib.tree_util.register_pytree_with_keys(
        Custom,
        lambda c, lib=lib: (
            [(lib.tree_util.GetAttrKey("x"), c.x), (lib.tree_util.DictKey("y"), c.y)],
            None,
        ),
        lambda _, xs: Custom(*xs),
    )

TREES = {
    "leaf": 1,
    "None": None,
    "empty": (),
    "empty dict": {},
    "list": [1, 2, 3],
    "tuple": (1, (2, 3), [4]),
    "dict": {"b": 1, "a": (2, {"z": 3, "y": 4})},
    "ordered": collections.OrderedDict(b=1, a=[2]),
    "default": collections.defaultdict(list, b=1, a=[2]),
    "namedtuple": Point(1, [2, None, Point(3, 4)]),
    "dataclass": [Layer(1, (2, 3), "n"), 4],
    "class": {"p": Pair(1, [2, 3])},
    "keyed": [Custom({"a": 1}, (2, 3))],
    "Nones": [None, (None, 1), {"a": None}],
    "texts": ["ab", b"c", {"d": "e"}],
    "integer keys": {3: 1, 1: 2},
    "subclasses": [type("T", (tuple,), {})((1, 2)), 3],
    "deep": [[[[[1], 2], 3], {"a": [[4]]}], 5, 6, 7],
}


def is_pair(x):
    return (isinstance(x, tuple) and len(x) == 2) or x is None


IS_LEAF = {"no": None, "pair": is_pair, "all": lambda x: True}


def paths(lib, found):
    return [(lib.tree_util.keystr(path), repr(path), leaf) for path, leaf in found]


FUNCTIONS = {
    "leaves": lambda lib, x, f: lib.tree.leaves(x, f),
    "structure": lambda lib, x, f: lib.tree.structure(x, f).num_leaves,
    "nodes": lambda lib, x, f: lib.tree.structure(x, f).num_nodes,
    "map": lambda lib, x, f: lib.tree.map(lambda y: (y, 0), x, is_leaf=f),
    "map 2": lambda lib, x, f: lib.tree.map(lambda y, z: (y, z), x, x, is_leaf=f),
    "flatten": lambda lib, x, f: lib.tree.unflatten(lib.tree.flatten(x, f)[1], lib.tree.leaves(x, f)),
    "paths": lambda lib, x, f: paths(lib, lib.tree.leaves_with_path(x, f)),
    "flatten paths": lambda lib, x, f: paths(lib, lib.tree.flatten_with_path(x, f)[0]),
    "map paths": lambda lib, x, f: lib.tree.map_with_path(
        lambda path, y, z: (lib.tree_util.keystr(path, simple=True, separator="/"), y, z), x, x, is_leaf=f
    ),
    "is_leaf with path": lambda lib, x, f: paths(lib, lib.tree.leaves_with_path(
        x, lambda path, y: len(path) == 2 or (f is not None and f(y)), is_leaf_takes_path=True
    )),
    "reduce": lambda lib, x, f: lib.tree.reduce(lambda a, y: [a, y], x, "start", is_leaf=f),
    "reduce_associative": lambda lib, x, f: lib.tree.reduce_associative(
        lambda a, b: f"({a}{b})", x, identity="none", is_leaf=f
    ),
    "all": lambda lib, x, f: lib.tree.all(x, is_leaf=f),
    "broadcast": lambda lib, x, f: lib.tree.broadcast(x, lib.tree.map(lambda y: [y, 0], x), is_leaf=f),
    "all_leaves": lambda lib, x, f: lib.tree_util.all_leaves([x, 1], f),
    "no level": lambda lib, x, f: lib.tree_util.default_registry.flatten_one_level(x) is None,
    "one level": lambda lib, x, f: [
        list(part) if isinstance(part, (list, tuple)) else part
        for part in lib.tree_util.flatten_one_level(x)
    ],
    "one level with keys": lambda lib, x, f: [
        (str(key), child) for key, child in lib.tree_util.flatten_one_level_with_keys(x)[0]
    ],
    "is_tree_node": lambda lib, x, f: lib.tree_util.is_tree_node(type(x)),
    "treedef_is_leaf": lambda lib, x, f: lib.tree_util.treedef_is_leaf(lib.tree.structure(x, f)),
    "treedef_children": lambda lib, x, f: [
        y.unflatten(range(y.num_leaves)) for y in lib.tree_util.treedef_children(lib.tree.structure(x, f))
    ],
    "treedef_tuple": lambda lib, x, f: lib.tree_util.treedef_tuple(
        [lib.tree.structure(x, f), lib.tree.structure(1)]
    ) == lib.tree.structure((x, 1), f and (lambda y: not (type(y) is tuple and y and y[0] is x) and f(y))),
    "compose": lambda lib, x, f: lib.tree.structure(x, f).compose(lib.tree.structure([0, 1])).num_leaves,
    "transpose": lambda lib, x, f: lib.tree.transpose(
        lib.tree.structure(x, f), lib.tree.structure({"a": 0, "b": (0, 0)}),
        lib.tree.map(lambda y: {"a": 1, "b": (2, 3)}, x, is_leaf=f),
    ),
    "flatten_up_to": lambda lib, x, f: lib.tree.structure(x, f).flatten_up_to(x),
    "text": lambda lib, x, f: str(lib.tree.structure((x, 1)) == lib.tree.structure((x, 2))),
}  # fmt: skip


def outcomes(function, *arguments):
    """Return the results of both libraries, or the kinds of their errors."""
    results = []
    for lib in (fg, jax):
        try:
            results.append(function(lib, *arguments))
        except (ValueError, TypeError) as error:
            results.append(type(error))
    return results


@pytest.mark.parametrize("leaf", IS_LEAF)
@pytest.mark.parametrize("name", TREES)
def test_functions(name, leaf):
    for label, function in FUNCTIONS.items():
        if label == "all_leaves" and leaf == "all":
            continue  # JAX takes the sequence of the elements for a leaf
        if label == "one level with keys" and name == "namedtuple":
            continue  # JAX gives all children the key of the first
        if label == "transpose" and not fg.tree.leaves(TREES[name], IS_LEAF[leaf]):
            continue  # JAX cannot
        ours, theirs = outcomes(function, TREES[name], IS_LEAF[leaf])
        assert ours == theirs, label
        assert type(ours) is type(theirs), label


@pytest.mark.parametrize("first", TREES)
def test_which_trees_match(first):
    for second in TREES:
        if {first, second} == {"ordered", "default"}:
            continue  # optree lets dictionaries of all kinds match
        ours, theirs = outcomes(
            lambda lib, x, y: lib.tree.map(lambda a, b: [a, b], x, y), TREES[first], TREES[second]
        )
        assert ours == theirs, second


@pytest.mark.parametrize("name", ["reduce", "reduce_associative"])
@pytest.mark.parametrize("value", [[], {"a": 1, "b": (2, 3)}], ids=["empty", "full"])
def test_reductions(name, value):
    ours, theirs = outcomes(lambda lib: getattr(lib.tree, name)(operator.add, value))
    assert ours == theirs


def test_keys():
    def describe(lib):
        tu = lib.tree_util
        keys = (
            tu.SequenceKey(1), tu.DictKey("a"), tu.DictKey((1, "b")), tu.GetAttrKey("w"),
            tu.FlattenedIndexKey(3), "other", 4,
        )  # fmt: skip
        return [
            *map(repr, keys),
            tu.keystr(keys),
            tu.keystr(keys, simple=True, separator="/"),
            tu.keystr(keys, separator="/"),
            tu.keystr(()),
            [[a == b for a in keys] for b in keys],
            [k.__match_args__ for k in keys[:5]],
        ]

    assert describe(fg) == describe(jax)


def test_partial():
    def describe(lib):
        f = lib.tree_util.Partial(lambda *args, **kwargs: (args, kwargs), 1, (2,), x=3)
        doubled = lib.tree.map(lambda x: 2 * x, f)
        return lib.tree.leaves(f), doubled(5, y=6), paths(lib, lib.tree.leaves_with_path(f))

    assert describe(fg) == describe(jax)


@pytest.mark.parametrize("module", ["tree", "tree_util"])
def test_names_and_signatures(module):
    ours, theirs = getattr(fg, module), getattr(jax, module)
    names = {n for n in dir(theirs) if not n.startswith("_")}
    assert names <= set(ours.__all__)
    for name in names & set(ours.__all__):
        if not inspect.isfunction(getattr(theirs, name)):
            continue
        a, b = (inspect.signature(getattr(m, name)).parameters.values() for m in (ours, theirs))
        assert [(p.name, p.kind) for p in a] == [(p.name, p.kind) for p in b], name

"""What `save` writes is what `load` returns; what it cannot write, or should not make, is an error."""

import collections
import dataclasses
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import optim, random, training
from fungrad.core import tree as trees
from fungrad.training.structure import name_of
from tests.optional import needs, optional


class Pair(NamedTuple):
    x: object
    y: object = 1


@fg.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Layer:
    w: object
    activation: object = fg.tree.static(default=np.tanh)


@dataclasses.dataclass(slots=True)
class Plain:
    a: object
    b: object = dataclasses.field(default=2, init=False)

    def __post_init__(self):
        raise AssertionError("it is not made anew")


@fg.tree_util.register_pytree_node_class
class Node:
    def __init__(self, x, unit):
        self.x, self.unit = x, unit

    def tree_flatten(self):
        return (self.x,), self.unit

    @classmethod
    def tree_unflatten(cls, unit, children):
        return cls(*children, unit)


def plain(a, b):
    made = object.__new__(Plain)
    made.a, made.b = a, b
    return made


TYPES = [Pair, Layer, Plain, Node, np.tanh, plain, special.expit]


def parts(tree):
    """Return what a tree is, so that equal results mean the same types, bits and orders."""
    if isinstance(tree, np.ndarray | np.generic):
        order = tree.flags.f_contiguous and not tree.flags.c_contiguous
        data = np.asarray(tree)
        return type(tree), data.dtype, data.shape, order, data.tobytes()
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = dataclasses.fields(tree)
        return type(tree), [(f.name, parts(getattr(tree, f.name))) for f in fields]
    if isinstance(tree, Node):
        return Node, parts(tree.x), parts(tree.unit)
    if isinstance(tree, dict):
        return type(tree), [(parts(k), parts(v)) for k, v in tree.items()]
    if isinstance(tree, list | tuple | collections.deque):
        return type(tree), getattr(tree, "maxlen", None), [parts(x) for x in tree]
    return type(tree), repr(tree) if isinstance(tree, float | complex) else tree


ml_dtypes = optional("ml_dtypes")
A = np.arange(24).reshape(2, 3, 4)
STRUCTURED = np.dtype([("é", ">f8"), ("日", "<U3", (2,)), ("in", [("t", "M8[s]")])])
TREES = {
    "scalars": [0, -1, 2**63, -(10**900), True, None, 0.1, -0.0, 5e-324, 1j, complex(-0.0, 2)],
    "not finite": [float("inf"), -float("inf"), float("nan"), complex(float("nan"), float("inf"))],
    "text": ["", "é\n\0", "\ud800", b"", bytes(range(256))],
    "nested": {"b": [(), [], {}, (1, [2, {"c": (3,)}])], "a": 1},
    "keys of dicts": {1: "one", "1": 1, (1, "k", None): 2, b"x": 3, True + 1: 4, 0.5: 5, None: 6},
    "one leaf": 3,
    "none": None,
    "namedtuple": Pair([A], Pair(1)),
    "dataclasses": [Layer(A, np.tanh), plain(Layer(1.0, "relu"), A), Layer],
    "nodes": [Node(A, ("m", 2)), collections.OrderedDict(b=A, a=1), collections.deque([1, A], 5)],
    "functions": {"f": plain, "g": np.tanh, "h": special.expit},
    "layouts": [A, A.T, A[::-1, ::2], np.asfortranarray(A), np.broadcast_to(A, (2, *A.shape))],
    "empty": [np.zeros(()), np.zeros(0), np.zeros((3, 0, 2), "i2"), np.zeros(2, "V0"), np.zeros(3, "U0")],
    "numpy scalars": [np.float32(1.5), np.int8(-3), np.bool_(True), np.datetime64("NaT", "s"), np.str_("x")],
    "times": [np.array(["2020-02-29", "NaT"], "M8[us]"), np.arange(3).astype("m8[h]")],
    "structured": [np.zeros(2, STRUCTURED), np.zeros((), STRUCTURED)[()]],
    "strings": [np.array(["a", "bc", "日"]), np.array([b"a", b"bc"])],
    "extended": [np.array([1, np.pi, np.nan], "g"), np.array([1j, 2], "G")],
    "added": ml_dtypes and [np.arange(-2, 3).astype(d) for d in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn)],
    "added scalars": ml_dtypes and [ml_dtypes.bfloat16(1.5), np.zeros((), ml_dtypes.int4)],
    "keys": [random.key(1), random.split(random.key(1), (2, 3)), random.PRNGKey(3), random.key(0, impl="rbg")],
    **{
        f"dtype {d}": np.array([[0, 1, 2]]).astype(d)
        for d in [*"?bBhHiIlLqQefdFD", ">f8", ">i4", ">c16"]
    },
}  # fmt: skip
EACH = [
    pytest.param(tree, marks=[needs("ml_dtypes")] * name.startswith("added"), id=name)
    for name, tree in TREES.items()
]


@pytest.mark.parametrize("tree", EACH)
def test_round_trip(tree, tmp_path):
    training.save(tmp_path / "a", tree)
    found = training.load(tmp_path / "a", types=TYPES)
    wanted = [np.asfortranarray(A), np.ascontiguousarray] if tree is TREES["layouts"] else None
    if wanted:  # neither order: C order
        tree = [x if x.flags.forc else np.ascontiguousarray(x) for x in tree]
    assert parts(found) == parts(tree)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert all(x.flags.writeable for x in trees.leaves(found) if isinstance(x, np.ndarray))


@pytest.mark.parametrize("tree", EACH)
def test_like(tree, tmp_path):
    training.save(tmp_path / "a", tree)
    training.load(tmp_path / "a", tree)


def test_names_of_ufuncs():
    """They are the same with every NumPy."""
    assert [name_of(f) for f in (np.tanh, special.expit)] == ["numpy.tanh", "ufunc.expit"]


def test_equal_trees_make_equal_files(tmp_path):
    for name in "ab":
        training.save(tmp_path / name, {"w": A.copy(), "x": [1, 0.5]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_arrays_can_be_read_by_numpy(tmp_path):
    training.save(tmp_path / "a", {"w": A, "k": random.key(3)})
    with np.load(tmp_path / "a") as found:
        np.testing.assert_array_equal(found["0"], A)
        assert b"array" in found["tree.json"]


def test_a_large_array_takes_its_memory_once(tmp_path):
    import tracemalloc

    x = np.ones(1 << 22)
    training.save(tmp_path / "a", x)
    tracemalloc.start()
    training.load(tmp_path / "a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.nbytes + (8 << 20)


def optimizers():
    return [
        optim.adam(1e-3), optim.adamw(optim.cosine_decay_schedule(0.1, 10)), optim.adafactor(1e-3),
        optim.sgd(0.1, momentum=0.9), optim.lion(1e-3), optim.inject_hyperparams(optim.sgd)(0.1),
        optim.chain(optim.clip_by_global_norm(1.0), optim.ema(0.9), optim.rmsprop(0.1)),
        optim.MultiSteps(optim.adam(0.1), 2), optim.masked(optim.adam(0.1), {"w": True, "b": False}),
    ]  # fmt: skip


@pytest.mark.parametrize("i", range(len(optimizers())))
def test_training_goes_on_from_the_state_of_an_optimizer(i, tmp_path):
    tx = optimizers()[i]

    @fg.jit
    def step(params, state):
        grads = fg.grad(lambda p: fnp.sum((p["w"] - p["b"]) ** 2 * np.arange(1, 7)))(params)
        updates, state = tx.update(grads, state, params)
        return optim.apply_updates(params, updates), state

    now = {"w": np.arange(6.0), "b": np.ones(6)}
    now = now, tx.init(now)
    for _ in range(3):
        now = step(*now)
    training.save(tmp_path / "a", now)
    again = training.load(tmp_path / "a")  # the classes of optim need not be named
    assert parts(again) == parts(now)
    for _ in range(3):
        now, again = step(*now), step(*again)
    assert parts(again) == parts(now)


def test_random_numbers_go_on_from_a_key(tmp_path):
    key, _ = random.split(random.key(0))
    training.save(tmp_path / "a", key)
    np.testing.assert_array_equal(
        random.normal(training.load(tmp_path / "a"), (3,)), random.normal(key, (3,))
    )


def test_like_may_be_types_alone(tmp_path):
    training.save(tmp_path / "a", Pair(np.ones(3), 2.0))
    like = fg.eval_shape(lambda: Pair(fnp.ones(3), fnp.sum(fnp.ones(2))))
    assert training.load(tmp_path / "a", like).y == 2.0


TREE = {"a": np.zeros((2, 3)), "b": [1, Pair(2.0, "x")]}
DIFFERENCES = [
    ({"a": np.zeros((2, 3)), "b": [1]}, r"another structure than the argument like; at \['b'\]"),
    (
        {"a": np.zeros((2, 3)), "c": [1, Pair(2.0)]},
        "another structure than the argument like; at the root",
    ),
    ({**TREE, "b": [1, (2.0, "x")], "c": Pair(1)}, "another structure"),
    (
        {**TREE, "a": np.zeros((3, 2))},
        r"float64\[2,3\] at \['a'\], where .* like has float64\[3,2\]",
    ),
    (
        {**TREE, "a": np.zeros((2, 3), "f4")},
        r"at \['a'\], where the argument like has float32\[2,3\]",
    ),
    (
        {**TREE, "b": [1.0, Pair(2.0, "x")]},
        r"int64\[\] at \['b'\]\[0\], where the argument like has float64",
    ),
    (
        {**TREE, "b": [1, Pair(2.0, b"x")]},
        r"str at \['b'\]\[1\]\.y, where the argument like has bytes",
    ),
]


@pytest.mark.parametrize(("like", "message"), DIFFERENCES)
def test_what_is_not_like_like(like, message, tmp_path):
    training.save(tmp_path / "a", TREE)
    with pytest.raises(training.CheckpointError, match=message) as error:
        training.load(tmp_path / "a", like, types=[Pair])
    assert str(error.value).startswith(str(tmp_path / "a"))


def test_a_dataclass_that_is_no_node_is_compared_too(tmp_path):
    training.save(tmp_path / "a", [plain({"w": np.zeros(2)}, 1)])
    training.load(tmp_path / "a", [plain({"w": np.ones(2)}, 3)])
    for other in (plain({"w": np.zeros(3)}, 1), plain({"v": np.zeros(2)}, 1), plain(1, 1)):
        with pytest.raises(
            training.CheckpointError, match=r"Plain of .* at \[0\], where the argument"
        ):
            training.load(tmp_path / "a", [other])


@pytest.mark.parametrize("name", ["namedtuple", "dataclasses", "nodes", "functions"])
def test_nothing_is_made_that_is_not_allowed_for(name, tmp_path):
    training.save(tmp_path / "a", TREES[name])
    with pytest.raises(
        training.CheckpointError, match="only classes that are named are made of a file"
    ):
        training.load(tmp_path / "a")


def test_nothing_is_imported(tmp_path):
    """A module that is not there when the file is read is not looked for."""
    cls = dataclasses.make_dataclass("Away", ["x"])
    cls.__module__ = "module_that_is_not_there"
    training.save(tmp_path / "a", cls(1))
    with pytest.raises(training.CheckpointError, match=r"module_that_is_not_there\.Away"):
        training.load(tmp_path / "a")
    assert "module_that_is_not_there" not in sys.modules
    assert training.load(tmp_path / "a", types=[cls]) == cls(1)


def test_a_class_with_other_fields(tmp_path):
    def made(*fields):
        cls = dataclasses.make_dataclass("Changed", fields)
        cls.__module__ = "m"
        pair = collections.namedtuple("ChangedPair", fields, module="m")
        return cls, pair

    old, new = made("a", "b"), made("a", "c")
    for before, after in zip(old, new, strict=True):
        training.save(tmp_path / "a", before(1, 2))
        with pytest.raises(training.CheckpointError, match=r"has m\.Changed.* the fields"):
            training.load(tmp_path / "a", types=[after])


def test_types_must_differ_in_name(tmp_path):
    training.save(tmp_path / "a", 1)
    one, two = [collections.namedtuple("Same", ["x"], module="m") for _ in range(2)]
    with pytest.raises(ValueError, match=r"two of .* are named m\.Same"):
        training.load(tmp_path / "a", types=[one, two])
    with pytest.raises(TypeError, match="types are classes and functions, got 3"):
        training.load(tmp_path / "a", types=[3])


class Items(dict):
    pass


@dataclasses.dataclass
class Hybrid(dict):
    x: int = 1


UNSAVED = [
    (object(), "object"),
    (lambda: 0, "function"),
    ({1, 2}, "set"),
    (Items(a=1), "Items"),
    (Hybrid(), "Hybrid"),
    (np.array([object()]), "dtype object, of which elements are Python objects"),
    (np.zeros(2, [("a", object)]), "elements are Python objects"),
    (np.array(["a"], np.dtypes.StringDType()), "have no fixed size"),
    (np.ma.array([1]), r"not a plain array; numpy\.asarray"),
    (np.datetime64, None),
]


@pytest.mark.parametrize(("leaf", "message"), UNSAVED, ids=[m or "class" for _, m in UNSAVED])
def test_what_cannot_be_saved(leaf, message, tmp_path):
    if message is None:
        return training.save(tmp_path / "a", leaf)
    training.save(tmp_path / "a", 1)
    with pytest.raises(TypeError, match=rf"the tree has, at \['a'\]\[1\]\.x, .*{message}"):
        training.save(tmp_path / "a", {"a": [1, Pair(leaf)]})
    assert training.load(tmp_path / "a") == 1
    return None


@needs("ml_dtypes")
def test_a_structure_of_an_added_dtype_cannot_be_saved(tmp_path):
    leaf = np.zeros(2, [("a", ml_dtypes.bfloat16)])
    test_what_cannot_be_saved(leaf, "elements are Python objects", tmp_path)


def test_traced_arrays_cannot_be_saved(tmp_path):
    with pytest.raises(TypeError, match=r"a traced array: save what the transformed function"):
        fg.jit(lambda x: training.save(tmp_path / "a", [x]))(1.0)
    fg.jit(lambda x: fg.debug.callback(lambda x: training.save(tmp_path / "a", [x]), x))(1.0)
    assert training.load(tmp_path / "a") == [1.0]


def test_a_tree_in_itself(tmp_path):
    tree = [1]
    tree.append(tree)
    with pytest.raises(ValueError, match="deeper than 1000 levels, or contains itself"):
        training.save(tmp_path / "a", tree)


def test_many_fields(tmp_path):
    dtype = [(f"field {i}", float) for i in range(1000)]
    with pytest.raises(ValueError, match="1000 fields, whose description is too long"):
        training.save(tmp_path / "a", np.zeros(2, dtype))
    assert list(tmp_path.iterdir()) == []


def test_a_deep_tree(tmp_path):
    tree = 1.5
    for _ in range(1000):
        tree = (tree,)
    training.save(tmp_path / "a", tree)
    found = training.load(tmp_path / "a")
    for _ in range(1000):
        (found,) = found
    assert found == 1.5


@needs("ml_dtypes")
def test_a_file_of_today_can_be_read_tomorrow():
    """The bytes are part of what is promised: this file is of the first version."""
    path = Path(__file__).with_name("version_1.ckpt")
    found = training.load(path, types=[Pair])
    assert parts(found) == parts(
        {"w": np.arange(3.0), "b": [np.float32(0.5), ml_dtypes.bfloat16(2)], "p": Pair(random.key(0), 10**30)}
    )  # fmt: skip
    digest = hashlib.sha256(path.read_bytes()[:-64]).hexdigest()
    assert path.read_bytes().endswith(digest.encode())


def test_device(tmp_path):
    training.save(tmp_path / "a", {"w": A, "n": 3, "s": "x"})
    assert parts(training.load(tmp_path / "a", device="cpu")) == parts({"w": A, "n": 3, "s": "x"})


def test_states_of_optimizers_are_known_where_nothing_has_asked_for_them(tmp_path):
    path = tmp_path / "a"
    training.save(path, optim.adam(0.1).init({"w": np.zeros(2)}))
    code = "import sys; from fungrad import training; print(training.load(sys.argv[1])[0].mu)"
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "{'w': array([0., 0.])}\n"

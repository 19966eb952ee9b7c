"""Drawings of programs: what is in them, where it is, and what is written to files."""

import itertools
import re
import sys
from collections import namedtuple
from xml.etree import ElementTree

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.native import schedule_with_kernels
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import format_value
from fungrad.core.scopes import scopes_of
from fungrad.show import graph
from fungrad.show.arrange import arranged
from fungrad.show.folding import folded
from fungrad.show.layout import Edge, Layered
from tests.programs import LOOKS_AT_VALUES, PROGRAMS

SVG = "{http://www.w3.org/2000/svg}"


def scenes(scene):
    found = [scene]
    for one in found:
        found += [body for node in one.nodes for body in node.bodies]
    return found


def texts(drawing):
    """Return what is written in a drawing, which has to be well formed, and its tooltips."""
    root = ElementTree.fromstring(drawing.svg)
    return [x.text for x in root.iter(f"{SVG}text")], [x.text for x in root.iter(f"{SVG}title")]


def names(scene, kind=None):
    return [node.name for node in scene.nodes if kind is None or node.kind == kind]


def edges(scene):
    return [(scene.nodes[u].name, scene.nodes[v].name) for u, v in scene.edges]


def is_number(expr, v):
    return not expr.types[v].shape and format_value(expr.constants[v]) is not None


def check(drawing):
    """Check the drawing of a program that is not folded: each equation once, each edge, nothing over anything else."""
    expr, scene = drawing.expr, drawing.scene
    equations = [node for node in scene.nodes if node.equations]
    assert sum([node.equations for node in equations]) == len(expr.equations)
    if not scene.beside:  # then nodes are in the order of the program
        owner = {v: i for i, v in enumerate(expr.inputs)}
        for i, (primitive, _, outputs) in enumerate(expr.equations, len(expr.inputs)):
            assert primitive.name in scene.nodes[i].name
            owner |= dict.fromkeys(outputs, i)
        expected = {
            (owner[v], owner[e.outputs[0]] if e.outputs else None)
            for e in expr.equations
            for v in e.inputs
            if v not in expr.constants
        }
        results = [i for i, node in enumerate(scene.nodes) if node.kind == "result"]
        expected |= {
            (owner[v], i)
            for v, i in zip(expr.outputs, results, strict=True)
            if v not in expr.constants
        }
        constants = {i for i, node in enumerate(scene.nodes) if node.kind == "constant"}
        assert {(u, v) for u, v in scene.edges if u not in constants} == {
            (u, v) for u, v in expected if v is not None
        }
    assert len(names(scene, "input")) == len(expr.inputs)
    assert len(names(scene, "result")) == len(expr.outputs)
    check_places(drawing)


def check_places(drawing):
    """Check that no box is over another one that it is not in, and that all are on the page."""
    waiting = [arranged(drawing.scene)]
    for found in waiting:
        waiting += [body for bodies in found.bodies.values() for body, _ in bodies]
        for one, other in itertools.combinations(found.boxes, 2):
            assert not overlap(one, other)
        for box in [*found.boxes, *found.frames]:
            assert box.x >= -1
            assert box.y >= -1
            assert box.x + box.width <= found.width + 1
            assert box.y + box.height <= found.height + 1
        for frame, place in zip(found.scene.frames, found.frames, strict=True):
            links = [(u, v) for pair in found.scene.edges for u, v in (pair, pair[::-1])]
            for v, (box, node) in enumerate(zip(found.boxes, found.scene.nodes, strict=True)):
                if node.equations:
                    assert overlap(place, box) == (v in frame.members)
                elif overlap(place, box):  # an argument or a result that is of it alone
                    assert {u for u, w in links if w == v} <= {*frame.members}
        for v, bodies in found.bodies.items():
            box = found.boxes[v]
            for body, (x, y) in bodies:
                assert box.x < x
                assert box.y < y
                assert x + body.width < box.x + box.width
                assert y + body.height < box.y + box.height
    texts(drawing)


def overlap(one, other):
    apart = (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )
    return not apart


def loss(params, x, y):
    for layer in params:
        x = fnp.tanh(x @ layer["w"] + layer["b"])
    return fnp.mean((x - y) ** 2)


def network(*sizes):
    return [{"w": np.ones((n, m)), "b": np.ones(m)} for n, m in itertools.pairwise(sizes)]


def rnn(w, xs):
    def step(h, x):
        h = fnp.tanh(w @ h + x)
        return h, h

    return fnp.sum(lax.scan(step, np.zeros(4), xs)[1] ** 2)


# What is drawn


def test_nodes_and_edges():
    drawing = graph(lambda x, y: (fnp.sin(x) * y, x))(np.ones(3), np.ones(3))
    assert names(drawing.scene) == ["x", "y", "sin", "multiply", "result[0]", "result[1]"]
    assert sorted(edges(drawing.scene)) == [
        ("multiply", "result[0]"),
        ("sin", "multiply"),
        ("x", "result[1]"),
        ("x", "sin"),
        ("y", "multiply"),
    ]
    assert [node.type for node in drawing.scene.nodes] == ["float64[3]"] * 6
    check(drawing)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - LOOKS_AT_VALUES)[::7])
def test_programs(name):
    row = PROGRAMS[name]
    for drawing in (graph(row.changed)(*row.args), graph(row.changed, simplified=False)(*row.args)):
        if not drawing.notes:
            check(drawing)


def test_names_of_arguments():
    Point = namedtuple("Point", "x y")

    def f(p, *rest, scale, **more):
        return {"a": p.x * rest[0]["k"][1] * scale * more["last"], "b": [p.y]}

    drawing = graph(f)(Point(1.0, 2.0), {"k": (3.0, 4.0)}, 5.0, scale=6.0, last=7.0)
    assert names(drawing.scene, "input") == [
        "p.x", "p.y", "rest[0]['k'][0]", "rest[0]['k'][1]", "rest[1]", "last", "scale",
    ]  # fmt: skip
    assert names(drawing.scene, "result") == ["result['a']", "result['b'][0]"]
    check(drawing)


def test_numbers_are_written_where_they_are_used():
    drawing = graph(lambda x: (1.5 - x) ** 2 + 1 / 3)(fg.ShapeDtypeStruct((), float))
    assert names(drawing.scene, "constant") == []
    assert "subtract(1.5, ·)" in names(drawing.scene)
    assert "add(·, 0.3333)" in names(drawing.scene)
    assert any("0.3333333333333333" in title for title in texts(drawing)[1])


def test_constants():
    table = np.arange(3.0)
    drawing = graph(lambda x: (x * table, 2.0, table))(np.ones(3))
    assert names(drawing.scene, "constant") == ["constant", "2.0"]
    assert {("constant", "multiply"), ("constant", "result[2]"), ("2.0", "result[1]")} <= {
        *edges(drawing.scene)
    }
    check(drawing)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda: (), ()),
        (lambda a, b: a, (1.0, np.ones(3))),
        (lambda a: None, (np.ones(3),)),
        (lambda n: n // 2 + 1, (np.arange(3),)),
        (lambda z: fnp.exp(1j * z).real, (np.ones(3, complex),)),
        (lambda x: fnp.sum(x) + 1, (np.ones((0, 3)),)),
        (lambda b: ~b, (np.bool_(True),)),
        (lambda x: fnp.linalg.svd(x), (np.eye(3),)),
        (fg.random.normal, (fg.random.key(0),)),
    ],
)
def test_types(f, args):
    check(graph(f)(*args))


def test_tooltips_name_the_line():
    drawing = graph(lambda x: fnp.sin(x))(np.ones(3))
    assert any(
        "test_graph.py" in title and "fnp.sin(x)" in title and "float64[3]" in title
        for title in texts(drawing)[1]
    )


def test_what_users_call_things_is_escaped():
    key = '<b> & "quoted" \x00 \\ end'
    drawing = graph(lambda d: {key: d[key] * 2})({key: 1.0})
    assert any("<b> &" in text for text in texts(drawing)[0])
    assert "\x00" not in drawing.svg
    assert '\\"quoted\\"' in drawing.dot


def test_a_jitted_function_is_drawn_itself():
    assert names(graph(fg.jit(lambda x: fnp.sin(x)))(1.0).scene) == names(
        graph(lambda x: fnp.sin(x))(1.0).scene
    )


# Kernels


def chain(x, w):
    a = fnp.sin(x) * 2
    b = a @ w
    return fnp.exp(b) + b, fnp.sum(a)  # which is computed after the product, from memory


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (chain, (np.ones((300, 300)), np.ones((300, 300)))),
        (loss, (network(3, 4, 2), np.ones((500, 3)), np.ones((500, 2)))),
        (loss, (network(50, 400, 20), np.ones((900, 50)), np.ones((900, 20)))),
        (lambda x: fnp.log(fnp.sum(fnp.exp(x - fnp.max(x)))), (np.ones(1000),)),
        (lambda x: x + 1, (np.ones(9),)),
    ],
)
def test_kernels_are_those_of_the_schedule(f, args):
    scene, lowered = graph(f)(*args).scene, fg.jit(f).lower(*args)
    kernels = {node.kernel for node in scene.nodes} - {None}
    assert len(kernels) == len(lowered.kernels)
    schedule = str(schedule_with_kernels(lowered.simplified)[0])
    for frame in scene.frames:
        assert frame.kind == "kernel"
        assert frame.title.partition(" ")[2] in schedule


def test_members_of_kernels():
    scene = graph(chain)(np.ones((300, 300)), np.ones((300, 300))).scene
    members = [{scene.nodes[v].name for v in frame.members} for frame in scene.frames]
    assert members == [{"sin", "broadcast(2.0)", "multiply"}, {"exp", "add"}]
    (product,) = [node for node in scene.nodes if node.name == "dot_general"]
    assert [n.name for n in scene.nodes if n.kernel == product.kernel] == ["dot_general"]
    check(graph(chain)(np.ones((300, 300)), np.ones((300, 300))))
    without = graph(chain, kernels=False)(np.ones((300, 300)), np.ones((300, 300))).scene
    assert without.frames == []


# Programs within programs


def test_loops_branches_and_calls():
    inner = fg.jit(lambda x: fnp.cos(x) + 1)

    def f(x):
        y = lax.cond(fnp.sum(x) > 0, fnp.sin, fnp.tan, x)
        _, y = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, fnp.exp(c[1])), (0, y))
        return lax.scan(lambda c, r: (c + r, c * r), 0.0, inner(y))

    drawing = graph(f)(np.ones(5))
    bodies = {node.name: node.bodies for node in drawing.scene.nodes if node.bodies}
    found = {
        name.partition("(")[0].partition("[")[0]: [b.title for b in x] for name, x in bodies.items()
    }
    assert found == {
        "cond": ["branches[0]", "branches[1]"],
        "while": ["cond", "body"],
        "call": [""],
        "scan": ["body"],
    }
    inside = {name for one in scenes(drawing.scene)[1:] for name in names(one)}
    assert {"sin", "tan", "exp", "cos", "condition", "carry", "row", "next carry"} <= inside
    check(drawing)
    flat = graph(f, depth=0)(np.ones(5)).scene
    assert not any(node.bodies for node in flat.nodes)
    assert [node.note for node in flat.nodes if node.name.startswith("scan")] == [
        "body of 2 equations, folded\n"
    ]


def nested(depth):
    def f(x):
        if not depth:
            return fnp.sin(x)
        return lax.fori_loop(0, 3, lambda i, x: nested(depth - 1)(x), x)

    return f


@pytest.mark.parametrize("depth", [0, 3, 8, 20])
def test_deep_loops(depth):
    drawing = graph(nested(8), depth=depth)(np.ones(3))
    assert len(scenes(drawing.scene)) == min(depth, 8) + 1
    assert any("folded" in text for text in texts(drawing)[0]) == (depth < 8)
    check_places(drawing)


# Folding


def repeated(times):
    def f(x):
        for _ in range(times):
            x = fnp.sin(x)
            x = x * 0.5 + 1
        return x

    return f


def stands_for(scene):
    """Return for how many equations the nodes of a scene stand."""
    frames = [frame for frame in scene.frames if frame.kind == "repeated"]
    more = sum([frame.equations - len(frame.members) for frame in frames])
    return sum([node.equations for node in scene.nodes]) + more


def test_repetitions_are_drawn_once(as_written):
    drawing = graph(repeated(1700))(np.ones(3))
    assert len(drawing.expr.equations) > 5000
    assert len(drawing.scene.nodes) < 15
    assert stands_for(drawing.scene) == len(drawing.expr.equations)
    (frame,) = drawing.scene.frames
    assert re.fullmatch(r"one of 1,(699|700) repetitions \(5,\d\d\d equations\)", frame.title)
    (note,) = drawing.notes
    assert note.endswith(
        "nodes; folded: 1 repetition; kernels are shown of 1,000 equations at most"
    )
    assert note in texts(drawing)[0]
    check_places(drawing)


def various(count, seed=0):
    def f(x, y):
        rng = np.random.default_rng(seed)
        values = [x, y]
        for _ in range(count):
            f = [fnp.add, fnp.multiply, fnp.maximum, fnp.minimum, fnp.hypot][rng.integers(5)]
            i, j = rng.integers(max(len(values) - 20, 0), len(values), 2)
            values.append(f(values[i], values[j]))
        return values[-20:]

    return f


@pytest.mark.parametrize("most", [40, 200, 10_000])
def test_long_programs(most):
    drawing = graph(various(1500), most=most)(np.ones(3), np.ones(3))
    scene = drawing.scene
    assert stands_for(scene) == len(drawing.expr.equations) > 800
    equations = [node for node in scene.nodes if node.equations]
    assert len(equations) <= most
    assert bool(drawing.notes) == (most < 1000)
    if not drawing.notes:
        check(drawing)
    assert not scene._goes_round()
    texts(drawing)


def test_folded_by_lines_then_functions_then_parts():
    operations = [*"abcdefgh"]
    lines, functions = [*"11223344"], [*"PPPPQQQQ"]
    assert [u.why for u in folded(operations, lines, functions, 8)] == [None] * 8
    assert [(u.start, u.stop, u.why) for u in folded(operations, lines, functions, 4)] == [
        (0, 2, ("line", "1")), (2, 4, ("line", "2")), (4, 6, ("line", "3")), (6, 8, ("line", "4")),
    ]  # fmt: skip
    assert [u.why for u in folded(operations, lines, functions, 2)] == [
        ("function", "P"),
        ("function", "Q"),
    ]
    assert [(u.start, u.stop) for u in folded(operations, [*"12345678"], operations, 3)] == [
        (0, 3),
        (3, 6),
        (6, 8),
    ]
    twice = folded([*"xababababyz"], [1] * 11, [1] * 11, 5)
    assert [(u.start, u.stop, u.period) for u in twice] == [
        (0, 1, 0),
        (1, 9, 2),
        (9, 10, 0),
        (10, 11, 0),
    ]


def blocks(count, name="block {}"):
    def f(x):
        for i in range(count):
            with fg.named_scope(name.format(i)):
                with fg.named_scope("mix"):
                    h = x - fnp.mean(x, axis=0)
                    h = fnp.sort(h, axis=0)
                with fg.named_scope("act"):
                    x = x + h * fnp.tanh(h * 0.5)
        return fnp.sum(x)

    return f


def test_folded_by_the_names_of_scopes():
    x = np.ones((300, 300))
    assert not [node for node in graph(blocks(8))(x).scene.nodes if node.kind == "folded"]

    def folded_in(drawing):
        assert stands_for(drawing.scene) == len(drawing.expr.equations)
        assert not drawing.scene._goes_round()
        texts(drawing)
        return [node for node in drawing.scene.nodes if node.kind == "folded"]

    found = folded_in(graph(blocks(8), most=30)(x))
    assert [node.name for node in found[:3]] == ["block 0/mix", "block 0/act", "block 1/mix"]
    found = folded_in(graph(blocks(8), most=12)(x))
    assert [node.name for node in found] == [f"block {i}" for i in range(8)]
    (repeated,) = folded_in(graph(blocks(8, "block"), most=6)(x))[1:]
    assert repeated.name.startswith("block: 7 repetitions of ")
    names_ = [node.name for node in folded_in(graph(fg.grad(blocks(8)), most=40)(x))]
    assert {"block 3", "backward pass of block 3"} <= {*names_}
    beside = graph(blocks(8), backward=True, most=60)(x)
    names_ = [node.name for node in beside.scene.nodes if node.kind == "folded"]
    assert {"block 3/act", "backward pass of block 3/act"} <= {*names_}


def test_folded_nodes_show_their_kernels():
    pytest.importorskip("llvmlite")
    x = np.ones((300, 300))
    drawing = graph(blocks(8), most=30)(x)
    lowered = fg.jit(blocks(8)).lower(x)
    assert len(lowered.kernels) > 1
    found = [node for node in drawing.scene.nodes if node.kind == "folded"]
    within = [node for node in found if node.kernel is not None]
    several = [node for node in found if ", in k" in node.type]
    assert within or several
    numbers = {k for node in several for k in re.findall(r"\bk\d+", node.type)}
    numbers |= {f"k{node.kernel + 1}" for node in drawing.scene.nodes if node.kernel is not None}
    assert numbers <= {f"k{k + 1}" for k in range(len(lowered.kernels))}
    assert not any(node.kernel for node in graph(blocks(8), most=30, kernels=False)(x).scene.nodes)


def test_scopes_are_closed_by_errors_and_are_of_one_use():
    def f(x):
        try:
            with fg.named_scope("a"):
                x = fnp.sin(x)
                raise KeyError
        except KeyError:
            y = fnp.cos(x)
        with fg.named_scope("a"):
            return fnp.exp(y) + fg.jit(fnp.tan)(y)

    sources = fg.make_expr(f)(np.ones(2)).sources
    first, none, *second = [scopes_of(source) for source in sources]
    assert ([x.name for x in first], none) == (["a"], ())
    assert [[x.name for x in scopes] for scopes in second if scopes] == [["a"]] * len(second)
    assert first[0].number != second[0][0].number
    (outer,) = {scopes_of(x) for x in fg.make_expr(fg.named_scope("b")(f))(np.ones(2)).sources[1:2]}
    assert [x.name for x in outer] == ["b"]


def test_bodies_are_folded_where_there_is_no_room():
    def f(x):
        return lax.fori_loop(0, 3, lambda i, x: various(300)(x, x + 1)[0], x)

    drawing = graph(f, most=30)(np.ones(3))
    body = [one for one in scenes(drawing.scene) if one.title == "body"]
    assert body == [] or sum([n.equations for n in body[0].nodes]) > 20
    assert sum([len(one.nodes) for one in scenes(drawing.scene)]) < 60


# Forward and backward


def test_backward_is_beside_what_it_goes_back_through():
    drawing = graph(loss, backward=True)(network(3, 4, 2), np.ones((5, 3)), np.ones((5, 2)))
    scene = drawing.scene
    gradients = [node for node in scene.nodes if node.name.startswith("gradient by")]
    assert [node.name.removeprefix("gradient by ") for node in gradients] == names(scene, "input")
    assert [scene.nodes[node.anchor].name for node in gradients] == names(scene, "input")
    of = {
        (scene.nodes[node.anchor].name, node.name)
        for node in scene.nodes
        if node.backward and node.equations
    }
    assert ("tanh", "subtract") in of  # 1 - tanh(x)**2
    assert ("broadcast", "reduce_sum") in of
    assert ("dot_general", "dot_general") in of
    assert {anchor for anchor, name in of if name == "subtract"} == {"tanh"}
    check(drawing)


def test_backward_through_rules_of_the_users():
    @fg.custom_vjp
    def halved(x):
        return x / 2

    halved.defvjp(lambda x: (x / 2, fnp.cos(x)), lambda residual, ct: (ct * residual * 7,))

    def f(x):
        y = halved(fnp.tanh(x))
        y = lax.custom_linear_solve(lambda z: 3 * z, y, lambda of, b: b / 3, symmetric=True)
        return fnp.sum(fnp.exp(y))

    scene = graph(f, backward=True)(np.ones(3)).scene
    short = lambda v: scene.nodes[v].name.partition("(")[0]
    of = [
        (short(v), short(node.anchor))
        for v, node in enumerate(scene.nodes)
        if node.backward and node.equations
    ]
    assert of == [
        ("broadcast", "reduce_sum"),
        ("linear_solve", "linear_solve"),
        ("multiply", "divide"),  # of the user's rule
        ("broadcast", "divide"),
        ("multiply", "divide"),
        ("multiply", "tanh"),
        ("subtract", "tanh"),
        ("multiply", "tanh"),
    ]
    check(graph(f, backward=True)(np.ones(3)))


def test_what_is_drawn_with_backward_is_the_gradient():
    args = (network(3, 4, 2), np.ones((5, 3)) / 7, np.ones((5, 2)))
    expr = graph(loss, backward=True)(*args).expr
    value, *by = evaluate(expr, fg.tree.leaves(args))
    expected = fg.value_and_grad(loss, argnums=(0, 1, 2))(*args)
    for x, y in zip([value, *by], fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("simplified", [True, False])
def test_cotangents_are_arguments(simplified):
    f = lambda x, n: (fnp.sin(x) * n, fnp.cos(x), n)
    x, n = np.ones(3), np.arange(3)
    drawing = graph(f, backward=True, simplified=simplified)(x, n)
    assert names(drawing.scene, "input") == [
        "x",
        "n",
        "cotangent of result[0]",
        "cotangent of result[1]",
    ]
    assert names(drawing.scene, "result")[3:] == ["cotangent of x"]
    *_, found = evaluate(drawing.expr, [x, n, np.full(3, 2.0), np.full(3, 3.0)])
    np.testing.assert_allclose(found, 2 * np.cos(x) * n - 3 * np.sin(x))
    check(drawing)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (rnn, (np.ones((4, 4)), np.ones((20, 4)))),
        (lambda x: lax.cond(x > 0, fnp.sin, fnp.cos, x), (1.0,)),
        (fg.checkpoint(lambda x: fnp.sum(fnp.sin(x) ** 2)), (np.ones(3),)),
        (lambda x: fg.grad(lambda y: fnp.sin(x * y))(x), (1.0,)),
        (lambda x: fnp.sum(fg.nn.relu(x)), (np.ones(3),)),
        (lambda x: x, (1.0,)),
        (lambda x: 2, (1.0,)),
        (lambda n: n + 1, (np.arange(3),)),
        (lambda: (), ()),
    ],
)
def test_backward(f, args):
    check(graph(f, backward=True)(*args))


def test_long_programs_with_backward(as_written):
    drawing = graph(repeated(600), backward=True)(np.ones(3))
    assert len(drawing.scene.nodes) < 25
    assert "backward pass of these repetitions" in names(drawing.scene)
    check_places(drawing)
    drawing = graph(various(700), backward=True, most=120)(np.ones(3), np.ones(3))
    assert stands_for(drawing.scene) == len(drawing.expr.equations)
    texts(drawing)


def test_the_backward_pass_in_a_gradient():
    scene = graph(fg.grad(loss))(network(3, 2), np.ones((5, 3)), np.ones((5, 2))).scene
    assert {node.backward for node in scene.nodes if node.name == "reduce_sum"} == {True}
    assert {node.backward for node in scene.nodes if node.name == "tanh"} == {False}


# The layout


@pytest.mark.parametrize("seed", range(20))
def test_layouts(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    sizes = [(float(w), float(h)) for w, h in rng.uniform(5, 120, (count, 2))]
    pairs = np.sort(rng.integers(0, count, (2 * count, 2)), axis=1)
    links = [Edge(int(u), int(v)) for u, v in pairs if u < v]
    found = Layered(sizes, links)
    found.stand()
    for edge, path in zip(links, found.paths, strict=True):
        assert found.rank[edge.source] < found.rank[edge.target]
        down = [round(y, 6) for _, y in path]
        assert down == sorted(down)
    boxes = [(x, y, w, h) for (x, y), (w, h) in zip(found.corners, found.sizes, strict=True) if w]
    for (x, y, w, h), (a, b, c, d) in itertools.combinations(boxes, 2):
        assert x + w <= a + 1e-9 or a + c <= x + 1e-9 or y + h <= b or b + d <= y


def test_long_edges_end_in_stubs(as_written):
    def f(x, y):
        for i in range(20):
            x = fnp.sin(x) if i % 2 else fnp.cos(x)
        return x + y * x

    drawing = graph(lambda x: f(fnp.exp(x), fnp.tan(x)) + x)(np.ones(1000))
    found = arranged(drawing.scene)
    assert {drawing.scene.nodes[v].name for v, _ in found.stubs} <= {"x", "exp", "tan"}
    assert found.stubs


def test_circles_are_laid_out():
    found = Layered([(10.0, 10.0)] * 3, [Edge(0, 1), Edge(1, 2), Edge(2, 0), Edge(1, 1)])
    found.stand()
    assert len(set(found.corners)) == 3


# Files and notebooks


def test_files(tmp_path):
    drawing = graph(rnn)(np.ones((4, 4)), np.ones((20, 4)))
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == drawing.svg
    drawing.save(str(tmp_path / "a.dot"))
    assert (tmp_path / "a.dot").read_text("utf-8") == drawing.dot
    with pytest.raises(ValueError, match=r"ends with \.svg, \.png or \.dot.*'\.pdf'"):
        drawing.save(tmp_path / "a.pdf")


def test_png(tmp_path):
    pytest.importorskip("resvg_py")
    graph(chain)(np.ones((3, 3)), np.ones((3, 3))).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_png_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"pip install 'fungrad\[show\]'"):
        graph(fnp.sin)(1.0).save(tmp_path / "a.png")


def test_dot():
    drawing = graph(rnn)(np.ones((4, 4)), np.ones((20, 4)))
    lines = drawing.dot.splitlines()
    assert lines[0] == 'digraph "rnn: 3 equations" {'
    assert drawing.dot.count("{") == drawing.dot.count("}")
    links = [line for line in lines if "->" in line and "dotted" not in line]
    assert len(links) == sum([len(one.edges) for one in scenes(drawing.scene)])


def test_notebooks_show_it():
    drawing = graph(fnp.sin)(1.0)
    assert drawing._repr_mimebundle_() == {
        "image/svg+xml": drawing.svg,
        "text/plain": repr(drawing),
    }
    assert drawing._repr_svg_() == drawing.svg
    assert "prefers-color-scheme: dark" in drawing.svg


def test_drawings_are_the_same_each_time():
    args = (network(3, 4, 2), np.ones((5, 3)), np.ones((5, 2)))
    assert graph(loss, backward=True)(*args).svg == graph(loss, backward=True)(*args).svg


def test_errors():
    with pytest.raises(TypeError, match="graph takes a function, not 3"):
        graph(3)
    with pytest.raises(
        ValueError, match="most is the largest number of nodes to draw, at least 1; got 0"
    ):
        graph(fnp.sin, most=0)
    with pytest.raises(ValueError, match="depth is a number of levels, 0 or more; got -1"):
        graph(fnp.sin, depth=-1)


@pytest.mark.parametrize(
    ("make", "title"),
    [
        (lambda f: f, "squares"),
        (fg.jit, "squares"),
        (fg.grad, "grad(squares)"),
        (fg.value_and_grad, "value_and_grad(squares)"),
        (lambda f: fg.jit(fg.grad(f)), "grad(squares)"),
        (lambda f: fg.vmap(fg.grad(f), in_axes=None, axis_size=2), "vmap(grad(squares))"),
        (fg.checkpoint, "checkpoint(squares)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_titles_say_what_was_made_of_the_function(make, title):
    def squares(x):
        return (x * x).sum()

    assert repr(graph(make(squares))(np.ones(3))).startswith(f"<graph of {title}: ")
    assert fg.show.table(make(squares))(np.ones(3)).title.startswith(f"{title}: ")
    assert fg.show.memory(make(squares))(np.ones(3)).title.startswith(f"{title}: ")

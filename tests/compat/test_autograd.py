"""`autograd` as fungrad: programs written for it against the results that autograd itself gives, in a process of their own."""

import json
from pathlib import Path

import pytest

from tests.compat import autograd_names
from tests.compat.processes import start

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "autograd_results.json").read_text("utf-8"))
TOLERANCE = 1e-12


@pytest.fixture
def run(server):
    """Return what gives the output of a process in which `autograd` is fungrad."""

    def run(*arguments):
        done = server.run("-m", "fungrad.compat.autograd", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def differences(x, y, path=""):
    """Yield where two results are not equal up to rounding."""
    if isinstance(x, dict) and isinstance(y, dict) and x.keys() == y.keys():
        for k in x:
            yield from differences(x[k], y[k], f"{path}.{k}")
    elif isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        for i, (u, v) in enumerate(zip(x, y)):
            yield from differences(u, v, f"{path}[{i}]")
    elif isinstance(x, (int, float)) and isinstance(y, (int, float)) and not isinstance(x, bool):
        if not abs(x - y) <= TOLERANCE * max(1, abs(x)):
            yield path, x, y
    elif x != y:
        yield path, x, y


def test_programs(tmp_path, subtests):
    """All in one process, which starts as a user's does."""
    file = tmp_path / "results.json"
    done = start(
        *("-W", "error", "-m", "fungrad.compat.autograd"),
        *(str(HERE / "autograd_programs.py"), str(file)),
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(file.read_text("utf-8"))
    assert results.keys() == EXPECTED.keys()
    for name, expected in EXPECTED.items():
        with subtests.test(program=name):
            assert list(differences(expected, results[name])) == []


CHECKS = """
import warnings
import numpy as onp
import autograd.numpy as np
from autograd import checkpoint, elementwise_grad, grad, jacobian, make_jvp, make_vjp, multigrad_dict, primitive
from autograd.core import VJPNode, backward_pass
from autograd.extend import Box, defjvp, defvjp, defvjp_argnums, def_linear, register_notrace, SparseObject, vspace
from autograd.misc.tracers import const_graph
from autograd.tracer import new_box
from autograd.wrap_util import unary_to_nary

def raises(kind, text, f, *args):
    try:
        f(*args)
    except kind as error:
        assert text in str(error), error
    else:
        raise SystemExit(text)

# By all arguments; autograd's own needs a package that is no more.
f = lambda x, *more, scale=2.0, **named: x * more[0] * scale * named["z"]
assert multigrad_dict(f)(3.0, 4.0, z=5.0) == {"x": 40.0, "more": (30.0,), "scale": 60.0, "named": {"z": 24.0}}

# Boxes that no transform opens.
box = new_box(onp.ones(3), 0, VJPNode.new_root())
out = np.sum(box**2 * onp.arange(3.0))
pulled = backward_pass(new_box(1.0, 0, VJPNode.new_root()), out._node)
assert (np.stack([pulled])._value == [[0.0, 2.0, 4.0]]).all() and out._value == 3.0
assert (backward_pass(1.0, out._node) == [0.0, 2.0, 4.0]).all()

# A program that is made once.
runs = []
def looks(x, k):
    runs.append(k)
    return np.sin(x) * k
once = const_graph(lambda k, x: looks(x, k), 3.0)
assert once(0.0) == 0.0 and grad(once)(0.0) == 3.0 and grad(once)(onp.pi) == -3.0 and len(runs) == 1

# Graphs of nodes.
from autograd.misc.tracers import full_graph
from autograd.tracer import Node, trace

class Depth(Node):
    def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
        self.depth, self.name = 1 + max(p.depth for p in parents), fun.__name__
        onp.testing.assert_equal(fun(*args, **kwargs), value)
    def initialize_root(self):
        self.depth, self.name = 0, "root"

value, node = trace(Depth.new_root(), lambda x: np.sum(np.sin(x) * 2.0), onp.ones(3))
assert (value, node.depth, node.name) == (6 * onp.sin(1.0), 3, "reduce_sum")
assert trace(Depth.new_root(), lambda x: np.linalg.slogdet(x)[1], 2 * onp.eye(2))[1].depth > 1
node = full_graph(lambda x, y: x * y + np.exp(y), 2.0, 3.0)
assert node.value == 6 + onp.exp(3.0) and node.recipe[0].__name__ == "add" and len(node.recipe[3]) == 2
raises(NotImplementedError, "does not say", Node.new_root)

# A vjp that looks at g.
odd = primitive(lambda x: x**3)
defvjp(odd, lambda ans, x: lambda g: (1.0 if g > 0 else 2.0) * g * 3 * x**2)
assert grad(odd)(2.0) == 12.0 and grad(lambda x: -odd(x))(2.0) == -24.0
assert grad(grad(odd))(2.0) == 12.0 and grad(grad(lambda x: -odd(x)))(2.0) == -24.0
assert grad(grad(grad(odd)))(2.0) == 6.0 and jacobian(odd)(2.0) == 12.0

# Rules that are missing, wrong or for functions that have theirs.
bare = primitive(lambda x, y: x * y)
assert bare(2.0, 3.0) == 6.0
raises(NotImplementedError, "VJP of <lambda> wrt argnums (1,) not defined", grad(bare, 1), 2.0, 3.0)
raises(NotImplementedError, "JVP of <lambda> wrt argnums (0,) not defined", make_jvp(bare)(2.0, 3.0), 1.0)
defvjp(bare, None, argnums=[0])
assert grad(bare)(2.0, 3.0) == 0.0
raises(NotImplementedError, "wrt argnums [1] not defined", grad(bare, 1), 2.0, 3.0)
raises(ValueError, "Bad VJP '3'", defvjp, bare, 3)
raises(TypeError, "define them for primitive of it", defvjp, np.multiply, lambda ans, x: lambda g: g)
raises(NotImplementedError, "pass it by position", grad(lambda y: bare(y, y=y)), 1.0)
assert grad(lambda y: bare(2.0, y=y))(1.0) == 2.0  # as its Python computes it
raises(NotImplementedError, "register it as a container", Box.register, int)

# Only forward mode is defined: reverse mode is its transpose.
double = primitive(lambda x: 2 * x)
def_linear(double)
assert grad(lambda x: double(x) ** 2)(3.0) == 24.0 and make_jvp(double)(1.0)(5.0) == (2.0, 10.0)
floor = primitive(onp.floor)
register_notrace(VJPNode, floor)
assert grad(lambda x: x * floor(x))(2.5) == 2.0 and make_jvp(floor)(2.5)(1.0)[1] == 0.0
both = primitive(lambda x, y: x * y)
defvjp_argnums(both, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - i] for i in argnums])
assert grad(lambda x: both(x, x))(3.0) == 6.0

# A rule that calls its primitive, whose Python takes arrays alone; a cotangent that is complex, of a real argument.
import scipy.sparse
from autograd.differential_operators import _make_vjp
scaled = primitive(lambda e, x: scipy.sparse.diags(e) @ x)
defjvp(scaled, lambda g, ans, e, x: scaled(g, x), lambda g, ans, e, x: scaled(e, g))
push = make_jvp(lambda e: np.sum(scaled(e, onp.ones(2)) ** 2))(onp.array([1.0, 2.0]))
assert push(onp.array([1.0, 0.0])) == (5.0, 2.0)
turned = primitive(lambda a, z: a * z)
defvjp(turned, lambda ans, a, z: lambda g: g * z, None)
assert (grad(lambda a: np.sum(np.real(turned(a * 2, 1 + 2j))))(onp.ones(2)) == 2).all()
assert _make_vjp(lambda x: x**2, 3.0)[0](1.0) == 6.0
def plain(x): return x
defvjp(plain, lambda ans, x: lambda g: g)
modules = []
grad(lambda x: modules.append(type(x).__module__) or x)(1.0)
assert modules == ["autograd.numpy.numpy_boxes"]

# Old ways to define them.
old = primitive(lambda x, y: x * y)
old.defgrad(lambda ans, x, y: lambda g: g * y)
old.defvjp(lambda g, ans, vs, gvs, x, y: g * x, argnum=1)
assert (grad(old)(2.0, 3.0), grad(old, 1)(2.0, 3.0)) == (3.0, 2.0)
old.defvjp_is_zero(argnums=(1,))
assert grad(old, 1)(2.0, 3.0) == 0.0

# Methods, options and text among arguments.
class Model:
    @primitive
    def apply(self, x, kind, power=2):
        return x**power if kind == "power" else x
defvjp(Model.apply, lambda ans, self, x, kind, power=2: lambda g: g * power * x ** (power - 1), argnums=[1])
assert grad(lambda x: Model().apply(x, "power", power=3))(2.0) == 12.0
assert grad(checkpoint(lambda x, how: x**2 if how == "square" else x))(3.0, "square") == 6.0

# Under fungrad's own transforms, in both ways around.
import fungrad as fg
lse = primitive(lambda x: np.log(np.sum(np.exp(x))))
defvjp(lse, lambda ans, x: lambda g: g * np.exp(x - ans))
x = onp.arange(3.0)
soft = onp.exp(x) / onp.exp(x).sum()
for g in (grad(lse), fg.grad(lse), fg.jit(grad(lse)), grad(fg.jit(lse)), lambda x: fg.vmap(grad(lse))(x[None])[0]):
    assert abs(g(x) - soft).max() < 1e-15
assert abs(jacobian(grad(lse))(x) - (onp.diag(soft) - onp.outer(soft, soft))).max() < 1e-15

# Sums of what is sparse, operators of one's own, plain numbers as directions.
add = SparseObject(vspace(onp.zeros(3)), lambda x: x + 1)
assert (add.dense() == 1).all()
twice = unary_to_nary(lambda fun, x: fun(x) * 2)
assert twice(lambda x, y: x - y, 1)(5.0, 3.0) == 4.0 and twice(bare, 1).__name__ == "<lambda>_of_<lambda>_wrt_argnum_1"
assert make_vjp(np.sin)(0.0)[0](1) == 1.0 and (elementwise_grad(np.sin)(onp.zeros(2)) == 1).all()
assert type(np.int64(3.7)) is onp.int64 and np.dtype(np.int64) == onp.int64
"""


def test_what_programs_do_besides(run):
    run("-c", CHECKS)


OWN_PRIMITIVES = """
import autograd.numpy as np, numpy as onp
from autograd import grad, hessian
from autograd.extend import defjvp, defvjp, primitive

def product(vjp, jvp):
    @primitive
    def times(a, b):
        return a * b
    if vjp:
        defvjp(times, lambda ans, a, b: lambda g: times(g, b), lambda ans, a, b: lambda g: times(a, g))
    if jvp:
        defjvp(times, lambda g, ans, a, b: times(g, b), lambda g, ans, a, b: times(a, g))
    return times

a = onp.array([1.0, 2.0])
total = lambda f: lambda a: np.sum(f(a))
for modes in ((True, False), (False, True), (True, True)):
    t = product(*modes)
    for cube in (lambda a: t(a, a) * a, lambda a: t(t(a, a), a), lambda a: t(a, a * 1.0) * a, lambda a: t(a * a, onp.ones(2)) * a):
        first = grad(total(cube))
        assert (first(a) == 3 * a**2).all()
        assert (onp.diag(hessian(total(cube))(a)) == 6 * a).all()
        second = grad(total(first))
        assert (second(a) == 6 * a).all() and (grad(total(second))(a) == 6).all()
"""


def test_rules_that_call_their_own_primitive_at_every_order(run):
    run("-c", OWN_PRIMITIVES)


BOXES = """
import autograd.numpy as np, fungrad, numpy as onp, pytest
from autograd import grad
from autograd.core import VJPNode, VSpace
from autograd.extend import defvjp, primitive
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.numpy.numpy_vspaces import ArrayVSpace
from autograd.tracer import Box, getval, isbox, new_box, trace_stack

seen = []
grad(lambda x: (seen.append(str(type(x))), np.sum(x * x))[1])(onp.ones(2))
assert seen == ["<class 'autograd.numpy.numpy_boxes.ArrayBox'>"]

# The value of a box is a constant, in compiled and mapped gradients too.
slope = grad(lambda x: getval(x) * x)
assert slope(2.0) == fungrad.jit(slope)(2.0) == fungrad.vmap(slope)(onp.full(3, 2.0))[0] == 2.0

# Arrays of objects that hold boxes are arrays of numbers.
for make in (np.array, np.asarray):
    f = lambda d: np.sum(make(make([1.0, d, 2.0 * d], dtype=object).ravel(), dtype=float) ** 2)
    assert grad(f)(1.5) == 15

# Boxes by hand: what depends on them is on their trace.
with trace_stack.new_trace() as t:
    start = new_box((onp.ones(2), 3.0), t, VJPNode.new_root())
    (x, y), other = start, new_box(2.0, t, VJPNode.new_root())
    end = np.sum(x * y)
assert isbox(end) and end._trace == start._trace and getval(end) == 6 and other._trace != start._trace
assert trace_stack.top == -1 and isinstance(ArrayBox(onp.ones(2)), ArrayBox)

# Classes that libraries register say whether they may be differentiated.
class Tensor(onp.ndarray):
    may = True

def boxed(x, *args):
    if not x.may:
        raise ValueError("not differentiable")
    return ArrayBox(x, *args)

Box.type_mappings[Tensor] = boxed
VSpace.mappings[Tensor] = ArrayVSpace
x = onp.ones(2).view(Tensor)
assert (grad(lambda x: np.sum(x * x))(x) == 2).all()
x.may = False
with pytest.raises(ValueError, match="not differentiable"):
    grad(lambda x: np.sum(x * x))(x)

# Their rules by NumPy's protocols leave boxes to fungrad, and keep arrays.
class Flagged(onp.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [onp.asarray(x) if isinstance(x, Flagged) else x for x in inputs]
        return onp.asarray(super().__array_ufunc__(ufunc, method, *plain, **kwargs)).view(Flagged)

Box.type_mappings[Flagged] = lambda x, *args: ArrayBox(x, *args)
VSpace.mappings[Flagged] = ArrayVSpace
x, w = onp.arange(3.0).view(Flagged), onp.arange(1.0, 4.0).view(Flagged)
assert type(w * x) is type(onp.sin(x)) is Flagged
assert grad(lambda x: np.sum(w * x + x * w) + onp.sum(onp.add(w, x)))(x).tolist() == [3, 5, 7]
assert grad(lambda x: np.sum(np.dot(w, x) * np.stack([x, w])))(x).tolist() == [17, 26, 35]

# A box without a value says so: programs ask the value for its value until it is no box.
with pytest.raises(fungrad.ConcretizationError, match="_value"):
    fungrad.make_expr(lambda x: x._value)(1.0)

# A rule may give an array as the cotangent of a list, and libraries wrap all that the module has.
@primitive
def both(pair):
    return pair[0] * pair[1]

defvjp(both, lambda ans, pair: lambda g: g * onp.array([pair[1], pair[0]]))
assert grad(lambda x: both([x[0], x[1]]))(onp.array([2.0, 5.0])).tolist() == [5, 2]
assert {"sum", "sin", "array", "ndarray", "pi"} <= vars(np).keys()
assert "det" in vars(np.linalg) and "fft" in vars(np.fft) and "normal" in vars(np.random)
"""


def test_boxes_by_hand_and_by_class(run):
    run("-c", BOXES)


OWNERSHIP = """
import itertools, sys, warnings
import autograd.numpy as np, fungrad as fg, numpy as onp
from autograd import grad, primitive, value_and_grad
from autograd.extend import defvjp

kept = onp.arange(3.0)
@primitive
def own(x):
    return x * kept
defvjp(own, lambda ans, x: lambda g: g * kept)
@primitive
def first(x):
    return float(x[0])
defvjp(first, lambda ans, x: lambda g: kept)

# Nobody's result is an array that is somebody else's: values, gradients, cotangents, what a rule holds.
x, y, g = onp.ones(3), onp.full(3, 2.0), onp.full(3, 3.0)
functions = [
    lambda x, y: own(x + y), lambda x, y: own(x) + y, lambda x, y: np.exp(own(x)) * y,
    lambda x, y: (own(x), y, x, x), lambda x, y: [own(x) * y] * 2, lambda x, y: own(fg.jit(lambda x: x * y)(x)),
]
for f in functions:
    for _ in range(3):
        for wrt in (0, (0, 1)):
            by = grad(lambda x, y: sum(np.sum(z) for z in fg.tree.leaves(f(x, y))), wrt)(x, y)
            value, pull = fg.vjp(f, x, y)
            ct = fg.tree.map(lambda _: g, value)
            expected = pull(ct)
            arrays = [z for z in fg.tree.leaves((value, by, pull(ct), pull(ct)))] + [x, y, g, kept]
            assert not any(onp.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))
            for z in arrays[:-4]:
                z[...] = -7.0
            assert fg.tree.all(fg.tree.map(onp.array_equal, pull(ct), expected))
            # As tracers of an enclosing derivative, likewise.
            def outer(x):
                value, pull = fg.vjp(f, x, y)
                for z in fg.tree.leaves(value):
                    z[:] = -7.0
                return np.sum(pull(ct)[0])
            assert abs(fg.grad(outer)(x) - fg.grad(lambda x: np.sum(fg.vjp(f, x, y)[1](ct)[0]))(x)).max() == 0
by = grad(first)(x)
by[0] = 9.0
assert kept.tolist() == [0.0, 1.0, 2.0]

# Warnings name the lines of the program, those of its rules included.
blown = primitive(lambda x: x)
defvjp(blown, lambda ans, x: lambda g:
       g * np.exp(1000.0 * x))
f = lambda x: np.sum(blown(
    np.sqrt(own(x))))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    grad(f)(x)
    fg.vjp(f, x)[1](1.0)
line, of_own = blown.fun.__code__.co_firstlineno, own.fun.__code__.co_firstlineno + 3
assert {w.lineno for w in caught} == {line + 2, line + 4, of_own}, [(w.lineno, str(w.message)) for w in caught]

# A warm gradient is a few calls of Python's.
lse, calls = primitive(lambda x: np.log(np.sum(np.exp(x)))), []
defvjp(lse, lambda ans, x: lambda g: g * np.exp(x - ans))
slope = grad(lse)
slope(x), slope(x)
sys.setprofile(lambda frame, event, arg: calls.append(event))
slope(x)
sys.setprofile(None)
assert calls.count("call") <= 105, calls.count("call")
"""


def test_whose_arrays_and_lines(run):
    run("-c", OWNERSHIP)


def test_the_rest_of_fungrad_knows_nothing_of_it():
    code = "import sys, fungrad, fungrad.numpy, fungrad.scipy\nprint([m for m in sys.modules if 'fungrad.compat' in m])"
    done = start("-c", code)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_every_name_is_there_or_the_page_says_why_not(run):
    """Run ``python -m fungrad.compat.autograd -m tests.compat.autograd_names`` to write the table anew."""
    printed = run("-c", "from tests.compat.autograd_names import table; print(table(), end='')")
    page = autograd_names.PAGE.read_text("utf-8")
    assert autograd_names.written(page, printed) == page
    rows = [row.split("|") for row in printed.splitlines() if "`autograd" in row]
    assert rows
    assert [row for row in rows if not row[2].strip()] == []


def test_names_are_made_once(run):
    """A primitive made of a function of NumPy keeps the rules that are defined for it."""
    program = "import autograd.numpy as np; print([np.full is np.full, np.base_repr is np.base_repr, np.int64 is np.int64])"
    assert run("-c", program) == "[True, True, True]\n"


OVERRIDING = """
import numpy as onp
import autograd.numpy as np
import fungrad as fg
from autograd import grad, jacobian, make_jvp
from autograd.differential_operators import value_and_grad
from autograd.extend import defjvp, defvjp, primitive
from autograd.scipy.linalg import expm
from autograd.scipy.special import gammaln

# True rules of another form, as geomstats defines them: the adjoint is a block of a larger exponential.
A = onp.array([[0.1, 0.4, 0.0], [0.2, -0.3, 0.1], [0.0, 0.5, 0.2]])
weigh = lambda x: np.sum(expm(x) * onp.arange(9.0).reshape(3, 3))
mixed = lambda x: weigh(x) * np.linalg.norm(np.where(x > 0, x, 0.0)) + np.linalg.eigh(x @ x.T)[0][1]
before, turned, joined = grad(weigh)(A), jacobian(expm)(A), grad(mixed)(A)
calls = []
def adjoint(ans, x):
    def vjp(g):
        calls.append(1)
        n = x.shape[-1]
        blocks = np.zeros((2 * n, 2 * n))  # a plain array: no box can be written to it
        blocks[:n, :n] = blocks[n:, n:] = x.T
        blocks[:n, n:] = g
        return expm(blocks)[:n, n:]
    return vjp
defvjp(expm, adjoint)
assert abs(grad(weigh)(A) - before).max() < 1e-13 and calls
assert abs(jacobian(expm)(A) - turned).max() < 1e-13
assert abs(grad(mixed)(A) - joined).max() < 1e-12

# A rule that differs is in force wherever the function was imported before.
defvjp(np.sqrt, lambda ans, x: lambda g: 7.0 * g)
assert onp.sqrt(4.0) == np.sqrt(4.0) == 2.0 and grad(np.sqrt)(4.0) == 7.0
assert grad(lambda x: np.sqrt(x) + x**0.5)(4.0) == 7.25
assert (jacobian(np.sqrt)(onp.ones(2)) == 7.0 * onp.eye(2)).all()
assert value_and_grad(lambda x: np.sum(np.sqrt(x) * x))(onp.full(2, 4.0))[1].tolist() == [30.0, 30.0]
assert fg.jit(grad(np.sqrt))(4.0) == 7.0 and fg.vmap(grad(np.sqrt))(onp.full(2, 4.0)).tolist() == [7.0, 7.0]
# The other mode keeps fungrad's rule until it has one of its own.
assert make_jvp(np.sqrt)(4.0)(1.0) == (2.0, 0.25)
defjvp(np.sqrt, lambda g, ans, x: 3.0 * g)
assert make_jvp(np.sqrt)(4.0)(1.0) == (2.0, 3.0) and grad(np.sqrt)(4.0) == 7.0
defjvp(gammaln, lambda g, ans, x: 3.0 * g)
assert make_jvp(gammaln)(4.0)(1.0)[1] == 3.0 and abs(grad(gammaln)(1.0) + onp.euler_gamma) < 1e-15

# Operators and methods of arrays do not call these.
for function in (np.multiply, np.sum, np.power, np.matmul):
    try:
        defvjp(function, lambda ans, *args: lambda g: g)
    except TypeError as error:
        assert "for primitive of it" in str(error)
    else:
        raise SystemExit(function.__name__)

# Boxes keep their values.
kept = []
def remembers(x):
    y = np.sin(x) * 2.0
    kept.append(y)
    return y
jacobian(remembers)(onp.ones(2)), grad(remembers)(1.0)
assert kept[0]._value.tolist() == [2 * onp.sin(1.0)] * 2 and kept[1]._value == 2 * onp.sin(1.0)
"""


def test_rules_that_take_the_place_of_fungrads(run):
    run("-c", OVERRIDING)

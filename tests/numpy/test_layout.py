"""How the elements of results lie: as NumPy lays them out, which decides whether a reshape of one is a view or a copy."""

import itertools
import random

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core import tree
from fungrad.core.config import setting
from fungrad.core.layout import fake, layout_of
from fungrad.core.tracer import Tracer
from tests.numpy.calls import calls
from tests.numpy.checker import Call
from tests.numpy.grid import call_of

FUNCTIONS = {name: cases for name, cases in calls().items() if cases}
TURNING = {
    *("apply_along_axis", "cross", "delete", "diagonal", "linalg.cross", "linalg.multi_dot"),
    *("nanmedian", "nanpercentile", "nanquantile", "unique"),
}
"""Functions of which the layout of some result is not known, though the operands lie in C order."""


def turned(x, order):
    """Return a copy of an array whose axes lie in an order."""
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def order_of(x):
    """Return the axes of an array, the slowest first; those of one element do not count. None if it is not known."""
    if layout_of(x) is None:
        return None
    strides = x.strides if isinstance(x, np.ndarray) else fake(x.shape, layout_of(x)).strides
    return [int(a) for a in np.argsort([-abs(s) for s in strides], kind="stable") if x.shape[a] > 1]


def traced(program):
    """Run a program of no arguments under a transform."""

    def function(x):
        program()
        return x

    # Where functions are read, `type` and `isinstance` say that tracers are arrays.
    with np.errstate(all="ignore"), setting(reading=False):
        fg.grad(function)(1.0)


def orders_of_results(case):
    """Return the orders of our results and of NumPy's, and whether all operands lie in C order, for many orders of those."""
    ours = call_of(case)
    numpys = Call(case.functions()[1], case.args, case.kwargs, case.static)
    arrays = ours.traced
    ways = [
        itertools.permutations(range(x.ndim)) if x.ndim < 4 else [range(x.ndim)] for x in arrays
    ]
    found = []
    for way in itertools.islice(itertools.product(*ways), 12):
        given = [turned(x, o) if x.ndim > 1 else x for x, o in zip(arrays, way, strict=True)]
        ordered = all(x.flags.c_contiguous for x in given if isinstance(x, np.ndarray))

        def program(given=given, ordered=ordered):
            results = ours(*[fnp.array(x) if x.ndim else x for x in given])
            expected = numpys(*given)
            for x, y in zip(tree.leaves(results), tree.leaves(expected), strict=True):
                if type(x) is Tracer and x.ndim > 1 and isinstance(y, np.ndarray):
                    found.append((order_of(x), order_of(y), ordered))

        traced(program)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_as_numpys_or_it_is_not_known_how(name):
    for case in FUNCTIONS[name]:
        for found, expected, ordered in orders_of_results(case):
            if found is None:
                assert not ordered or name in TURNING, case
            else:
                assert found == expected, case


@pytest.mark.parametrize(
    "name",
    ["add", "sin", "where", "clip", "divmod", "linalg.matmul", "tensordot", "take", "copy"],
)
def test_of_the_commonest_functions_it_is_known(name):
    found = [f for case in FUNCTIONS[name] for f, _, _ in orders_of_results(case)]
    assert found
    assert None not in found


INDICES = {
    "i": np.array([0, 1]),
    "I": np.array([[0, 1, 2], [1, 2, 0]]),
    "m": np.array([True, True, False]),
    "l": [2, 0],
    ":": slice(None),
    "s": slice(0, None, 2),
    "r": slice(None, None, -1),
    "n": None,
    "0": 0,
    "e": Ellipsis,
}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_elements_lie_as_numpys(order):
    x = turned(np.arange(360.0).reshape(3, 4, 5, 6), order)
    keys = [k for k in itertools.product(INDICES, repeat=3) if k.count("e") < 2]
    known = []

    def program():
        y = fnp.array(x)
        for letters in random.Random(str(order)).sample(keys, 100):
            key = tuple(INDICES[c] for c in letters)
            try:
                expected = x[key]
            except IndexError:
                continue
            found = y[key]
            if found.ndim > 1 and found.size:
                assert order_of(found) in (None, order_of(expected)), letters
                known.append(order_of(found) is not None)

    traced(program)
    assert all(known)
    assert len(known) > 30


PROGRAMS = """
y = x + x ; z = y.reshape(-1)
y = x.T + x.T ; z = y.reshape(-1)
y = np.positive(x.T) ; z = y.ravel()
y = x.T.astype(complex).real ; z = y.reshape(-1)
y = x.T.astype(np.float32) ; z = y.reshape(-1)
y = x.T * 2.0 ; z = y.T.reshape(-1)
y = np.where(x.T > 0, x.T, 0) ; z = y.reshape(-1)
y = np.add(x.T, np.ones(x.shape[::-1])) ; z = y.reshape(-1)
y = np.add(x.T, np.ones(x.shape).T) ; z = y.reshape(-1)
y = x.T.copy() ; z = y.reshape(-1)
y = x.T.copy(order="K") ; z = y.reshape(-1)
y = x[:, [0, 2]] ; z = y.reshape(-1)
y = x[:, [0, 2]] ; z = y.T.ravel()
y = x[[0, 1]] ; z = y.reshape(-1)
y = x @ x.T ; z = y.reshape(-1)
y = np.einsum("ij,kj->ki", x, x) ; z = y.reshape(-1)
y = np.einsum("ij->ji", x) * 1 ; z = y.reshape(-1)
y = x.reshape(-1, 2, order="F") * 1 ; z = y.reshape(-1)
y = np.zeros_like(x.T) + np.sum(x) ; z = y.reshape(-1)
y = (x[None] + x[:, None]).transpose(1, 0, 2) + 1 ; z = y.reshape(y.shape[0], -1)[0]
y = (x[None] + x[:, None]).transpose(1, 0, 2) + 1 ; z = y.transpose(1, 0, 2).reshape(-1)
y = -x.T ; y[...] = y ; z = y.reshape(-1)
y = x.T[::-1] * 1 ; z = y.T.reshape(-1)
y = np.divmod(x.T, 2)[0] ; z = y.T.reshape(-1)
y = np.ascontiguousarray(x.T + 1) ; z = y.reshape(-1)
y = x.T + 1 ; z = np.ascontiguousarray(y)[0]
y = x.T + 1 ; z = np.asfortranarray(y)[0]
"""
ARRAYS = {
    "C": np.arange(1.0, 13.0).reshape(3, 4),
    "F": np.asfortranarray(np.arange(1.0, 13.0).reshape(3, 4)),
    "with gaps": np.arange(1.0, 49.0).reshape(8, 6).T[::2, ::2],
}


def written(text):
    """Return a program that writes into `y` and `z`, which may show the same elements."""
    code = compile("\n".join(line.strip() for line in text.split(" ; ")), "program", "exec")

    def program(x):
        scope = {"np": fnp, "x": x}
        exec(code, scope)
        y, z = scope["y"], scope["z"]
        z[1] = np.sum(x) * 100
        y[-1, 0] = -np.sum(x)
        return y, z

    return program


WAYS = {
    "vjp": lambda f, x: fg.vjp(f, x)[0],
    "jit": lambda f, x: fg.jit(f)(x),
    "jit of vjp": lambda f, x: fg.jit(lambda x: fg.vjp(f, x)[0])(x),
    "vjp of jit": lambda f, x: fg.vjp(fg.jit(f), x)[0],
    "vmap": lambda f, x: [a[0] for a in fg.vmap(f, 2)(np.stack([x, x], 2))],
    "custom": lambda f, x: fg.vjp(fg.checkpoint(f), x)[0],
}


@pytest.mark.parametrize("lies", ARRAYS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", PROGRAMS.strip().splitlines())
def test_writing_through_a_reshape_changes_what_it_changes_in_numpy(text, way, lies):
    program, x = written(text), ARRAYS[lies]
    if way == "vmap":
        x = np.stack([x, x], 2)[..., 0]
    for found, expected in zip(WAYS[way](program, x), program(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_jitted_function_is_right_for_arrays_of_every_layout_in_any_order_of_calls():
    program = written("y = x + 1 ; z = y.reshape(-1)")
    for names in itertools.permutations(ARRAYS):
        f = fg.jit(program)
        for name in (*names, *names):
            for found, expected in zip(f(ARRAYS[name]), program(ARRAYS[name]), strict=True):
                np.testing.assert_array_equal(found, expected)
        assert f.cache_info().currsize == 3


def test_a_function_that_assigns_to_nothing_is_compiled_once():
    f = fg.jit(lambda x: (x + 1).reshape(-1))
    for x in ARRAYS.values():
        np.testing.assert_array_equal(f(x), (x + 1).reshape(-1))
    assert f.cache_info().currsize == 1


@pytest.mark.parametrize("target", ["z", "y", "z[1:]", "y[0]"])
@pytest.mark.parametrize(
    "maker", ["np.sort(x.T)", "np.cumsum(x.T, 0)", "np.concatenate([x.T, x.T])"]
)
def test_writing_to_what_may_be_a_view_or_a_copy_names_the_way_out(maker, target):
    def program(x):
        scope = {"np": fnp, "x": x}
        exec(f"y = {maker}\nz = y.reshape(-1)\n{target}[...] = 0\n", scope)
        return scope["y"]

    for way in (fg.jit, lambda f: lambda x: fg.vjp(f, x)[0]):
        with pytest.raises(
            TypeError, match=r"(?s)depends on how NumPy lays it out.*y = y.copy\(\)"
        ):
            way(program)(ARRAYS["C"])


def test_what_may_be_a_view_can_be_read_and_forgotten():
    def program(x):
        y = np.sort(x.T)
        s = y.reshape(-1)[::2].sum()
        y[0] = s
        return y

    expected = program(ARRAYS["C"])
    np.testing.assert_array_equal(fg.jit(program)(ARRAYS["C"]), expected)
    np.testing.assert_array_equal(fg.vjp(program, ARRAYS["C"])[0], expected)


def test_a_compiled_copy_lies_in_c_order_as_numpys_does():
    def f(u):
        u = u.copy()
        z = u[:1]
        z *= -1.5
        return u

    turned = np.ones((2, 3)).T * 2
    assert turned.flags.f_contiguous
    assert fg.jit(f)(turned).flags.c_contiguous
    assert fg.jit(lambda x: fg.at(x)[0].set(1.0))(turned).flags.c_contiguous
    assert fg.jit(lambda x, i: fg.at(x)[i].set(1.0))(turned, np.int64(1)).flags.c_contiguous


def test_the_imaginary_part_of_real_numbers_lies_as_numpys_does():
    def f(x):
        v = x.diagonal().imag.T.ravel()  # a copy: one may write to it
        v[-2:] += 1
        return v

    x = np.arange(12.0).reshape(2, 2, 3)
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))


@pytest.mark.parametrize("make", [fnp.transpose, fnp.asfortranarray, lambda x: x[:, ::2]])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (4, 4), (1, 3)])
def test_a_diagonal_of_what_lies_otherwise_is_a_view(make, shape):
    """NumPy copies one that has gaps, as of all matrices but those with one row or one column, and shows any other."""

    def f(x):
        v = fnp.ascontiguousarray(fnp.diagonal(make(x.copy())))
        v[:1] = 7.0
        return v

    x = np.arange(float(np.prod(shape))).reshape(shape)
    try:
        expected = f(x)
    except ValueError:
        with pytest.raises(ValueError, match="read-only"):
            fg.jit(f)(x)
    else:
        np.testing.assert_array_equal(fg.jit(f)(x), expected)
        np.testing.assert_array_equal(fg.vjp(f, x)[0], expected)


LOOPS = {
    "scan, its last carry": lambda v: lax.scan(lambda c, r: (c + 1, r), v, v)[0],
    "scan, a carry handed on": lambda v: lax.scan(lambda c, r: (c, r), v, v)[0],
    "scan, rows": lambda v: lax.scan(lambda c, r: (c, r * 2), v, v)[1],
    "scan, stacked carries": lambda v: lax.scan(lambda c, r: (c, c), v, v)[1],
    "scan, stacked results": lambda v: lax.scan(lambda c, r: (c, np.sin(c)), v, v)[1],
    "map": lambda v: lax.map(lambda r: v, v),
    "fori_loop": lambda v: lax.fori_loop(0, 2, lambda i, c: c * 2, v),
    "while_loop": lambda v: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 2, v),
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_loops_give_lies_in_c_order_traced_or_not(name):
    def f(x):
        y = LOOPS[name](np.sin(x.T))
        y.reshape(-1)[1] = 99.0
        return y

    x = np.arange(6.0).reshape(2, 3)
    expected = f(x)
    assert expected.reshape(-1)[1] == 99
    for way in (WAYS["vjp"], WAYS["jit"]):
        np.testing.assert_array_equal(way(f, x), expected)


COPIES = {
    "array": fnp.array,
    "copy": fnp.copy,
    "method": lambda x: x.copy("K"),
    "astype": lambda x: x.astype(np.float64),
    "full_like": lambda x: fnp.full_like(x, 2.0),
    "zeros_like": fnp.zeros_like,
    "product": lambda x: x * 1.0,
    "sum": lambda x: x + x,
    "where": lambda x: fnp.where(x > 2, x, 0.0),
    "sqrt": fnp.sqrt,
}


def broadcast_arrays_of_all_kinds():
    """Yield arrays of two to four axes, along some of which all elements are one, in any order of axes."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        shape = rng.integers(1, 4, rng.integers(2, 5))
        lengths = np.where(rng.random(len(shape)) < 0.5, 1, shape)
        x = np.arange(1.0, 1 + lengths.prod()).reshape(lengths)
        yield np.broadcast_to(x, shape).transpose(rng.permutation(len(shape)))


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_broadcast_arrays_lie_as_numpys(name):
    def changed(x):
        y = COPIES[name](x)
        y.reshape(-1)[::3] = 0  # of the array itself, or of a copy
        return y

    for x in broadcast_arrays_of_all_kinds():
        for found in (fg.jit(changed)(x), fg.vjp(changed, x)[0]):
            np.testing.assert_array_equal(found, changed(x), f"{x.shape} {x.strides}")

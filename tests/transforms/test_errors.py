"""Each error's words, that it names the user's line, and that its traceback shows only user code."""

import contextlib
import dataclasses
import linecache
import math
import os
import re
import traceback
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core import sections
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.tracer import current_trace
from fungrad.core.types import ArrayType
from fungrad.reporting import explanations

LIBRARY = str(Path(fg.__file__).parent) + os.sep


def library_frames(error):
    """The frames of the library in the traceback of an error and of what caused it."""
    found = []
    while error is not None:
        frames = [f for f, _ in traceback.walk_tb(error.__traceback__)]
        found.append([f.f_code.co_name for f in frames if f.f_code.co_filename.startswith(LIBRARY)])
        shown = None if error.__suppress_context__ else error.__context__
        error = error.__cause__ or shown
    return found


def line_of(function, marker="HERE"):
    """The number of the line of `function` that has the comment `# HERE`."""
    first = function.__code__.co_firstlineno
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(n for n, line in enumerate(lines[first - 1 :], first) if f"# {marker}" in line)


def caught(call, kinds=Exception):
    with pytest.raises(kinds) as info:
        call()
    return info.value


# Errors found while the function runs: each names the line in it that is at fault.


def branch(x):
    y = fnp.sum(x)
    if y > 0:  # HERE
        return y
    return -y


def loop(x):
    n = fnp.sum(x)
    while n > 1:  # HERE
        n = n / 2
    return n


def to_float(x):
    y = fnp.sum(x)
    return y * float(y)  # HERE


def to_int(x):
    y = fnp.sum(x)
    return y * int(y)  # HERE


def to_complex(x):
    y = fnp.sum(x)
    return y * complex(y).real  # HERE


def to_item(x):
    return fnp.sum(x) * fnp.sum(x).item()  # HERE


def to_list(x):
    return fnp.sum(x) * len(x.tolist())  # HERE


def to_index(x):
    n = fnp.argmax(x)
    return fnp.sum(x) * [1.0, 2.0, 3.0][n]  # HERE


def to_range(x):
    y = fnp.sum(x)
    for _ in range(fnp.argmax(x)):  # HERE
        y = y * 2
    return y


def to_shape(x):
    return fnp.sum(fnp.reshape(x, (fnp.argmax(x), 1)))  # HERE


def negation(x):
    return 1.0 if not fnp.sum(x) else fnp.sum(x)  # HERE


def maximum(x):
    return max(fnp.sum(x), 0.0)  # HERE


def masked(x):
    return fnp.sum(np.sort(x[x > 0]))  # HERE


ASKING = [branch, loop, to_float, to_int, to_complex, to_item, to_list, to_index, to_range]
ASKING += [to_shape, negation, maximum, masked]
WITHOUT_VALUES = {
    "jit": lambda f: lambda x: fg.jit(f)(x),
    "vmap": lambda f: lambda x: fg.vmap(f)(np.stack([x, x])),
    "make_expr": lambda f: lambda x: fg.make_expr(f)(x),
    "eval_shape": lambda f: lambda x: fg.eval_shape(f, x),
    "linear_transpose": lambda f: lambda x: fg.linear_transpose(f, x),
    "grad.jit": lambda f: lambda x: fg.grad(fg.jit(f))(x),
    "jit.grad": lambda f: lambda x: fg.jit(fg.grad(f))(x),
    "vmap.grad": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, x])),
    "grad.vmap": lambda f: lambda x: fg.grad(lambda x: fg.vmap(f)(np.ones((2, 3)) * x).sum())(x),
    "vmap.jit": lambda f: lambda x: fg.vmap(fg.jit(f))(np.stack([x, x])),
}


@pytest.mark.parametrize("transform", WITHOUT_VALUES)
@pytest.mark.parametrize("f", ASKING)
def test_asking_for_a_value_where_there_is_none(f, transform, as_written):
    error = caught(lambda: WITHOUT_VALUES[transform](f)(np.ones(3)), fg.ConcretizationError)
    assert isinstance(error, TypeError)
    message = str(error)
    assert f"test_errors.py:{line_of(f)} (in {f.__name__})" in message
    assert re.search("needs the value|depends on its values", message)
    assert re.search(r"fungrad\.numpy|static_argnums|index an array|x\[i\]", message)
    # Which function is traced: the innermost transform that takes away the value.
    assert re.search(r"under `(jit|vmap|make_expr|eval_shape|linear_transpose)\(", message)
    assert all(len(frames) <= 1 for frames in library_frames(error))


def test_the_advice_fits_what_was_asked(as_written):
    message = lambda f: str(caught(lambda: fg.jit(f)(np.ones(3)), fg.ConcretizationError))
    assert "fungrad.numpy.where" in message(branch)
    assert "static_argnums" in message(branch)
    assert "0-d" in message(to_float)
    assert "known when the function is traced" in message(to_range)
    for f, type_ in ((branch, "bool[]"), (to_float, "float64[]"), (to_range, "int64[]")):
        assert f"a tracer of type {type_}" in message(f)


def test_outer_tracers_without_values_are_named_by_their_own_transform(as_written):
    def f(x):
        return fg.grad(lambda y: y * y if x > 0 else y)(1.0)  # HERE

    error = caught(lambda: fg.jit(f)(1.0), fg.ConcretizationError)
    assert "under `jit(f)`" in str(error)
    assert f"test_errors.py:{line_of(f)}" in str(error)


# Leaked tracers


def leak(transform, x):
    kept = []

    def f(x):
        y = x * 2  # LEAK
        kept.append(y)
        return fnp.sum(y)

    transform(f)(x)
    return kept[0]


LEAKING = {
    "grad": fg.grad,
    "jit": fg.jit,
    "vmap": lambda f: lambda x: fg.vmap(f)(x[None]),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: fg.vjp(f, x),
    "linearize": lambda f: lambda x: fg.linearize(f, x),
    "make_expr": fg.make_expr,
}
USES = {
    "add": lambda t: t + 1,
    "radd": lambda t: 1 + t,
    "same": lambda t: t * t,
    "array": lambda t: np.ones(3) - t,
    "negate": lambda t: -t,
    "function": lambda t: fnp.sin(t),
    "numpy": lambda t: np.sin(t),
    "sum": lambda t: fnp.sum(t),
    "index": lambda t: t[0],
    "method": lambda t: t.reshape(3, 1),
    "bool": lambda t: bool(t),
    "item": lambda t: t.tolist(),
    "compare": lambda t: t > 0,
    "in grad": lambda t: fg.grad(lambda x: fnp.sum(x * t))(np.ones(3)),
    "in jit": lambda t: fg.jit(lambda x: x * t)(np.ones(3)),
    "in vmap": lambda t: fg.vmap(lambda x: x * t)(np.ones(3)),
    "returned": lambda t: fg.jit(lambda x: t)(1.0),
    "argument of jit": lambda t: fg.jit(lambda x: x + 1)(t),
    "argument of grad": lambda t: fg.grad(fnp.sum)(t),
    "argument of vmap": lambda t: fg.vmap(fnp.sin)(t),
}


@pytest.mark.parametrize("use", USES)
def test_leaked_tracer(use):
    for name, transform in LEAKING.items():
        tracer = leak(transform, np.ones(3))
        error = caught(lambda: USES[use](tracer), fg.LeakedTracerError)  # noqa: B023
        message = str(error)
        assert isinstance(error, RuntimeError)
        assert re.match(r"at test_errors\.py:\d+ ", message)  # where it is used
        assert f"a tracer of type float64[3] is used after `{name}(f)` has returned" in message
        origin = f"test_errors.py:{line_of(leak, 'LEAK')} (in f): y = x * 2"
        assert f"it was computed at {origin}" in message
        assert "Return the value from the function" in message


@pytest.mark.parametrize("use", USES)
def test_traceback_of_the_use_of_a_leaked_tracer(use):
    for transform in LEAKING.values():
        error = caught(lambda: USES[use](leak(transform, np.ones(3))), fg.LeakedTracerError)  # noqa: B023
        assert all(len(frames) <= 1 for frames in library_frames(error))


def test_leaked_argument():
    kept = []
    fg.jit(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(fg.LeakedTracerError, match="it is one of the function's arguments"):
        kept[0] + 1


def test_tracer_of_an_inner_function_leaked_to_the_outer():
    def outer(x):
        kept = []
        fg.grad(lambda y: kept.append(y * y) or y)(x)
        return x * kept[0]  # HERE

    error = caught(lambda: fg.grad(outer)(2.0), fg.LeakedTracerError)
    assert f"test_errors.py:{line_of(outer)}" in str(error)


def test_showing_a_leaked_tracer():
    tracer = leak(fg.jit, np.ones(3))
    for shown in (repr(tracer), str(tracer), f"{tracer}"):  # debuggers and pytest do this
        assert "float64[3]" in shown


# Arrays


def make_array(x):
    return fnp.sum(np.asarray(x))  # HERE


def make_array_of_list(x):
    return np.array([fnp.sum(x), fnp.sum(x)]).sum()  # HERE


def set_item(x):
    x[0] = 3.0  # HERE
    return fnp.sum(x)


def write_into_array(x):
    out = np.zeros(3)
    out[:] = x  # HERE
    return fnp.sum(out)


def write_number_into_array(x):
    out = np.zeros(3)
    out[0] = fnp.sum(x)  # HERE
    return fnp.sum(out)


def add_into_array(x):
    out = np.zeros(3)
    out += x  # HERE
    return fnp.sum(out)


def out_argument(x):
    out = np.zeros(3)
    np.multiply(x, 2, out=out)  # HERE
    return fnp.sum(out)


@pytest.mark.parametrize("transform", ["grad", "jit", "vmap"])
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (make_array_of_list, r"cannot become a NumPy array(.|\n)*fungrad\.numpy|stack"),
        (write_into_array, r"set to a tracer(.|\n)*fungrad\.numpy\.zeros"),
        (write_number_into_array, r"set to a tracer(.|\n)*fungrad\.numpy\.zeros"),
        (add_into_array, r"out|in place"),
        (out_argument, r"out"),
    ],
)
def test_tracers_are_not_arrays(f, words, transform, as_written):
    if transform == "vmap":
        call = lambda: fg.vmap(f)(np.ones((2, 3)))
    else:
        call = lambda: {"grad": fg.grad, "jit": fg.jit}[transform](f)(np.ones(3))
    error = caught(call, (TypeError, ValueError))
    assert re.search(words, str(error))
    shown = "".join(traceback.format_exception(error))
    assert f", line {line_of(f)}, in {f.__name__}" in shown
    assert all(len(frames) <= 1 for frames in library_frames(error))


WITH_PLAIN_ARRAYS = {  # the statement, and what the message says to write
    "c.sum(initial=t)": r"fungrad\.numpy\.sum\(c, \.\.\.\)",
    "c.max(initial=t)": r"fungrad\.numpy\.max\(c, \.\.\.\)",
    "c.dot(t)": r"fungrad\.numpy\.dot\(c, \.\.\.\)",
    "c.fill(t)": r"c = fungrad\.numpy\.array\(c\)",
    "c.put(0, t)": r"c = fungrad\.numpy\.array\(c\)",
    "c.setfield(t, float)": r"c = fungrad\.numpy\.array\(c\)",
    "c[0] = t": r"fungrad\.numpy\.array\(a\)",
    "c[1:] = t": r"fungrad\.numpy\.array\(a\)",
    "c.flat = t": r"fungrad\.numpy\.array\(a\)",
    "c.flat[0] = t": r"fungrad\.numpy\.array\(a\)",
    "c.flat[1:] = t": r"fungrad\.numpy\.array\(a\)",
    "z.real = t": r"fungrad\.numpy\.array\(a\)",
    "c += t": r"fungrad\.numpy\.array\(a\)",
    "np.place(c, c > 0, t)": r"fungrad\.numpy\.array\(a\)",
    "np.putmask(c, c > 0, t)": r"fungrad\.numpy\.array\(a\)",
    "np.sum(c, initial=t)": r"fungrad\.numpy\.sum\(\.\.\.\)",
    "np.linalg.pinv(m, rcond=t)": r"fungrad\.numpy\.linalg\.pinv\(\.\.\.\)",
    "np.full(3, t)": r"fungrad\.numpy\.full\(\.\.\.\)",
    "np.add.reduce(c, initial=t)": r"np\.add\(np\.add\.reduce\(\.\.\.\), initial\)",
}


@pytest.mark.parametrize("x", [1.5, 2], ids=["float", "int"])
@pytest.mark.parametrize("statement", WITH_PLAIN_ARRAYS)
def test_plain_arrays_and_a_traced_number(statement, x, as_written):
    text = f"def f(t):\n    c, z, m = np.ones(3), np.ones(3) * 1j, np.eye(3)\n    {statement}\n"
    file = f"<{statement}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)
    error = caught(lambda: fg.jit(scope["f"])(x), TypeError)
    assert f"at {file}:3 (in f): {statement}\n" in str(error)
    assert re.search(WITH_PLAIN_ARRAYS[statement], str(error))
    assert isinstance(error, fg.LostDerivativeError if type(x) is float else fg.FungradError)


def test_a_traced_array_as_out_of_a_method_of_a_plain_one():
    with pytest.raises(TypeError) as error:
        fg.jit(lambda x: np.ones(3).cumsum(out=fnp.sin(x)))(np.ones(3))
    assert "fungrad.numpy.cumsum(a, out=x)" in str(error.value)


def test_what_flat_says_of_other_objects_is_numpy_s(as_written):
    def f(x):
        c = np.ones(3)
        with contextlib.suppress(ValueError):
            c.flat[0] = x  # HERE
        if wrong:
            c.flat[0] = "a"
        return x

    for wrong in (True, False):  # noqa: B007 - read by f: what was swallowed comes first
        message = str(caught(lambda: fg.jit(f)(1.0), fg.LostDerivativeError))
        assert f"test_errors.py:{line_of(f)} (in f)" in message

    def g(x):
        np.ones(3).flat[0] = "a"
        return x

    assert type(caught(lambda: fg.jit(g)(1.0), ValueError)) is ValueError


def test_asarray_names_the_line(as_written):
    f = lambda x: np.asarray([x, x]).sum()  # HERE
    message = str(caught(lambda: fg.jit(f)(1.0), TypeError))
    assert f"test_errors.py:{line_of(f)}" in message


def test_tracer_cannot_be_assigned_to():
    error = caught(lambda: fg.grad(set_item)(np.ones(3)), TypeError)
    assert re.search(r"is changed in place.*x\.copy\(\)", str(error))
    shown = "".join(traceback.format_exception(error))
    assert f", line {line_of(set_item)}, in set_item" in shown


def test_tracers_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        fg.grad(lambda x: {x: 1} and x)(1.0)


def test_shape_mismatch_names_the_line_and_both_shapes():
    def dot(x):
        return fnp.sum(fnp.dot(x, np.ones((4, 2))))  # HERE

    def matmul(x):
        return fnp.sum(x @ np.ones((4, 2)))  # HERE

    def plus(x):
        return fnp.sum(x + np.ones(4))  # HERE

    def stack(x):
        return fnp.sum(fnp.concatenate([x, np.ones((2, 2))]))  # HERE

    def reshape(x):
        return fnp.sum(fnp.reshape(x, (2, 2)))  # HERE

    for f, shapes in [
        (dot, r"dot of float64\[3\] and float64\[4,2\]"),
        (matmul, r"matmul of float64\[3\] and float64\[4,2\]"),
        (plus, r"\(3,\).*\(4,\)"),
        (stack, r"dimension.*concatenate of float64\[3\] and float64\[2,2\]"),
        (reshape, r"reshape.*size 3.*\(2, ?2\)"),
    ]:
        for transform in (fg.grad, fg.jit):
            error = caught(lambda: transform(f)(np.ones(3)), (ValueError, TypeError))  # noqa: B023
            assert type(error) is ValueError  # as NumPy's
            assert re.search(shapes, str(error)), (f, str(error))
            shown = "".join(traceback.format_exception(error))
            assert f", line {line_of(f)}, in {f.__name__}" in shown
            assert all(len(frames) <= 1 for frames in library_frames(error))


A, V = np.ones((3, 4)), np.ones(5)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: x @ A, r"matmul of float64\[3,4\] and float64\[3,4\]"),
        (lambda x: V @ x, r"matmul of float64\[5\] and float64\[3,4\]"),
        (
            lambda x: np.einsum("ij,jk", x, A),
            r"einsum 'ij,jk' of float64\[3,4\] and float64\[3,4\]",
        ),
        (lambda x: np.vecdot(x, V), r"vecdot of float64\[3,4\] and float64\[5\]"),
        (lambda x: np.inner(V, x), r"inner of float64\[5\] and float64\[3,4\]"),
        (lambda x: np.vdot(x, V), r"in numpy\.vdot of float64\[3,4\] and float64\[5\]"),
        (lambda x: np.tensordot(x, A, 1), r"\(1,\) of float64\[3,4\] and \(0,\) of float64\[3,4\]"),
        (
            lambda x: np.linalg.solve(x, V),
            r"in numpy\.linalg\.solve of float64\[3,4\] and float64\[5\]",
        ),
        (lambda x: np.linalg.solve(x.T @ x, V), r"solve of float64\[4,4\] and float64\[5\]"),
        (lambda x: np.linalg.inv(x), r"in numpy\.linalg\.inv of float64\[3,4\]"),
        (
            lambda x: np.linalg.multi_dot([x, A, V]),
            r"multi_dot of float64\[3,4\] and .* and float64\[5\]",
        ),
        (lambda x: np.stack([x, V]), r"in numpy\.stack of float64\[3,4\] and float64\[5\]"),
        (lambda x: np.vstack([x, V]), r"in numpy\.vstack of float64\[3,4\] and float64\[5\]"),
        (lambda x: fnp.hstack([x, V[:, None]]), r"of float64\[3,4\] and float64\[5,1\]"),
        (lambda x: np.block([[x, V]]), r"concatenate of float64\[3,4\] and float64\[1,5\]"),
        (
            lambda x: np.where(x > 0, V, x),
            r"where of bool\[3,4\] and float64\[5\] and float64\[3,4\]",
        ),
        (lambda x: np.clip(x, V, V), r"of float64\[5\] and float64\[3,4\] and float64\[5\]"),
        (lambda x: np.broadcast_to(x, (2, 2)), r"in numpy\.broadcast_to of float64\[3,4\]"),
        (
            lambda x: np.interp(x, V[:2], V),
            r"interp of float64\[3,4\] and float64\[2\] and float64\[5\]",
        ),
        (lambda x: x.sum(5), r"in numpy\.sum of float64\[3,4\]"),
        (lambda x: x.reshape(5, 5), r"in numpy\.reshape of float64\[3,4\]"),
        (lambda x: fnp.array([x[0], V]), r"array of float64\[4\] and float64\[5\]"),
    ],
)
def test_mismatches_name_all_operands(f, words, transform):
    error = caught(lambda: transform(lambda x: fnp.sum(f(x)))(A), (ValueError, IndexError))
    assert re.search(words, f"{error}\n{notes(error)}")
    assert notes(error).count("in numpy") <= 1


def test_errors_of_a_function_given_to_numpy_are_not_numpy_s():
    error = caught(lambda: fg.grad(lambda x: np.apply_along_axis(raises, 0, x).sum())(A), Own)
    assert not notes(error)


def test_index_out_of_bounds():
    def f(x):
        return x[5]  # HERE

    for transform in (fg.grad, fg.jit):
        error = caught(lambda: transform(f)(np.ones(3)), IndexError)  # noqa: B023
        assert "index 5 is out of bounds for axis 0 with size 3" in str(error)
        assert f", line {line_of(f)}, in f" in "".join(traceback.format_exception(error))
        assert all(len(frames) <= 1 for frames in library_frames(error))


own_ufunc = np.frompyfunc(lambda x: x, 1, 1)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: np.savetxt("never written", x), r"numpy\.savetxt"),  # HERE
        (lambda x: own_ufunc(x).sum(), "<lambda>"),  # HERE
    ],
)
def test_functions_without_a_rule(f, name, transform):
    error = caught(lambda: transform(f)(np.ones(3)), TypeError)
    assert re.search(name + ".* has no rule for traced arrays", str(error))
    assert f"test_errors.py:{line_of(f)}" in str(error)
    assert all(len(frames) <= 1 for frames in library_frames(error))


# grad


def no_scalar(x):
    return x * 2


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: fg.grad(no_scalar)(np.ones(3)),
            TypeError,
            r"grad\(no_scalar\) needs a function that returns a scalar.*float64\[3\].*\.sum\(\)",
        ),
        (lambda: fg.grad(lambda x: (x, x))(1.0), TypeError, "one scalar.*tuple.*has_aux=True"),
        (lambda: fg.grad(lambda x: None)(1.0), TypeError, "one scalar.*None"),
        (lambda: fg.grad(lambda x: "s")(1.0), TypeError, "not an array|one scalar|arrays"),
        (lambda: fg.grad(lambda x: x > 0)(1.0), TypeError, r"real number; got bool\[\]"),
        (lambda: fg.grad(lambda x: 3)(1.0), TypeError, r"real number; got int64"),
        (lambda: fg.grad(lambda x: x * 1j)(1.0), TypeError, "real part.*holomorphic=True"),
        (lambda: fg.grad(lambda x: x)(1), TypeError, r"int64.*Pass a float"),
        (lambda: fg.grad(lambda x: x)(np.arange(3)), TypeError, r"int64\[3\].*allow_int"),
        (lambda: fg.grad(lambda x: x)(True), TypeError, "bool"),
        (lambda: fg.grad(lambda x: x)("text"), TypeError, r"'text' of type str is not an array"),
        (lambda: fg.grad(lambda x: x)(object()), TypeError, "of type object is not an array"),
        (lambda: fg.grad(lambda x: x)(np.array(["a"])), TypeError, "dtype <U1 cannot be traced"),
        (lambda: fg.grad(lambda x: x)(np.array([None])), TypeError, "dtype object cannot be"),
        (
            lambda: fg.grad(lambda x: x, 2)(1.0),
            ValueError,
            "argnums=2 needs at least 3 positional arguments, but the call has 1",
        ),
        (lambda: fg.grad(lambda x: x, -2)(1.0), ValueError, "argnums=-2 needs at least 2"),
        (lambda: fg.grad(lambda x: x, (0, 3))(1.0), ValueError, "argnums=3 needs at least 4"),
        (lambda: fg.grad(lambda x: x)(x=1.0), ValueError, "pass them by position"),
        (
            lambda: fg.grad(lambda x: x, holomorphic=True)(1.0),
            TypeError,
            "must be complex, and argument 0 is of type float64",
        ),
        (lambda: fg.grad(lambda x: x, has_aux=True)(1.0), TypeError, r"pair \(value, aux\)"),
        (
            lambda: fg.grad(lambda x: (x, 1, 2), has_aux=True)(1.0),
            TypeError,
            r"pair \(value, aux\); it returned tuple",
        ),
        (
            lambda: fg.jvp(lambda x: x, has_aux=True, primals=(1.0,), tangents=(1.0,)),
            TypeError,
            "pair",
        ),
        (lambda: fg.vjp(lambda x: x, 1.0, has_aux=True), TypeError, "pair"),
    ],
)
def test_messages_of_grad(call, kind, words):
    error = caught(call, kind)
    assert type(error) is kind
    assert re.search(words, str(error)), str(error)
    assert all(len(frames) <= 1 for frames in library_frames(error))


# Directions


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: fg.jvp(fnp.sin, (np.ones(3),), (np.ones(2),)),
            r"tangent 0 has type float64\[2\].*of type float64\[3\]",
        ),
        (lambda: fg.jvp(fnp.sin, (np.ones(3),), (1.0,)), "tangent 0 has type float64"),
        (
            lambda: fg.jvp(fnp.sin, (np.ones(3),), (np.ones(3, np.float32),)),
            r"float32\[3\].*float64\[3\].*astype\(float64\)",
        ),
        (lambda: fg.jvp(fnp.sin, (np.ones(3),), (np.ones(3, int),)), r"int64\[3\]"),
        (lambda: fg.jvp(fnp.sin, (1.0,), (1j,)), "complex128"),
        (lambda: fg.jvp(lambda n: n * 1.0, (np.arange(3),), (np.ones(3),)), "must be float0"),
        (lambda: fg.jvp(lambda n: n * 1.0, (np.arange(3),), (np.arange(3),)), "must be float0"),
        (lambda: fg.jvp(fnp.sin, (1.0,), (1.0, 2.0)), "same structure"),
        (lambda: fg.jvp(lambda t: t["a"], ({"a": 1.0},), ({"b": 1.0},)), "same structure"),
        (lambda: fg.jvp(fnp.sin, 1.0, 1.0), "primals must be a tuple or list, not float"),
        (lambda: fg.jvp(fnp.sin, (1.0,), 1.0), "tangents must be a tuple or list, not float"),
        (lambda: fg.vjp(fnp.sin, np.ones(3))[1](np.ones(2)), r"cotangent 0 has type float64\[2\]"),
        (lambda: fg.vjp(fnp.sin, np.ones(3))[1](1.0), "cotangent 0 has type float64"),
        (
            lambda: fg.vjp(fnp.sin, np.ones(3))[1](np.ones(3, np.float32)),
            r"cotangent 0 has type float32\[3\]",
        ),
        (lambda: fg.vjp(fnp.sin, 1.0)[1]((1.0,)), "structure of the result"),
        (lambda: fg.vjp(lambda x: (x, x), 1.0)[1](1.0), "structure of the result"),
        (lambda: fg.vjp(fnp.sin, 1.0)[1]("text"), "'text' of type str"),
        (lambda: fg.vjp(lambda x: x > 0, 1.0)[1](1.0), "must be float0"),
        (lambda: fg.linearize(fnp.sin, np.ones(3))[1](np.ones(2)), "tangent 0 has type"),
        (lambda: fg.linearize(fnp.sin, 1.0)[1](1.0, 2.0), "structure of the arguments"),
        (lambda: fg.linear_transpose(lambda x: x, 1.0)(np.ones(2)), "cotangent 0 has type"),
        (lambda: fg.linear_transpose(lambda x: x, np.arange(3)), "must be floating-point"),
        (lambda: fg.hvp(fnp.sin)(1.0, np.ones(2)), "tangent 0 has type"),
        (lambda: fg.vjp(lambda s: s, "text"), "'text' of type str is not an array"),
        (lambda: fg.vjp(lambda t: t["a"], {"a": "text"}), r"\['a'\].*'text' of type str"),
    ],
)
def test_messages_of_directions(call, words):
    error = caught(call, TypeError)
    assert re.search(words, str(error)), str(error)
    assert all(len(frames) <= 1 for frames in library_frames(error))


# Results


def returns_text(x):
    return {"x": x, "text": "text"}


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.jit(returns_text)(1.0),
        lambda: fg.vmap(returns_text)(np.ones(3)),
        lambda: fg.vjp(returns_text, 1.0),
        lambda: fg.jvp(returns_text, (1.0,), (1.0,)),
        lambda: fg.linearize(returns_text, 1.0),
        lambda: fg.linear_transpose(returns_text, 1.0),
        lambda: fg.jacfwd(returns_text)(1.0),
        lambda: fg.jacrev(returns_text)(1.0),
        lambda: fg.make_expr(returns_text)(1.0),
        lambda: fg.eval_shape(returns_text, 1.0),
    ],
)
def test_results_that_are_not_arrays(call):
    error = caught(call, TypeError)
    assert "must return arrays, numbers or pytrees of them" in str(error)
    assert "'text' of type str" in str(error)
    assert "returns_text" in str(error)
    assert all(len(frames) <= 1 for frames in library_frames(error))


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda: fg.jit(lambda x, s: x)(1.0, "text"), "'text'"),
        (lambda: fg.vmap(lambda x, s: x)(np.ones(3), "text"), "'text'"),
        (lambda: fg.jit(lambda t: 1.0)({"a": {1, 2}}), r"\{1, 2\}"),
    ],
)
def test_arguments_that_are_not_arrays(call, path):
    error = caught(call, TypeError)
    assert re.search(path + ".* is not an array or a number", str(error))
    assert all(len(frames) <= 1 for frames in library_frames(error))


# Rules


@primitive
class Bare(Primitive):
    """Has an abstract evaluation and an implementation, and no other rule."""

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x

    def impl(self, xp, x):
        return x * 2


@primitive
class Empty(Primitive):
    """Has no rule at all."""


@primitive
class Abstract(Primitive):
    """Can be traced, but not run."""

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x


@primitive
class Forward(Primitive):
    """Has a derivative that cannot be transposed."""

    linear = ()

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x

    def impl(self, xp, x):
        return x * 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fg.grad(Bare())(1.0), "`bare` has no `jvp` rule.*differentiated"),
        (lambda: fg.jvp(Bare(), (1.0,), (1.0,)), "`bare` has no `jvp` rule"),
        (lambda: fg.vmap(Bare())(np.ones(3)), "`bare` has no `batch` rule.*vmap"),
        (lambda: fg.grad(Forward())(1.0), "`forward` has no `transpose` rule.*reverse mode"),
        (lambda: fg.linear_transpose(Bare(), 1.0)(1.0), "`bare` has no `transpose` rule"),
        (lambda: fg.jit(lambda x: Abstract()(x))(1.0), "`abstract` has no `impl` rule"),
        (lambda: fg.jit(lambda x: Empty()(x))(1.0), "`empty` has no `abstract_eval` rule"),
    ],
)
def test_missing_rules(call, words):
    error = caught(call, fg.MissingRuleError)
    assert isinstance(error, NotImplementedError)
    assert re.search(words, str(error)), str(error)
    assert all(len(frames) <= 1 for frames in library_frames(error))


def test_missing_rules_name_the_user_s_line():
    def f(x):
        y = x * 3
        return Bare()(y)  # HERE

    for call in (
        lambda: fg.grad(f)(1.0),
        lambda: fg.jvp(f, (1.0,), (1.0,)),
        lambda: fg.vmap(f)(np.ones(3)),
        lambda: fg.jit(fg.grad(f))(1.0),
        lambda: fg.grad(fg.jit(f))(1.0),
    ):
        message = str(caught(call, fg.MissingRuleError))
        assert f"test_errors.py:{line_of(f)}" in message


# Errors while the program runs name the line that recorded the operation


def first_log(x):
    return fnp.log(x) * 2  # HERE


def second_log(x):
    return fnp.log(x) * 2  # HERE


def notes(error):
    return "\n".join(getattr(error, "__notes__", []))


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))])
def test_errors_on_values_name_the_user_s_line(transform):
    with np.errstate(divide="raise"):
        g = transform(first_log)
        for _ in range(3):
            error = caught(lambda: g(0.0), FloatingPointError)
            assert f"test_errors.py:{line_of(first_log)} (in first_log" in notes(error)
            assert "log" in notes(error)


def test_functions_that_share_a_program_have_lines_of_their_own():
    with np.errstate(divide="raise"):
        for _ in range(3):
            for f in (first_log, second_log):
                error = caught(lambda: fg.grad(f)(0.0), FloatingPointError)  # noqa: B023
                assert f"(in {f.__name__}, backward pass)" in notes(error)


def test_errors_of_forced_values_name_the_user_s_line():
    def f(x):
        y = fnp.log(x)  # HERE
        z = y * 2
        return z if z > 0 else z * 2

    with np.errstate(divide="raise"):
        error = caught(lambda: fg.grad(f)(0.0), FloatingPointError)
    assert f"test_errors.py:{line_of(f)}" in notes(error)


# The user's own errors pass through


class Own(Exception):
    pass


def raises(x):
    raise Own("mine")  # HERE


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.grad(raises)(1.0),
        lambda: fg.jit(raises)(1.0),
        lambda: fg.vmap(raises)(np.ones(2)),
        lambda: fg.jvp(raises, (1.0,), (1.0,)),
        lambda: fg.vjp(raises, 1.0),
        lambda: fg.linearize(raises, 1.0),
        lambda: fg.jacfwd(raises)(1.0),
        lambda: fg.jacrev(raises)(1.0),
        lambda: fg.hessian(raises)(1.0),
        lambda: fg.hvp(raises)(1.0, 1.0),
        lambda: fg.eval_shape(raises, 1.0),
        lambda: fg.make_expr(raises)(1.0),
        lambda: fg.jit(fg.vmap(fg.grad(raises)))(np.ones(2)),
        lambda: fg.grad(lambda x: fg.jit(raises)(x))(1.0),
    ],
)
def test_the_user_s_own_errors(call):
    error = caught(call, Own)
    frames = [f for f, _ in traceback.walk_tb(error.__traceback__)]
    assert frames[-1].f_code.co_name == "raises"
    assert all(len(names) <= 1 for names in library_frames(error))


def test_full_tracebacks_on_request(monkeypatch):
    monkeypatch.setenv("FUNGRAD_FULL_TRACEBACKS", "1")
    error = caught(lambda: fg.grad(raises)(1.0), Own)
    assert library_frames(error)[0]


def test_nothing_is_left_open_after_errors(as_written):
    for transform in WITHOUT_VALUES.values():
        for f in (raises, branch):
            with pytest.raises((Own, fg.ConcretizationError)):
                transform(f)(np.ones(3))
            assert current_trace.get() is None
    assert fg.grad(lambda x: x * x)(3.0) == 6


def loop_over_sines(x):
    total, two = 0.0, float(2)
    for v in map(math.sin, [x, x]):
        total += v * two
    return total


def unpacked_sines(x):
    p, q = map(math.sin, [x, x])
    return p * q * float(1)


def unpacked_numbers(x):
    p, q = map(float, [x, 1.0])
    return x * p * q


@pytest.mark.parametrize(
    "f",
    [
        loop_over_sines,
        unpacked_sines,
        lambda x: sum([*map(math.sin, [x])]) * float(2),
        lambda x: x * math.sqrt(x),
        lambda x: x * math.atan2(x, 1.0),
        lambda x: sum(v * math.exp(v) for v in [x, x]),
        lambda x: x * np.float64(x),
        lambda x: float(2) * math.sqrt(x),  # another call of float in the same code
        lambda x: math.hypot(*[x, x]) * complex(1).real,
        lambda x: np.fromiter((v * v for v in [x, x]), float).sum(),
    ],
)
def test_compiled_functions_do_not_lose_a_derivative(f, as_written):
    with pytest.raises(TypeError, match="would be lost"):
        fg.grad(f)(4.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * float(x),
        lambda x: x * next(map(float, [x])),
        lambda x: x * complex(x).real,
        lambda x: x * complex(x, x).imag,
        lambda x: x * sum([*map(float, [x])]),
        lambda x: sum([x * convert(x) for convert in (float,)]),
        lambda x: x * float("%.3f" % x),  # noqa: UP031
        lambda x: x * max(float(x), 1.0),
        unpacked_numbers,
    ],
)
def test_a_number_that_is_asked_for_is_a_constant(f, as_written):
    assert fg.grad(f)(4.0) == 4.0


def product(p):
    return p["a"] * p["b"][1]


@pytest.mark.parametrize(
    "transform", [fg.grad, fg.value_and_grad, fg.jacfwd, fg.jacrev, fg.jacobian, fg.hessian]
)
def test_the_leaf_that_has_no_derivative_is_named(transform):
    words = r"\(product\): argument 0\['b'\]\[1\] is of type int64\[\], and only floating-point"
    with pytest.raises(TypeError, match=words) as info:
        transform(product)({"a": 2.0, "b": [1.0, 3]})
    assert "*" not in str(info.value)
    by_second = transform(lambda x, p: product(p), argnums=1)
    with pytest.raises(TypeError, match=r"argument 1\['b'\]\[1\] is of type int64\[2\]"):
        by_second(0.0, {"a": 2.0, "b": [1.0, np.arange(2)]})


def test_the_leaf_whose_tangent_does_not_fit_is_named():
    p = {"a": 2.0, "b": [1.0, 3]}
    with pytest.raises(TypeError, match=r"argument 0\['b'\]\[1\] is of type int64\[\]"):
        fg.hvp(product)(p, p)
    words = r"tangent 2, at \[0\]\['b'\]\[1\], belongs to a value of type int64\[\]"
    with pytest.raises(TypeError, match=words):
        fg.jvp(product, (p,), (p,))
    with pytest.raises(TypeError, match=words):
        fg.linearize(product, p)[1](p)
    with pytest.raises(TypeError, match=r"cotangent 1, at \['b'\], has type float64\[2\]"):
        fg.vjp(lambda x: {"a": x, "b": x}, 1.0)[1]({"a": 1.0, "b": np.ones(2)})
    with pytest.raises(TypeError, match=r"argument 0\['b'\]\[1\] is of type int64\[\]; close over"):
        fg.linear_transpose(product, p)


def test_arguments_that_cannot_be_traced_are_named():
    def f(p, n):
        return p["a"]

    with pytest.raises(TypeError, match=r"jit\(f\): argument 0\['b'\]: .*static_argnames"):
        fg.jit(f)({"a": 1.0, "b": "text"}, 3)
    with pytest.raises(TypeError, match=r"jit\(f\): argument 1: 'text'"):
        fg.jit(f)({"a": 1.0}, "text")
    with pytest.raises(TypeError, match=r"jit\(f\): argument 'n'\[1\]: 'text'"):
        fg.jit(f)({"a": 1.0}, n=(1.0, "text"))
    with pytest.raises(TypeError, match=r"jit\(f\): argument 1: 'text'"):
        fg.jit(f, static_argnums=0)("static", "text")
    with pytest.raises(TypeError, match=r"vmap\(f\): argument 1\[0\]: 'text'"):
        fg.vmap(f)({"a": np.ones(2)}, ["text"])
    with pytest.raises(TypeError, match=r"grad\(f\): argument 1\['b'\]: 's' of type str"):
        fg.grad(f, 1)(0.0, {"a": 1.0, "b": "s"})
    with pytest.raises(ValueError, match="twice"):
        fg.grad(lambda x: x, (0, 0))(1.0)
    with pytest.raises(OverflowError, match="int64"):
        fg.jit(lambda x: x)(2**70)
    for transform in (fg.grad, fg.vmap, fg.jit, fg.jacfwd, fg.jacrev, fg.hessian, fg.hvp):
        with pytest.raises(TypeError, match="takes a function"):
            transform(3.0)
    for transform in (fg.jvp, fg.vjp, fg.linearize, fg.linear_transpose, fg.jet, fg.eval_shape):
        with pytest.raises(TypeError, match=f"{transform.__name__} takes a function, not None"):
            transform(None, (1.0,), (1.0,))
    for transform in (fg.grad, fg.vmap, fg.jit):
        with pytest.raises(TypeError, match=r"numpy\.matrix .* numpy\.asarray"):
            transform(lambda x: (x * x).sum())(np.ones((2, 2)).view(np.matrix))


@dataclasses.dataclass
class Pair:
    a: object
    b: object


@dataclasses.dataclass
class Layer:
    w: object
    act: object = np.tanh
    name: str = "layer"
    size: int = dataclasses.field(default=3, metadata={"static": True})


class Plain:
    w = 2.0


def test_dataclasses_are_told_how_to_become_pytrees():
    line = (
        r"write fungrad\.tree_util\.register_dataclass\(Pair\) once, below the class, or @fungrad"
    )
    pair = Pair(1.0, 2.0)
    for call in (
        lambda: fg.grad(lambda p: p.a * p.b)(pair),
        lambda: fg.jit(lambda p: p.a * p.b)({"x": [pair]}),
        lambda: fg.vmap(lambda p: p.a)(pair),
        lambda: fg.lax.scan(lambda c, x: (c, None), pair, np.ones(3)),
        lambda: fg.jit(lambda x: Pair(x, x))(1.0),
    ):
        with pytest.raises(TypeError, match=line):
            call()
    words = r"register_dataclass\(Layer, data_fields=\['w'\], meta_fields=\['act', 'name', 'size'\]\) once, below the class\."
    with pytest.raises(TypeError, match=words):
        fg.grad(lambda p: p.w)(Layer(2.0))
    with pytest.raises(TypeError, match=r"register_pytree_node knows Plain"):
        fg.grad(lambda p: p.w)(Plain())
    with pytest.raises(TypeError) as info:
        fg.grad(lambda x: x)("text")
    assert "register" not in str(info.value)


@dataclasses.dataclass
class Box:
    w: object


@dataclasses.dataclass(frozen=True)
class FrozenBox:
    w: object


ruled = fg.custom_jvp(lambda p: p.w)
ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0].w))
OF_DATACLASSES = {  # what is done with a dataclass, and the words of the message before its advice
    "argument": (lambda c: fg.jit(lambda p: p.w)(c(1.0)), "argument 0: "),
    "argument in a list": (lambda c: fg.grad(lambda p: p[0].w)([c(1.0)]), r"argument 0\[0\]: "),
    "result": (lambda c: fg.jit(c)(1.0), "one of its results is "),
    "result in a list": (lambda c: fg.vmap(lambda x: [c(x)])(np.ones(2)), "one of its results is "),
    "result of grad": (lambda c: fg.grad(c)(1.0), "needs a function that returns a scalar: "),
    "auxiliary data": (
        lambda c: fg.grad(lambda x: (x, [c(x)]), has_aux=True)(1.0),
        "the auxiliary data hold ",
    ),
    "auxiliary data of vjp": (
        lambda c: fg.vjp(lambda x: (x, c([x])), 1.0, has_aux=True),
        "the auxiliary data hold ",
    ),
    "carry": (
        lambda c: fg.jit(lambda x: fg.lax.scan(lambda p, _: (p, None), c(x), None, 2)[0].w)(1.0),
        "init: ",
    ),
    "carry in a list": (
        lambda c: fg.lax.scan(lambda p, _: (p, None), [c(1.0)], None, 2),
        r"init\[0\]: ",
    ),
    "row": (
        lambda c: fg.lax.scan(lambda s, _: (s, c(s)), 1.0, None, 2),
        "the result of a step: ",
    ),
    "operand of a branch": (
        lambda c: fg.jit(lambda x: fg.lax.cond(x > 0, lambda p: p.w, lambda p: p.w, c(x)))(1.0),
        r"operands\[0\]: ",
    ),
    "argument of a function with a rule": (
        lambda c: fg.grad(lambda x: ruled(c(x)))(1.0),
        "custom_jvp function <lambda>: `p`: ",
    ),
}


@pytest.mark.parametrize("kind", [Box, FrozenBox])
@pytest.mark.parametrize("name", OF_DATACLASSES)
def test_dataclasses_are_told_so_wherever_they_are(name, kind):
    call, words = OF_DATACLASSES[name]
    advice = rf"{words}{kind.__name__}\(w=(.|\n)*register_dataclass\({kind.__name__}\) once, below the class"
    with pytest.raises(TypeError, match=advice) as error:
        call(kind)
    assert not hasattr(error.value, "__notes__")
    assert "has_aux=True where" not in str(error.value)


def test_auxiliary_data_may_be_any_object_without_tracers():
    assert fg.grad(lambda x: (x, Box("text")), has_aux=True)(1.0) == (1.0, Box("text"))


def test_the_lines_for_dataclasses_work():
    @dataclasses.dataclass
    class Other(Layer):
        pass

    @fg.tree_util.register_dataclass
    @dataclasses.dataclass
    class Two(Pair):
        pass

    fg.tree_util.register_dataclass(Other, data_fields=["w"], meta_fields=["act", "name", "size"])
    assert fg.grad(lambda p: p.act(p.w * 0) + p.w * 2)(Other(3.0)) == Other(2.0)
    assert fg.jit(fg.grad(lambda p: p.a * p.b))(Two(2.0, 3.0)) == Two(3.0, 2.0)


def test_jitted_methods_hint_at_a_static_self():
    class Model:
        scale = 2.0

        def bare(self, x):
            return self.scale * x

        loose, fixed = fg.jit(bare), fg.jit(bare, static_argnums=0)

    model = Model()
    with pytest.raises(TypeError, match=r"argument 0: .*`self` of a method.*static_argnums=0"):
        model.loose(1.0)
    assert model.fixed(1.0) == 2.0


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("scan", r"fungrad\.lax"),
        ("io_callback", r"fungrad\.experimental"),
    ],
)
def test_what_is_not_there_yet(name, advice):
    with pytest.raises(AttributeError, match=f"no '{name}'.*{advice}"):
        getattr(fg, name)


def test_indexing_a_numpy_array_with_a_tracer(as_written):
    w = np.arange(4.0)
    x = np.array([3.0, 1.0, 2.0, 0.0])
    np.testing.assert_array_equal(
        fg.grad(lambda x: (w[np.argsort(x)] * x).sum())(x), w[np.argsort(x)]
    )
    np.testing.assert_array_equal(fg.grad(lambda x: (w[x > 1] * x[x > 1]).sum())(x), w * (x > 1))
    np.testing.assert_array_equal(
        fg.vmap(lambda e, i: e[i], (None, 0))(w, np.array([1, 3])), [1, 3]
    )
    with pytest.raises(fg.ConcretizationError, match=r"fungrad\.numpy\.take"):
        fg.jit(lambda i: w[i])(np.array([1, 2]))


@pytest.mark.parametrize(
    "loop",
    [
        lambda: lax.fori_loop(0, 3, lambda i, c: c * np.ones(2), 0.0),
        lambda: lax.while_loop(lambda c: c.sum() < 1, lambda c: c * np.ones(2), 0.0),
        lambda: fg.jit(lambda x: lax.cond(x > 0, lambda x: x, lambda x: (x, x), x))(1.0),
    ],
)
def test_carries_and_branches_end_with_how_to_read_about_them(loop):
    with pytest.raises(TypeError, match=r"same structure|keep its structure") as found:
        loop()
    assert str(found.value).endswith("\nMore: python -m fungrad explain loops")


def nan_from(function, x):
    with fg.debug_nans(), np.errstate(all="ignore"):
        fg.jit(function)(x)


def test_common_errors_end_with_how_to_read_about_them():
    a, b = np.ones((2, 3)), np.ones((4, 5))
    for topic, call in {
        "shapes": lambda: fg.grad(lambda a: fnp.sum(a + b))(a),
        "indices": lambda: fg.jit(lambda a: a[5])(a),
        "vmap": lambda: fg.vmap(lambda a, b: a)(a, b),
        "grad": lambda: fg.jit(fg.grad(lambda a: a))(a),  # once, through two functions
        "tangents": lambda: fg.jvp(fnp.sin, (a,), (b,)),
        "pytrees": lambda: fg.tree.map(lambda a, b: a, {"a": a}, {"b": b}),
        "arrays": lambda: fg.vmap(lambda a, kind: a)(a, "fast"),
        "place": lambda: fg.jit(lambda a: a.sort())(a),
        "keys": lambda: fg.grad(lambda x: {x: 2.0}[x])(1.0),
        "loops": lambda: lax.scan(lambda c, x: (c * a, x), 0.0, b),
        "rules": lambda: fg.grad(fg.custom_vjp(lambda x: x))(1.0),
        "functions": lambda: fg.grad(lambda x: scipy.special.struve(1.0, x))(1.0),
        "FloatingPointError": lambda: nan_from(np.log, -1.0),
        "LinAlgError": lambda: fg.jit(np.linalg.inv)(np.zeros((2, 2))),
    }.items():
        with pytest.raises(
            (ValueError, TypeError, IndexError, AttributeError, FloatingPointError)
        ) as found:
            call()
        assert str(found.value).endswith(f"\nMore: python -m fungrad explain {topic}")
        assert str(found.value).count("More: ") == 1
    with pytest.raises(ValueError, match="axis 1 is out of bounds") as found:
        fg.vmap(lambda a: fnp.sum(a, axis=1))(a)
    assert found.value.__notes__[-1].endswith("\nMore: python -m fungrad explain indices")


def test_every_section_that_is_pointed_to_is_there():
    headings = [heading.lower() for heading in explanations()]
    for topic in (*sections.SECTIONS.values(), "LinAlgError", "solvers"):
        assert len([heading for heading in headings if topic.lower() in heading]) == 1, topic


def test_errors_of_the_users_own_and_of_plain_arrays_are_left_as_they_are():
    def own(x):
        raise ValueError("cannot reshape array of mine")

    for function in (own, lambda x: np.ones(2) + np.ones(3)):
        with pytest.raises(ValueError, match=r"mine|shapes \(2,\) \(3,\)") as found:
            fg.grad(function)(1.0)
        assert "More: " not in str(found.value)

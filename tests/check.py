"""What the rules of a primitive must satisfy, given one row of the table.

Every function of `CHECKS` takes a `Sample`, checks one rule and raises AssertionError with what it
found. Derivatives of complex functions are real-linear maps; <a, b> is the real part of sum(a * b),
without conjugation. All programs made on the way are checked for well-formedness too.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import pipeline, schedule
from fungrad.compile.interpret import interpret
from fungrad.compile.lower import Program
from fungrad.core.config import checking
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive, execute
from fungrad.core.types import type_of
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.ufunc import Elementwise
from fungrad.test_util import assert_allclose
from fungrad.transforms.call import programs
from tests.samples.row import Sample

Arrays = tuple[Any, ...]
Function = Callable[..., Arrays]

CHECKS: dict[str, Callable[[Sample], None]] = {}
"""The checks that need no GPU, by name."""

DERIVATIVE_BY_CONVENTION = {"stop_gradient", "lent", "nextafter", "reduce_precision"}
"""Primitives whose tangent is no limit of differences: zero although they vary smoothly, or not although they round."""


def check(function: Callable[[Sample], None]) -> Callable[[Sample], None]:
    """Enter `check_<name>` in the table under <name>; let it check every program it makes."""

    @functools.wraps(function)
    def checked(sample: Sample) -> None:
        with checking():
            function(sample)

    CHECKS[function.__name__.removeprefix("check_")] = checked
    return checked


def checks_of(sample: Sample) -> list[str]:
    """Return the names of the checks that apply to a row."""
    names = ["impl", "abstract", "source"]
    results = outputs(sample, sample.operands)
    if "jvp" not in sample.gaps and moving(sample):
        reverse = "transpose" not in sample.gaps
        names += ["jvp", "vjp", "grad"] if reverse else ["jvp"]
        if sample.primitive.differentiable and any(map(is_inexact, results)):
            names += ["jvp2", "vjp2"] if reverse else ["jvp2"]
    if "transpose" not in sample.gaps:
        names += ["transpose"] if linear_groups(sample) else []
        names += ["nonlinear"] if nonlinear_positions(sample) else []
    names += ["batch"] if "batch" not in sample.gaps else []
    names += ["gaps"] if sample.gaps or sample.fixed else []
    return names


# Values


@check
def check_impl(sample: Sample) -> None:
    """`impl` gives what the oracle gives, whatever the layout of the operands."""
    primitive, operands = sample.primitive, sample.operands
    expected = as_tuple(primitive, sample.oracle(*operands))
    for layout in (in_row_order, in_column_order, strided, read_only):
        arranged = [layout(x) for x in operands]
        results = primitive.impl(np, *arranged)
        for x, original in zip(arranged, operands, strict=True):
            assert_equal(x, original, f"{layout.__name__}: an operand was modified", scalars=False)
        for result in as_tuple(primitive, results):
            if not primitive.view:
                shared = [i for i, x in enumerate(arranged) if np.shares_memory(result, x)]
                assert not shared, f"shares memory with operands {shared}, but is no `view`"
        results = as_tuple(primitive, execute(primitive, arranged))
        assert_close(results, expected, sample.tolerance, layout.__name__)


@check
def check_abstract(sample: Sample) -> None:
    """`abstract_eval` predicts the shapes and dtypes of `impl`."""
    for operands in precisions(sample.operands):
        types = tuple(map(type_of, operands))
        try:
            inferred = sample.primitive.infer(types)
        except TypeError:
            # Of SciPy's functions some take integers with double precision only.
            if operands is sample.operands or all(map(is_inexact, operands)):
                raise
            continue
        given = [f"{x.dtype}[{x.shape}]" for x in operands]
        results = outputs(sample, operands)
        assert len(inferred) == len(results)
        for t, x in zip(inferred, results, strict=True):
            assert (t.shape, t.dtype) == (x.shape, x.dtype), f"of {given}: {t}, not {type_of(x)}"
            assert t.weak == getattr(sample.primitive, "weak", False), f"of {given}: {t} is weak"
        weak = tuple(t.update(weak=t.dtype.kind != "b") for t in types)
        for t, u in zip(inferred, sample.primitive.infer(weak), strict=True):
            assert (t.shape, t.dtype) == (u.shape, u.dtype), f"of weak {given}: {u}, not {t}"


@check
def check_source(sample: Sample) -> None:
    """Compiled programs of the primitive give what `impl` gives."""
    primitive, operands = sample.primitive, sample.operands
    expected = outputs(sample, operands)
    expr = expr_of(sample)
    positions = range(len(operands))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "REUSE_FROM", 0)
        for donated in [(), *((i,) for i in positions), tuple(positions)]:
            given = [np.array(x) for x in operands]
            results = tuple(Program(expr, donated).compiled()(*given))
            assert_same(results, expected, f"with operands {donated} donated")
            steps = pipeline.scheduled(expr, donated).check()
            found = tuple(interpret(steps, [np.array(x) for x in operands]))
            assert_same(found, expected, f"of the steps with operands {donated} donated")
            assert all(r.flags.writeable for r in results if r.ndim), "a result is read-only"
            for i in set(positions) - set(donated):
                assert_equal(given[i], operands[i], f"operand {i} was modified", scalars=False)
                shared = any(np.shares_memory(r, given[i]) for r in results)
                assert not shared, f"a result shares memory with operand {i}"
        for i, x in enumerate(operands):
            if x.ndim and (is_inexact(x) or isinstance(primitive, Elementwise)):
                if sample.matrices:  # repeated rows or columns would make them singular
                    continue
                for axis in {0, x.ndim - 1} if x.size else ():
                    _check_broadcast_operand(sample, i, axis)
        scalars = [i for i in positions if not operands[i].ndim]
        if scalars:
            found = Program(with_constants(expr, {i: operands[i][()] for i in scalars})).compiled()
            rest = [operands[i] for i in positions if i not in scalars]
            assert_same(tuple(found(*rest)), expected, "with 0-d operands as constants")
    names = [f"x{i}" for i in positions]
    text = None if primitive.multiple_results else primitive.call_into("out", *names)
    if text is not None and expected[0].ndim:
        out = np.zeros(expected[0].shape, expected[0].dtype)
        result = eval(text, {"np": np, "out": out, **dict(zip(names, operands, strict=True))})
        assert result is out, f"`{text}` does not return out"
        assert_same((result,), expected, f"`{text}`")
    text = None if primitive.multiple_results else primitive.assignment(*names)
    if text is not None and expected[0].ndim:
        scope = {"np": np, **dict(zip(names, operands, strict=True)), "x0": np.array(operands[0])}
        exec(text, scope)
        assert_same((scope["x0"],), expected, f"`{text}`")


def _check_broadcast_operand(sample: Sample, i: int, axis: int) -> None:
    """An operand that repeats along `axis` may be left to NumPy's broadcasting."""
    x = sample.operands[i]
    row = x.take(0, axis)
    operands = list(sample.operands)
    operands[i] = np.stack([row] * x.shape[axis], axis)
    expr = expr_of(sample)
    types = (*expr.types, type_of(row))
    v = len(expr.types)
    broadcast = Equation(Broadcast(x.shape, (axis,)), (v,), (expr.inputs[i],))
    inputs = [v if j == i else w for j, w in enumerate(expr.inputs)]
    expr = Expr(tuple(inputs), (broadcast, *expr.equations), expr.outputs, types).check()
    given = [row if j == i else y for j, y in enumerate(operands)]
    found = tuple(Program(expr).compiled()(*given))
    expected = outputs(sample, operands)
    assert_close(found, expected, precision(expected, 1e-13), f"operand {i} broadcast on {axis}")


# Derivatives


@check
def check_jvp(sample: Sample) -> None:
    """`jvp` is the central difference, along a direction of all operands and of each."""
    for f, xs in functions(sample):
        ts = directions(xs, 1)
        out, tangents = fg.jvp(f, xs, ts)
        expected = outputs(sample, sample.operands)
        assert_same(as_scalars(out), expected, "the value beside the tangent")
        assert_tangents(tangents, expected)
        if sample.primitive.name not in DERIVATIVE_BY_CONVENTION:
            where = {i for i, x in enumerate(expected) if is_inexact(x)}
            pick = chosen(f, where)
            assert_close(
                tuple(tangents[i] for i in sorted(where)),
                difference(pick, xs, ts),
                precision([*sample.operands, *expected], 1e-7),
                "tangent against central difference",
            )
        elif sample.primitive.name in ("stop_gradient", "lent"):
            assert not any(t.any() for t in tangents)


@check
def check_jvp2(sample: Sample) -> None:
    """The second derivative, forward over forward and reverse over forward."""
    for f, xs in functions(sample):
        ts, us = directions(xs, 1), directions(xs, 2)
        where = {i for i, x in enumerate(f(*xs)) if is_inexact(x)}
        tolerance = precision([*sample.operands, *f(*xs)], 1e-6)
        tangent = chosen(tangent_of(f, ts), where)
        expected = difference(tangent, xs, us)
        value, moved = fg.jvp(tangent, xs, us)
        assert_close(moved, expected, tolerance, "forward over forward")
        _, pull = fg.vjp(tangent, *xs)
        cts = directions(value, 3)
        pulled = pull(cts)
        assert_tangents(pulled, xs)
        assert_pairing(pairing(cts, expected), pairing(pulled, us), tolerance, cts, expected)


@check
def check_vjp(sample: Sample) -> None:
    """<ct, jvp(t)> = <vjp(ct), t>."""
    for f, xs in functions(sample):
        ts = directions(xs, 1)
        out, tangents = fg.jvp(f, xs, ts)
        value, pull = fg.vjp(f, *xs)
        assert_same(as_scalars(value), as_scalars(out), "the value beside the pullback")
        cts = directions(value, 2)
        pulled = pull(cts)
        assert_tangents(pulled, xs)
        tolerance = precision([*xs, *value], 1e-11)
        assert_pairing(pairing(cts, tangents), pairing(pulled, ts), tolerance, cts, tangents)
        assert_same(pull(cts), pulled, "the pullback called again")


@check
def check_grad(sample: Sample) -> None:
    """`grad`, which asks a primitive for cotangents first, gives what transposing its derivative gives."""
    for f, xs in functions(sample):
        cts = directions(f(*xs), 2)

        def paired(*xs: Any, f: Function = f, cts: Arrays = cts) -> Any:
            pairs = zip(f(*xs), cts, strict=True)
            return sum([fnp.sum(fnp.real(y * ct)) for y, ct in pairs if is_inexact(ct)], 0.0)

        found = fg.grad(paired, tuple(range(len(xs))))(*xs)
        assert_tangents(found, xs)
        value, pull = fg.vjp(paired, *xs)
        pulled = pull(np.ones_like(value))
        assert_close(found, pulled, precision(xs, 1e-12), "the gradient")
        programs.clear()
        with checking(False):
            met_first, met_again = [fg.grad(paired, tuple(range(len(xs))))(*xs) for _ in range(2)]
        assert_same(met_first, met_again, "the gradient without a program")


@check
def check_vjp2(sample: Sample) -> None:
    """The derivative of the pullback, forward over reverse and reverse over reverse."""
    for f, xs in functions(sample):
        value = f(*xs)
        where = [i for i, x in enumerate(value) if is_inexact(x)]
        cts = directions([value[i] for i in where], 2)
        tolerance = precision([*sample.operands, *value], 1e-6)
        pullback = pullback_of(chosen(f, set(where)), len(xs))
        arguments = (*xs, *cts)
        ts = directions(arguments, 3)
        expected = difference(pullback, arguments, ts)
        pulled, moved = fg.jvp(pullback, arguments, ts)
        assert_close(moved, expected, tolerance, "forward over reverse")
        us = directions(pulled, 4)
        again = fg.vjp(pullback, *arguments)[1](us)
        assert_tangents(again, arguments)
        assert_pairing(pairing(us, expected), pairing(again, ts), tolerance, us, expected)


@check
def check_transpose(sample: Sample) -> None:
    """<ct, J t> = <J^T ct, t> for each group of operands, and each of its operands alone."""
    for group in linear_groups(sample):
        for chosen_ones in {group, *((i,) for i in group)}:
            # Where the call is jointly linear in a group, the rest of the group must be zero.
            others = {i: np.zeros_like(sample.operands[i]) for i in group}
            f, xs = restricted(sample, chosen_ones, others)
            ts = directions(xs, 1)
            moved = f(*ts)
            cts = directions(moved, 2)
            pulled = fg.linear_transpose(f, *xs)(cts)
            assert_tangents(pulled, xs)
            tolerance = precision([*xs, *moved], 1e-11)
            assert_pairing(pairing(cts, moved), pairing(pulled, ts), tolerance, cts, moved)


@check
def check_nonlinear(sample: Sample) -> None:
    """Transposing with respect to an operand that the call is not linear in is an error."""
    for i in nonlinear_positions(sample):
        f, xs = restricted(sample, (i,))
        with pytest.raises(fg.MissingRuleError, match=sample.primitive.name):
            fg.linear_transpose(f, *xs)(directions(f(*xs), 1))


@check
def check_gaps(sample: Sample) -> None:
    """The rules that the row declares missing raise `MissingRuleError`."""
    for i in sample.fixed:
        f, xs = restricted(sample, (i,))
        with pytest.raises(fg.MissingRuleError, match="differentiate by the other arguments"):
            fg.jvp(f, xs, directions(xs, 1))
    f, xs = restricted(sample, inexact_positions(sample.operands))
    for gap in sample.gaps:
        try:
            if gap == "jvp":
                fg.jvp(f, xs, directions(xs, 1))
            elif gap == "transpose":
                fg.vjp(f, *xs)[1](directions(f(*xs), 1))
            else:
                fg.vmap(f)(*[x[None] for x in xs])
        except fg.MissingRuleError:
            continue
        raise AssertionError(f"`{gap}` is declared missing but works")


# Batches


@check
def check_batch(sample: Sample) -> None:
    """`batch` is a loop, whichever operands have a batch axis and wherever it is."""
    primitive = sample.primitive
    apply = function_of(primitive)
    ndims = [x.ndim for x in sample.operands]
    if not sample.operands:  # nothing to map over: the result is repeated
        (x,) = outputs(sample, ())
        assert_same((fg.vmap(apply, axis_size=2)()[0],), (np.stack([x, x]),), "no operands")
        return
    out_ndims = [x.ndim for x in outputs(sample, sample.operands)]
    for size, subset in itertools.product((3, 1, 0), subsets(len(ndims))):
        # A batch of none: take the shapes from a batch of one, cut to nothing.
        calls = [example(sample, k, subset) for k in range(size or 1)]
        looped = [outputs(sample, call) for call in calls]
        for shift in range(max(ndims) + 1 if size == 3 else 1):
            in_axes = tuple(shift % (n + 1) if i in subset else None for i, n in enumerate(ndims))
            # Counted from the end every other time.
            out_axes = tuple((shift + 1) % (n + 1) - (n + 1) * (shift % 2) for n in out_ndims)
            expected = [np.stack(xs, a) for xs, a in zip(zip(*looped), out_axes, strict=True)]
            operands = [
                x if a is None else np.stack([call[i] for call in calls], a)
                for i, (x, a) in enumerate(zip(sample.operands, in_axes, strict=True))
            ]
            if not size:
                operands = [
                    x if a is None else x.take([], a)
                    for x, a in zip(operands, in_axes, strict=True)
                ]
                expected = [x.take([], a) for x, a in zip(expected, out_axes, strict=True)]
            found = fg.vmap(apply, in_axes, out_axes)(*operands)
            where = f"batch of {size}, in_axes={in_axes}, out_axes={out_axes}"
            assert_close(found, tuple(expected), precision(expected, 1e-12), where)
    _check_batches_of_batches(sample)


def _check_batches_of_batches(sample: Sample) -> None:
    apply = function_of(sample.primitive)
    order = not sample.matrices
    n = len(sample.operands)
    everything = tuple(range(n))
    for inner, outer in {
        (everything, everything),
        *(((i,), everything) for i in everything),
        *((everything, (i,)) for i in everything),
    }:
        mapped = (
            [2 if i in outer else 1 for i in everything],
            [3 if i in inner else 1 for i in everything],
        )
        operands, in_inner, in_outer = [], [], []
        for i, x in enumerate(sample.operands):
            grid = [
                [varied(x, 3 * k + m, order) for m in range(mapped[1][i])]
                for k in range(mapped[0][i])
            ]
            array = np.array(grid, x.dtype)  # [outer, inner, ...]
            array = array if i in inner else array[:, 0]
            array = array if i in outer else array[0]
            in_inner.append(0 if i in inner else None)
            in_outer.append(0 if i in outer else None)
            operands.append(array)
        found = fg.vmap(fg.vmap(apply, tuple(in_inner)), tuple(in_outer))(*operands)
        rows = [
            [
                outputs(
                    sample,
                    [
                        varied(x, 3 * (k if i in outer else 0) + (m if i in inner else 0), order)
                        for i, x in enumerate(sample.operands)
                    ],
                )
                for m in range(3)
            ]
            for k in range(2)
        ]
        count = len(rows[0][0])
        expected = tuple(
            np.array([[row[j] for row in line] for line in rows]) for j in range(count)
        )
        where = f"vmap over {inner} inside vmap over {outer}"
        assert_close(found, expected, precision(expected, 1e-12), where)


# Other array libraries


def check_backend(sample: Sample, xp: ModuleType) -> None:
    """On the arrays of `xp` all transforms give what they give on NumPy's."""
    expected = outputs(sample, sample.operands)
    tolerance = max(precision([*sample.operands, *expected], 1e-10), sample.tolerance)
    device = [xp.asarray(x) for x in sample.operands]
    apply = function_of(sample.primitive)
    free = sample.primitive.name in ("eigh", "svd")  # the signs of vectors are a library's affair
    compare = functools.partial(_compare_on_host, xp, tolerance, abs if free else np.asarray)
    if device:
        compare(apply(*device), expected, "impl")
        compare(fg.jit(apply)(*device), expected, "jit")
        if "batch" not in sample.gaps:
            batch = [xp.asarray(np.stack([x, x])) for x in sample.operands]
            compare(fg.vmap(apply)(*batch), [np.stack([x, x]) for x in expected], "vmap")
    if not moving(sample) or sample.gaps & {"jvp", "transpose"}:
        return
    if free and not all(
        np.allclose(x.get(), y) for x, y in zip(apply(*device), expected, strict=True)
    ):
        return
    f, xs = restricted(sample, moving(sample))
    on_device, _ = restricted(sample, moving(sample), dict(enumerate(device)))
    value, pull = fg.vjp(f, *xs)
    cts = directions(value, 1)
    _, pull_there = fg.vjp(on_device, *[xp.asarray(x) for x in xs])
    moved = [ct if ct.dtype == fg.float0 else xp.asarray(ct) for ct in cts]
    pulled = pull_there(tuple(moved))
    compare(pulled, pull(cts), "vjp")


def _compare_on_host(
    xp: ModuleType,
    tolerance: float,
    of: Callable[..., Any],
    found: Sequence[Any],
    expected: Sequence[Any],
    where: str,
) -> None:
    for x in found:
        assert isinstance(x, xp.ndarray), f"{where}: a {type(x)}, not an array of {xp.__name__}"
    assert_close(
        tuple(of(x.get())[()] for x in found),
        tuple(of(np.asarray(x))[()] for x in expected),
        tolerance,
        where,
    )


# Functions of a row


def as_tuple(primitive: Primitive, results: Any) -> Arrays:
    return tuple(results) if primitive.multiple_results else (results,)


def as_scalars(results: Iterable[Any]) -> Arrays:
    return tuple(x[()] if isinstance(x, np.ndarray) else x for x in results)


def outputs(sample: Sample, operands: Iterable[Any]) -> Arrays:
    """Run the primitive on arrays."""
    return as_tuple(sample.primitive, execute(sample.primitive, list(operands)))


def function_of(primitive: Primitive) -> Function:
    """Return the primitive as a function that returns a tuple."""
    return lambda *operands: as_tuple(primitive, primitive(*operands))


def restricted(
    sample: Sample, positions: Sequence[int], others: dict[int, Any] | None = None
) -> tuple[Function, Arrays]:
    """Return the primitive as a function of some operands, and those; the others are `others`."""
    fixed = [(others or {}).get(i, x) for i, x in enumerate(sample.operands)]

    def f(*xs: Any) -> Arrays:
        operands = list(fixed)
        for i, x in zip(positions, xs, strict=True):
            operands[i] = x
        return as_tuple(sample.primitive, sample.primitive(*operands))

    return f, tuple(sample.operands[i] for i in positions)


def functions(sample: Sample) -> Iterator[tuple[Function, Arrays]]:
    """Yield the primitive as a function of all operands that can vary, and of each alone."""
    positions = moving(sample)
    yield restricted(sample, positions)
    if len(positions) > 1:
        for i in positions:
            yield restricted(sample, (i,))


def chosen(f: Function, where: set[int]) -> Function:
    """Return the function that gives only the results `where`."""
    return lambda *xs: tuple(y for i, y in enumerate(f(*xs)) if i in where)


def tangent_of(f: Function, ts: Arrays) -> Function:
    """Return the function that gives the derivative of `f` along `ts`."""
    return lambda *xs: fg.jvp(f, xs, ts)[1]


def pullback_of(f: Function, n: int) -> Function:
    """Return the function of the `n` arguments of `f` and the cotangents that pulls them back."""
    return lambda *arguments: fg.vjp(f, *arguments[:n])[1](arguments[n:])


def expr_of(sample: Sample) -> Expr:
    """Return the program of one call of the primitive."""
    types = tuple(map(type_of, sample.operands))
    results = sample.primitive.infer(types)
    ins, outs = range(len(types)), range(len(types), len(types) + len(results))
    equation = Equation(sample.primitive, tuple(ins), tuple(outs))
    return Expr(tuple(ins), (equation,), tuple(outs), (*types, *results)).check()


def with_constants(expr: Expr, values: dict[int, Any]) -> Expr:
    """Return `expr` with some inputs made constants."""
    inputs = tuple(v for v in expr.inputs if v not in values)
    return Expr(inputs, expr.equations, expr.outputs, expr.types, values).check()


def inexact_positions(operands: Sequence[Any]) -> tuple[int, ...]:
    return tuple(i for i, x in enumerate(operands) if is_inexact(x))


def moving(sample: Sample) -> tuple[int, ...]:
    """Return the positions of the operands to differentiate by."""
    return tuple(i for i in inexact_positions(sample.operands) if i not in sample.fixed)


def linear_groups(sample: Sample) -> list[tuple[int, ...]]:
    """Return the groups of operands that the row, or the primitive, says it is linear in."""
    groups = sample.linear
    if groups is None:
        primitive, n = sample.primitive, len(sample.operands)
        groups = ()
        if primitive.multilinear:
            groups = tuple((i,) for i in range(n))
        elif primitive.linear is not None:
            groups = (tuple(primitive.linear or range(n)),)
    if not all(map(is_inexact, outputs(sample, sample.operands))):
        return []
    operands = sample.operands
    return [g for g in groups if g and all(is_inexact(operands[i]) for i in g)]


def nonlinear_positions(sample: Sample) -> list[int]:
    """Return the inexact operands that no group contains."""
    if (
        sample.primitive.name == "lent"
    ):  # what is lent has no part in anything, so it may be a tangent
        return []
    if not any(map(is_inexact, outputs(sample, sample.operands))):
        return []
    linear = {i for group in linear_groups(sample) for i in group}
    return [i for i in inexact_positions(sample.operands) if i not in linear]


def subsets(n: int) -> list[tuple[int, ...]]:
    """Return the nonempty sets of operands to map over: all of them up to four operands."""
    sizes = range(1, n + 1) if n <= 4 else (1, n - 1, n)
    return [s for size in sizes for s in itertools.combinations(range(n), size)]


# Arrays


def is_inexact(x: Any) -> bool:
    return x.dtype.kind in "fc"


def in_row_order(x: np.ndarray) -> np.ndarray:
    return np.array(x, order="C")


def in_column_order(x: np.ndarray) -> np.ndarray:
    return np.array(x, order="F")


def strided(x: np.ndarray) -> np.ndarray:
    """Return a copy that is contiguous along no axis, with negative strides."""
    wide = np.zeros([2 * n for n in x.shape], x.dtype)
    view = wide[(..., *[slice(None, None, -2) for _ in x.shape])]
    view[...] = x
    return view


def read_only(x: np.ndarray) -> np.ndarray:
    x = np.array(x)
    x.setflags(write=False)
    return x


def precisions(operands: Arrays) -> Iterator[Arrays]:
    """Yield the operands as they are, and in single precision."""
    yield operands
    single = {np.dtype(float): np.float32, np.dtype(complex): np.complex64}
    if any(x.dtype in single for x in operands):
        yield tuple(x.astype(single.get(x.dtype, x.dtype)) for x in operands)


def varied(x: np.ndarray, k: int, order: bool = True) -> np.ndarray:
    """Return other values of the kind of `x`, a different set for each `k`; `x` itself for 0.

    `order` tells whether they may be in another order.
    """
    x = np.asarray(np.roll(x, k) if order and np.ndim(x) else x)
    if not is_inexact(x) or not np.isfinite(x).all():
        return x
    return np.asarray(x * (1 - 0.01 * k), x.dtype)


def example(sample: Sample, k: int, subset: Sequence[int]) -> list[np.ndarray]:
    """Return operands of which those in `subset` are varied."""
    order = not sample.matrices
    return [varied(x, k, order) if i in subset else x for i, x in enumerate(sample.operands)]


def directions(xs: Iterable[Any], seed: int) -> Arrays:
    """Return a random tangent or cotangent for each array, of float0 for integers."""
    rng = np.random.default_rng(seed)

    def direction(x: Any) -> np.ndarray:
        if not is_inexact(x):
            return np.zeros(x.shape, fg.float0)
        t = rng.uniform(0.2, 1.0, x.shape) * rng.choice([-1, 1], x.shape)
        if x.dtype.kind == "c":
            t = t + 1j * rng.uniform(-1.0, 1.0, x.shape)
        return np.asarray(t, x.dtype)

    return tuple(direction(x) for x in xs)


def pairing(a: Iterable[Any], b: Iterable[Any]) -> float:
    """Return <a, b>."""
    return sum(
        float(np.sum(np.asarray(x) * np.asarray(y), dtype=complex).real)
        for x, y in zip(a, b, strict=True)
        if is_inexact(x)
    )


def precision(arrays: Iterable[Any], double: float) -> float:
    """Return the tolerance that the least precise dtype allows: `double` for double precision."""
    eps = max([np.finfo(x.dtype).eps for x in arrays if is_inexact(x)], default=0)
    return double if eps < 1e-10 else 3e-4 if eps < 1e-6 else 3e-2


STEPS = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
"""The central difference of order 4."""


def difference(f: Function, xs: Arrays, ts: Arrays) -> Arrays:
    """Return the derivative of `f` along `ts`, by central differences."""
    eps = max([np.finfo(y.dtype).eps for y in (*xs, *f(*xs)) if is_inexact(y)], default=0)
    h = 1e-4 if eps < 1e-10 else 1e-2 if eps < 1e-6 else 0.1
    totals: list[Any] = []
    for step, weight in STEPS.items():
        moved = [(x + step * h * t).astype(x.dtype) for x, t in zip(xs, ts, strict=True)]
        ys = [np.asarray(y, complex if y.dtype.kind == "c" else float) for y in f(*moved)]
        totals = totals or [0] * len(ys)
        totals = [total + weight / h * y for total, y in zip(totals, ys, strict=True)]
    return tuple(t.astype(y.dtype)[()] for t, y in zip(totals, f(*xs), strict=True))


# Assertions


def assert_equal(found: Any, expected: Any, where: str, scalars: bool = True) -> None:
    """Equal in shape, dtype and every element; 0-d results are NumPy scalars."""
    if scalars:
        assert isinstance(found, np.ndarray) == bool(np.ndim(found)), f"{where}: {type(found)}"
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), (
        f"{where}: {found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
    )
    np.testing.assert_array_equal(found, expected, where)


def assert_same(found: Sequence[Any], expected: Sequence[Any], where: str) -> None:
    """Equal, up to the last bits where NumPy's loops for other layouts round differently."""
    assert len(found) == len(expected), where
    assert_close(tuple(found), tuple(expected), precision(expected, 1e-14), where)


def assert_close(found: Any, expected: Any, tolerance: float, where: str) -> None:
    """Equal in structure, shapes and dtypes, and in values up to a relative tolerance."""
    assert isinstance(found, tuple), f"{where}: {type(found)}"
    assert len(found) == len(expected), f"{where}: {len(found)} results, not {len(expected)}"
    for x, y in zip(found, expected, strict=True):
        y = np.asarray(y)[()]
        if not is_inexact(y):
            assert_equal(x, y, where)
            continue
        assert isinstance(x, np.ndarray) == bool(y.ndim), f"{where}: {type(x)}"
        assert_allclose(x, y, tolerance, err_msg=where)


def assert_tangents(tangents: Any, values: Sequence[Any]) -> None:
    """Tangents or cotangents have the shapes and dtypes of the values, or float0."""
    assert isinstance(tangents, tuple)
    assert len(tangents) == len(values)
    for t, x in zip(tangents, values, strict=True):
        dtype = x.dtype if is_inexact(x) else fg.float0
        assert (t.shape, t.dtype) == (x.shape, dtype), f"{type_of(t)} for {type_of(x)}"


def assert_pairing(
    a: float, b: float, tolerance: float, cts: Sequence[Any], tangents: Sequence[Any]
) -> None:
    """Two values of the pairing of `cts` and `tangents` are equal, up to cancellation in it."""
    size = sum(
        float(np.sum(np.abs(np.asarray(x, complex) * np.asarray(y, complex))))
        for x, y in zip(cts, tangents, strict=True)
        if is_inexact(x)
    )
    assert abs(a - b) <= tolerance * max(1.0, size), f"<ct, J t> = {a}, but <J^T ct, t> = {b}"

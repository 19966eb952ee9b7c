"""Initial value problems as primitives: the flow of an equation, its tangents and their adjoints.

Everything is a `Flow`: a system of states that is integrated over a grid of times, may be given impulses
on the way, and is read where it arrives. Its derivative is a flow of the states with their tangents (forward
sensitivities). The transpose of that is a flow, backwards in time, of the states with their adjoints (Pontryagin et
al., "The mathematical theory of optimal processes" (1962); R. T. Q. Chen et al., "Neural ordinary differential
equations" (2018), appendix B). So there are derivatives of any order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core.backend import to_device, to_host
from fungrad.core.evaluate import evaluate
from fungrad.core.primitive import Linear, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import Cast, add, mul, neg, sub
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import Broadcast, full, zeros_like
from fungrad.primitives.slices import Reverse, index_axis, slice_axis
from fungrad.programs.closing import batched_program, memoized, shared
from fungrad.programs.one_by_one import Iterative, or_zero
from fungrad.programs.solvers.initial_value import Options, integrate
from fungrad.programs.solvers.layout import as_reals, from_reals
from fungrad.rewrite.linearize import jvp_expr, linearize_expr, or_zeros
from fungrad.rewrite.transpose import transpose_expr

# How a state gets its input.
INITIAL = "initial"  # at the first time alone
JUMP = "jump"  # at each time but the last: the first row is where it starts, the others are added
RESET = "reset"  # likewise, but the rows replace it, by what it should be but for errors
# Where a state is read.
FINAL = "final"  # on arrival at the last time
ALL = "all"  # on arrival at each time but the first

TRANSPOSED = {INITIAL: FINAL, JUMP: ALL, RESET: ALL}
"""Where the adjoint of a state is read, by how the state gets its input."""


@primitive
class Flow(Iterative):
    """Integrate the equation ``z' = rhs(*captured, *z, t)`` over a grid of at least two times.

    The operands are the `captured` first arrays that `rhs` takes, the times, and an input for each state
    according to `ins`; the results are the states according to `outs`.
    """

    rhs: Program
    captured: int
    ins: tuple[str, ...]
    outs: tuple[str, ...]
    options: Options

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        intervals = types[self.captured].shape[0] - 1
        return tuple(
            t.update(shape=(intervals, *t.shape)) if out == ALL else t
            for t, out in zip(self.state_types, self.outs, strict=True)
        )

    @property
    def state_types(self) -> tuple[ArrayType, ...]:
        """The types of the states."""
        return tuple(map(tangent_type, self.rhs.expr.input_types[self.captured : -1]))

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Any, Sequence[Any]]:
        """Return the captures of `rhs`, the times, and the inputs."""
        n = self.captured
        return operands[:n], operands[n], operands[n + 1 :]

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        captured, times, inputs = self.split(to_device(xp, operands))
        rhs, types = self.rhs.compiled(xp), self.state_types

        def pack(states: Sequence[Any]) -> np.ndarray[Any, Any]:
            return as_reals([to_host(x) for x in states], types)

        def unpack(vector: np.ndarray[Any, Any]) -> list[Any]:
            return [xp.asarray(x) for x in from_reals(vector, types)]

        clock = times.dtype.type

        def derivative(t: float, vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return pack(rhs(*captured, *unpack(vector), clock(t)))

        grid = to_host(times).astype(float)
        state = pack(
            [x if how == INITIAL else x[0] for x, how in zip(inputs, self.ins, strict=True)]
        )
        if all(how == INITIAL for how in self.ins):
            arrivals = integrate(derivative, state, grid, self.options)
        else:
            arrivals = np.empty((len(grid) - 1, len(state)))
            for i in range(len(grid) - 1):
                (arrivals[i],) = integrate(derivative, state, grid[i : i + 2], self.options)
                if i + 2 < len(grid):
                    moved = zip(unpack(arrivals[i]), inputs, self.ins, strict=True)
                    state = pack(
                        [
                            z if how == INITIAL else u[i + 1] if how == RESET else z + u[i + 1]
                            for z, u, how in moved
                        ]
                    )
        histories = zip(*[unpack(arrival) for arrival in arrivals], strict=True)
        return tuple(
            xp.stack(history) if out == ALL else history[-1]
            for history, out in zip(histories, self.outs, strict=True)
        )

    def reading_all(self) -> Flow:
        """Return the same flow with all states read at all times."""
        if all(out == ALL for out in self.outs):
            return self
        return self.replaced(outs=(ALL,) * len(self.outs))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        t_captured, t_times, t_inputs = self.split(tangents)
        moving = tuple([i for i, t in enumerate(t_captured) if t is not None])
        if not moving and t_times is None and all(t is None for t in t_inputs):
            return (None,) * len(self.outs)
        _, _, inputs = self.split(operands)
        starts = [or_zero(t, x) for t, x in zip(t_inputs, inputs, strict=True)]
        ins = self.ins
        if t_times is not None:
            leaving, arriving = self._slopes(operands)
            ins, starts = self._moved_starts(t_times, leaving, arriving, starts)
        derivative = shared(FlowTangent, self, moving, ins)
        pushed = derivative(*operands, *[t_captured[i] for i in moving], *starts)
        if t_times is None:
            return pushed  # type: ignore[no-any-return]
        # A state that is read later has moved on by its slope.
        ends = rows(t_times, 1, t_times.shape[0])
        later = [scaled(f, ends) for f in arriving]
        return tuple(
            add(x, y if how == ALL else index_axis(y, 0, y.shape[0] - 1))
            for x, y, how in zip(pushed, later, self.outs, strict=True)
        )

    def _slopes(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the derivatives of the states at the beginning and at the end of each interval."""
        captured, times, inputs = self.split(operands)
        m = times.shape[0]
        ends = self.reading_all()(*operands)
        starts = []
        for z, u, how in zip(ends, inputs, self.ins, strict=True):
            if how == RESET:
                starts.append(u)
            elif how == INITIAL:
                starts.append(joined(one_row(u), rows(z, 0, m - 2)))
            else:
                starts.append(add(u, joined(zeros_like(rows(u, 0, 1)), rows(z, 0, m - 2))))
        every = (False,) * len(captured) + (True,) * (len(ends) + 1)
        slopes = batched_program(self.rhs, m - 1, every)
        leaving = slopes(*captured, *starts, rows(times, 0, m - 1))
        return leaving, slopes(*captured, *ends, rows(times, 1, m))

    def _moved_starts(
        self, moved: Any, leaving: list[Any], arriving: list[Any], starts: list[Any]
    ) -> tuple[tuple[str, ...], list[Any]]:
        """Return the inputs of the tangents, given those for fixed times, if times are `moved`.

        A state that starts later is behind by its slope; if it arrived later, it is ahead by the slope that
        it arrived with.
        """
        m = moved.shape[0]
        behind = [scaled(f, rows(moved, 0, m - 1)) for f in leaving]
        if all(how == INITIAL for how in self.ins):  # in between, the two cancel
            return self.ins, [
                sub(s, index_axis(b, 0, 0)) for s, b in zip(starts, behind, strict=True)
            ]
        ins, inputs = [], []
        between = rows(moved, 1, m - 1)
        for s, b, f, how in zip(starts, behind, arriving, self.ins, strict=True):
            u = s
            if how == INITIAL:
                u = joined(one_row(s), zeros_like(rows(f, 0, m - 2)))
            u = sub(u, b)
            if how != RESET:
                ahead = scaled(rows(f, 0, m - 2), between)
                u = add(u, joined(zeros_like(rows(f, 0, 1)), ahead))
            ins.append(RESET if how == RESET else JUMP)
            inputs.append(u)
        return tuple(ins), inputs


@primitive
class FlowTangent(Iterative):
    """The derivative of a `Flow`: tangents of its states.

    The operands are those of the flow; then tangents of what `rhs` captures, at the positions `moving`; then
    inputs for the tangents of the states, according to `ins`. It is linear in what comes after the operands
    of the flow. The tangents are read where the states are.
    """

    flow: Flow
    moving: tuple[int, ...]
    ins: tuple[str, ...]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.flow.infer(types[: self.flow.captured + 1 + len(self.ins)])

    def _split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return the operands of the flow, the tangents of captured values, and the inputs."""
        n = self.flow.captured + 1 + len(self.ins)
        m = n + len(self.moving)
        return operands[:n], operands[n:m], operands[m:]

    def _both(self) -> Flow:
        """Return the flow of the states and their tangents."""
        flow = self.flow
        program = _with_tangents(flow.rhs, flow.captured, self.moving)
        # What is reset is read at all times; otherwise the states are not of interest.
        of_states = tuple([ALL if how == RESET else FINAL for how in flow.ins])
        n = flow.captured + len(self.moving)
        return shared(Flow, program, n, flow.ins + self.ins, of_states + flow.outs, flow.options)

    def _operands_of_both(self, operands: Sequence[Any]) -> list[Any]:
        given, tangents, inputs = self._split(operands)
        captured, times, of_states = self.flow.split(given)
        return [*captured, *tangents, times, *of_states, *inputs]

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return self._both().impl(xp, *self._operands_of_both(operands))[len(self.ins) :]

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        moved, given = self._operands_of_both(tangents), self._operands_of_both(operands)
        return self._both().jvp(tuple(moved), None, *given)[len(self.ins) :]

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        given, _, _ = self._split(operands)
        if any(isinstance(x, Linear) for x in given):
            raise self.missing("transpose")
        flow = self.flow
        captured, times, _ = flow.split(given)
        types = self.infer(tuple([type_of(x) for x in given]))
        reverse = Reverse((0,))
        # Backwards, the states start each interval from what they had been there.
        resets = [reverse(x) for x in flow.reading_all()(*given)]
        cts = map(or_zeros, ct, types)
        of_adjoints = [
            reverse(c) if out == ALL else c for c, out in zip(cts, flow.outs, strict=True)
        ]
        ins = tuple(
            [
                RESET if how == RESET else JUMP if out == ALL else INITIAL
                for how, out in zip(self.ins, flow.outs, strict=True)
            ]
        )
        outs = tuple([TRANSPOSED[how] for how in self.ins])
        k, q = len(ins), len(self.moving)
        program = _with_adjoints(flow.rhs, flow.captured, self.moving)
        adjoint = shared(
            Flow,
            program,
            flow.captured,
            (RESET,) * k + ins + (INITIAL,) * q,
            (ALL,) * k + outs + (FINAL,) * q,
            flow.options,
        )
        zeros = [full(tangent_type(type_of(captured[i])), 0) for i in self.moving]
        pulled = adjoint(*captured, reverse(times), *resets, *of_adjoints, *zeros)[k:]
        of_inputs = [
            reverse(x) if out == ALL else x for x, out in zip(pulled[:k], outs, strict=True)
        ]
        return (*[None] * len(given), *pulled[k:], *of_inputs)


@memoized
def _with_tangents(rhs: Program, n: int, moving: tuple[int, ...]) -> Program:
    """Return the right-hand side for states and tangents: ``(captured, moved, z, dz, t) -> (z', dz')``."""
    k = len(rhs.expr.inputs) - 1 - n
    expr = jvp_expr(rhs.expr, [*moving, *range(n, n + k)])
    captured, z, t = expr.inputs[:n], expr.inputs[n : n + k], expr.inputs[n + k]
    moved, dz = expr.inputs[n + k + 1 : -k or None], expr.inputs[len(expr.inputs) - k :]
    return Program(dataclasses.replace(expr, inputs=(*captured, *moved, *z, *dz, t)))


@memoized
def _with_adjoints(rhs: Program, n: int, moving: tuple[int, ...]) -> Program:
    """Return the right-hand side for states, adjoints and gradients by captured values.

    With ``z' = f(z, p)`` the adjoints obey ``a' = -(df/dz)^T a``, and the gradient is the integral of
    ``(df/dp)^T a``; integrated backwards, that has the other sign, too.
    """
    types = rhs.expr.input_types
    k = len(types) - 1 - n
    states = tuple(map(tangent_type, types[n : n + k]))
    parameters = tuple(tangent_type(types[i]) for i in moving)
    forward, linear, alive = linearize_expr(rhs.expr, [*moving, *range(n, n + k)])
    backward = transpose_expr(linear, linear.captured)

    def slopes(*arguments: Any) -> list[Any]:
        captured, z, a = arguments[:n], arguments[n : n + k], arguments[n + k : n + 2 * k]
        computed = evaluate(forward, [*captured, *z, arguments[-1]])
        cts = evaluate(backward, [*computed[k:], *[a[i] for i in alive]])
        cts = [neg(or_zeros(c, t)) for c, t in zip(cts, parameters + states, strict=True)]
        return [*computed[:k], *cts[len(moving) :], *cts[: len(moving)]]

    arguments = [*types[:n], *states, *states, *parameters, types[-1]]
    return Program(record_expr("adjoint", slopes, arguments))


def rows(x: Any, start: int, stop: int) -> Any:
    """Return ``x[start:stop]``."""
    return slice_axis(x, 0, start, stop)


def one_row(x: Any) -> Any:
    """Return ``x[None]``."""
    return Broadcast((1, *x.shape), (0,))(x)


def joined(x: Any, y: Any) -> Any:
    """Return the rows of `x`, then those of `y`."""
    return Concatenate(0)(x, y)


def scaled(x: Any, by: Any) -> Any:
    """Return each row of `x` times an element of the vector `by`."""
    if by.dtype != x.dtype:
        by = Cast(x.dtype)(by)
    return mul(x, Broadcast(x.shape, tuple(range(1, len(x.shape))))(by))

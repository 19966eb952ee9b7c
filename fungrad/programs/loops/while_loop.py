"""Loops until a condition is false: the primitive with its rules, and `while_loop`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from fungrad.compile.flow import Until, handed_on
from fungrad.compile.lower import Program
from fungrad.core.backend import as_result, to_device
from fungrad.core.config import settings
from fungrad.core.errors import MissingRuleError
from fungrad.core.glossary import COMMON
from fungrad.core.location import place_of_use
from fungrad.core.nesting import without_values
from fungrad.core.primitive import primitive
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.tree import TreeDef
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.elementwise import select
from fungrad.primitives.reductions import ReduceOr
from fungrad.primitives.shaping import expand
from fungrad.programs.analysis import (
    batched_carries,
    batched_outputs,
    carries_for,
    fixpoint,
    reads,
    rearranged,
    widened,
)
from fungrad.programs.closing import (
    NotTraced,
    Pruned,
    Values,
    batched_program,
    close,
    memoized,
    record,
    shared,
)
from fungrad.programs.effects import quiet
from fungrad.programs.loops.alone import compiled_loop, step_of
from fungrad.programs.loops.by_python import check_condition, tried, while_by_python
from fungrad.programs.loops.carry import any_tracer, close_loop, have_values, leaves_of, operands_as
from fungrad.programs.loops.lanes import along, is_total, lends, only
from fungrad.programs.pushing import (
    Moved,
    Pushed,
    Pushing,
    by_series,
    grouped,
    through,
    with_series,
)
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.dtypes import weakly_typed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

C = TypeVar("C")
"""The carry of the loop."""


@primitive
class While(Pushing):
    """Run `body` on the carries for as long as `cond` is true of them.

    The operands are the constants of `cond` and of `body`, as many as `counts` says, then the carries. A batch of one that
    is `together` makes each step for all calls.
    """

    cond: Program
    body: Program
    counts: tuple[int, int]
    together: bool = False

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, self.body.expr.output_types))

    @property
    def _carries(self) -> slice:
        """Where the carries are among the inputs of `body`."""
        return slice(self.counts[1], len(self.body.expr.inputs))

    @property
    def control_flow(self) -> Until:
        return Until(self.counts, self.cond.expr, self.body.expr)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        operands = tuple(to_device(xp, operands))
        types = [*self.cond.expr.input_types[: self.counts[0]], *self.body.expr.input_types]
        run = compiled_loop(self, types, xp, self.axis_names)
        if run is not None:
            return tuple(run(*operands))
        of_cond, of_body, carries = self.split(operands)
        carries = [as_result(xp.array(x)) for x in carries]
        test, step = step_of(self.cond), step_of(self.body)
        while test(*of_cond, *carries)[0]:
            carries = step(*of_body, *carries)
        return tuple(handed_on(xp, carries))

    def moved(self, perturbed: Sequence[bool]) -> Moved:
        c, b = self.counts
        flags = fixpoint(self.body.expr, perturbed[c:], self._carries, derivatives=True)
        moving = [i for i, flag in enumerate(flags) if flag]
        return moving, [i - b for i in moving if i >= b]

    def push_apart(
        self, operands: Values, tangents: Values, known: Values | None, moved: Moved
    ) -> Pushed:
        # There is no telling how many steps there are, so nothing can be kept of them: the tangents
        # come from a loop that computes the primals along.
        t_out = by_series(self, operands, tangents, rerun=True)[1]
        return self(*operands) if known is None else known, [t_out[i] for i in moved[1]]

    def push_series(self, paths: Sequence[Values], order: int, rerun: bool) -> Sequence[Values]:
        c, b = self.counts
        moving, alive = self.moved([len(path) > 1 for path in paths])
        n = len(self.body.expr.inputs)
        of_body, carries = grouped([range(b), range(b, n)], moving, order)
        body = with_series(self.body, moving, alive, order, rerun)
        body = rearranged(body, [*of_body, *carries], range(len(carries)))
        cond = quiet(self.cond) if rerun else self.cond
        types = [*self.cond.expr.input_types[:c], *body.expr.input_types[len(of_body) :]]
        cond = widened(cond, types, range(c + n - b))
        loop = self.replaced(cond=cond, body=body, counts=(c, len(of_body)))
        of_cond = [path[0] for path in paths[:c]]

        def run(*values: Any) -> Values:
            return loop(*of_cond, *[values[i] for i in (*of_body, *carries)])  # type: ignore[no-any-return]

        return through(run, paths[c:], order, moving, alive)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        raise MissingRuleError(
            "reverse mode cannot differentiate a while_loop, or a fori_loop with traced bounds: the number of steps to keep "
            f"is unknown. The loop is at {place_of_use()}. Choose one: "
            "(1) scan, or fori_loop with bounds that are Python integers, for the largest number of steps, with "
            "where(done, carry, new) in its body; "
            "(2) custom_root if the loop solves an equation, or custom_linear_solve if that is linear, as in the "
            "tangent_solve of custom_root; "
            "(3) forward mode: jvp, jacfwd; "
            "(4) call the function without jit: Python then runs the loop, unless a solver has traced it."
        )

    def smaller(self, used: Sequence[bool]) -> Pruned:
        c, b = self.counts
        tested = reads(self.cond.expr)
        needed = [flag or read_by_cond for flag, read_by_cond in zip(used, tested[c:], strict=True)]
        carries, read = carries_for(self.body, needed, (), b)
        of_cond = [i for i in range(c) if tested[i]]
        of_body = [i for i in range(b) if read[i]]
        if (len(of_cond), len(of_body), len(carries)) == (c, b, len(used)):
            return None
        cond = rearranged(self.cond, [*of_cond, *[c + i for i in carries]], [0])
        body = rearranged(self.body, [*of_body, *[b + i for i in carries]], carries)
        operands = [*of_cond, *[c + i for i in of_body], *[c + b + i for i in carries]]
        counts = (len(of_cond), len(of_body))
        return self.replaced(cond=cond, body=body, counts=counts), operands, carries

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> list[bool]:
        return self._with_batch(batched, exactly)[1]

    def _with_batch(
        self, batched: Sequence[bool], exactly: bool = False
    ) -> tuple[bool, list[bool]]:
        """Return whether the condition has a batch, and which carries, if the operands `batched` have."""
        b_cond, b_body, b_carries = self.split(batched)
        given = [*b_body, *b_carries]
        flags = batched_carries(self.body.expr, given, self._carries, exactly)
        now = flags[self._carries]
        (varies,) = batched_outputs(self.cond.expr, [*b_cond, *now], exactly)
        return varies, [varies or flag for flag in now]

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        of_cond, of_body, carries = self.split(operands)
        b_cond, b_body, b_carries = self.split(batched)
        varies, now = self._with_batch(batched)
        cond = batched_program(self.cond, size, [*b_cond, *now], [varies])
        body = batched_program(self.body, size, [*b_body, *now], now)
        start = [
            expand(size, x, was) if is_ else x
            for x, was, is_ in zip(carries, b_carries, now, strict=True)
        ]
        if varies:
            (running,) = cond(*of_cond, *start)
            # Lending costs as much as many a step, so it is left out where nothing can go wrong.
            lending = lends(self.body) and not is_total(self.body)
            cond, body = _while_any(cond, body, len(of_cond), b_body, lending)
            loop = shared(While, cond, body, (0, sum(self.counts)))
            return loop(*of_cond, *of_body, running, *start)[1:]  # type: ignore[no-any-return]
        loop = self.replaced(cond=cond, body=body)
        return loop(*of_cond, *of_body, *start)  # type: ignore[no-any-return]


@memoized
def _while_any(
    cond: Program, body: Program, c: int, batched: Sequence[bool], lending: bool
) -> tuple[Program, Program]:
    """Return the loop over a batch: on while `cond` is true of any call; those that are done stay.

    Which ones go on is the first carry. The body takes the constants of `cond` too; `batched` says which of
    its own have a batch, `lending` whether calls that go on lend their operands to those that are done.
    """
    b = len(batched)
    types = cond.expr.input_types
    running_type = cond.expr.output_types[0]

    def go_on(running: Any, *carries: Any) -> list[Any]:
        return [ReduceOr((0,))(running)]

    def step(*arguments: Any) -> list[Any]:
        of_cond, constants, rest = arguments[:c], arguments[c : c + b], arguments[c + b :]
        running, *carries = rest
        lent = [*[x for x, flag in zip(constants, batched) if flag], *carries]
        if lending:
            lent = only(running, lent)
        of_body = [lent.pop(0) if flag else x for x, flag in zip(constants, batched)]
        carries_out = [
            select(along(running, x), x, old)
            for x, old in zip(body(*of_body, *lent), carries, strict=True)
        ]
        return [*cond(*of_cond, *carries_out), *carries_out]

    steps = [*types[:c], *body.expr.input_types[:b], running_type, *types[c:]]
    return (
        Program(record_expr("while_loop", go_on, [running_type, *types[c:]])),
        Program(record_expr("while_loop", step, steps)),
    )


@overload
def while_loop(
    cond_fun: Callable[[NDArray[Any]], ArrayLike],
    body_fun: Callable[[NDArray[Any]], C],
    init_val: complex,
) -> C: ...
@overload
def while_loop(
    cond_fun: Callable[[C], ArrayLike], body_fun: Callable[[C], C], init_val: C
) -> C: ...
@COMMON.public
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Run ``val = body_fun(val)`` for as long as ``cond_fun(val)`` is true.

    Parameters
    ----------
    cond_fun
        Takes `val`; returns a boolean scalar.
    body_fun
        Takes `val` and returns the next: the same structure, shapes and dtypes.

    Returns
    -------
    pytree
        The first `val` of which `cond_fun` is false.

    Raises
    ------
    TypeError
        If `body_fun` returns other types than it takes, or `cond_fun` no boolean scalar.
    MissingRuleError
        In reverse mode, if the loop is traced without values.

    Notes
    -----
    Where values are known, on plain arrays and under un-jitted `grad`, this is a Python loop. Under `jit` and
    `vmap` it is one equation, which has forward mode and no reverse mode: use `scan`, `fori_loop` with Python
    integers as bounds, or `custom_root` there. Under `vmap` the loop goes on until it is done for all calls.

    Examples
    --------
    >>> def newton(a):
    ...     return lax.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> print(round(fg.jit(newton)(2.0), 6))
    1.414214
    """
    check_callable(cond_fun, "while_loop: cond_fun")
    check_callable(body_fun, "while_loop: body_fun")
    label = f"while_loop({name_of(body_fun)})"
    init = leaves_of(init_val, f"{label}: init_val")
    if settings.get().jit_disabled or _run_by_python(init.leaves):
        by_python = functools.partial(while_by_python, label, cond_fun, body_fun, init)
        outcome = tried(by_python, without_values() is not None)
        if outcome is not None:
            return outcome[0]
    closed = close_loop(label, lambda val: (body_fun(val), None), init, branch=True)
    if isinstance(closed, NotTraced):
        raise closed.error
    body, types = closed
    condition = f"{label}: cond_fun"
    cond = close(condition, cond_fun, init.rebuilt(types))
    check_condition(condition, result_type(cond.structure, cond.program.expr.output_types))
    loop = shared(While, cond.program, body.program, (len(cond.captured), len(body.captured)))
    operands = [*cond.captured, *body.captured, *operands_as(init.leaves, types)]
    returned = body.program.expr.output_types
    return init.rebuilt(weakly_typed(record(loop, operands), returned))


def _run_by_python(leaves: Sequence[Any]) -> bool:
    """Whether all leaves have values that do not come from constants of a jitted function.

    Operators of plain arrays promote dtypes by NumPy's rules: by others, steps are traced.
    """
    if settings.get().dtypes and not any_tracer(leaves):
        return False
    return all(
        type(x) is not Tracer or (x._owner.values is not None and have_values([x])) for x in leaves
    )


def result_type(structure: TreeDef, types: Sequence[ArrayType]) -> Any:
    """Return the type of a result that is one array; the structure of any other."""
    return types[0] if len(types) == 1 and structure.num_nodes == 1 else structure

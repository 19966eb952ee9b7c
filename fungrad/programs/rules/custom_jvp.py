"""Functions with a forward rule of their own, from which reverse mode follows by transposition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import LeakedTracerError
from fungrad.core.glossary import COMMON
from fungrad.core.primitive import primitive
from fungrad.core.reading import as_read
from fungrad.core.types import tangent_type, type_of
from fungrad.primitives.shaping import full
from fungrad.programs.closing import (
    NotTraced,
    Values,
    batched_program,
    close,
    fitting,
    some_outputs,
    try_to_close,
)
from fungrad.programs.effects import quiet
from fungrad.programs.pushing import Pushed
from fungrad.programs.rules.custom_derivative import CustomDerivative
from fungrad.programs.rules.rule_tracing import TracedRule, Unusable, tracing_rule
from fungrad.programs.rules.rules import (
    OfFunction,
    Pushforward,
    SymbolicZero,
    check_results,
    for_outputs,
    is_zero,
    pair,
    run_rule,
    shown_type,
    without_tangents,
    zero_like,
)
from fungrad.programs.rules.sites import Results, Site
from fungrad.rewrite.linearize import or_zeros
from fungrad.transforms.arguments import check_callable
from fungrad.transforms.stop import stop_gradient


@primitive
class CustomJVP(OfFunction):
    """A call of a function whose derivative is that of the program `rule`."""

    name = "custom_jvp"

    def push(self, tangents: Values, operands: Values, known: Values | None, joint: bool) -> Pushed:
        _, captured, arguments = self.split(operands)
        self.check_closed(tangents)
        rule, given = self.rule, self.split(tangents)[2]
        if not isinstance(rule, _Rule):
            rule, captured = rule.rule_for([t is not None for t in given])
        moved = [or_zeros(given[i], tangent_type(type_of(arguments[i]))) for i in rule.moving]
        given = [*captured, *arguments]
        computed = run_rule(rule.program.expr, [*given, *moved])
        types = self.function.expr.output_types
        n = len(types)
        if known is None:
            known = computed[:n] if joint else rule.results(n, given, self.called)
        return known, for_outputs(computed[n:], types)


class _Rule(NamedTuple):
    """A rule that has been traced.

    `program` takes what it closes over, the arguments, and tangents of those whose positions are in `moving`; it
    returns the results and the tangents of those that can have one.
    """

    program: Program
    moving: tuple[int, ...]

    def results(self, n: int, given: Sequence[Any], called: str) -> list[Any]:
        """Return the results, which are `n`, from the primals alone.

        An equation of the rule may compute results and tangents together.
        """
        program = quiet(some_outputs(self.program, 0, n))  # effects are the tangents'
        unread = without_tangents(program, len(given), f"the rule of custom_jvp function {called}")
        return run_rule(program.expr, [*given, *unread])

    def of_batch(self, size: int, captured: Sequence[bool], batched: Sequence[bool]) -> _Rule:
        """Return the rule of a batch of calls."""
        flags = (*captured, *batched, *[batched[i] for i in self.moving])
        return _Rule(batched_program(self.program, size, flags), self.moving)


@COMMON.documented
class custom_jvp(CustomDerivative):
    """Give a function a derivative rule of its own, in forward mode. Used as a decorator.

    Forward and reverse mode of any order follow from the rule: the tangents it returns are linear in those it is
    given, and reverse mode transposes that.

    Parameters
    ----------
    nondiff_argnums
        The positions of arguments that have no derivative: functions, strings, settings. Rules get them
        first, before primals and tangents.

    Notes
    -----
    The rule may look at values (with `if`, say) where the arguments have values, which is under `grad`, `jvp` and
    the like without `jit`. Derivatives by what the function closes over are not those of the rule, so they are an
    error: pass such values as arguments. Arguments that are neither traced nor arrays stay as they are, also
    within the rule.

    Examples
    --------
    ``log(1 + exp(x))``, whose derivative is made of two infinite parts for large x:

    >>> from fungrad.custom_derivatives import custom_jvp
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return fnp.log1p(fnp.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + fnp.exp(x))) * t
    >>> print(fg.grad(log1pexp)(100.0))
    1.0
    """

    kind = "custom_jvp"
    rules = ("jvp", "symbolic_zeros")
    definer = "defjvp"
    primitive = CustomJVP
    once = True

    jvp: Callable[..., Any] | None = None

    @COMMON.public
    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Define the rule. Usable as a decorator.

        Parameters
        ----------
        jvp
            ``jvp(primals, tangents)``, after the arguments in `nondiff_argnums`: a tuple of the arguments and a
            tuple of their tangents, of the same structure. It returns the result of the function and the tangent
            of that, of the same structure, shapes and dtypes. Tangents of integers and
            booleans have dtype `float0`.
        symbolic_zeros
            Whether tangents that are known to be zero are given as `SymbolicZero`, which rules may
            return too, and not as arrays of zeros.

        Returns
        -------
        Callable
            The rule as it is.

        Examples
        --------
        >>> from fungrad.custom_derivatives import custom_jvp
        >>> double = custom_jvp(lambda x: 2 * x)
        >>> _ = double.defjvp(lambda primals, tangents: (double(*primals), 20 * tangents[0]))
        >>> print(fg.grad(double)(1.0))
        20.0
        """
        check_callable(jvp, f"{self.label}: defjvp")
        self.jvp = jvp
        self.symbolic_zeros = bool(symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Define the rule by one function for each argument.

        Parameters
        ----------
        *jvps
            For each argument ``jvp(tangent, result, *arguments)``, which gives the part of the tangent
            of the result that comes from the tangent of this argument; None if there is no such part.

        Examples
        --------
        >>> import fungrad as fg
        >>> from fungrad.custom_derivatives import custom_jvp
        >>> product = custom_jvp(lambda x, y: x * y)
        >>> product.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t)
        >>> print(fg.grad(product)(2.0, 3.0))
        3.0
        """
        if self.nondiff_argnums:
            raise TypeError(
                f"{self.label}: defjvps cannot be used with nondiff_argnums; use defjvp"
            )

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise TypeError(
                    f"{self.label}: defjvps was given {len(jvps)} functions, and the call has {len(primals)} "
                    "arguments; give None for those without a derivative"
                )
            out = self(*primals)
            terms = [
                rule(t, out, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None and not all(map(is_zero, tree.leaves(t)))
            ]
            if not terms:
                return out, tree.map(lambda x: zero_like(x, symbolic=True), out)
            add = functools.partial(tree.map, lambda x, y: x + y)
            return out, functools.reduce(add, terms)

        self.defjvp(jvp, symbolic_zeros=True)

    def without_derivatives(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        fixed = self.nondiff_argnums
        return tuple([stop_gradient(x) if i in fixed else x for i, x in enumerate(args)])

    def run_rule(self, site: Site, values: Values) -> tuple[Any, Values, Values, tree.TreeDef]:
        label, moving = f"the rule of {self.label}", self._moving(site)
        types = [tangent_type(site.types[i]) for i in moving]
        closed = close(label, functools.partial(self.apply, site, values), types)
        structure = closed.structure.children()[0]
        n = structure.num_leaves
        results = quiet(some_outputs(closed.program, 0, n))  # the rule's effects are the tangents'
        tangents = some_outputs(closed.program, n, len(closed.program.expr.outputs))
        outs = results(*closed.captured, *without_tangents(results, len(closed.captured), label))
        return Pushforward(tangents, moving), outs, closed.captured, structure

    def trace_rule(self, site: Site, function: Results) -> TracedRule:
        label, moving = f"the rule of {self.label}", self._moving(site)
        with tracing_rule():
            types = [tangent_type(site.types[i]) for i in moving]
            closure = try_to_close(label, functools.partial(self.apply, site), site.types, types)
        if isinstance(closure, NotTraced):
            return Unusable(str(closure.error)), ()
        structure = closure.structure.children()[0]
        check_results(closure.types[: structure.num_leaves], structure, *function, label)
        return _Rule(closure.program, moving), closure.captured

    def _moving(self, site: Site) -> tuple[int, ...]:
        """Return the operands whose tangents the rule is given as arrays."""
        if not self.symbolic_zeros:
            return site.moving
        return tuple([i for i in site.moving if site.perturbed[i]])

    def apply(self, site: Site, primals: Values, tangents: Values) -> tuple[Any, list[Any]]:
        """Run the rule on operands and tangents; return the result and the tangents of inexact leaves."""
        assert self.jvp is not None
        label = f"the rule of {self.label}"
        leaves = site.with_leaves(primals)
        given = {site.at[i]: t for i, t in zip(self._moving(site), tangents, strict=True)}
        moved = [
            given[i] if i in given else zero_like(x, self.symbolic_zeros)
            for i, x in enumerate(leaves)
        ]
        try:
            run = as_read(self.jvp)  # under a name: errors look up which function is called here
            result = run(*site.static, site.unflatten(leaves), site.unflatten(moved))
        except LeakedTracerError as error:
            if not self.nondiff_argnums:
                raise
            raise LeakedTracerError(
                f"{error}\n{label} runs after the call, when arguments in nondiff_argnums that were traced arrays are gone. Leave "
                "arrays out of nondiff_argnums: what has no derivative is given a tangent that the rule need not use."
            ) from None
        out, t_out = pair(result, label, "the result and its tangent")
        structure = tree.structure(out)
        t_outs, t_structure = tree.flatten(t_out)
        if structure != t_structure:
            raise TypeError(
                f"{label} must return a tangent of the structure of the result, {structure}; got "
                f"{t_structure}"
            )
        inexact_tangents = []
        for (path, x), t in zip(tree.leaves_with_paths(out), t_outs, strict=True):
            type_ = tangent_type(type_of(x))
            if not type_.inexact:
                continue
            moving = full(type_, 0) if isinstance(t, SymbolicZero) else fitting(t, type_)
            if moving is None:
                raise TypeError(
                    f"{label}: the result{path and ' ' + path} has type {type_}, and its tangent must have the "
                    f"same; got {shown_type(t)}"
                )
            inexact_tangents.append(moving)
        return out, inexact_tangents

"""Functions with a custom reverse rule: a forward pass that keeps residuals, and a backward pass."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.cached import cached_property
from fungrad.core.errors import called_with
from fungrad.core.glossary import COMMON
from fungrad.core.nodes import register_node
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.reading import as_read
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, is_array, shown, type_of
from fungrad.primitives.elementwise import Cast
from fungrad.programs.closing import NotTraced, Values, batched_program, shared, try_to_close
from fungrad.programs.pushing import Pushed
from fungrad.programs.rules.backward import Backward, TracedBackward, trace_backward
from fungrad.programs.rules.custom_derivative import CustomDerivative
from fungrad.programs.rules.rule_tracing import TracedRule, Unusable, tracing_rule
from fungrad.programs.rules.rules import OfFunction, check_results, for_outputs, pair, run_rule
from fungrad.programs.rules.sites import Results, Site
from fungrad.transforms.arguments import as_operands, check_callable, name_of
from fungrad.transforms.called import Call


@dataclasses.dataclass(frozen=True)
class CustomVJPPrimal:
    """A leaf of an argument, as forward rules with ``symbolic_zeros=True`` get it.

    Attributes
    ----------
    value
        The leaf.
    perturbed
        False if the function is certainly not differentiated by it.

    Examples
    --------
    >>> import fungrad as fg
    >>> @fg.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> def forward(x, y):
    ...     print(x.perturbed, y.perturbed)
    ...     return x.value * y.value, (x.value, y.value)
    >>> product.defvjp(forward, lambda kept, ct: (ct * kept[1], ct * kept[0]), symbolic_zeros=True)
    >>> fg.grad(product)(2.0, 3.0)
    True False
    np.float64(3.0)
    """

    value: Any
    perturbed: bool


@dataclasses.dataclass(frozen=True)
class Flag:
    """A truth value among residuals: part of their structure, so that the backward pass can ask for it."""

    value: bool


register_node(Flag, lambda flag: ((), flag.value), lambda value, _: value)


class _Rule(NamedTuple):
    """A rule that has been traced.

    `forward` takes what it closes over and the arguments; it returns the results, `results` in number, and the
    residuals. `captured` says how many values each of the two closes over.
    """

    forward: Program
    backward: TracedBackward
    results: int
    captured: tuple[int, int]

    def of_batch(self, size: int, captured: Sequence[bool], batched: Sequence[bool]) -> _Rule:
        """Return the rule of a batch of calls."""
        n, _ = self.captured
        outputs = self.forward.expr.output_types
        forward = batched_program(self.forward, size, (*captured[:n], *batched))
        consts = (*captured[n:], *(True,) * (len(outputs) - self.results))
        alone = [not b for b in batched]
        cotangents = sum(t.inexact for t in outputs[: self.results])
        return self._replace(
            forward=forward, backward=self.backward.of_batch(size, consts, alone, cotangents)
        )


@primitive
class CustomVJP(OfFunction):
    """A call of a function whose derivative in reverse mode is that of `rule`."""

    name = "custom_vjp"

    @property
    def saving(self) -> Primitive | None:
        """The forward pass with the residuals of the derivative."""
        rule = self.rule
        if isinstance(rule, Unusable):
            return None
        counts = self.counts
        if isinstance(rule, _Rule):
            return shared(Call, self.called, shared(_saving, self.function, rule, counts))
        return self._saving_of_lazy

    @cached_property
    def _saving_of_lazy(self) -> Primitive | None:
        try:
            rule, captured = self.rule.rule_for([True] * len(self.rule.site.at))
        except Exception:  # it will be raised again where the rule is needed
            return None
        return Call(self.called, _saving(self.function, rule, self.counts, captured))

    def push(self, tangents: Values, operands: Values, known: Values | None, joint: bool) -> Pushed:
        _, captured, arguments = self.split(operands)
        self.check_closed(tangents)
        rule, computed, given = self.rule, known, self.split(tangents)[2]
        if not isinstance(rule, _Rule):
            saved = known is not None and self.saving is not None
            rule, captured = rule.rule_for([saved or t is not None for t in given])
            computed = known if saved else None  # else the results alone are known
        n, _ = rule.captured
        if computed is None:
            computed = run_rule(rule.forward.expr, [*captured[:n], *arguments])
        outs, residuals = computed[: rule.results], computed[rule.results :]
        moved = rule.backward.tangents([*captured[n:], *residuals], given, ())
        types = self.function.expr.output_types
        return outs if known is None else known[: rule.results], for_outputs(moved, types)


def _saving(
    function: Program, rule: _Rule, counts: tuple[int, int], captured: Sequence[Any] = ()
) -> Program:
    """Return the forward pass as a program of the operands of the call.

    `captured` are what the rule closes over, if they are none of these.
    """
    c, d = counts
    n, _ = rule.captured
    types = rule.forward.expr.input_types
    consts = captured[:n]
    given = n - len(consts)
    # It takes neither what the function closes over, nor what the backward pass does.
    unread = [ArrayType((), np.dtype(float))] * (d - given)
    every = [*function.expr.input_types[:c], *types[:given], *unread, *types[n:]]

    def forward(*operands: Any) -> list[Any]:
        taken = [*consts, *operands[c : c + given], *operands[c + d :]]
        # Operands may be of weak type, the program is of strong ones.
        return rule.forward(*[Cast(t.dtype)(x) for x, t in zip(taken, types, strict=True)])

    return Program(record_expr("custom_vjp", forward, every))


@COMMON.documented
class custom_vjp(CustomDerivative):
    """Give a function a derivative rule of its own, in reverse mode. Used as a decorator.

    The rule is a forward pass, which computes the result and keeps what the backward pass needs, and a backward
    pass, from cotangents of the result to those of the arguments. Forward mode is an error; derivatives
    of higher order in reverse mode are those of the two passes.

    Parameters
    ----------
    nondiff_argnums
        The positions of arguments that have no derivative: functions, strings, settings. They cannot be traced
        arrays; for those return None as the cotangent instead.

    Notes
    -----
    The forward pass may look at values (with `if`, say) where the arguments have values, which is under `grad`,
    `vjp` and the like without `jit`. A backward pass that looks at values is called with arrays when the program
    runs, and has no derivative itself. Derivatives by what the function closes over are not those of the rule, so
    they are an error: pass such values as arguments.

    Examples
    --------
    A function that clips its gradient:

    >>> from fungrad.custom_derivatives import custom_vjp
    >>> @custom_vjp
    ... def clipped(x, bound):
    ...     return x
    >>> clipped.defvjp(
    ...     lambda x, bound: (x, bound),
    ...     lambda bound, g: (fnp.clip(g, -bound, bound), None),
    ... )
    >>> print(fg.grad(lambda x: 5 * clipped(x, 1.0))(2.0))
    1.0
    """

    kind = "custom_vjp"
    rules = ("fwd", "bwd", "symbolic_zeros")
    definer = "defvjp"
    primitive = CustomVJP
    once = False

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    @COMMON.public
    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the rule.

        Parameters
        ----------
        fwd
            Takes what the function takes; returns the pair of its result and the residuals: whatever `bwd`
            needs, a pytree of arrays. Of these ``True`` and ``False`` stay Python's own.
        bwd
            ``bwd(residuals, cotangent)``, after the arguments in `nondiff_argnums`. The cotangent has the
            structure of the result; those of integers and booleans have dtype `float0`. It returns a tuple
            of the cotangents of all other arguments, of their structures, shapes and dtypes. None stands for
            zero.
        symbolic_zeros
            Whether `fwd` gets each leaf as a `CustomVJPPrimal`, which says if the function may be differentiated by
            it. Then `bwd` gets a `SymbolicZero` in place of zeros for a result that the differentiated one does not
            depend on. Such functions are rewritten anew in each call of an un-jitted transform.
        optimize_remat
            Accepted for JAX's sake: residuals that are not needed are dropped from programs anyway.

        Examples
        --------
        >>> from fungrad.custom_derivatives import custom_vjp
        >>> product = custom_vjp(lambda x, y: x * y)
        >>> product.defvjp(lambda x, y: (x * y, (x, y)), lambda res, g: (res[1] * g, res[0] * g))
        >>> print(fg.grad(product)(2.0, 3.0))
        3.0
        """
        check_callable(fwd, f"{self.label}: fwd")
        check_callable(bwd, f"{self.label}: bwd")
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = bool(symbolic_zeros)

    def without_derivatives(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        for i in sorted(self.nondiff_argnums & {*range(len(args))}):
            if any(type(x) is Tracer for x in tree.leaves(args[i])):
                raise TypeError(
                    f"{self.label}: the argument {self.argument_name(i)} is in nondiff_argnums, and traced arrays "
                    "cannot be. Leave it out of nondiff_argnums: fwd can save it for bwd, which returns its cotangent too, None for zero."
                )
        return args

    def run_rule(self, site: Site, values: Values) -> tuple[Any, Values, Values, tree.TreeDef]:
        result, residual_tree = self.forward(site, values)
        outs, structure = tree.flatten(result)
        residuals, residual_structure = tree.flatten(residual_tree)
        rule = self.backward(site, tuple(map(type_of, outs)), structure, residual_structure)
        kept = as_operands(residuals)
        backward, captured = trace_backward(name_of(self.fun), rule, kept)
        return backward, outs, [*captured, *kept], structure

    def trace_rule(self, site: Site, function: Results) -> TracedRule:
        label = f"fwd of {self.label}"
        with tracing_rule():
            closure = try_to_close(label, functools.partial(self.forward, site), site.types)
            if isinstance(closure, NotTraced):
                return Unusable(str(closure.error)), ()
            structure, residual_structure = closure.structure.children()
            n, types = structure.num_leaves, closure.types
            check_results(types[:n], structure, *function, label)
            rule = self.backward(site, types[:n], structure, residual_structure)
            backward, captured = trace_backward(name_of(self.fun), rule, types[n:])
        counts = (len(closure.captured), len(captured))
        return _Rule(closure.program, backward, n, counts), (*closure.captured, *captured)

    def forward(self, site: Site, values: Values) -> tuple[Any, Any]:
        """Run the forward pass on operands; return the result and the residuals."""
        assert self.fwd is not None
        leaves = site.with_leaves(values)
        if self.symbolic_zeros:
            moving = {i for i, p in zip(site.at, site.perturbed, strict=True) if p}
            leaves = [CustomVJPPrimal(x, i in moving) for i, x in enumerate(leaves)]
        label = f"fwd of {self.label}"
        arguments = site.call(site.unflatten(leaves))
        how = f"{label} is called with the arguments of {name_of(self.fun)}: {len(arguments)}"
        with called_with(self.fwd, len(arguments), how):
            run = as_read(self.fwd)  # under a name: errors look up which function is called here
            result = run(*arguments)
        out, residual_tree = pair(result, label, "the result and the residuals")
        for what, part in (("results", out), ("residuals", residual_tree)):
            for path, x in tree.leaves_with_paths(part):
                if not is_array(x):
                    raise TypeError(
                        f"{label} must return arrays, numbers and pytrees of them; of its {what}, {path or 'one'} "
                        f"is {shown(x)} of type {type(x).__name__}. Settings that bwd needs belong into "
                        "nondiff_argnums."
                    )
        return out, tree.map(lambda x: Flag(x) if type(x) is bool else x, residual_tree)

    def backward(
        self,
        site: Site,
        types: tuple[ArrayType, ...],
        structure: tree.TreeDef,
        residual_structure: tree.TreeDef,
    ) -> Backward:
        """Return the backward pass of a call as a function of leaves."""
        assert self.bwd is not None
        return Backward(
            self.bwd,
            f"bwd of {self.label}",
            tuple(self.leaf_names(site)),
            site,
            residual_structure,
            structure,
            types,
            self.symbolic_zeros,
        )

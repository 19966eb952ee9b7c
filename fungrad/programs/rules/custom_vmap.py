"""Functions with a rule of their own for vmap."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.errors import api_boundary
from fungrad.core.glossary import COMMON
from fungrad.core.location import place_of_use
from fungrad.core.moving import may_move
from fungrad.core.primitive import primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.primitives.shaping import expand
from fungrad.programs.closing import Values, close, record
from fungrad.programs.loops.loops import map as loop
from fungrad.programs.pushing import Pushed
from fungrad.programs.rules.rules import OfFunction, pair, shown_type
from fungrad.programs.rules.sites import CustomFunction, Site, is_operand, top_trace
from fungrad.programs.watching import look_at
from fungrad.rewrite.linearize import push_forward
from fungrad.transforms.arguments import check_callable, name_of


@dataclasses.dataclass(frozen=True, eq=False)
class _Rule:
    """The rule for one call. No two are equal, because values that it reads may change between calls."""

    function: Callable[..., Any]
    label: str
    site: Site
    structure: tree.TreeDef

    def __call__(
        self, size: int, batched: Sequence[bool], operands: Sequence[Any], types: Any
    ) -> list[Any]:
        """Return the results for a batch of operands, all with the batch as their axis 0."""
        site = self.site
        flags = [False] * len(site.leaves)
        for i, b in zip(site.at, batched, strict=True):
            flags[i] = b
        has_batch: list[list[bool]] = []

        def rule(*values: Any) -> list[Any]:
            arguments = site.call(site.arguments(values))
            result = self.function(size, list(site.unflatten(flags)), *arguments)
            out, out_batched = pair(result, self.label, "the results and which of them are batched")
            outs, structure = tree.flatten(out)
            if structure != self.structure:
                raise TypeError(
                    f"{self.label} must return what the function returns, a tree of structure "
                    f"{self.structure}; got {structure}"
                )
            has_batch.append(
                tree.broadcast_prefix(out_batched, out, f"{self.label}: which results are batched")
            )
            return outs

        closed = close(self.label, rule, *map(type_of, operands))
        if any(type(x) is Tracer for x in closed.captured):
            raise TypeError(
                f"{self.label} closes over a traced array; pass it as an argument of the function, which was called at "
                f"{place_of_use()}"
            )
        results = closed.program(*closed.captured, *operands)
        for x, b, t in zip(results, has_batch[-1], types, strict=True):
            shape = (size, *t.shape) if b else t.shape
            if (x.shape, x.dtype) != (shape, t.dtype):
                raise TypeError(
                    f"{self.label} must return, for a result of type {t} that is {'' if b else 'not '}batched, "
                    f"an array of type {t.update(shape=shape)}; got {shown_type(x)}"
                )
        return [expand(size, x, b) for x, b in zip(results, has_batch[-1], strict=True)]


@primitive
class CustomVmap(OfFunction):
    """A call of a function with a batch rule of its own; its derivative is that of the function.

    The rule gets the arguments alone.
    """

    def push(self, tangents: Values, operands: Values, known: Values | None, joint: bool) -> Pushed:
        outs, moved = push_forward(self.function.expr, operands, tangents)
        return (outs if known is None else known), moved

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        captured, _, flags = self.split(batched)
        if any(captured):
            raise TypeError(
                f"the custom_vmap function `{self.called}` closes over a value that is mapped over, which its rule "
                f"does not get; pass it as an argument. It was called at {place_of_use()}"
            )
        return tuple(self.rule(size, flags, self.split(operands)[2], self.abstract_eval()))


@COMMON.documented
class custom_vmap(CustomFunction):
    """Give a function a rule of its own for `vmap`. Used as a decorator.

    Notes
    -----
    The rule serves `vmap` and what is made of the result: ``grad`` of ``vmap`` differentiates what the rule computes.
    Where the function is differentiated first (``vmap`` of ``grad``), its derivative is that of the function,
    mapped as usual; a function that needs rules for both is a custom_vjp or custom_jvp of a custom_vmap
    function. A rule is run anew in each call of an un-jitted `vmap`.

    Examples
    --------
    A sum of squares that is one product for the whole batch:

    >>> from fungrad.custom_batching import custom_vmap
    >>> @custom_vmap
    ... def apply(a, x):
    ...     return a @ x
    >>> @apply.def_vmap
    ... def apply_rule(axis_size, in_batched, a, x):
    ...     if in_batched[0]:
    ...         return fnp.einsum("bij,bj->bi" if in_batched[1] else "bij,j->bi", a, x), True
    ...     return x @ a.T, True
    >>> fg.vmap(apply, (None, 0))(np.ones((2, 3)), np.ones((4, 3))).shape
    (4, 2)
    """

    kind = "custom_vmap"
    rules = ("vmap_rule",)
    definer = "def_vmap"

    vmap_rule: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun)

    @COMMON.public
    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the rule. Usable as a decorator.

        Parameters
        ----------
        vmap_rule
            ``vmap_rule(axis_size, in_batched, *args)``: arguments that are batched have the batch as their axis 0;
            `in_batched` has the structure of the list of arguments and says of each leaf whether it is. It returns
            the result, with its batch along axis 0, and a tree of booleans that says which leaves have a batch. That
            tree has the structure of the result, or is a prefix of it.

        Returns
        -------
        Callable
            The rule as it is.

        Examples
        --------
        >>> from fungrad.custom_batching import custom_vmap
        >>> one = custom_vmap(lambda x: x + 1)
        >>> _ = one.def_vmap(lambda axis_size, in_batched, x: (x + 100, True))
        >>> fg.vmap(one)(np.zeros(2))
        array([100., 100.])
        """
        check_callable(vmap_rule, f"{self.label}: def_vmap")
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; under `vmap`, by its rule."""
        args = self.positional(args, kwargs)
        trace = top_trace(args)
        if trace is None or trace.values is not None:
            result = self.fun(*args)
            look_at(self.label, self.fun, args, result)
            return result
        site, operands = self.site(args, is_operand, may_move)
        closed = self.closed(site)
        assert self.vmap_rule is not None
        rule = _Rule(self.vmap_rule, f"the vmap rule of {self.label}", site, closed.structure)
        call = CustomVmap(name_of(self.fun), closed.program, rule, (len(closed.captured), 0))
        return tree.unflatten(closed.structure, record(call, [*closed.captured, *operands]))


@COMMON.public
def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Give a function the `vmap` rule that calls it once for each element, one after the other.

    Returns
    -------
    custom_vmap
        The function with its rule, a `map` over the batch.

    Examples
    --------
    >>> from fungrad.custom_batching import sequential_vmap
    >>> f = sequential_vmap(lambda a, b: fnp.linalg.solve(a, b))
    >>> fg.vmap(f, (None, 0))(2 * np.eye(3), np.ones((4, 3))).shape
    (4, 3)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, structure = tree.flatten(list(args))
        flags = tree.leaves(in_batched)
        rows = [x for x, b in zip(leaves, flags, strict=True) if b]

        def element(row: list[Any]) -> Any:
            chosen = iter(row)
            given = [next(chosen) if b else x for x, b in zip(leaves, flags, strict=True)]
            return f(*tree.unflatten(structure, given))

        results = loop(element, rows)
        return results, tree.map(lambda _: True, results)

    mapped.origin = (sequential_vmap, f)
    return mapped

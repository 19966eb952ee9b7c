"""Functions with custom derivatives, as autograd declares them: `primitive`, `defvjp`, `defjvp`.

A call within a first gradient is computed at once (`pullbacks.py`). Any other is one of `custom_vjp`, or of `custom_jvp` under
`make_jvp`. Where values are known, a rule in reverse mode is asked
for the backward pass at the call, as autograd does, with values that may themselves be boxes of an enclosing derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.callback import pure_callback
from fungrad.compat.autograd.boxes import getval
from fungrad.compat.autograd.pullbacks import (
    Pulled,
    filled,
    looks_at_cotangent,
    real_part,
)
from fungrad.core import tree
from fungrad.core.config import check_exprs, settings
from fungrad.core.errors import ConcretizationError, LostDerivativeError
from fungrad.core.float_warnings import at_users_lines
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, current_trace, forgive
from fungrad.core.types import ArrayType, is_array, tangent_type, type_of
from fungrad.programs.rules.custom_derivative import read_only
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.custom_vjp import custom_vjp
from fungrad.programs.rules.sites import top_trace

GRAPH = "graph"
"""Label of a trace that is searched for its computation; there primitives run their Python."""

_LEAVES = frozenset(
    [np.ndarray, bool, int, float, complex, str, type(None), np.float64, np.float32, np.int64]
)
"""Classes of arguments that hold no boxes."""

_ARRAYS = _LEAVES - {str, type(None)} | {Tracer}
"""Classes of results that are arrays."""


class Call:
    """One call of a primitive: information for rules besides the arguments, and their results."""

    def __init__(
        self, kwargs: dict[str, Any], boxed: tuple[int, ...], count: int, pushes: bool
    ) -> None:
        self.kwargs, self.boxed, self.count = kwargs, boxed, count
        self.pushes = pushes  # whether it is called in forward mode
        self.pull: Any = None  # what the rule gave, where values are known
        self.enclosed = False  # whether these are boxes of an enclosing derivative
        self.others: Any = None  # what rules get besides arrays
        self.types: Sequence[Any] = ()  # of the cotangents of its arguments, as trees


class Rules:
    """The derivatives of a primitive, in the two modes.

    `ours` stands for a mode without one, if the function is fungrad's.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        raw: Callable[..., Any],
        ours: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self.raw, self.ours = function, raw, ours
        self.name = getattr(function, "__name__", repr(function))
        self.single = False  # whether results are arrays, as far as is known
        self.vjp: Callable[..., Any] | None = None
        self.jvp: Callable[..., Any] | None = None
        self.reverse = custom_vjp(self._call, nondiff_argnums=(0,))
        self.reverse.defvjp(self._forward, self._backward)
        self.forward = custom_jvp(self._call, nondiff_argnums=(0,))
        self.forward.defjvp(self._pushed)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the primitive with a box among the arguments."""
        if kwargs and any(type(x) is Tracer for x in tree.leaves(kwargs)):
            raise NotImplementedError(
                f"{self.name} is differentiated by an argument that is passed by name: pass it by position"
            )
        computed = self._at_once(args, kwargs) if self.single else None
        if computed is not None:
            return computed
        trace: Any = top_trace(args)
        # A rule that calls its primitive is traced without values, for a program that is differentiated by
        # boxes of enclosing derivatives as well: these, too, are arguments of that call.
        of_top = lambda x: type(x) is Tracer and (x._owner is trace or trace.values is None)
        leaves = [(x,) if type(x) is Tracer else tree.leaves(x) for x in args]
        boxed = tuple([i for i, parts in enumerate(leaves) if any(map(of_top, parts))])
        if trace.label == GRAPH:
            return self.raw(*args, **kwargs)
        pushes = trace.label.startswith("jvp(")
        if self.ours is not None and (self.jvp if pushes else self.vjp) is None:
            return self.ours(*args, **kwargs)
        if trace.values is not None and self.jvp is None and (pushes or self.vjp is None):
            raise self._missing("JVP" if pushes else "VJP", boxed)
        by = self.forward if self.jvp is not None and (pushes or self.vjp is None) else self.reverse
        return by(Call(kwargs, boxed, len(args), pushes), *args)

    def _at_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call in reverse mode at known values; None of any other call."""
        boxed = tuple([i for i, x in enumerate(args) if type(x) is Tracer])
        trace: Any = args[boxed[0]]._owner if boxed else None
        if self.vjp is None or not _goes_back(trace):
            return None
        for x in args:
            if x._owner is not trace if type(x) is Tracer else type(x) not in _LEAVES:
                return None
        values, variables = list(args), [args[i]._variable for i in boxed]
        trace.evaluate()
        for i, v in zip(boxed, variables):
            values[i] = read_only(trace.values[v])
        enclosed = Tracer in map(type, values)
        with holding(current_trace, trace.outer), at_users_lines():
            ans = (self.function if enclosed else self.raw)(*values, **kwargs)
            if type(ans) not in _ARRAYS or not type_of(ans).inexact:
                self.single = False
                return None
            try:
                pull = self.vjp(boxed, ans, tuple(values), kwargs)
            except NotImplementedError:  # it may be by a box that depends on no argument
                return None
        inputs = (trace.capture(ans), *variables)
        types = (tangent_type(trace.types[inputs[0]]),)
        result = trace.extend(Pulled(self.name, pull, enclosed), inputs, types)
        known = [trace.values[inputs[0]]]
        trace.values[result._variable] = known[0]
        trace.known.append((1, known))
        trace.facts.holds_rules = True
        return result

    def _missing(self, rule: str, argnums: Sequence[int]) -> NotImplementedError:
        return NotImplementedError(f"{rule} of {self.name} wrt argnums {argnums} not defined")

    def _call(self, call: Call, *args: Any) -> Any:
        return self.raw(*args, **call.kwargs)

    def _forward(self, call: Call, *args: Any) -> tuple[Any, Any]:
        ans = self.function(*args, **call.kwargs)
        self.single = is_array(ans)
        call.types = [tree.map(_cotangent_type, x) for x in args]
        leaves, structure = tree.flatten((ans, args))
        boxes = [x for x in leaves if type(x) is Tracer]
        if all(x._owner.values is not None for x in boxes):
            call.enclosed = bool(boxes)
            call.pull = self._puller(call, ans, args)
            return ans, []
        kept = [x if is_array(x) else None for x in leaves]
        call.others = structure, [x if k is None else None for x, k in zip(leaves, kept)]
        return ans, kept

    def _puller(self, call: Call, ans: Any, args: tuple[Any, ...]) -> Any:
        if self.vjp is None:
            raise self._missing("VJP", call.boxed)
        return self.vjp(call.boxed, ans, args, call.kwargs)

    def _backward(self, call: Call, kept: list[Any], g: Any) -> tuple[Any, ...]:
        try:
            return self._cotangents(call, kept, g)
        except (ConcretizationError, LostDerivativeError) as error:
            if call.enclosed:
                raise looks_at_cotangent(self.name) from error
            if Tracer not in map(type, tree.leaves((kept, g))):
                raise
            forgive(error)  # the rule runs once there are arrays

        def on_arrays(kept: list[Any], g: Any) -> list[Any]:
            cts = self._cotangents(call, kept, g)
            return [filled(self.name, cts[i], call.types[i]) for i in call.boxed]

        types = [call.types[i] for i in call.boxed]
        cts = iter(pure_callback(on_arrays, types, kept, g, vmap_method="sequential"))
        return tuple([next(cts) if i in call.boxed else None for i in range(call.count)])

    def _cotangents(self, call: Call, kept: list[Any], g: Any) -> tuple[Any, ...]:
        """Return the cotangents of all arguments, None for zero; containers are those of the arguments."""
        pull = call.pull
        if pull is None:
            structure, others = call.others
            leaves = [o if k is None else k for k, o in zip(kept, others)]
            pull = self._puller(call, *tree.unflatten(structure, leaves))
        cotangents: list[Any] = [None] * call.count
        for i, ct in zip(call.boxed, pull(g)):
            ct = _spread(ct, call.types[i])
            is_real = not any(
                type(t) is ArrayType and t.dtype.kind == "c" for t in tree.leaves(call.types[i])
            )
            cotangents[i] = real_part(ct) if is_real else ct
        return tuple(cotangents)

    def _pushed(self, call: Call, args: tuple[Any, ...], moved: Any) -> tuple[Any, Any]:
        ans = self.function(*args, **call.kwargs)
        return ans, self._tangent(call, ans, args, [moved[i] for i in call.boxed])

    def _tangent(self, call: Call, ans: Any, args: tuple[Any, ...], gs: list[Any]) -> Any:
        """Return a rule's tangents for tangents without values; rules that need values wait for them."""
        assert self.jvp is not None
        of = functools.partial(self.jvp, call.boxed)

        def pushed(*gs: Any) -> Any:
            fitted = lambda x, t: fnp.asarray(t, type_of(x).dtype)
            return tree.map(fitted, ans, of(gs, ans, args, call.kwargs))

        try:
            return pushed(*gs)
        except Exception:
            if not call.pushes or any(type(x) is Tracer for x in tree.leaves((ans, args))):
                raise
        return pure_callback(pushed, tree.map(type_of, ans), *gs)


def _goes_back(trace: Any) -> bool:
    """Return whether a trace is of a transform in reverse mode, where values are known."""
    if trace is None or trace.values is None or trace.into is not None:
        return False
    reverse = trace.label.startswith(("grad(", "vjp("))
    return reverse and not (settings.get().watched or check_exprs.get())


def _spread(cotangent: Any, x: Any) -> Any:
    """Return a cotangent with the containers of `x`; a rule may give an array for a list."""
    if type(x) is dict and cotangent is not None:
        return {k: _spread(cotangent[k], part) for k, part in x.items()}
    if type(x) in (list, tuple) and cotangent is not None:
        return type(x)([_spread(cotangent[i], part) for i, part in enumerate(x)])
    return cotangent


def _cotangent_type(x: Any) -> Any:
    """Return the type of the cotangent of an array, and any other leaf as it is."""
    return tangent_type(type_of(x)) if is_array(x) else x


def primitive(f_raw: Callable[..., Any]) -> Any:
    """Return `f_raw` as a function whose derivatives are those that are defined for it."""

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, called_by_autograd_dispatcher: bool = False, **kwargs: Any) -> Any:
        if Tracer not in map(type, args) and Tracer not in map(type, tree.leaves(args)):
            return f_raw(*args, **kwargs)
        return rules(args, kwargs)

    f_wrapped.fun = f_raw  # type: ignore[attr-defined]
    f_wrapped._is_autograd_primitive = True  # type: ignore[attr-defined]
    rules = f_wrapped._rules = Rules(f_wrapped, f_raw)  # type: ignore[attr-defined]
    return f_wrapped


def notrace_primitive(f_raw: Callable[..., Any]) -> Any:
    """Return `f_raw` as a function that is called with values in place of boxes: it has no derivative."""

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*map(getval, args), **kwargs)

    f_wrapped._is_primitive = True  # type: ignore[attr-defined]
    return f_wrapped

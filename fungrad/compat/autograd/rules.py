"""Functions with custom derivatives, as autograd declares them: `primitive`, `defvjp`, `defjvp`.

A call within a first gradient is computed at once (`pullbacks.py`). Any other is one of `custom_vjp`, or of `custom_jvp` under
`make_jvp`. Where values are known, a rule in reverse mode is asked
for the backward pass at the call, as autograd does, with values that may themselves be boxes of an enclosing derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.callback import pure_callback
from fungrad.compat.autograd.boxes import getval
from fungrad.compat.autograd.pullbacks import Pullback, Pulled, real_part
from fungrad.compat.autograd.vectors import VSpace, vspace
from fungrad.core import tree
from fungrad.core.config import check_exprs, settings
from fungrad.core.errors import ConcretizationError, LostDerivativeError
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import is_array, type_of
from fungrad.programs.rules.custom_derivative import values_below
from fungrad.programs.rules.custom_jvp import custom_jvp
from fungrad.programs.rules.custom_vjp import custom_vjp
from fungrad.programs.rules.sites import top_trace

GRAPH = "graph"
"""Label of a trace that is searched for its computation; there primitives run their Python."""

_LEAVES = frozenset(
    [np.ndarray, bool, int, float, complex, str, type(None), np.float64, np.float32, np.int64]
)
"""Classes of arguments and results that hold no boxes."""


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
        self.real: Sequence[bool] = ()  # which arguments are real
        self.arguments: Sequence[Any] = ()  # those with containers, as trees of numbers


class Rules:
    """The derivatives of a primitive, in the two modes."""

    def __init__(self, function: Callable[..., Any], raw: Callable[..., Any]) -> None:
        self.function, self.name = function, getattr(raw, "__name__", repr(raw))
        self.single = False  # whether results are arrays, as far as is known
        self.vjp: Callable[..., Any] | None = None
        self.jvp: Callable[..., Any] | None = None
        self.reverse = custom_vjp(self._call, nondiff_argnums=(0,))
        self.reverse.defvjp(self._forward, self._backward)
        self.forward = custom_jvp(self._call, nondiff_argnums=(0,))
        self.forward.defjvp(self._pushed)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the primitive with a box among the arguments."""
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
            return self.function.fun(*args, **kwargs)  # type: ignore[attr-defined]
        pushes = trace.label.startswith("jvp(")
        if trace.values is not None and self.jvp is None and (pushes or self.vjp is None):
            raise self._missing("JVP" if pushes else "VJP", boxed)
        by = self.forward if self.jvp is not None and (pushes or self.vjp is None) else self.reverse
        return by(Call(kwargs, boxed, len(args), pushes), *args)

    def _at_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call within an un-jitted first gradient; None of any other call."""
        boxed = tuple([i for i, x in enumerate(args) if type(x) is Tracer])
        trace: Any = args[boxed[0]]._owner if boxed else None
        if self.vjp is None or not _is_first_gradient(trace):
            return None
        if not all(x._owner is trace if type(x) is Tracer else type(x) in _LEAVES for x in args):
            return None
        boxes = [args[i] for i in boxed]
        values = list(args)
        for i, value in zip(boxed, values_below(trace, boxes)):
            values[i] = value
        with holding(current_trace, None):
            ans = self.function.fun(*values, **kwargs)  # type: ignore[attr-defined]
            if not is_array(ans) or type(ans) not in _LEAVES or not type_of(ans).inexact:
                self.single = False
                return None
            try:
                pull = self.vjp(boxed, ans, tuple(values), kwargs)
            except NotImplementedError:  # it may be by a box that depends on no argument
                return None
        result = trace.record(Pulled(Pullback(self.name, pull)), [ans, *boxes])
        trace.settle(len(boxes))
        return result

    def _missing(self, rule: str, argnums: Sequence[int]) -> NotImplementedError:
        return NotImplementedError(f"{rule} of {self.name} wrt argnums {argnums} not defined")

    def _call(self, call: Call, *args: Any) -> Any:
        return self.function.fun(*args, **call.kwargs)  # type: ignore[attr-defined]

    def _forward(self, call: Call, *args: Any) -> tuple[Any, Any]:
        ans = self.function(*args, **call.kwargs)
        self.single = is_array(ans)
        call.real = [_is_real(x) for x in args]
        call.arguments = [tree.map(lambda _: 0, x) for x in args]
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
        pull = call.pull
        if pull is None:
            structure, others = call.others
            leaves = [o if k is None else k for k, o in zip(kept, others)]
            pull = self._puller(call, *tree.unflatten(structure, leaves))
        cotangents: list[Any] = [None] * call.count
        try:
            for i, ct in zip(call.boxed, pull(g)):
                ct = _spread(ct, call.arguments[i])
                cotangents[i] = real_part(ct) if call.real[i] else ct
        except (ConcretizationError, LostDerivativeError) as error:
            if not call.enclosed:  # it will be called with arrays
                raise
            raise NotImplementedError(
                f"the VJP of {self.name} looks at the value of g, and so has no derivative itself: write it without, with "
                "np.where say"
            ) from error
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


def _is_first_gradient(trace: Any) -> bool:
    """Return whether a trace is of an un-jitted gradient that no other transform encloses."""
    if trace is None or trace.values is None or trace.outer is not None or not trace.open:
        return False
    return trace.label.startswith("grad(") and not (settings.get().watched or check_exprs.get())


def _spread(cotangent: Any, x: Any) -> Any:
    """Return a cotangent with the containers of `x`; a rule may give an array for a list."""
    if type(x) is dict and cotangent is not None:
        return {k: _spread(cotangent[k], part) for k, part in x.items()}
    if type(x) in (list, tuple) and cotangent is not None:
        return type(x)([_spread(cotangent[i], part) for i, part in enumerate(x)])
    return cotangent


def _is_real(x: Any) -> bool:
    """Return whether an argument has no complex numbers."""
    return not any(is_array(y) and type_of(y).dtype.kind == "c" for y in tree.leaves(x))


def primitive(f_raw: Callable[..., Any]) -> Any:
    """Return `f_raw` as a function whose derivatives are those that are defined for it."""

    @functools.wraps(f_raw)
    def f_wrapped(*args: Any, called_by_autograd_dispatcher: bool = False, **kwargs: Any) -> Any:
        if Tracer not in map(type, args) and Tracer not in map(type, tree.leaves(args)):
            return f_raw(*args, **kwargs)
        if kwargs and any(type(x) is Tracer for x in tree.leaves(kwargs)):
            raise NotImplementedError(
                f"{rules.name} is differentiated by an argument that is passed by name: pass it by position"
            )
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


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Declare that a primitive has no derivative: its results are constants."""
    rules_of(primitive_fun)
    zero = lambda argnum, ans, args, kwargs: lambda g: None
    defvjp_argnum(primitive_fun, zero)
    defjvp_argnum(primitive_fun, lambda argnum, g, ans, args, kwargs: vspace(ans).zeros())


def rules_of(fun: Any) -> Rules:
    """Return where the derivatives of a primitive are defined; raise of functions that have theirs.

    Rules of the program's own functions, which are no primitives, are asked for by nothing: autograd keeps them all the same.
    """
    rules = getattr(fun, "_rules", None)
    if isinstance(rules, Rules):
        return rules
    homes = {str(getattr(x, "__module__", "")).partition(".")[0] for x in (fun, type(fun))}
    if callable(fun) and not homes & {"fungrad", "numpy", "scipy"}:
        return Rules(fun, fun)
    raise TypeError(
        f"{getattr(fun, '__name__', fun)} is no function that primitive has returned, and its derivatives are fungrad's: "
        "to give it others, define them for primitive of it"
    )


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Define reverse mode: ``vjpmaker(argnums, ans, args, kwargs)`` returns the pullback of `g` to these."""
    rules_of(fun).vjp = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Define reverse mode: ``vjpmaker(argnum, ans, args, kwargs)`` returns the pullback of `g`."""

    def vjp(argnums: Sequence[int], *call: Any) -> Any:
        pulls = [vjpmaker(i, *call) for i in argnums]
        return lambda g: [pull(g) for pull in pulls]

    defvjp_argnums(fun, vjp)


def _by_argument(
    fun: Any, kind: str, rules: Sequence[Any], argnums: Iterable[int] | None
) -> Callable[[Sequence[int]], list[Any]]:
    """Return the function from argument numbers to rules; it raises for those without one."""
    table = dict(zip(count() if argnums is None else argnums, rules))
    name = getattr(fun, "__name__", repr(fun))
    for rule in rules:
        if rule is not None and not callable(rule) and rule != "same":
            raise ValueError(f"Bad {kind} '{rule}' for '{name}'")

    def chosen(argnums: Sequence[int]) -> list[Any]:
        missing = [i for i in argnums if i not in table]
        if missing:
            raise NotImplementedError(f"{kind} of {name} wrt argnums {missing} not defined")
        return [table[i] for i in argnums]

    return chosen


def defvjp(fun: Any, *vjpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Define reverse mode by argument: ``vjpmaker(ans, *args, **kwargs)`` returns the pullback of `g`.

    None stands for a derivative that is zero.
    """
    chosen = _by_argument(fun, "VJP", vjpmakers, argnums)

    def vjp(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Any:
        pulls = [maker and maker(ans, *args, **kwargs) for maker in chosen(argnums)]
        return lambda g: [pull and pull(g) for pull in pulls]

    defvjp_argnums(fun, vjp)


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Define forward mode: ``jvpmaker(argnums, gs, ans, args, kwargs)`` returns the tangent of the result."""
    rules_of(fun).jvp = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Define forward mode: ``jvpmaker(argnum, g, ans, args, kwargs)`` is one argument's part."""

    def jvp(argnums: Sequence[int], gs: Sequence[Any], ans: Any, *call: Any) -> Any:
        return _sum(ans, [jvpmaker(i, g, ans, *call) for i, g in zip(argnums, gs)])

    defjvp_argnums(fun, jvp)


def defjvp(fun: Any, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """Define forward mode argument by argument: ``jvpfun(g, ans, *args, **kwargs)``.

    None stands for zero, and "same" says that the function is linear in the argument.
    """
    chosen = _by_argument(fun, "JVP", jvpfuns, argnums)

    def jvp(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        parts = []
        for rule, i, g in zip(chosen(argnums), argnums, gs):
            if rule == "same":
                parts.append(fun(*args[:i], g, *args[i + 1 :], **kwargs))
            elif rule is not None:
                parts.append(rule(g, ans, *args, **kwargs))
        return _sum(ans, parts)

    defjvp_argnums(fun, jvp)


def def_linear(fun: Any) -> None:
    """Declare that a function is linear in each of its arguments."""
    same = lambda i, g, ans, args, kwargs: fun(*args[:i], g, *args[i + 1 :], **kwargs)
    defjvp_argnum(fun, same)


def _sum(ans: Any, parts: Sequence[Any]) -> Any:
    space = vspace(ans)
    return functools.reduce(space.add, parts) if parts else space.zeros()


class SparseObject:
    """A vector known by its sums: ``mut_add(x)`` returns the sum of `x` and it."""

    def __init__(self, vs: VSpace, mut_add: Callable[[Any], Any]) -> None:
        self.vs, self.mut_add = vs, mut_add

    def dense(self) -> Any:
        zeros = self.vs.zeros()
        return self.mut_add(fnp.array(zeros) if isinstance(zeros, np.ndarray) else zeros)


VSpace.register(SparseObject, lambda x: x.vs)

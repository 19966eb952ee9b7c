"""Definitions of derivatives as autograd spells them: `defvjp`, `defjvp` and their relatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.rules import Rules
from fungrad.compat.autograd.vectors import VSpace, vspace
from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import has_tracer


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Declare that a primitive has no derivative: its results are constants."""
    rules_of(primitive_fun)
    zero = lambda argnum, ans, args, kwargs: lambda g: None
    defvjp_argnum(primitive_fun, zero)
    defjvp_argnum(primitive_fun, lambda argnum, g, ans, args, kwargs: vspace(ans).zeros())


def rules_of(fun: Any) -> Rules:
    """Return the derivatives of a function, to define them; raise if fungrad's cannot be replaced.

    Rules of the program's own functions, which are no primitives, are asked for by nothing: autograd keeps them all the same.
    """
    rules = getattr(fun, "_rules", None)
    if not isinstance(rules, Rules):
        rules = overriding(fun)
    if rules is not None:
        return rules
    homes = {str(getattr(x, "__module__", "")).partition(".")[0] for x in (fun, type(fun))}
    if callable(fun) and not homes & {"fungrad", "numpy", "scipy"}:
        return Rules(fun, fun)
    raise TypeError(
        f"{getattr(fun, '__name__', fun)} is no function that primitive has returned, and its derivatives are fungrad's: "
        "to give it others, define them for primitive of it"
    )


def overriding(fun: Any) -> Rules | None:
    """Return rules that take the place of fungrad's for one of its functions; None if they cannot.

    A function of the namespaces holds what it does with tracers in cells of its closure. They are set, so that the rules
    are in force wherever the function was imported before, as autograd's are. Operators and methods do not call it.
    """
    cells = _cells(fun)
    while "traced" not in cells and (inner := cells.get("plain") or cells.get("function")):
        cells = _cells(inner.cell_contents)  # `fun` checks its arguments and calls that one
    theirs = cells.get("numpys") or cells.get("numpy_function")
    if theirs is None or "traced" not in cells or has_method(fun):
        return None
    compute, ours = theirs.cell_contents, cells["traced"].cell_contents

    def raw(*args: Any, **kwargs: Any) -> Any:
        return (ours if has_tracer(args) else compute)(*args, **kwargs)

    rules = fun._rules = Rules(fun, raw, ours)
    for name in cells.keys() & {"traced", "apply_rule"}:
        cells[name].cell_contents = lambda *args, **kwargs: rules(args, kwargs)
    return rules


def _cells(fun: Any) -> dict[str, Any]:
    """Return the cells of a function's closure by name."""
    code = getattr(fun, "__code__", None)
    return {} if code is None else dict(zip(code.co_freevars, fun.__closure__ or ()))


def has_method(fun: Any) -> bool:
    """Return whether an operator or a method of arrays is the function `fun`, and does not call it."""
    name = fun.__name__
    return hasattr(Tracer, name) or name in _OPERATORS


_OPERATORS = {
    *("add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "power", "mod", "remainder"),
    *("negative", "absolute", "matmul", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal"),
}  # fmt: skip


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
) -> Callable[[tuple[int, ...]], list[Any]]:
    """Return the function from argument numbers to rules; it raises for those without one."""
    table = dict(zip(count() if argnums is None else argnums, rules))
    name = getattr(fun, "__name__", repr(fun))
    for rule in rules:
        if rule is not None and not callable(rule) and rule != "same":
            raise ValueError(f"Bad {kind} '{rule}' for '{name}'")

    @functools.lru_cache(maxsize=64)
    def chosen(argnums: tuple[int, ...]) -> list[Any]:
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

    def vjp(argnums: tuple[int, ...], ans: Any, args: Any, kwargs: Any) -> Any:
        pulls = [maker and maker(ans, *args, **kwargs) for maker in chosen(argnums)]
        if len(pulls) == 1 and (only := pulls[0]) is not None:
            return lambda g: (only(g),)
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

    def jvp(argnums: tuple[int, ...], gs: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
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

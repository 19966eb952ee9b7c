"""Functions of fungrad with JAX's signatures, made when a program asks for them.

For each a few lines of Python are written: the parameters as JAX has them (names.txt), each handed on if the function of
fungrad knows it. What it does not know is let be where it cannot change a result (`INERT`), and else is an error if it is given.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.absent import ABSENT
from fungrad.compat.jax.arguments import UNREAD, is_inert, parsed, refuse, refuse_unless
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.constants import LIKE, at_home
from fungrad.compat.jax.crossing import (
    PRODUCTS,
    REDUCTIONS,
    axes,
    dtype_of,
    elementwise,
    enter,
    leave,
    own_dtype,
    quick_dtypes,
    received_tree,
    receives,
    together,
    widened,
)
from fungrad.compat.jax.inert import inert_names, itself
from fungrad.compat.jax.names import names_of
from fungrad.compat.jax.weakness import keeping_weak
from fungrad.compat.standing_in import lacks, reachable
from fungrad.core.tracer import Tracer, current_trace

_FUNCTIONS_NAMES = """
f fun func function body_fun cond_fun true_fun false_fun branches body matvec solve fn
transpose_solve tangent_solve callback computation func1d pyfunc A M
"""
FUNCTIONS = frozenset(_FUNCTIONS_NAMES.split())
"""Parameters that are functions of the user's, which are called with arrays."""

DTYPES = frozenset(["dtype", "new_dtype", "preferred_element_type", "param_dtype", "index_dtype"])

_TOGETHER = "append dot float_power inner kron outer polyadd polysub polyval vdot"
TOGETHER = frozenset(_TOGETHER.split())
"""Functions of two operands that NumPy computes with Python's numbers as if these had 64 bits."""

_AXES = frozenset(
    ["axis", "axes", "axis1", "axis2", "axisa", "axisb", "axisc", "source", "destination"]
)
"""Parameters that say axes of arrays: integers, which may be given as arrays of one."""


class _Writer:
    """Writes the function `name` with JAX's parameters that calls `target`."""

    def __init__(
        self, module: str, name: str, parameters: str, target: Callable[..., Any], raw: bool = False
    ) -> None:
        self.name, self.raw, self.own = name, raw, target
        self.target = keeping_weak(module, name, target)
        self.given = parsed(parameters)
        try:
            self.known = {**inspect.signature(target).parameters}
        except (TypeError, ValueError):
            self.known = {}
        kinds = {p.kind for p in self.known.values()}
        self.takes_any = inspect.Parameter.VAR_KEYWORD in kinds or not self.known
        self.takes_more = inspect.Parameter.VAR_POSITIONAL in kinds or not self.known
        self.names: dict[str, Any] = {}
        self.refused: list[str] = []

    def _refusal(self, name: str) -> str:
        self.refused.append(name)
        return f"    fg_refuse_unless({self.name!r}, {name!r}, {name}, fg__{name})"

    def _handed(self, name: str) -> str:
        if self.raw:
            return name
        if name in FUNCTIONS:
            return f"fg_receives({name})"
        if name in _AXES:
            return f"fg_axes({name})"
        return f"fg_dtype_of({name}, {self.name!r})" if name in DTYPES else f"fg_enter({name})"

    def lines(self, shown: str) -> list[str]:
        """Return the source."""
        positional, optional, body = [], [], []
        in_order = [p for p in self.known.values() if p.kind < p.VAR_POSITIONAL]
        for i, p in enumerate(self.given):
            if p.kind is p.VAR_POSITIONAL:
                if count := getattr(
                    self.target, "nin", 0
                ):  # NumPy's ufuncs would write to one more
                    body += [f"    if len({p.name}) > {count}: fg_refuse({self.name!r}, 'out')"]
                positional.append(f"*{p.name}" if self.raw else f"*map(fg_enter, {p.name})")
            elif p.kind is p.VAR_KEYWORD:
                body += [
                    f"    for fg_k in {p.name}: fg_options[fg_k] = {p.name}[fg_k]"
                    if self.raw
                    else f"    for fg_k in {p.name}: fg_options[fg_k] = fg_enter({p.name}[fg_k])"
                ]
            elif p.default is p.empty and p.kind is not p.KEYWORD_ONLY:
                # By its place, unless its name has another one in fungrad.
                own = self.known.get(p.name)
                either = own is not None and own.kind is own.POSITIONAL_OR_KEYWORD
                if either and (i >= len(in_order) or in_order[i] is not own):
                    body += [f"    fg_options[{p.name!r}] = {self._handed(p.name)}"]
                else:
                    positional.append(self._handed(p.name))
            elif p.kind is p.POSITIONAL_ONLY and (self.takes_more or i < len(in_order)):
                optional.append(p.name)
            else:
                body += self._option(p)
        if optional:
            tests = " or ".join(f"{x} is not fg__{x}" for x in optional)
            more = ", ".join(map(self._handed, optional))
            positional.append(f"*(({more},) if {tests} else ())")
        lines = [
            f"def {self.name}({shown}):",
            *self._quickly(),
            *self._together(),
            *self._widening(),
        ]
        if body:
            lines += ["    fg_options = {}", *body]
            positional.append("**fg_options")
        return [
            *lines,
            f"    fg_result = {self._called()}({', '.join(positional)})",
            *self._cast(),
            "    return fg_result if fg_class_of(fg_result) is fg_Tracer else fg_finish(fg_result)",
        ]

    def _called(self) -> str:
        """Return the function to call: during tracing, constants are made where they belong."""
        if self.raw:
            return "fg_target"
        self.names["fg_at_home"] = at_home(self.target, self.name in LIKE)
        return "(fg_target if fg_trace() is None else fg_at_home)"

    def _quickly(self) -> list[str]:
        """Return the lines that call NumPy's ufunc where that is all there is to do."""
        if self.name in REDUCTIONS:
            return self._reducing(*REDUCTIONS[self.name])
        if self.name in ("dot", "matmul") and self.own in (fnp.dot, fnp.matmul):
            return self._multiplying()
        ufunc: Any = getattr(np, self.name, None)
        count = getattr(self.target, "nin", 0)
        if count not in (1, 2) or not isinstance(ufunc, np.ufunc) or ufunc.nout > 1:
            return []
        self.names.update(fg_ufunc=ufunc, fg_quick=quick_dtypes(ufunc), fg_elementwise=elementwise)
        options = [p.name for p in self.given if p.default is None]
        plain = "".join(f" and {name} is None" for name in options)
        test = f"fg_x.dtype in fg_quick and fg_trace() is None{plain}"
        if count == 1:
            name = self.given[0].name
            return [
                f"    fg_x = {name}",
                f"    if fg_class_of(fg_x) is fg_Array and {test}: return fg_elementwise(fg_ufunc(fg_view(fg_x, fg_ndarray)))",
            ]
        variadic = self.given[0].kind is inspect.Parameter.VAR_POSITIONAL
        operands = (
            "args if len(args) == 2 else (None, None)"
            if variadic
            else f"{self.given[0].name}, {self.given[1].name}"
        )
        return [
            f"    fg_x, fg_y = {operands}",
            f"    if fg_class_of(fg_x) is fg_class_of(fg_y) is fg_Array and fg_x.dtype is fg_y.dtype and {test}:",
            "        return fg_elementwise(fg_ufunc(fg_view(fg_x, fg_ndarray), fg_view(fg_y, fg_ndarray)))",
        ]

    def _reducing(self, ufunc: np.ufunc, dtypes: Any) -> list[str]:
        """Likewise for a sum and the like of all elements or along one axis."""
        names = [p.name for p in self.given]
        if names[:2] != ["a", "axis"] or self.own is not getattr(fnp, self.name):
            return []
        self.names.update(fg_reduce=ufunc.reduce, fg_quick=dtypes, fg_elementwise=elementwise)
        unset = [
            f" and {p.name} is {p.default}" for p in self.given[2:] if p.name != "promote_integers"
        ]
        return [
            "    if fg_class_of(a) is fg_Array and a.dtype in fg_quick and a.size and fg_trace() is None \\",
            f"            and (axis is None or (fg_class_of(axis) is int and -a.ndim <= axis < a.ndim)){''.join(unset)}:",
            "        return fg_elementwise(fg_reduce(fg_view(a, fg_ndarray), axis))",
        ]

    def _multiplying(self) -> list[str]:
        """Likewise for products of matrices and vectors, of shapes that fit."""
        self.names.update(fg_product=getattr(np, self.name), fg_quick=PRODUCTS)
        self.names.update(fg_elementwise=elementwise)
        a, b = (p.name for p in self.given[:2])
        return [
            f"    if fg_class_of({a}) is fg_class_of({b}) is fg_Array and {a}.dtype is {b}.dtype in fg_quick \\",
            f"            and 0 < {a}.ndim < 3 and 0 < {b}.ndim < 3 and {a}.shape[-1] == {b}.shape[0] \\",
            "            and precision is None and preferred_element_type is None and fg_trace() is None:",
            f"        return fg_elementwise(fg_product(fg_view({a}, fg_ndarray), fg_view({b}, fg_ndarray)))",
        ]

    def _prefers(self) -> bool:
        name = "preferred_element_type"
        return name not in self.known and name in {p.name for p in self.given}

    def _together(self) -> list[str]:
        if self.name not in TOGETHER or len(self.given) < 2:
            return []
        x, y = self.given[0].name, self.given[1].name
        if self.given[0].kind is inspect.Parameter.VAR_POSITIONAL:
            return []
        return [f"    {x}, {y} = fg_together({x}, {y})"]

    def _widening(self) -> list[str]:
        """Return the line that brings the two operands to a wider dtype, in which products are to be summed."""
        if not self._prefers():
            return []
        x, y, name = self.given[0].name, self.given[1].name, "preferred_element_type"
        return [f"    if {name} is not None: {x}, {y} = fg_widened({name}, {x}, {y})"]

    def _cast(self) -> list[str]:
        name = "preferred_element_type"
        if not self._prefers():
            return []
        return [f"    if {name} is not None: fg_result = fg_result.astype(fg_dtype_of({name}))"]

    def _option(self, p: inspect.Parameter) -> list[str]:
        name = p.name
        own = self.known.get(name)
        if name in UNREAD or name.startswith("overwrite_"):  # what is given never changes
            return []
        if name == "out":
            return [self._refusal(name)]
        inert = is_inert(self.name, name)
        if name == "promote_integers":
            return [f"    if not {name} and dtype is None: fg_options['dtype'] = fg_own_dtype(a)"]
        if own is not None or (self.takes_any and not inert):
            hand = f"fg_options[{name!r}] = {self._handed(name)}"
            # What JAX takes by default is said where the default here is another.
            differs = own is not None and p.default is not Ellipsis and own.default != p.default
            if p.default is p.empty or (differs and p.default is not None):
                return [f"    {hand}"]
        else:
            return [] if inert else [self._refusal(name)]
        return [f"    if {name} is not fg__{name}: {hand}"]


# No parameter begins with fg_, so that none hides what the lines use.
_PLACES: dict[str, Any] = {
    "__name__": "fungrad.compat.jax.adapting",
    "fg_Array": Array,
    "fg_Tracer": Tracer,
    "fg_ndarray": np.ndarray,
    "fg_trace": current_trace.get,
    "fg_view": np.ndarray.view,
    "fg_class_of": type,
    "fg_dtype_of": dtype_of,
    "fg_enter": enter,
    "fg_axes": axes,
    "fg_receives": receives,
    "fg_refuse": refuse,
    "fg_refuse_unless": refuse_unless,
    "fg_own_dtype": own_dtype,
    "fg_together": together,
    "fg_widened": widened,
}


def adapted(
    module: str,
    name: str,
    parameters: str,
    target: Callable[..., Any],
    finish: Callable[[Any], Any] | None = None,
    raw: bool = False,
) -> Any:
    """Return a function of fungrad with JAX's parameters, for arrays as JAX's.

    Its result is what `finish` makes of that of the target; with `raw`, arguments go in as they are.
    """
    writer = _Writer(module, name, parameters, target, raw)
    if finish is None:
        calls = any(p.name in FUNCTIONS for p in writer.given)
        finish = received_tree if calls and not raw else leave
    namespace = {**_PLACES, "fg_target": writer.target, "fg_finish": finish}
    lines = writer.lines(parameters)
    namespace.update(writer.names)
    exec(compile("\n".join(lines), f"<fungrad, for {module}.{name}>", "exec"), namespace)
    made = namespace[name]
    # What is given is told from what is not by these very objects.
    for p in inspect.signature(made).parameters.values():
        namespace[f"fg__{p.name}"] = p.default
    made.__module__ = module
    made.__doc__, made.fg_refused = target.__doc__, tuple(writer.refused)
    for attribute in ("reduce", "accumulate", "reduceat", "outer", "at", "nin", "nout", "identity"):
        if callable(part := getattr(target, attribute, None)):
            setattr(made, attribute, plainly(part))
        elif part is not None:
            setattr(made, attribute, part)
    return made


def plainly(target: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for arrays as JAX's, with the parameters that it has."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return leave(target(*map(enter, args), **{k: enter(x) for k, x in kwargs.items()}))

    return function


_NOTHING = object()
_OURS = "changed decompositions frequencies jnp multivariate polynomials special"
_COMPUTING = frozenset([f"fungrad.compat.jax.{name}" for name in _OURS.split()])
"""Modules of this package with functions of arrays, whose constants follow the others'."""


def namespace(
    jax: str,
    globals_: dict[str, Any],
    sources: Sequence[Any],
    modules: str = "",
    as_it_is: str = "",
    finish: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Callable[[str], Any]:
    """Return ``__getattr__`` for the module that stands for one of JAX's.

    Parameters
    ----------
    jax
        The name of that module.
    globals_
        Those of ours; what has been made is kept there.
    sources
        The modules of fungrad whose functions are adapted, by name, or other objects that hold some; those of this package are
        as they have to be.
    modules
        The names of the modules below it.
    as_it_is
        Names of the sources that need no adapting; "*" if none does.
    finish
        What is made of results, by the names of functions that are given their arguments as they are; that under "*" is for all.
    """
    table, unchanged, below = names_of(jax), frozenset(as_it_is.split()), frozenset(modules.split())
    idle = inert_names(jax)
    every = {*globals_.pop("__all__", ()), *table, *below}

    def get(name: str) -> Any:
        if name in below:
            return importlib.import_module(f"{globals_['__name__']}.{name}")
        if name == "__all__":  # for `from jax.numpy import *`
            return reachable(globals_["__name__"], every)
        member: Any = _NOTHING
        if name[:2] != "__" or name in table:  # tools ask all modules for others
            member = idle[name] if name in idle else _member(sources, name)
        if member is _NOTHING or f"{jax}.{name}" in ABSENT:
            raise AttributeError(lacks(f"{jax}.{name}", ABSENT), name=name)
        own = getattr(member, "__module__", None) or ""
        parameters = table.get(name, ":value")
        if name in idle and parameters[:1] != ":":
            member = adapted(globals_["__name__"], name, parameters, member, itself, raw=True)
        last = (finish or {}).get(name) or (finish or {}).get("*")
        if own in _COMPUTING and not isinstance(member, type):
            member = at_home(keeping_weak(jax, name, member))
            member.__module__, member.__qualname__ = globals_["__name__"], name
        elif not callable(member) or isinstance(member, type) or own.startswith("fungrad.compat"):
            member = last(member) if last and not callable(member) else member
        elif last is not None and parameters[:1] != ":":
            member = adapted(globals_["__name__"], name, parameters, member, last, raw=True)
        elif not {name, "*"} & unchanged:
            if parameters[:1] == ":":
                member = plainly(member)
            else:
                member = adapted(globals_["__name__"], name, parameters, member)
        globals_[name] = member
        return member

    globals_["__dir__"] = lambda: sorted({*globals_, *every})
    return get


def _member(sources: Sequence[Any], name: str) -> Any:
    for source in sources:
        try:
            holder = importlib.import_module(source) if isinstance(source, str) else source
            return getattr(holder, name)
        except (AttributeError, ModuleNotFoundError):
            continue
    return _NOTHING

"""Compile a function once for each type of its arguments."""

from __future__ import annotations

import contextvars
import functools
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from fungrad.compile.cache import CacheInfo, LRUCache
from fungrad.compile.lower import Program, readable
from fungrad.compile.schedule import Schedule
from fungrad.compile.simplify import after_each_pass
from fungrad.core import tree
from fungrad.core.axes import open_axes, open_sizes
from fungrad.core.backend import namespace
from fungrad.core.cached import cached_property
from fungrad.core.config import check_exprs, settings
from fungrad.core.errors import api_boundary, hide_internals
from fungrad.core.evaluate import evaluate, inline
from fungrad.core.expr import Expr
from fungrad.core.frozen import Draws
from fungrad.core.layout import Layout, layout_of
from fungrad.core.nesting import stage
from fungrad.core.primitive import bind
from fungrad.core.snapshot import is_writeable
from fungrad.core.state import put_back
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, current_trace, innermost_trace
from fungrad.core.transformed import Portable, resemble
from fungrad.core.types import ArrayType, type_of
from fungrad.transforms.argnums import chosen_arguments, parameters_of
from fungrad.transforms.call import (
    Call,
    argument_types,
    as_operand,
    as_operands,
    check_callable,
    name_of,
    output_variables,
)
from fungrad.transforms.explain import Signature, described, log_miss

QUICK_TYPES = frozenset([np.ndarray, np.float64, float])

CACHE_SIZE = 256
"""Programs kept for each jitted function."""


class Entry:
    """A function compiled for one type of arguments."""

    def __init__(
        self,
        name: str,
        expr: Expr,
        captured: list[Any],
        in_structure: Any,
        structure: Any,
        donated: Sequence[int],
    ) -> None:
        self.traced = expr
        self.in_types = expr.input_types[expr.captured :]
        self.in_structure = in_structure
        self.signature: Signature
        self.layouts: tuple[Layout, ...] | None = (
            None  # of the arguments it is good for, if that is not all
        )
        self.captured = captured  # tracers of enclosing traces: the leading inputs
        self.structure = structure
        flat = inline(expr)
        self.program = Program(flat, at_once=True)
        self.donated = tuple(donated)
        self.donating = Program(flat, self.donated, at_once=True) if donated else None
        self.call = Call(name, self.program)
        self.single = structure is tree.LEAF
        self.effect = self.program.effect

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was traced; it is compiled anew where it is loaded."""
        parts = (self.call.name, self.traced, self.captured, self.in_structure, self.structure)
        signature = self.signature._replace(static=tuple(strongly(self.signature.static)))
        return Entry, (*parts, self.donated), {"signature": signature, "layouts": self.layouts}

    def run(self, leaves: Sequence[Any], inlined: bool) -> Any:
        """Return the results for the leaves of the arguments."""
        traced = self.captured or not _TRACERS.isdisjoint(map(type, leaves))
        if traced or (self.effect and innermost_trace() is not None):
            operands = [*self.captured, *[as_operand(x) for x in leaves]]
            if traced:  # Python numbers are weak in the program, so they are where it is recorded
                weak = [False] * len(self.captured) + [t.weak for t in self.in_types]
                operands = [
                    x.item() if w and isinstance(x, np.generic) else x
                    for x, w in zip(operands, weak, strict=True)
                ]
            if inlined or self.program.axis_names:
                outs: Sequence[Any] = evaluate(self.program.expr, operands)
            else:
                outs = bind(self.call, operands)
        elif current_trace.get() is not None and (trace := stage()) is not None:
            outs = trace.record(self.call, [as_operand(x) for x in leaves])
        elif self.donating is not None and may_overwrite(leaves, self.donated):
            outs = self.donating(*leaves)
        else:
            outs = self.program(*leaves)
        return outs[0] if self.single else tree.unflatten(self.structure, outs)


_TRACERS = frozenset([Tracer])


def may_overwrite(leaves: Sequence[Any], donated: Sequence[int]) -> bool:
    """Whether the donated arguments are writeable NumPy arrays that share memory with no other.

    Nor with themselves; and nothing that was recorded with them may wait to be computed.
    """
    return (
        current_trace.get() is None
        and all(
            type(leaves[i]) is np.ndarray
            and is_writeable(leaves[i])
            and leaves[i].dtype.isnative
            and has_own_places(leaves[i])
            for i in donated
        )
        and are_apart(leaves, donated)
    )


PAIRS = 64
"""Pairs of arguments up to which each is looked at: up to there it is faster than sorting."""


def are_apart(leaves: Sequence[Any], donated: Sequence[int]) -> bool:
    """Whether none of the donated arrays may share memory with another argument."""
    if len(leaves) * len(donated) <= PAIRS:
        return not any(
            j != i and isinstance(x, np.ndarray) and np.may_share_memory(leaves[i], x)
            for i in donated
            for j, x in enumerate(leaves)
        )
    given = set(donated)
    arrays = [(i, x) for i, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.size]
    bounds = sorted([(*byte_bounds(x), i in given) for i, x in arrays])
    end = end_of_donated = 0  # of all arrays, and of the donated ones, that start no later
    for start, stop, is_donated in bounds:
        if start < (end if is_donated else end_of_donated):
            return False
        end = max(end, stop)
        if is_donated:
            end_of_donated = max(end_of_donated, stop)
    return True


def has_own_places(x: np.ndarray) -> bool:
    """Whether no two elements of an array overlap; False also for some strides that are no array's axes."""
    if x.flags.forc:
        return True
    end = x.itemsize  # of the memory that the axes so far take
    for stride, n in sorted(zip(map(abs, x.strides), x.shape, strict=True)):
        if n > 1:
            if stride < end:
                return False
            end += (n - 1) * stride
    return True


def held_weakly(value: Any) -> Any:
    """Return a weak reference to an object that is equal to itself alone, such as a function; else the value.

    A program for such an argument is of no use when that is gone, and must not keep it, and what it closes over.
    """
    if type(value).__hash__ is not object.__hash__:  # type: ignore[comparison-overlap]
        return value
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def strongly(static: Sequence[tuple[int | str, Any, Any]]) -> list[tuple[int | str, Any, Any]]:
    """Return what is known of static arguments with the values themselves."""
    return [
        (where, exact, held() if isinstance(held, weakref.ref) else held)
        for where, exact, held in static
    ]


def _forget(jitted: weakref.ref[Jitted], key: Hashable) -> None:
    alive = jitted()
    if alive is not None:
        alive._entries.discard(key)


def with_static(
    args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[tuple[int | str, Any, Any]]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call with the static ones in their places."""
    args, kwargs = list(args), dict(kwargs)
    for where, _, value in strongly(static):
        if isinstance(where, int):
            args.insert(where, value)
        else:
            kwargs[where] = value
    return args, kwargs


def exactly(value: Any) -> Any:
    """Return what tells apart equal values that a program may treat differently."""
    if isinstance(value, tuple):
        return (type(value), *[exactly(x) for x in value])
    return (type(value), str(value)) if isinstance(value, (float, complex)) else type(value)


class Jitted(Portable):
    """A function that is traced and compiled at its first call with each type of arguments.

    Made by `jit`.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: tuple[int, ...],
        static_argnames: frozenset[str],
        donate_argnums: tuple[int, ...],
        donate_argnames: frozenset[str],
        inline: bool,
    ) -> None:
        resemble(self, fun)
        self._fun = fun
        self.name = name_of(fun)
        self._label = f"jit({self.name})"
        self._static_argnums = static_argnums
        self._static_argnames = static_argnames
        self._donate_argnums = donate_argnums
        self._donate_argnames = donate_argnames
        self._inline = inline
        self._plain = not (static_argnums or static_argnames or donate_argnums or donate_argnames)
        self._entries: LRUCache[Entry] = LRUCache(CACHE_SIZE)

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        options = (
            self._static_argnums,
            self._static_argnames,
            self._donate_argnums,
            self._donate_argnames,
            self._inline,
        )
        return type(self), (self._fun, *options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be jitted."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on the arguments, compiled for their structure, shapes and dtypes."""
        before = contextvars.copy_context()
        try:
            chosen = settings.get()
            quick = self._plain and chosen.ordinary and len(args) == 1
            if quick and type(args[0]) in QUICK_TYPES and not kwargs and not open_axes():
                x = args[0]  # the commonest call, by the shortest way
                entry = self._entries.get((tree.LEAF, type_of(x)))
                if entry is not None:
                    outs = entry.program.on_numpy(x if type(x) is not float else np.float64(x))
                    return outs[0] if entry.single else tree.unflatten(entry.structure, outs)
            if chosen.jit_disabled:
                return self._fun(*args, **kwargs)
            entry, leaves = self._entry(args, kwargs)
            return entry.run(leaves, self._inline)
        except BaseException as error:
            put_back(before)
            cause = hide_internals(error) if isinstance(error, Exception) else None
            if cause is not None:
                raise cause.with_traceback(error.__traceback__) from None
            raise

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any]]:
        """Return the compiled program for such arguments, and their leaves."""
        static, dynamic_args, dynamic_kwargs = self._split(args, kwargs)
        if not static and not dynamic_kwargs and len(dynamic_args) == 1:
            leaves, structure = tree.flatten(dynamic_args[0])
            order = () if structure is tree.LEAF else tree.key_order(dynamic_args)
            shape_of_call: Hashable = (structure, order) if order else structure
            rebuild: Callable[[Any], Any] = lambda tracers: (
                (tree.unflatten(structure, tracers),),
                {},
            )
        else:
            leaves, structure = tree.flatten((dynamic_args, dynamic_kwargs))
            order = self.key_order(dynamic_args, dynamic_kwargs)
            rebuild = functools.partial(tree.unflatten, structure)
            shape_of_call = (structure, order, static)
        positions = None
        if static:
            fixed = {where for where, _, _ in static}
            positions = [i for i in range(len(args)) if i not in fixed]
        types = argument_types(leaves, dynamic_args, dynamic_kwargs, self._label, positions)
        leaves = as_operands(leaves)
        if len(types) == 1 and not static:
            key: Hashable = (shape_of_call, types[0])
        else:
            key = (shape_of_call, tuple(types))
        if open_axes():
            key = (key, open_sizes())
        entry = self._entries.get(key)
        if entry is None or entry.layouts is not None:
            layouts = tuple([layout_of(x) for x in leaves])
            if entry is not None and layouts != entry.layouts:
                key = (key, layouts)
                entry = self._entries.get(key)
        if entry is None:

            def build() -> Entry:
                donated = self._donated(args, kwargs)
                return self._trace(rebuild, static, types, order, donated, layouts)

            chosen = settings.get()
            if chosen.compiles_logged or chosen.misses_explained:
                build = self._logged(build, leaves)
            try:
                entry = self._entries.get_or_build(key, build)
                for _, _, held in static:
                    if isinstance(held, weakref.ref):
                        weakref.finalize(held(), _forget, weakref.ref(self), key).atexit = False
            except _NotToBeCached as caught:
                entry = caught.entry
            if entry.effect or entry.layouts is not None:
                self._plain = False  # the shortest way does not ask whether a trace is open, nor how arrays lie
            if entry.layouts not in (None, layouts):  # another thread has built it
                return self._entry(args, kwargs)
        if entry.layouts is not None and (trace := innermost_trace()) is not None:
            trace.reshaped = trace.assigned = True
        return entry, leaves

    def key_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tree.KeyOrder:
        """Return the orders of the keys of dicts, that of the keywords only if the function can see it."""
        if len(kwargs) > 1 and not self._sees_order_of_keywords:
            return tree.key_order((args, [kwargs[name] for name in sorted(kwargs)]))
        return tree.key_order((args, kwargs))

    @cached_property
    def _sees_order_of_keywords(self) -> bool:
        parameters = parameters_of(self._fun)
        return parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters)

    def _logged(self, build: Callable[[], Entry], leaves: Sequence[Any]) -> Callable[[], Entry]:
        """Return `build` with a log of what it does, and why."""

        def logged() -> Entry:
            known = [entry.signature for entry in self._entries.values()]
            report = functools.partial(log_miss, self, self._fun, self._label, known)
            start = time.perf_counter()
            try:
                entry = build()
            except _NotToBeCached as caught:
                report(caught.entry.signature, "anew", time.perf_counter() - start)
                raise
            compiled = not any(type(x) is Tracer for x in leaves) and namespace(leaves) is np
            if compiled:
                entry.program.compiled()
            how = "compiled" if compiled else "traced"
            report(entry.signature, how, time.perf_counter() - start)
            return entry

        return logged

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """Separate what is static: (position or name, value) pairs, the other arguments in order."""
        if not (self._static_argnums or self._static_argnames):
            return (), args, kwargs
        positions = {i % len(args) for i in self._static_argnums if -len(args) <= i < len(args)}
        static: list[tuple[int | str, Any]] = [(i, args[i]) for i in sorted(positions)]
        static += [(k, kwargs[k]) for k in sorted(self._static_argnames & kwargs.keys())]
        for where, value in static:
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"{self._label}: the static argument {where!r} is {value!r} of type "
                    f"{type(value).__name__}, which is not hashable, so it cannot be part of the key of a "
                    "compiled program. Pass a tuple instead of a list, or leave the argument out of "
                    "static_argnums and static_argnames."
                ) from None
        dynamic = tuple([x for i, x in enumerate(args) if i not in positions])
        # 1, 1.0 and True are equal but not the same argument, nor are 0.0 and -0.0.
        keyed = tuple([(where, exactly(value), held_weakly(value)) for where, value in static])
        return keyed, dynamic, {k: x for k, x in kwargs.items() if k not in self._static_argnames}

    def _donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """Return which leaves of the arguments may be overwritten."""
        if not (self._donate_argnums or self._donate_argnames):
            return []
        flags: list[bool] = []
        static = {i % len(args) for i in self._static_argnums if -len(args) <= i < len(args)}
        donated = {i % len(args) for i in self._donate_argnums if -len(args) <= i < len(args)}
        for i, x in enumerate(args):
            if i not in static:
                flags += [i in donated] * len(tree.leaves(x))
        for k in sorted(kwargs.keys() - self._static_argnames):
            flags += [k in self._donate_argnames] * len(tree.leaves(kwargs[k]))
        return [i for i, donate in enumerate(flags) if donate]

    def _trace(
        self,
        rebuild: Callable[[Any], Any],
        static: tuple[Any, ...],
        types: Sequence[ArrayType],
        order: tree.KeyOrder,
        donated: Sequence[int],
        layouts: tuple[Layout, ...],
    ) -> Entry:
        draws = Draws(self._fun, [value for _, _, value in static])
        with Trace(self._label, bake=True) as trace:
            inputs = zip(types, layouts, strict=True)
            called = rebuild([trace.new_input(t, layout=layout) for t, layout in inputs])
            args, kwargs = with_static(called[0], called[1], static)
            result = self._fun(*args, **kwargs)
            draws.warn(self._label)
            leaves, structure = tree.flatten(result)
            outputs = output_variables(trace, leaves, self._label)
            expr = trace.expr(outputs)
        if check_exprs.get():
            expr.check()
        captured = [x for _, x in trace.captures]
        in_structure = tree.structure(called)
        entry = Entry(self.name, expr, captured, in_structure, structure, donated)
        if trace.reshaped and trace.assigned:
            entry.layouts = layouts
        entry.signature = Signature(in_structure, tuple(types), static, open_sizes(), order)
        if captured or trace.depends_on < trace.level:
            # The program is only good inside the traces it belongs to.
            raise _NotToBeCached(entry)
        return entry

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace for the types of the arguments, without running.

        Arguments may be arrays or anything with their `shape` and `dtype`.
        """
        entry, _ = self._entry(args, kwargs)
        return Lowered(self, entry)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the NumPy source of the program compiled for such arguments."""
        return self.lower(*args, **kwargs).source

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, the bound and the size of the cache of compiled programs."""
        return self._entries.info()

    def clear_cache(self) -> None:
        """Forget all compiled programs of this function."""
        self._entries.clear()

    def __repr__(self) -> str:
        return f"<{self._label}>"


class _NotToBeCached(Exception):
    """Carries an entry past the cache."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry


class Lowered:
    """A function traced for one type of arguments, in each stage from there on. Made by ``jit(f).lower(*args)``.

    Examples
    --------
    >>> import fungrad as fg
    >>> lowered = fg.jit(lambda x: x * (1.0 + 2.0 * x)).lower(1.0)
    >>> lowered.schedule
    { schedule r0:float64[] .
      r1:float64[] = 2.0
      r3:float64[] = 1.0
      r2 = multiply r1 r0
      r4 = add r3 r2
      free r2
      r5 = multiply r0 r4
      free r4
      return (r5) }
    >>> print(lowered.source, end="")
    def program(a):
        b = 2.0 * a
        c = 1.0 + b
        del b
        d = a * c
        del c
        return [d[()]]
    """

    def __init__(self, jitted: Jitted, entry: Entry) -> None:
        self._jitted = jitted
        self._entry = entry
        self._static = strongly(entry.signature.static)
        self.in_types = entry.in_types

    @property
    def expr(self) -> Expr:
        """What was traced."""
        return self._entry.traced

    @property
    def simplified(self) -> Expr:
        """The same with less to compute."""
        return self._program.expr

    @property
    def passes(self) -> tuple[tuple[str, Expr], ...]:
        """How it got there: the name of each pass over the program, and what that has made."""
        return tuple(after_each_pass(self._program.given))

    @property
    def schedule(self) -> Schedule:
        """What is called, overwritten and freed, step by step."""
        return self._program.schedule

    @property
    def source(self) -> str:
        """The NumPy source it is compiled to; what loops and branches run stands below it."""
        return readable(self._program.source)

    @property
    def _program(self) -> Program:
        return self._entry.donating or self._entry.program

    def as_text(self) -> str:
        """Return the traced program as text."""
        return str(self.expr)

    def compile(self) -> Compiled:
        """Compile now; return a function that takes only arguments of these types."""
        self._program.compiled()
        return Compiled(self._jitted, self._entry)


class Compiled:
    """A function compiled for one type of arguments. Made by ``jit(f).lower(*args).compile()``."""

    def __init__(self, jitted: Jitted, entry: Entry) -> None:
        self._jitted = jitted
        self._entry = entry
        self._static = strongly(entry.signature.static)
        self.in_types = entry.in_types

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run. Static arguments are left out.

        Raises
        ------
        TypeError
            If the arguments have not the structure and types it was compiled for.
        """
        name = self._jitted.name
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self._entry.in_structure:
            raise TypeError(
                f"this program of {name} was compiled for arguments of structure "
                f"{self._entry.in_structure}, and is called with {structure}"
            )
        types = tuple(argument_types(leaves, args, kwargs, f"compiled {name}"))
        if types != self.in_types:
            raise TypeError(
                f"this program of {name} was compiled for arguments of types "
                f"{', '.join(map(described, self.in_types))}, and is called with "
                f"{', '.join(map(described, types))}; call the jitted function itself to compile for others"
            )
        order = self._jitted.key_order(args, kwargs)
        if order != self._entry.signature.order:  # a function can tell these apart
            args_, kwargs_ = with_static(args, kwargs, self._static)
            return self._jitted(*args_, **kwargs_)
        return self._entry.run([as_operand(x) for x in leaves], False)


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    inline: bool = False,
    keep_unused: bool = False,
    device: Any = None,
    backend: Any = None,
) -> Any:
    """Return `fun` compiled for the structure, shapes and dtypes of its arguments.

    `fun` is traced at the first call for each combination of tree structure, shapes, dtypes, weak types (Python
    numbers) and static arguments; later calls run the compiled program. A side effect in `fun`, such as
    printing, happens once, when it is traced. Arrays that `fun` closes over become constants of the
    program: their values at that time.

    Parameters
    ----------
    fun
        A pure function of arrays, numbers and pytrees of them. Without it, a decorator is returned.
    static_argnums, static_argnames
        Positional arguments, by position, and arguments, by name, that are not traced but part of
        the key: a new value compiles anew. They must be hashable. One of the two is enough: the other follows
        from the signature.
    donate_argnums, donate_argnames
        Arguments whose memory the program may use, for what it computes and for its results. NumPy cannot delete an
        array that has a name: one that was donated can still be read, but what it holds is undefined, and it may
        share memory with a result. Nothing is overwritten if one of them is read-only, no NumPy array, or shares
        memory with another argument or, as windows that overlap do, with itself; nor in calls from within a
        function that is being traced.
    inline
        Whether a call under another transform records the equations of `fun` instead of one call.
    keep_unused, device, backend
        Accepted for JAX's sake. Unused arguments cost nothing here; programs run where their arrays are.

    Returns
    -------
    Jitted
        A callable with ``.lower(*args)``, ``.source(*args)``, ``.cache_info()`` and ``.clear_cache()``.

    Raises
    ------
    ConcretizationError
        At tracing, if `fun` asks for the value of a traced array, as a Python `if` does.
    TypeError
        If a static argument is not hashable.
    ValueError
        If an argument is both static and donated, or there is no such argument.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> import fungrad.numpy as fnp
    >>> f = fg.jit(lambda x: fnp.sin(x) * 2)
    >>> f(np.zeros(3))
    array([0., 0., 0.])
    >>> print(f.source(np.zeros(3)))
    def program(a):
        b = np.sin(a)
        b = np.multiply(b, 2.0, b)
        return [b]
    <BLANKLINE>
    >>> f.cache_info().misses
    1
    >>> step = fg.jit(lambda w, g: w - 0.1 * g, donate_argnums=0)
    >>> w, g = np.ones(3), np.ones(3)
    >>> new = step(w, g)  # from here on, `w` is not to be used
    >>> new, np.shares_memory(new, w)
    (array([0.9, 0.9, 0.9]), True)
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            inline=inline,
        )
    check_callable(fun, "jit")
    static = chosen_arguments("jit", fun, static_argnums, static_argnames, "static_argnums")
    donate = chosen_arguments("jit", fun, donate_argnums, donate_argnames, "donate_argnums")
    both = [*sorted({*static[0]} & {*donate[0]}), *sorted(static[1] & donate[1])]
    if both:
        raise ValueError(
            f"jit: the argument {both[0]!r} of {name_of(fun)} is both static and donated; what is static is no "
            "array, so there is no memory to give away"
        )
    return Jitted(fun, *static, *donate, inline)

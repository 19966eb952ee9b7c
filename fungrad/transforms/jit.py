"""Compile a function once for each type of its arguments."""

from __future__ import annotations

import contextvars
import functools
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Unpack, cast, overload

import numpy as np

from fungrad.core import tree
from fungrad.core.axes import open_axes, open_sizes
from fungrad.core.backend import on_host
from fungrad.core.cache import CacheInfo
from fungrad.core.cached import as_html, cached_property
from fungrad.core.config import settings
from fungrad.core.errors import Again, put_in_order
from fungrad.core.layout import Layout, layout_of
from fungrad.core.observing import Span
from fungrad.core.reading import tell
from fungrad.core.snapshot import native
from fungrad.core.state import put_back
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.transformed import Portable, resemble
from fungrad.core.types import native_type, quick_type
from fungrad.transforms.argnums import (
    chosen_arguments,
    exactly,
    parameters_of,
    weakly,
)
from fungrad.transforms.argument_errors import not_hashable
from fungrad.transforms.call import (
    argument_types,
    as_operands,
    check_callable,
    name_of,
)
from fungrad.transforms.donation import donated_leaves
from fungrad.transforms.entry import Entry, NotToBeCached, Programs, device_library, forget
from fungrad.transforms.explain import log_miss
from fungrad.transforms.guards import Guarded
from fungrad.transforms.lowered import Lowered
from fungrad.transforms.making import Making, refused
from fungrad.transforms.retraces import note_trace
from fungrad.transforms.signatures import JitOptions, JittedFunction, MoreJitOptions, P, R

QUICK_TYPES = frozenset([np.ndarray, np.float64, float])

CACHE_SIZE = 256
"""Programs kept for each jitted function."""


class Jitted(Portable):
    """A function that is traced and compiled at its first call with each type of arguments; made by `jit`."""

    guards = True
    """Whether there are programs for the values that Python asks for; else this is refused."""

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
        self._static_argnums, self._static_argnames = static = static_argnums, static_argnames
        self._donate_argnums, self._donate_argnames = donated = donate_argnums, donate_argnames
        self._inline = inline
        self._options = (*static, *donated, inline)
        self.programs = Programs(CACHE_SIZE, not (any(static) or any(donated)))

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self._fun, *self._options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be jitted."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on the arguments, compiled for their structure, shapes and dtypes."""
        before = contextvars.copy_context()
        try:
            chosen, kept = settings.get(), self.programs
            if kept.plain and chosen.direct and not kwargs and not open_axes():
                # The commonest calls, of one array and of several, by the shortest way.
                leaf = (tree.LEAF, chosen.programs) if chosen.programs else tree.LEAF
                x = args[0] if len(args) == 1 else None
                if type(x) in QUICK_TYPES:
                    entry = kept.get((leaf, quick_type(x)))
                    if entry is not None:
                        outs = entry.program.on_numpy(x if type(x) is not float else np.float64(x))
                        return outs[0] if entry.single else tree.unflatten(entry.structure, outs)
                elif QUICK_TYPES.issuperset(map(type, args)):
                    entry = kept.get((leaf, tuple(map(quick_type, args))))
                    if entry is not None:
                        outs = entry.program.on_numpy(*as_operands(args))
                        return outs[0] if entry.single else tree.unflatten(entry.structure, outs)
                elif args and (library := device_library(args)) is not None:
                    types = tuple([native_type(y.shape, y.dtype) for y in args])
                    if (entry := kept.get((leaf, types if x is None else types[0]))) is not None:
                        outs = entry.program.function(library)(*args)
                        return outs[0] if entry.single else tree.unflatten(entry.structure, outs)
            if chosen.jit_disabled:
                return self._fun(*args, **kwargs)
            entry, leaves = self._entry(args, kwargs)
            return entry.run(leaves, self._inline)
        except Again:
            put_back(before)
            return self(*args, **kwargs)
        except BaseException as error:
            if (cause := put_in_order(before, error)) is not None:
                raise cause from None
            raise

    def _entry(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Entry | Guarded, Sequence[Any]]:
        """Return the compiled program for such arguments, and their leaves."""
        tell("jitted", self._label)
        static, dynamic_args, dynamic_kwargs = self._split(args, kwargs)
        parts = self._taken_apart(static, dynamic_args, dynamic_kwargs)
        leaves, shape_of_call, order, rebuild = parts
        positions = None
        if static:
            fixed = {where for where, _, _ in static}
            positions = [i for i in range(len(args)) if i not in fixed]
        types = argument_types(
            leaves, dynamic_args, dynamic_kwargs, self._label, positions, native_type
        )
        leaves = as_operands(leaves)
        chosen = settings.get()
        if chosen.programs:
            shape_of_call = (shape_of_call, chosen.programs)
        one = len(types) == 1 and not static
        key: Hashable = (shape_of_call, types[0] if one else tuple(types))
        if open_axes():
            key = (key, open_sizes())
        entry = self.programs.get(key)
        if entry is None and None in types:  # some arrays are of another byte order
            return self._entry(*tree.map(native, (args, kwargs)))
        if entry is None or entry.layouts is not None:
            layouts = tuple([layout_of(x) for x in leaves])
            if entry is not None and layouts != entry.layouts:
                key = (key, layouts)
                entry = self.programs.get(key)
        if entry is None:

            def build() -> Entry | Guarded:
                donated = donated_leaves(args, kwargs, self._options[:2], self._options[2:4])
                about = (self._fun, self.name, self._label)
                return self._made(Making(*about, rebuild, static, types, order, donated), layouts)

            if chosen.compiles_logged or chosen.misses_explained or chosen.profiled:
                build = self._logged(build, leaves)
            try:
                entry = self.programs.get_or_build(key, build)
                for _, _, held in static:
                    if isinstance(held, weakref.ref):
                        kept = weakref.ref(self.programs)
                        weakref.finalize(held(), forget, kept, key).atexit = False
            except NotToBeCached as caught:
                entry = caught.entry
            if entry.effect or entry.layouts is not None or entry.weak is not None:
                self.programs.plain = False  # the shortest way asks neither whether a trace is open, nor how arrays lie, nor what is weak
            if entry.layouts not in (None, layouts):  # another thread has built it
                return self._entry(args, kwargs)
        if entry.layouts is not None and (trace := innermost_trace()) is not None:
            trace.facts.reshaped = trace.facts.assigned = True
        return entry, leaves

    def _taken_apart(
        self, static: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], Hashable, tree.KeyOrder, Callable[[Any], Any]]:
        """Return leaves of arguments, a key of their structure, the orders of dicts, and the inverse."""
        if not (static or kwargs) and (tree.are_leaves(args) or device_library(args)):
            return args, cast(Hashable, tree.LEAF), (), lambda xs: (tuple(xs), {})
        if not static and not kwargs and len(args) == 1:
            leaves, structure = tree.flatten(args[0])
            order = tree.key_order(args)
            shape: Hashable = (structure, order) if order else structure
            return leaves, shape, order, lambda xs: ((tree.unflatten(structure, xs),), {})
        leaves, structure = tree.flatten((args, kwargs))
        order = self.key_order(args, kwargs)
        rebuild = functools.partial(tree.unflatten, structure)
        return leaves, (structure, order, static), order, rebuild

    def key_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tree.KeyOrder:
        """Return the orders of the keys of dicts, that of the keywords only if the function can see it."""
        if len(kwargs) > 1 and not self._sees_order_of_keywords:
            return tree.key_order((args, [kwargs[name] for name in sorted(kwargs)]))
        return tree.key_order((args, kwargs))

    @cached_property
    def _sees_order_of_keywords(self) -> bool:
        parameters = parameters_of(self._fun)
        return parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters)

    def _made(self, making: Making, layouts: Sequence[Layout]) -> Entry | Guarded:
        """Return the program for all values, or the maker of programs for guarded values."""
        entry: Entry | Guarded | None = None
        try:
            entry = making.entry(layouts)
        except Exception as error:
            if not (self.guards and settings.get().reading and refused(error)):
                raise
        entry = entry or Guarded(making)
        note_trace(self, self._fun, self._label, self.programs, entry.signature)
        return entry

    def _logged(
        self, build: Callable[[], Entry | Guarded], leaves: Sequence[Any]
    ) -> Callable[[], Entry | Guarded]:
        """Return `build` with a log of its actions, and their reasons."""

        def logged() -> Entry | Guarded:
            known = [entry.signature for entry in self.programs.values()]
            report = functools.partial(log_miss, self, self._fun, self._label, known)
            with Span("jit", self._label) as span:
                try:
                    entry = build()
                except NotToBeCached as caught:
                    span.about["why"] = report(caught.entry.signature, "anew", span.start)
                    raise
                compiled = not any(type(x) is Tracer for x in leaves) and on_host(leaves)
                if compiled:
                    entry.program.compiled()
                how = "compiled" if compiled else "traced"
                span.about["why"] = report(entry.signature, how, span.start)
                return entry

        return logged

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
        """Separate the static arguments, as (position or name, value) pairs, from the others."""
        if not (self._static_argnums or self._static_argnames):
            return (), args, kwargs
        positions = {i % len(args) for i in self._static_argnums if -len(args) <= i < len(args)}
        static: list[tuple[int | str, Any]] = [(i, args[i]) for i in sorted(positions)]
        static += [(k, kwargs[k]) for k in sorted(self._static_argnames & kwargs.keys())]
        for where, value in static:
            try:
                hash(value)
            except TypeError:
                raise not_hashable(where, value, self._label) from None
        dynamic = tuple([x for i, x in enumerate(args) if i not in positions])
        # 1, 1.0 and True are equal but not the same argument, nor are 0.0 and -0.0.
        keyed = tuple([(where, exactly(value), weakly(value)) for where, value in static])
        return keyed, dynamic, {k: x for k, x in kwargs.items() if k not in self._static_argnames}

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace for the types of the arguments, without running.

        Arguments may be arrays or anything with their `shape` and `dtype`. Of a function that asks for values, it is the
        program for those of the arguments.
        """
        entry, leaves = self._entry(args, kwargs)
        return Lowered(self, entry if isinstance(entry, Entry) else entry.variant_for(leaves))

    trace = lower

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shapes and dtypes of the results for such arguments, without running."""
        return self.lower(*args, **kwargs).out_info

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the NumPy source of the program compiled for such arguments."""
        return self.lower(*args, **kwargs).source

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, the bound and the size of the cache of compiled programs."""
        return self.programs.info()

    def clear_cache(self) -> None:
        """Forget all compiled programs of this function."""
        self.programs.clear()

    def __repr__(self) -> str:
        return f"<{self._label}>"

    def _repr_html_(self) -> str:
        return as_html.get()(self)  # type: ignore[no-any-return]


@overload
def jit(
    fun: Callable[P, R], *, static_argnums: int | Iterable[int], **options: Unpack[MoreJitOptions]
) -> JittedFunction[P, R]: ...
@overload
def jit(fun: np.ufunc, **options: Unpack[MoreJitOptions]) -> JittedFunction[..., Any]: ...
@overload
def jit(fun: Callable[P, R], **options: Unpack[JitOptions]) -> JittedFunction[P, R]: ...
@overload
def jit(**options: Unpack[JitOptions]) -> Callable[[Callable[P, R]], JittedFunction[P, R]]: ...
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: Any = None,
    inline: bool = False,
    compiler_options: Any = None,
) -> Any:
    """Return `fun` compiled for the structure, shapes and dtypes of its arguments.

    `fun` is traced at the first call for each combination of tree structure, shapes, dtypes, weak types (Python
    numbers) and static arguments; later calls run the compiled program. A side effect in `fun`, such as
    printing, happens when it is traced. Arrays that `fun` closes over become constants of the
    program: their values at that time.

    Where `fun` asks for the value of an array (``if x > 0``, ``range(n)``, ``x[x > 0]``), the program is for that
    value. Another value has another program, up to eight of them. Then calls with other values run as Python does.

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
        share memory with a result. Nothing is overwritten if one of them is read-only, is no NumPy array, or shares
        memory with another argument or with itself, as overlapping windows do. Nor is it in calls from within a
        function that is being traced.
    inline
        Whether a call under another transform records the equations of `fun` instead of one call.
    in_shardings, out_shardings, keep_unused, device, backend, compiler_options
        Accepted for JAX's sake: they change no result. Unused arguments cost nothing here, and programs run where
        their arrays are.

    Returns
    -------
    Jitted
        A callable with the methods `lower` (or `trace`), `source`, `eval_shape`, `cache_info` and `clear_cache`.

    Raises
    ------
    ConcretizationError
        At tracing, if `fun` asks for the value of a traced array that has none, as a Python `if` does. So it is
        within the body of `fungrad.lax.scan`, say, or if the arguments of `lower` are types alone.
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
        given: Any = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        given |= {"donate_argnums": donate_argnums, "donate_argnames": donate_argnames}
        return functools.partial(jit, **given, inline=inline)
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

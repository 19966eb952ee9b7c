"""Compile a function once for each type of its arguments."""

from __future__ import annotations

import contextvars
import functools
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Unpack, overload

import numpy as np

from fungrad.core import tree
from fungrad.core.axes import open_axes, open_sizes
from fungrad.core.backend import device_library, on_host
from fungrad.core.cache import CacheInfo
from fungrad.core.cached import as_html, cached_property
from fungrad.core.config import settings
from fungrad.core.errors import Again, put_in_order
from fungrad.core.layout import Layout, layout_of
from fungrad.core.observing import Span
from fungrad.core.reading import listener
from fungrad.core.snapshot import native
from fungrad.core.state import put_back
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.transformed import Portable, resemble
from fungrad.core.types import PYTHON_SCALARS, native_type, quick_type, type_of
from fungrad.transforms.argnums import chosen_arguments, keyed, parameters_of, positions_of
from fungrad.transforms.argument_errors import no_type
from fungrad.transforms.arguments import ARRAYS, as_operands, check_callable, described, name_of
from fungrad.transforms.donation import donated_leaves
from fungrad.transforms.dtypes import narrowed_types
from fungrad.transforms.entry import Entry, NotToBeCached, Programs, forget
from fungrad.transforms.explain import log_miss
from fungrad.transforms.guards import Guarded
from fungrad.transforms.lowered import Lowered
from fungrad.transforms.making import Making, refused
from fungrad.transforms.retraces import note_trace
from fungrad.transforms.signatures import JitOptions, JittedFunction, MoreJitOptions, P, R

FLOAT, FLOAT64 = PYTHON_SCALARS[float], type_of(np.float64())

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
        self._some_static = any(static)
        self.programs = Programs(CACHE_SIZE)

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self._fun, *self._options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be jitted."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on the arguments, compiled for their structure, shapes and dtypes."""
        before = contextvars.copy_context()
        try:
            chosen, entry, library = settings.get(), None, None
            if chosen.direct and not (kwargs or open_axes()):
                types: list[Any] = []
                leaves: Any = []
                some, shape = self._plain(args) if self._some_static else (args, None)
                for x in some:
                    kind = type(x)
                    if chosen.narrow and (kind is not np.ndarray or x.itemsize > 4):
                        break  # it may have 64 bits
                    if kind is np.ndarray:
                        types.append(native_type(x.shape, x.dtype))
                    elif kind is np.float64:
                        types.append(FLOAT64)
                    elif kind is float:
                        types.append(FLOAT)
                        x = np.float64(x)
                    elif library or (library := device_library(some)):
                        types.append(native_type(x.shape, x.dtype))
                    else:
                        break
                    leaves.append(x)
                else:
                    key: Any = tuple(types) if shape is None else (tuple(types), shape)
                    entry = self.programs.get((key, on, ()) if (on := chosen.programs) else key)
            if entry is None or entry.layouts is not None:
                if chosen.jit_disabled:
                    return self._fun(*args, **kwargs)
                entry, leaves = self._entry(args, kwargs)
                if chosen.observed or not ARRAYS.issuperset(map(type, leaves)):
                    return entry.run(leaves, self._inline)
            return entry.run(leaves, self._inline, library or np)
        except Again:
            put_back(before)
            return self(*args, **kwargs)
        except BaseException as error:
            if (cause := put_in_order(before, error)) is not None:
                raise cause from None
            raise

    def _plain(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """Return the arguments that are not static, and the key of these as leaves."""
        static, some, _ = self._split(args, {})
        structure = positions_of(self._static_argnums, len(args))[2]
        return some, (structure, (), static, False) if static else None

    def _entry(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Entry | Guarded, Sequence[Any]]:
        """Return the program for such arguments, which may be new, and their leaves."""
        leaves, types, shape = self._taken_apart(args, kwargs)
        chosen = settings.get()
        types = tuple(narrowed_types(types, leaves) if chosen.narrow else types)
        key: Hashable = types if shape is None else (types, shape)
        if chosen.programs or open_axes():
            key = (key, chosen.programs, open_sizes())
        if (told := listener.get()) is not None:
            told.jitted(self._label)
        entry = self.programs.get(key)
        if entry is None and None in types:  # some arrays are of another byte order
            return self._entry(*tree.map(native, (args, kwargs)))
        if entry is None or entry.layouts is not None:
            layouts = tuple([layout_of(x) for x in leaves])
            if entry is not None and layouts != entry.layouts:
                key = (key, layouts)
                entry = self.programs.get(key)
            if entry is None:
                entry = self._new(key, (args, kwargs), leaves, types, shape, layouts)
                if entry.layouts not in (None, layouts):  # another thread has built it
                    return self._entry(args, kwargs)
            if entry.layouts is not None and (trace := innermost_trace()) is not None:
                trace.facts.reshaped = trace.facts.assigned = True
        return entry, leaves

    def _taken_apart(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], Any, tuple[Any, ...] | None]:
        """Return leaves, their types, and a key of structure and static arguments; None for leaves alone."""
        static: tuple[Any, ...] = ()
        some, others, shape = args, kwargs, None
        if self._some_static:
            static, some, others = self._split(args, kwargs)
        leaves: Sequence[Any] = args
        if kwargs or static or not (tree.are_leaves(args) or device_library(args)):
            leaves, structure = tree.flatten((some, others) if others else some)
            shape = (structure, self.key_order(some, others), static, bool(others))
        try:
            types = list(map(quick_type, leaves))
        except TypeError:
            fixed = {where for where, _, _ in static}
            positions = [i for i in range(len(args)) if i not in fixed]
            raise no_type(some, others, self._label, positions) from None
        return as_operands(leaves), types, shape

    def _new(
        self, key: Hashable, given: Any, leaves: Any, types: Any, shape: Any, layouts: Any
    ) -> Any:
        """Return a new program under a key, or the one that another thread has made meanwhile."""
        structure, order, static, named = shape or (None, (), (), False)
        donated = donated_leaves(given[0], given[1], self._options[:2], self._options[2:4])
        about = (self._fun, self.name, self._label, structure, named)
        making = Making(*about, static, types, order, donated)
        build = functools.partial(self._made, making, layouts)
        chosen = settings.get()
        logged = chosen.compiles_logged or chosen.misses_explained or chosen.profiled
        try:
            entry = self.programs.get_or_build(
                key, self._logged(build, leaves) if logged else build
            )
        except NotToBeCached as caught:
            return caught.entry
        for _, _, held in static:
            if isinstance(held, weakref.ref):
                kept = weakref.ref(self.programs)
                weakref.finalize(held(), forget, kept, key).atexit = False
        return entry

    def key_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tree.KeyOrder:
        """Return the orders of the keys of dicts, that of the keywords only if the function can see it."""
        if len(kwargs) > 1 and not self._sees_order_of_keywords:
            return tree.key_order((args, [kwargs[name] for name in sorted(kwargs)]))
        return tree.key_order((args, kwargs) if kwargs else args)

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
        positions, rest, _ = positions_of(self._static_argnums, len(args))
        static: list[tuple[int | str, Any]] = [(i, args[i]) for i in positions]
        if kwargs:
            static += [(k, kwargs[k]) for k in sorted(self._static_argnames & kwargs.keys())]
            kwargs = {k: x for k, x in kwargs.items() if k not in self._static_argnames}
        return keyed(static, self._label), tuple([args[i] for i in rest]), kwargs

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace for the types of the arguments, without running.

        Arguments may be arrays or anything with their `shape` and `dtype`. Of a function that asks for values, it is the
        program for those of the arguments.
        """
        if any(described(x) is not x for x in tree.leaves((args, kwargs))):
            args, kwargs = tree.map(described, (args, kwargs))
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

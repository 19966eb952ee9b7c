"""Functions with actions before and after them: the names of `jax.extend.linear_util`.

A transformation is a function ``transform(f, *static, *args, **kwargs)`` (`transformation2`), or a generator that yields
arguments for the function, is sent its results, and yields what to return (`transformation`). Those ``with_aux`` give a
second result, which a thunk returns once the function has been called.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Callable
from typing import Any

from fungrad.core.errors import Explained

__all__ = [
    "Store",
    "StoreException",
    "WrappedFun",
    "cache",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]
__dir__ = __all__.copy


class StoreException(Explained, Exception):
    """A `Store` is read before it is filled, or filled again with something else.

    Examples
    --------
    >>> try:
    ...     Store().val
    ... except StoreException as error:
    ...     print(error)
    the store is empty: the function has not been called yet
    More: python -m fungrad explain StoreException
    """


_EMPTY = object()


class Store:
    """The place of a second result.

    Examples
    --------
    >>> store = Store()
    >>> store.store(3)
    >>> store, store.val
    (Store(3), 3)
    """

    def __init__(self, equal: bool = False) -> None:
        self._value: Any = _EMPTY
        self._equal = equal

    def __repr__(self) -> str:
        return f"Store({'' if self._value is _EMPTY else repr(self._value)})"

    @property
    def val(self) -> Any:
        """The stored value."""
        if self._value is _EMPTY:
            raise StoreException("the store is empty: the function has not been called yet")
        return self._value

    def store(self, val: Any) -> None:
        """Keep a value."""
        if self._value is not _EMPTY and not (self._equal and self._value == val):
            raise StoreException(
                "the store has a value already: wrap the function anew for another call"
            )
        self._value = val

    def reset(self) -> None:
        """Forget the value."""
        self._value = _EMPTY

    def __bool__(self) -> bool:
        return self._value is not _EMPTY


class WrappedFun:
    """A function with transformations. `call_wrapped` calls it; equal ones do the same.

    Attributes
    ----------
    f
        The function without them.

    Examples
    --------
    >>> wrapped = wrap_init(abs)
    >>> type(wrapped), wrapped.call_wrapped(-3)
    (<class 'fungrad.extend.linear_util.WrappedFun'>, 3)
    """

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any],
        transforms: tuple[Any, ...] = (),
        stores: tuple[Any, ...] = (),
        params: tuple[tuple[str, Any], ...] = (),
        in_type: Any = None,
        debug_info: Any = None,
    ) -> None:
        self.f, self.f_transformed, self.transforms, self.stores = (
            f,
            f_transformed,
            transforms,
            stores,
        )
        self.params, self.in_type, self.debug_info = params, in_type, debug_info

    def __repr__(self) -> str:
        applied = "".join(f" under {t[0]!r}" for t in self.transforms)
        return f"<wrapped {self.f!r}{applied}>"

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with all that has been done to it."""
        return self.f_transformed(*args, **kwargs)

    def wrap(
        self, gen: Callable[..., Any], gen_static_args: tuple[Any, ...], out_store: Any
    ) -> WrappedFun:
        """Return the same with a transformation more, the outermost."""
        first = gen_static_args if out_store is None else (out_store, *gen_static_args)
        return WrappedFun(
            self.f,
            functools.partial(gen, self.f_transformed, *first),
            ((gen, gen_static_args), *self.transforms),
            (out_store, *self.stores),
            self.params,
            None,
            self.debug_info,
        )

    def populate_stores(self, stores: Any) -> None:
        """Copy second results from other stores."""
        for own, other in zip(self.stores, stores, strict=True):
            if own is not None:
                own.store(other.val)

    def replace_debug_info(self, dbg: Any) -> WrappedFun:
        """Return the same with other notes."""
        return WrappedFun(
            self.f, self.f_transformed, self.transforms, self.stores, self.params, self.in_type, dbg
        )

    def with_unknown_names(self) -> WrappedFun:
        """Return the same."""
        return self

    def _key(self) -> tuple[Any, ...]:
        return self.f, self.transforms, self.params, self.in_type

    def __eq__(self, other: object) -> bool:
        return type(other) is WrappedFun and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def wrap_init(f: Callable[..., Any], params: Any = None, *, debug_info: Any = None) -> WrappedFun:
    """Return a function to which transformations can be added.

    Examples
    --------
    >>> @transformation2
    ... def doubled(f, *args):
    ...     return 2 * f(*args)
    >>> doubled(wrap_init(lambda x: x + 1)).call_wrapped(3)
    8
    """
    params = {} if params is None else params
    called = functools.partial(f, **params) if params else f
    return WrappedFun(f, called, params=tuple(sorted(params.items())), debug_info=debug_info)


def _curried(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(function)(
        lambda *args, **kwargs: functools.partial(function, *args, **kwargs)
    )


@_curried
def transformation2(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """Turn ``gen(f, *static, *args, **kwargs)`` into a transformation of a `WrappedFun`.

    Examples
    --------
    >>> @transformation2
    ... def scaled(f, factor, *args):
    ...     return factor * f(*args)
    >>> scaled(wrap_init(abs), 10).call_wrapped(-3)
    30
    """
    return fun.wrap(gen, gen_static_args, None)


@_curried
def transformation_with_aux2(
    gen: Callable[..., Any],
    fun: WrappedFun,
    *gen_static_args: Any,
    use_eq_store: bool = False,
    unk_names: bool = False,
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Like `transformation2`, of ``gen(f, store, *static, *args, **kwargs)``; also returns the thunk.

    Examples
    --------
    >>> @transformation_with_aux2
    ... def noted(f, store, *args):
    ...     store.store(args)
    ...     return f(*args)
    >>> f, seen = noted(wrap_init(abs))
    >>> f.call_wrapped(-3), seen()
    (3, (-3,))
    """
    store = Store(use_eq_store)
    return fun.wrap(gen, gen_static_args, store), lambda: store.val


@dataclasses.dataclass(frozen=True)
class _Sent:
    """A generator as the function that is wrapped around another."""

    gen: Callable[..., Any]

    def __call__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        running = self.gen(*args, **kwargs)
        new_args, new_kwargs = next(running)
        return running.send(f(*new_args, **new_kwargs))


class _SentWithAux(_Sent):
    """Likewise, of a generator that gives a second result."""

    def __call__(self, f: Callable[..., Any], store: Any, *args: Any, **kwargs: Any) -> Any:
        result, aux = super().__call__(f, *args, **kwargs)
        store.store(aux)
        return result


@_curried
def transformation(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """Like `transformation2`, of a generator ``gen(*static, *args, **kwargs)``.

    Examples
    --------
    >>> @transformation
    ... def scaled(factor, *args):
    ...     result = yield args, {}
    ...     yield factor * result
    >>> scaled(wrap_init(abs), 10).call_wrapped(-3)
    30
    """
    return fun.wrap(_Sent(gen), gen_static_args, None)


@_curried
def transformation_with_aux(
    gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any
) -> tuple[WrappedFun, Callable[[], Any]]:
    """Like `transformation_with_aux2`, of a generator that yields results and the second result at last.

    Examples
    --------
    >>> @transformation_with_aux
    ... def noted(*args):
    ...     result = yield args, {}
    ...     yield result, args
    >>> f, seen = noted(wrap_init(abs))
    >>> f.call_wrapped(-3), seen()
    (3, (-3,))
    """
    store = Store()
    return fun.wrap(_SentWithAux(gen), gen_static_args, store), lambda: store.val


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return which of two thunks has its value, and that: True for the first.

    Examples
    --------
    >>> empty = Store()
    >>> merge_linear_aux(lambda: empty.val, lambda: 3)
    (False, 3)
    """
    try:
        first = aux1()
    except StoreException:
        return False, aux2()
    try:
        aux2()
    except StoreException:
        return True, first
    raise StoreException("both stores have a value")


def cache(call: Callable[..., Any], *, explain: Any = None) -> Callable[..., Any]:
    """Return ``call(wrapped, *args)`` with memory of its results, as long as ``wrapped.f`` lives.

    Examples
    --------
    >>> @cache
    ... def length(fun, n):
    ...     print("computed")
    ...     return n + 1
    >>> f = wrap_init(abs)
    >>> length(f, 1), length(f, 1)
    computed
    (2, 2)
    """
    known: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def remembered(fun: WrappedFun, *args: Any) -> Any:
        results = known.setdefault(fun.f, {})
        key = (fun.transforms, fun.params, fun.in_type, args)
        if key not in results:
            results[key] = call(fun, *args), fun.stores
        result, stores = results[key]
        if stores is not fun.stores:
            fun.populate_stores(stores)
        return result

    return remembered

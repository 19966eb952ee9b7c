"""Callables that transforms return, with the metadata of the user's function.

They can be pickled if that function can. Such a callable is pickled as its *recipe*: a transform and its arguments, from which it is made again.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from fungrad.core.annotations import copy_annotations
from fungrad.core.cached import cached_property
from fungrad.core.errors import Again, put_in_order
from fungrad.core.state import put_back

F = TypeVar("F", bound=Callable[..., Any])


class Portable:
    """Base of callables made from a user's function, which are pickled as their recipe.

    A decorated function is an exception. Its name leads to the `Portable` and no longer to the user's function, so that
    function cannot be pickled by name, and neither can the recipe. Then the plain function `_remade` is pickled, which has the
    name ``f._remade``. The pickle of the standard library stores that name. cloudpickle stores names likewise, but stores a
    function of ``__main__`` itself, with its closure, since ``__main__`` is a different module in another process.
    """

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return a function of fungrad's and the arguments from which it makes this."""
        raise NotImplementedError

    @cached_property
    def _remade(self) -> Callable[[], Any]:
        make, parts = self.recipe()

        def remake() -> Any:
            return make(*parts)

        remake.__module__ = self.__module__
        # Looked up by this name, it is found through the property.
        remake.__qualname__ = f"{getattr(self, '__qualname__', '')}._remade"
        return remake

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if _by_name(self.__module__, getattr(self, "__qualname__", None)) is self:
            return _found_or_made, (self._remade,)
        return self.recipe()

    def __copy__(self) -> Any:
        return self  # as functions are copied

    def __deepcopy__(self, _: Any) -> Any:
        return self


def _found_or_made(remake: Any) -> Any:
    """Return the callable that `remake` was pickled for: this process has it, or it is made later."""
    owner = _by_name(remake.__module__, remake.__qualname__.removesuffix("._remade"))
    if isinstance(owner, Portable) and vars(owner).get("_remade") is remake:
        return owner
    if not hasattr(
        remake, "made"
    ):  # the pickle of a recursive function asks twice, and gets one object
        remake.made = _Loaded(remake)
    return remake.made


class _Loaded(Portable):
    """Callable that becomes the loaded one at its first use, when all its parts have been unpickled."""

    def __init__(self, remake: Callable[[], Any]) -> None:
        self.made_by = remake

    def _become(self) -> Any:
        remake = vars(self).get("made_by")
        if remake is not None:  # another thread may have done it
            made = remake()
            vars(self).update(vars(made))
            self.__class__ = type(made)
            vars(self).pop("made_by", None)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._become(), name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._become()(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._become().__get__(instance, owner)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._become().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self._become())


def _by_name(module: str | None, name: Any) -> Any:
    """Return a module's object under a dotted name, or None."""
    member: Any = sys.modules.get(module or "")
    for part in name.split(".") if isinstance(name, str) else ["<none>"]:
        member = getattr(member, part, None)
    return member


_OWN = frozenset(["fun", "label", "nondiff_argnums"])
"""Attributes that subclasses of `Portable` set for themselves, and that are not copied from them."""


def resemble(made: Any, fun: Any) -> None:
    """Give `made` the name, documentation, annotations and attributes of `fun`, which it is made of."""
    functools.update_wrapper(made, fun, updated=())
    copy_annotations(made, fun)
    for name, value in dict(getattr(fun, "__dict__", {})).items():
        internal = name[0] == "_" or name in _OWN or hasattr(type(fun), name)
        if not (isinstance(fun, Portable) and internal) and not hasattr(type(made), name):
            vars(made).setdefault(name, value)


def looks_like(fun: Any) -> Callable[[F], F]:
    """Decorate an inner function that stands for `fun`, as `functools.wraps` does.

    Attributes of `fun` are not copied. A `__name__` of `fun` that is no string is left out, where `functools.wraps` would raise.
    """
    kept = [
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if name not in ("__name__", "__qualname__") or isinstance(getattr(fun, name, None), str)
    ]
    return functools.wraps(fun, kept, updated=())  # type: ignore[return-value]


class Transformed(Portable):
    """A function returned by a transform. Made by `transformed`."""

    def __init__(self, call: Callable[..., Any], recipe: tuple[Any, ...]) -> None:
        self._call = call
        self._recipe = recipe
        resemble(self, recipe[1])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # The same as `api_boundary`, without a further call: errors lose fungrad's own frames, and `Again`
        # asks for one repetition with the context as it was before.
        before = contextvars.copy_context()
        try:
            return self._call(*args, **kwargs)
        except Again:
            put_back(before)
            return self._call(*args, **kwargs)
        except BaseException as error:
            if (cause := put_in_order(before, error)) is not None:
                raise cause from None
            raise

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        transform, *parts = self._recipe
        return transform, tuple(parts)

    def __repr__(self) -> str:
        transform, fun = self._recipe[:2]
        name = getattr(self, "__qualname__", None) or type(fun).__name__
        return f"<{transform.__name__.lstrip('_')} of {fun if isinstance(fun, Portable) else name}>"


def transformed(transform: Callable[..., Any], fun: Any, *options: Any) -> Callable[[F], F]:
    """Decorate the function that ``transform(fun, *options)`` returns.

    It then looks like `fun`, and can be pickled. `transform` must be found by its name.
    """

    def decorate(call: F) -> F:
        return Transformed(call, (transform, fun, *options))  # type: ignore[return-value]

    return decorate

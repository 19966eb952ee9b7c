"""Public functions with arguments that NumPy's do not have, such as `size`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fungrad.numpy.dispatch import implements
from fungrad.numpy.narrow import boundary

Function = Callable[..., Any]


def extended(plain: Function) -> Callable[[Function], Function]:
    """Decorate a public function that has more arguments than NumPy's.

    Parameters
    ----------
    plain
        The function with NumPy's arguments, made by `implements`. The documentation of the public function goes before the
        parameters in its documentation.
    """

    def decorate(function: Function) -> Function:
        public: Function = boundary(function)
        head, heading, sections = (plain.__doc__ or "").partition("\nParameters\n")
        public.__doc__ = f"{head}\n{inspect.cleandoc(function.__doc__ or '')}\n{heading}{sections}"
        public.__name__ = public.__qualname__ = plain.__name__
        return public

    return decorate


def extends(numpy_function: Any, first: str, **options: Any) -> Callable[[Function], Function]:
    """Declare an implementation of a NumPy function that has more parameters than NumPy's.

    These are keyword parameters, the one named `first` and all after it.
    Calls without a value for `first` go the way of ``implements(numpy_function, **options)``, so plain arrays go to NumPy.
    Calls with one run the decorated function itself, for plain arrays too.

    Arguments equal to their defaults are not passed to NumPy, whose installed version may lack them. A parameter that it has
    is no extension.
    """

    def decorate(rule: Function) -> Function:
        whole = inspect.signature(rule)
        names = list(whole.parameters)
        own = [name for name in names[names.index(first) :] if not _has(numpy_function, name)]
        defaults = rule.__kwdefaults__ or {}
        numpy_parameters = [p for name, p in whole.parameters.items() if name not in own]
        rule.__name__ = rule.__qualname__ = numpy_function.__name__
        rule.__signature__ = whole.replace(parameters=numpy_parameters)  # type: ignore[attr-defined]
        plain = implements(numpy_function, **options)(rule)

        @functools.wraps(rule)
        def public(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                return plain(*args)
            if kwargs.get(first) is not None and first in own:
                return rule(*args, **kwargs)
            changed = {k: x for k, x in kwargs.items() if k not in defaults or x is not defaults[k]}
            return plain(*args, **{k: x for k, x in changed.items() if k not in own})

        public.__signature__, public.__doc__ = whole, plain.__doc__  # type: ignore[attr-defined]
        return boundary(public)  # type: ignore[no-any-return]

    return decorate


def _has(numpy_function: Any, parameter: str) -> bool:
    try:
        return parameter in inspect.signature(numpy_function).parameters
    except ValueError:  # of a function written in C
        return False

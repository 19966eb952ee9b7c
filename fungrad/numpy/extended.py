"""Public functions with arguments that NumPy's do not have, such as `size`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fungrad.numpy.dispatch import implements
from fungrad.numpy.narrow import boundary

Function = Callable[..., Any]


def extended(numpys: Function) -> Callable[[Function], Function]:
    """Decorate a public function that has more arguments than NumPy's.

    Parameters
    ----------
    numpys
        The function with NumPy's arguments, made by `implements`. Its documentation is put in front.
    """

    def decorate(function: Function) -> Function:
        public: Function = boundary(function)
        head, heading, sections = (numpys.__doc__ or "").partition("\nParameters\n")
        public.__doc__ = f"{head}\n{inspect.cleandoc(function.__doc__ or '')}\n{heading}{sections}"
        public.__name__ = public.__qualname__ = numpys.__name__
        return public

    return decorate


def extends(numpy_function: Any, by: str, **options: Any) -> Callable[[Function], Function]:
    """Declare a rule with parameters that NumPy's function lacks; they come last, and `by` is the first.

    Where that is not given, or None, the function is what `implements` makes of the rule, with these `options`. Where it
    is, the rule itself is called, for plain arrays too.

    Options that are as they are by default are not handed on: the NumPy at hand may lack them. What it has already is no
    extension.
    """

    def decorate(rule: Function) -> Function:
        whole = inspect.signature(rule)
        names = list(whole.parameters)
        own = [name for name in names[names.index(by) :] if not _has(numpy_function, name)]
        defaults = rule.__kwdefaults__ or {}
        numpys_own = [p for name, p in whole.parameters.items() if name not in own]
        rule.__name__ = rule.__qualname__ = numpy_function.__name__
        rule.__signature__ = whole.replace(parameters=numpys_own)  # type: ignore[attr-defined]
        numpys = implements(numpy_function, **options)(rule)

        @functools.wraps(rule)
        def public(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                return numpys(*args)
            if kwargs.get(by) is not None and by in own:
                return rule(*args, **kwargs)
            changed = {k: x for k, x in kwargs.items() if x is not defaults.get(k, kwargs)}
            return numpys(*args, **{k: x for k, x in changed.items() if k not in own})

        public.__signature__, public.__doc__ = whole, numpys.__doc__  # type: ignore[attr-defined]
        return boundary(public)  # type: ignore[no-any-return]

    return decorate


def _has(numpy_function: Any, parameter: str) -> bool:
    try:
        return parameter in inspect.signature(numpy_function).parameters
    except ValueError:  # of a function written in C
        return False

"""Public functions of distributions, made of their samplers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fungrad.random.dtypes import FLOAT, common_shape, parameter, shape_of
from fungrad.random.glossary import public
from fungrad.random.keys import asked_for
from fungrad.random.programs import run

_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def distribution(sampler: Callable[..., Any], **defaults: Any) -> Any:
    """Return the public function of a sampler ``(words, *parameters, shape, dtype, how)``.

    It takes a key, the parameters, `shape`, `dtype` and `out_sharding`, and returns floating-point numbers. They have by
    default the shape that the parameters are broadcast to. Other samplers call its attribute `sampler`, which is this one.
    Parameters may have `defaults`.
    """
    name = sampler.__name__
    own = [
        p.replace(default=defaults.get(p.name, p.empty))
        for p in [*inspect.signature(sampler).parameters.values()][1:-3]
    ]
    shape_default = None if own else ()
    parameters = [
        inspect.Parameter("key", _ANY, annotation="Any"),
        *own,
        inspect.Parameter("shape", _ANY, default=shape_default, annotation="Any"),
        inspect.Parameter("dtype", _ANY, default=None, annotation="Any"),
        inspect.Parameter("out_sharding", _BY_NAME, default=None, annotation="Any"),
    ]
    signature = inspect.Signature(parameters, return_annotation="Any")
    names = [p.name for p in parameters[:-1]]
    known = {**defaults, "shape": shape_default, "dtype": None}

    def draw(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(names):
            values = {**known, **dict(zip(names, args, strict=False)), **kwargs}
            twice = not kwargs.keys().isdisjoint(names[: len(args)])
            if twice or len(args) > len(names) or values.keys() != {*names}:
                try:
                    signature.bind(*args, **kwargs)
                except TypeError as error:
                    raise TypeError(f"{name}() {error}") from None
            args = tuple([values[n] for n in names])
        key, *given, shape, dtype = args
        words, chosen = asked_for(name, key, dtype, float, FLOAT, out_sharding)
        given = [parameter(name, x, chosen) for x in given]
        drawn_shape = common_shape(name, shape, *given) if own else shape_of(name, shape)
        return run(sampler, words, tuple(given), drawn_shape, chosen)

    functools.update_wrapper(draw, sampler)
    del draw.__wrapped__  # type: ignore[attr-defined]
    draw.__signature__ = signature  # type: ignore[attr-defined]
    draw.sampler = sampler  # type: ignore[attr-defined]
    return public(draw)

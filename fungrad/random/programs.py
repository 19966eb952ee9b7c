"""Samplers as compiled functions of arrays: one for each function, shape and dtype.

Design: docs/design/33-random-numbers.md.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from fungrad.core.config import settings
from fungrad.core.state import holding
from fungrad.random.generators import How
from fungrad.transforms.jit import jit

KEPT = 512
"""How many compiled samplers are remembered."""


@functools.lru_cache(KEPT)
def _compiled(function: Callable[..., Any], static: tuple[Any, ...]) -> Callable[..., Any]:
    @functools.wraps(function)
    def of_arrays(*arrays: Any) -> Any:
        return function(*arrays, *static)

    return jit(of_arrays)


class Words(NamedTuple):
    """Words of a key, and its generator."""

    array: Any
    generator: str


def run(
    function: Callable[..., Any], words: Words, parameters: tuple[Any, ...], *static: Any
) -> Any:
    """Return ``function(words, *parameters, *static, how)``, compiled."""
    chosen = settings.get()
    how = How(words.generator, chosen.threefry_partitionable, chosen.narrow)
    with holding(settings, chosen.of_numpy) if chosen.dtypes else _AS_IT_IS:
        return _compiled(function, (*static, how))(words.array, *parameters)


_AS_IT_IS = contextlib.nullcontext()

"""The public names of JAX, with the signatures of its functions, as names.txt lists them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

__all__ = ["VERSION", "VERSION_INFO", "modules", "names_of"]


@functools.cache
def _tables() -> tuple[str, Mapping[str, Mapping[str, str]]]:
    text = resources.files("fungrad.compat.jax").joinpath("names.txt").read_text("utf-8")
    first, *sections = text.split("\n[")
    tables: dict[str, dict[str, str]] = {}
    for section in sections:
        module, _, lines = section.partition("]\n")
        table = tables[module] = {}
        for line in lines.splitlines():
            name, bracket, rest = line.partition("(")
            if bracket:
                table[name] = rest[:-1]
            else:
                name, _, kind = line.partition(":")
                table[name] = ":" + kind
    return first.split()[1], tables


VERSION = _tables()[0]
"""The version of JAX whose names these are."""
VERSION_INFO = tuple([int(part) for part in VERSION.split(".")])


def modules() -> list[str]:
    """Return the modules whose names are listed."""
    return [*_tables()[1]]


def names_of(module: str) -> Mapping[str, str]:
    """Return the names in a module of JAX, each with its parameters, or ":class" or ":value".

    >>> names_of("jax.numpy")["dot"]
    'a, b, *, precision=None, preferred_element_type=None, out_sharding=None'
    >>> names_of("jax.numpy")["pi"]
    ':value'
    """
    return _tables()[1].get(module, {})

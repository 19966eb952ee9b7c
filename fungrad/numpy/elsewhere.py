"""Replacements for names of JAX, NumPy, autograd, PyTorch and TensorFlow.

Read when a module is asked for a name that it does not have.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import PathFinder

from fungrad.numpy.spellings import ADVICE, SPELLINGS

_MODULES = (
    "fungrad", "fungrad.numpy", "fungrad.lax", "fungrad.nn", "fungrad.random", "fungrad.numpy.linalg", "fungrad.scipy.special",
    "fungrad.scipy.linalg", "fungrad.tree", "fungrad.tree_util", "fungrad.experimental", "fungrad.optim", "fungrad.numpy.fft",
    "fungrad.scipy.ndimage", "fungrad.scipy.signal", "fungrad.scipy.integrate", "fungrad.training", "fungrad.distributed",
    "fungrad.test_util", "fungrad.example_libraries",
)  # fmt: skip
"""Where a name that a module lacks is looked up, in this order."""


def instead_of(name: str, module: str = "") -> str | None:
    """Return the replacement for a name of another library; None if nothing is known of it.

    None, too, for a module of a package, which is asked for it when that is imported, and need not search for it.

    Examples
    --------
    >>> instead_of("unsqueeze")
    'write fungrad.numpy.expand_dims'
    >>> instead_of("softmax")
    'it is fungrad.nn.softmax'
    """
    if name in ADVICE:
        return ADVICE[name]
    if name.startswith("_"):
        return None
    for here, names in SPELLINGS.items():
        if name in names.split():
            return f"write fungrad.{here}"
    if _is_module(module, name):
        return None
    homes = (m for m in _MODULES if name in getattr(importlib.import_module(m), "__all__", ()))
    home = next(homes, None)
    return None if home is None else f"it is {home}.{name}"


def _is_module(package: str, name: str) -> bool:
    """Whether a package has a module of a name: ``from package import name`` first asks for the attribute."""
    path = getattr(sys.modules.get(package), "__path__", None)
    return path is not None and PathFinder.find_spec(f"{package}.{name}", path) is not None


def unknown_name(
    module: str, name: str, known: Iterable[str], excluded: Mapping[str, str] | None = None
) -> AttributeError:
    """Return the error for a name that a module does not have.

    It tells why the name is `excluded`, what is written in its place, or which of those `known` is nearest.

    Examples
    --------
    >>> raise unknown_name("mine", "sofmax", ["softmax"])
    Traceback (most recent call last):
    AttributeError: module 'mine' has no attribute 'sofmax'; did you mean 'softmax'?
    """
    reason = (excluded or {}).get(name) or instead_of(name, module)
    if reason is not None:
        return AttributeError(f"{module} has no {name!r}: {reason}", name=name)
    # Tools ask modules for `__wrapped__` and its like; a search for the nearest name takes milliseconds.
    close = [] if name.startswith("_") else difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)

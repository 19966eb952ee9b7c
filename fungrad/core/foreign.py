"""Objects of other libraries: those with a counterpart in fungrad, and those with rules of their own.

Design: docs/design/24-numpys-face.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_stand_ins: dict[str, Callable[[], Callable[[Any], Any]]] = {}
_loaded: dict[str, Callable[[Any], Any]] = {}


def provide_stand_ins(package: str, load: Callable[[], Callable[[Any], Any]]) -> None:
    """Say how objects of another library's package become fungrad's.

    Parameters
    ----------
    package
        The package that the modules of their classes are in.
    load
        Called once, when an object of the package is met. It makes the classes nodes of pytrees, and returns what makes fungrad's
        object of one of the package.
    """
    _stand_ins[package] = load


def _package(x: Any) -> str | None:
    module = type(x).__module__
    for package in [*_stand_ins]:
        if module.startswith(package):
            return package
    return None


def _conversion(package: str) -> Callable[[Any], Any]:
    if package not in _loaded:
        _loaded[package] = _stand_ins[package]()
    return _loaded[package]


def stand_in(x: Any) -> Any:
    """Return fungrad's object for one of another library; None if there is none."""
    package = _package(x)
    return None if package is None else _conversion(package)(x)


def are_nodes_now(leaves: Iterable[Any]) -> bool:
    """Whether classes of some leaves of a pytree have just become nodes."""
    packages = {_package(x) for x in leaves} - {None} - _loaded.keys()
    for package in packages:
        _conversion(str(package))
    return bool(packages)


def _has_own_rules(cls: type, protocol: str = "__array_ufunc__") -> bool:
    """Whether a class declares rules of its own by one of NumPy's protocols, as for units or an index.

    CuPy's arrays do not, nor fungrad's own classes.
    """
    own = getattr(cls, protocol, None)
    if own is None or own is getattr(np.ndarray, protocol):
        return False
    homes = (cls.__module__, getattr(own, "__module__", None) or "")
    return not any(home.partition(".")[0] in ("cupy", "fungrad") for home in homes)


has_own_rules: Any = functools.lru_cache(1 << 8)(_has_own_rules)


def holds_array(x: Any) -> bool:
    """Whether an object that is not NumPy's stands for one of its arrays, as a dataset in a file does."""
    cls = type(x)
    if not hasattr(cls, "__array__") or isinstance(x, np.generic):
        return False
    home = getattr(cls.__array__, "__module__", None) or cls.__module__
    return home.partition(".")[0] not in ("cupy", "fungrad")


def plain_form(x: Any) -> str:
    """Return the code for the plain array in an object that computes by rules of its own."""
    if type(getattr(x, "data", None)).__name__ == "Tracer":  # as xarray's may be
        return "x.data"
    for attribute in ("to_numpy()", "magnitude", "value", "todense()"):
        if hasattr(x, attribute.removesuffix("()")):
            return f"x.{attribute}"
    return "numpy.asarray(x)"

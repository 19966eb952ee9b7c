"""Public names of packages, imported when they are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def import_on_demand(
    package: dict[str, Any],
    names: Mapping[str, str],
    modules: tuple[str, ...] = (),
    reason: Callable[[str], str | None] = lambda name: None,
) -> None:
    """Give a package with these globals the public names of its modules, imported when one is asked for.

    Type checkers see its stub.

    Parameters
    ----------
    package
        The globals of the package; `__all__`, `__dir__`, `__getattr__` and `_HOME` are set.
    names
        The names of each module, separated by blanks.
    modules
        Public modules of the package.
    reason
        Tells why a name is left out; None if it is not one that is.

    Examples
    --------
    >>> package = {"__name__": "fungrad.training"}
    >>> import_on_demand(package, {"errors": "CheckpointError", "bars": "progress"})
    >>> package["__all__"], package["__getattr__"]("progress").__name__
    (['CheckpointError', 'progress'], 'progress')
    """
    own = package["__name__"]
    home = {name: module for module, listed in names.items() for name in listed.split()}
    public = [*home, *modules]

    def attribute(name: str) -> Any:
        from fungrad.numpy.elsewhere import unknown_name  # read where a name is missing

        if name in modules:
            return importlib.import_module(f"{own}.{name}")
        if name in home:
            package[name] = getattr(importlib.import_module(f"{own}.{home[name]}"), name)
            return package[name]
        why = reason(name)
        raise unknown_name(own, name, public, {} if why is None else {name: why})

    package.update(_HOME=home, __all__=public, __dir__=public.copy, __getattr__=attribute)

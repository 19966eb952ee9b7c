"""Examples for docstrings that are made from tables or from NumPy's, and for types.

They are in a file `examples.txt` beside the modules of a package, in the order of the names.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
from typing import Any

from fungrad.core.glossary import Glossary


@functools.lru_cache(maxsize=64)
def examples_of(package: str) -> dict[str, str]:
    r"""Return the examples of a package by the names of its functions, none if it has no such file.

    Examples
    --------
    >>> examples_of("fungrad.extend")["zeros_like"].partition("\n")[0]
    '>>> extend.zeros_like(np.array([1.0, 2.0]))'
    """
    try:
        data = pkgutil.get_data(package, "examples.txt")
    except (ImportError, OSError):
        data = None
    _, *blocks = (data or b"").decode().strip().split("\n\n")
    return {name: example for name, _, example in [block.partition("\n") for block in blocks]}


def add_example(value: Any, package: str, name: str, imports_of: Glossary) -> None:
    """Append the package's example for a name to the documentation of `value`, if there is one.

    Examples
    --------
    >>> def elementwise():
    ...     'Declare derivatives.'
    >>> add_example(elementwise, "fungrad.extend", "zeros_like", Glossary({}))
    >>> "extend.zeros_like(np.array" in elementwise.__doc__
    True
    """
    example = examples_of(package).get(name)
    if value.__doc__ and example and example not in value.__doc__:  # none under ``python -OO``
        text = f"{inspect.cleandoc(value.__doc__)}\n\nExamples\n--------\n{example}\n"
        value.__doc__ = imports_of.completed(text, ())

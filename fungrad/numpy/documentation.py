"""Documentation of NumPy's and SciPy's functions: summary, rules for tracers, parameters, an example."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

from fungrad.core.examples import examples_of
from fungrad.core.glossary import Glossary
from fungrad.numpy.rules import Function, full_name, name_of

_SCIPYS = "cluster fft integrate interpolate linalg ndimage optimize signal sparse special stats"
_EXAMPLES = Glossary(
    {},
    imports={
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "fnp": "import fungrad.numpy as fnp",
        **{name: f"from fungrad.scipy import {name}" for name in _SCIPYS.split()},
    },
)


def documented(function: Function, numpy_function: Any, traced: Function) -> Function:
    """Return a public function with name and documentation of the one that it is of NumPy."""
    name = name_of(numpy_function)
    function.__name__ = function.__qualname__ = name
    function.__module__ = traced.__module__
    function.__wrapped__ = traced  # type: ignore[attr-defined]
    parts = [
        summary_of(numpy_function),
        f"This is `{full_name(numpy_function)}`, for tracers too.",
        inspect.cleandoc(traced.__doc__ or ""),
        sections_of(numpy_function),
    ]
    function.__doc__ = "\n\n".join([part for part in parts if part])
    return function


def summary_of(numpy_function: Any) -> str:
    """Return the first sentences of the documentation of a function of NumPy or SciPy."""
    text = (numpy_function.__doc__ or "").lstrip()
    if text.startswith(f"{name_of(numpy_function)}("):  # a signature
        text = text.partition("\n\n")[2].lstrip()
    return " ".join(text.partition("\n\n")[0].split())


_REST = re.compile(r"\n *(See Also|Notes|Warnings?|References|Examples) *\n *-+ *\n")


def sections_of(numpy_function: Any) -> str:
    """Return the parameters, results and errors of a function of NumPy or SciPy, with an example."""
    text = numpy_function.__doc__ or ""
    start = text.find("Parameters\n")
    rest = _REST.search(text, max(start, 0))
    sections = (
        text[text.rfind("\n", 0, start) + 1 : rest.start() if rest else None] if start >= 0 else ""
    )
    return "\n\n".join(
        [textwrap.dedent(sections).strip(), example_of(full_name(numpy_function))]
    ).strip()


def example_of(name: str) -> str:
    """Return the example section of a docstring, of ``numpy.sin`` say, with the imports it needs."""
    package, _, name = f"fungrad.{name}".rpartition(".")
    example = examples_of(package).get(name)
    return f"Examples\n--------\n{_EXAMPLES.with_imports(example)}".strip() if example else ""

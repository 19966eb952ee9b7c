"""The documentation of `fungrad.lax`: what functions have in common is said here, once.

A docstring says what is special to its function. `public` adds what is left: the parameters it does not describe, the
errors that they lead to, and the imports of its examples. So ``help`` shows the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fungrad.core.errors import api_boundary

F = TypeVar("F", bound=Callable[..., Any])

PARAMETERS = {
    "accuracy": "Must be None: NumPy's functions are exact up to rounding.",
    "allow_negative_indices": "Whether negative places count from the end; otherwise they are 0.",
    "axes": "The axes, a sequence of integers.",
    "axis": "The axis; negative ones count from the last.",
    "axis_index_groups": "Accepted for JAX's sake; must be None.",
    "axis_name": "The name of the axis, or a tuple of names.",
    "dimension": "The axis; negative ones count from the last.",
    "dimensions": "The axes, a sequence of integers.",
    "fill_value": "The value, a scalar; it may be traced.",
    "implementation": "Must be None.",
    "index_dtype": "The dtype of the result, one of integers.",
    "indices_are_sorted": "A promise of which no use is made.",
    "keepdims": "Whether the result has the axis, with length 1.",
    "operand": "An array of any shape and dtype.",
    "out_sharding": "Must be None.",
    "precision": "Makes no difference: NumPy computes in the precision of the operands.",
    "preferred_element_type": "The dtype of the result.",
    "reverse": "Whether to begin at the end.",
    "shape": "The shape of the result, a sequence of integers.",
    "sharding": "Must be None.",
    "subset_by_index": "Must be None.",
    "use_magma": "Must be None.",
}
"""What a parameter is, where the docstring of the function does not say it."""

_NO_AXIS = ("ValueError", "If there is no such axis.")
RAISES = {
    "axes": _NO_AXIS,
    "axis": _NO_AXIS,
    "axis_name": ("NameError", "If no axis of that name is open."),
    "dimension": _NO_AXIS,
    "dimensions": _NO_AXIS,
}
"""The error that a wrong argument leads to, where the docstring does not mention that kind of error."""

IMPORTS = {
    "np": "import numpy as np",
    "fg": "import fungrad as fg",
    "lax": "from fungrad import lax",
    "linalg": "from fungrad.lax import linalg",
}
"""How the modules that examples use are imported."""

_SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "Examples")
_HEADING = re.compile(rf"\n\n({'|'.join(_SECTIONS)})\n-+\n")
_ENTRY = re.compile(r"\n(?=\S)")
_MODULES = re.compile(rf"\b({'|'.join(IMPORTS)})\.")


def public(function: F) -> F:
    """Return a public function with its documentation completed, as an `api_boundary`."""
    return _documented(function, "")


def public_like(other: Callable[..., Any]) -> Callable[[F], F]:
    """Return `public` for functions of which all that they do not describe themselves is as of `other`."""
    return lambda function: _documented(function, other.__doc__ or "")


def _documented(function: F, like: str) -> F:
    if function.__doc__:  # there is none under ``python -OO``
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        function.__doc__ = completed(function.__doc__, names, like)
    return api_boundary(function)


def completed(text: str, names: Sequence[str], like: str = "") -> str:
    """Return a docstring with all parameters, in the order of `names`, with errors, and imports of the examples.

    What it does not say itself is as in the docstring `like`, or else in the glossary.
    """
    summary, own = _parsed(text)
    _, other = _parsed(like)
    sections = {"Returns": other.get("Returns", ""), **own}
    sections["Parameters"] = _parameters(
        names, own.get("Parameters", ""), other.get("Parameters", "")
    )
    sections["Raises"] = _errors(names, own.get("Raises") or other.get("Raises", ""))
    sections["Examples"] = _with_imports(own.get("Examples", ""))
    shown = [f"{s}\n{'-' * len(s)}\n{sections[s]}" for s in _SECTIONS if sections.get(s)]
    return "\n\n".join([summary, *shown])


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    """Return what comes before the sections of a docstring, and the sections."""
    margin = text[text.rfind("\n") :]  # the closing quotes, which are indented as all lines are
    if margin.isspace():
        text = text.replace(margin, "\n").rstrip()
    summary, *rest = _HEADING.split(text)
    return summary, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """Return what a section says of each name: its type, if given, and the lines below."""
    found: dict[str, str] = {}
    for entry in filter(None, _ENTRY.split(section)):
        heading, _, lines = entry.partition("\n")
        names, colon, type_ = heading.partition(" : ")
        said = f"{colon}{type_}\n{lines}"
        found |= dict.fromkeys(names.split(", "), said)
    return found


def _parameters(names: Sequence[str], own: str, other: str) -> str:
    described, others = _entries(own), _entries(other)
    alike: dict[str, list[str]] = {}  # the names of which the same is said
    for name in dict.fromkeys([*names, *described]):
        said = described.get(name) or others.get(name) or f"\n    {PARAMETERS.get(name, '')}"
        alike.setdefault(said, []).append(name)
    return "\n".join([", ".join(found) + said for said, found in alike.items()])


def _errors(names: Sequence[str], section: str) -> str:
    for name in names:
        if name in RAISES and RAISES[name][0] not in section:
            section = f"{section}\n{RAISES[name][0]}\n    {RAISES[name][1]}".lstrip()
    return section


def _with_imports(examples: str) -> str:
    """Return examples that begin with the imports they need."""
    code = [line for line in examples.split("\n") if line.startswith((">>> ", "... "))]
    used = _MODULES.findall("\n".join(code))
    first = examples.find(">>>")
    needed = [f">>> {line}\n" for name, line in IMPORTS.items() if name in used]
    return examples[:first] + "".join(needed) + examples[first:]

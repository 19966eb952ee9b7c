"""Documentation that functions have in common is said once: in the glossary of their package.

A docstring says what is special to its function. `Glossary.public` adds what is left: the parameters it does not
describe, the errors that they lead to, and the imports of its examples. So ``help`` shows the whole.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fungrad.core.errors import api_boundary

F = TypeVar("F", bound=Callable[..., Any])

_SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "Examples")
_HEADING = re.compile(rf"\n\n({'|'.join(_SECTIONS)})\n-+\n")
_ENTRY = re.compile(r"\n(?=\S)")
_OWNER = re.compile(r"(?<![\w.])(\w+)\.")
"""The owner of an attribute, such as `np` in ``np.sin``."""


@dataclass(frozen=True)
class Glossary:
    """Texts that the docstrings of a package share and leave out.

    Examples
    --------
    >>> glossary = Glossary({"x": "An array."})
    >>> @glossary.public
    ... def twice(x):
    ...     'Return twice an array.'
    ...     return 2 * x
    >>> twice.__doc__.split()[4:]
    ['Parameters', '----------', 'x', 'An', 'array.']
    """

    parameters: Mapping[str, str]
    """Descriptions of parameters that a function's docstring does not describe."""
    raises: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The error that a wrong argument leads to, where the docstring does not mention that kind of error."""
    imports: Mapping[str, str] = field(default_factory=dict)
    """How the modules that examples use are imported."""
    boundary: Callable[[Any], Any] = api_boundary
    """Decorator of public functions."""

    def public(self, function: F) -> F:
        """Return a public function with its documentation completed, as an `api_boundary`."""
        return self.boundary(self.documented(function))  # type: ignore[no-any-return]

    def public_like(self, other: Callable[..., Any]) -> Callable[[F], F]:
        """Return `public` for functions that take every text they lack from `other`."""
        return lambda function: self.boundary(self.documented(function, other.__doc__ or ""))

    def documented(self, function: F, like: str = "") -> F:
        """Return a function with its documentation completed."""
        if function.__doc__:  # there is none under ``python -OO``
            function.__doc__ = self.completed(function.__doc__, _parameters_of(function), like)
        return function

    def completed(self, text: str, names: Sequence[str], like: str = "") -> str:
        """Return a docstring with all parameters in the order of `names`, errors, and imports of examples.

        What it does not say itself is as in the docstring `like`, or else in the glossary.
        """
        summary, own = _parsed(text)
        _, other = _parsed(like)
        sections = {"Returns": other.get("Returns", ""), **own}
        sections["Parameters"] = self._described(
            names, own.get("Parameters", ""), other.get("Parameters", "")
        )
        sections["Raises"] = self._errors(names, own.get("Raises") or other.get("Raises", ""))
        sections["Examples"] = self.with_imports(own.get("Examples", ""))
        shown = [f"{s}\n{'-' * len(s)}\n{sections[s]}" for s in _SECTIONS if sections.get(s)]
        return "\n\n".join([summary, *shown])

    def _described(self, names: Sequence[str], own: str, other: str) -> str:
        described, others = _entries(own), _entries(other)
        alike: dict[str, list[str]] = {}  # the names of which the same is said
        for name in dict.fromkeys([*names, *described]):
            said = (
                described.get(name) or others.get(name) or f"\n    {self.parameters.get(name, '')}"
            )
            alike.setdefault(said, []).append(name)
        return "\n".join([", ".join(group) + said for said, group in alike.items()])

    def _errors(self, names: Sequence[str], section: str) -> str:
        for error, when in [self.raises[name] for name in names if name in self.raises]:
            if error not in section:
                section = f"{section}\n{error}\n    {when}".lstrip()
        return section

    def with_imports(self, examples: str) -> str:
        """Return examples that begin with the imports they need."""
        code = "\n".join(x for x in examples.split("\n") if x.startswith((">>> ", "... ")))
        owners = {*_OWNER.findall(code)}
        used = [line for name, line in self.imports.items() if name in owners]
        first = examples.find(">>>")
        return examples[:first] + "".join(f">>> {line}\n" for line in used) + examples[first:]


PYTREES = Glossary(
    {
        "is_leaf": "Called on every node; where it is true, the node is a leaf.",
        "is_leaf_takes_path": "Whether `is_leaf` takes the path of the node, and then the node.",
        "tree": "A pytree.",
        "treedef": "The structure of a tree.",
    },
    {"treedef": ("TypeError", "If `treedef` is no structure.")},
)


_FUNCTION = "A function of arrays, numbers and pytrees of them."

COMMON = Glossary(
    {
        "f": _FUNCTION,
        "fun": _FUNCTION,
        "init_val": "An array, a number or a pytree of them.",
        "new_val": "Whether it is on.",
        "nondiff_argnames": "The same by name.",
        "sharding": "Accepted for JAX's sake; must be None.",
        "unroll": "Accepted for JAX's sake: steps are not unrolled, since programs here have no cost of dispatch\n"
        "    that unrolling would save.",
    },
    imports={
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "fnp": "import fungrad.numpy as fnp",
        "lax": "from fungrad import lax",
        "debug": "from fungrad import debug",
    },
)
"""Imports shared by the examples of many functions."""


def _parameters_of(function: Callable[..., Any]) -> list[str]:
    stars: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    parameters = inspect.signature(function).parameters.values()
    return [stars.get(p.kind, "") + p.name for p in parameters if p.name != "self"]


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    """Return the text before the sections of a docstring, and the sections."""
    margin = text[text.rfind("\n") :]  # the closing quotes, which are indented as all lines are
    if margin.isspace():
        text = text.replace(margin, "\n").rstrip()
    summary, *rest = _HEADING.split(text)
    return summary, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """Return a section's text for each name: its type, if given, and the lines below."""
    described: dict[str, str] = {}
    for entry in filter(None, _ENTRY.split(section)):
        heading, _, lines = entry.partition("\n")
        names, colon, type_ = heading.partition(" : ")
        said = f"{colon}{type_}\n{lines}"
        described |= dict.fromkeys(names.split(", "), said)
    return described

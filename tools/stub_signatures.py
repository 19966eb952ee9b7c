"""Definitions in stubs: parameters with their types, overloads by an option, the first line of the documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

IMPORTS = """\
from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

"""
OVERLOADS = "from typing import Literal as _Literal, overload as _overload\n"


def table(rows: Mapping[str, str]) -> dict[str, str]:
    """Return the type of each name, given the names of each type."""
    return {name: type_ for type_, names in rows.items() for name in names.split()}


class ByOption(NamedTuple):
    """What a function returns without its options, and what with each of them.

    An option is a name, which is False by default and True where the function returns something else; or a name and the values
    for the first and for the other result, ``compute_uv=True/False``; or a name and two types, ``zi:None/_ArrayLike``.
    """

    without: str
    with_it: Mapping[str, str]

    def cases(self) -> Iterator[tuple[dict[str, str], str]]:
        """Yield the types of the options in each case, and that of the result."""
        plain, others = {}, []
        for option, result in self.with_it.items():
            name, _, values = option.replace(":", "=").partition("=")
            types = [*(values or "False/True").split("/")]
            if ":" not in option:
                types = [f"_Literal[{x}]" for x in types]
            plain[name] = f"{types[0]} = ..."
            others.append(({name: types[1]}, result))
        yield plain, self.without
        yield from others
        if not all(":" in option for option in self.with_it):
            # By position, or a flag that is computed: of a union, type checkers would refuse what is right.
            yield {}, "_Any"


Typed = Sequence[tuple[inspect.Parameter, str]]
"""Parameters with their types."""


def written(given: Typed, changed: Mapping[str, str] = {}) -> str:
    """Return the parameters of a function as a stub has them.

    Those that are changed must be given, unless their type ends with ``= ...``; they and all behind them are given by name
    where one without a default comes before.
    """
    parts, star = [], False
    optional = False
    own = {p.name for p, _ in given}
    for name in changed:
        if name not in own:  # one of ``**options``
            option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
            given = [*given[:-1], (option, ""), given[-1]]
    for i, (p, type_) in enumerate(given):
        required = p.name in changed and not changed[p.name].endswith("= ...")
        if not star and (p.kind is p.KEYWORD_ONLY or (required and optional)):
            parts.append("*")
            star = True
        star = star or p.kind is p.VAR_POSITIONAL
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = ..."
        optional = optional or bool(default)
        type_ = changed.get(p.name, type_ + default)
        if p.default is p.empty:  # a required parameter, of whatever type
            type_ = type_.removesuffix(" = ...") if p.name in own else type_
        parts.append(f"{mark}{p.name}: {type_}")
        last = i + 1 == len(given) or given[i + 1][0].kind is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            parts.append("/")
    return ", ".join(parts)


def definition(
    name: str, given: Typed, result: str | ByOption, documentation: str | None
) -> Iterable[str]:
    """Yield the lines of the definition of a function in a stub."""
    lines = (documentation or "").strip().splitlines() or [""]
    said = f'r"""{lines[0]}"""'
    if isinstance(result, str):
        yield f"def {name}({written(given)}) -> {result}: {said}"
        return
    for changed, returned in result.cases():
        yield "@_overload"
        yield f"def {name}({written(given, changed)}) -> {returned}: {said}"
        said = "..."


def body_of(lines: Iterable[str]) -> str:
    """Return the text of lines, with one import for each module that names are imported from.

    >>> print(body_of(["from a import x as x", "y: int", "from a import z as z"]), end="")
    from a import x as x, z as z
    y: int
    """
    joined: dict[str, str] = {}  # by module, or else by the line itself
    for line in lines:
        found = re.fullmatch(r"(from \S+ import) (\w+ as \w+)", line)
        if found and found[1] in joined:
            joined[found[1]] += f", {found[2]}"
        else:
            joined[found[1] if found else f"{len(joined)} {line}"] = line
    return "\n".join(joined.values()) + "\n"

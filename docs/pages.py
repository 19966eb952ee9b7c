"""The pages of the site that are made: the API reference, the gallery of examples, the benchmarks."""

from __future__ import annotations

import ast
import importlib
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import tables
from benchmarks.report import duration, times

ROOT = Path(__file__).parent.parent
TOP = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "benchmarks/results/README.md",
]
"""Pages of the site outside of docs/ and notebooks/."""

ENTRIES = ["fungrad", "fungrad.compat.autograd", "fungrad.compat.jax", "fungrad.compat.numpy"]
"""The public modules that no other one lists."""
MOST = 60
"""A module with more names has a page for each of its parts."""
FEW = 4
"""If the parts of a module have fewer names on average, it has one page, without parts."""

Pages = dict[str, str]
"""The text of each page, by its path in the folder of made pages."""


def write(folder: Path) -> None:
    """Write all pages into a folder, which has nothing else afterwards; leave alone what has not changed."""
    made = {**api(), **gallery(), **benchmark_page()}
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:  # Sphinx looks at times
            path.write_text(text, "utf-8")


# The API reference


def public_names(module: ModuleType) -> list[str]:
    """Return what a module offers."""
    return [n for n in getattr(module, "__all__", None) or dir(module) if not n.startswith("_")]


def _is_child(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    return isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}"


def public_modules() -> dict[str, ModuleType]:
    """Return the modules that one reaches by public names, by their own: those nearest to fungrad first."""
    found: dict[str, ModuleType] = {}
    todo = [importlib.import_module(name) for name in ENTRIES]
    while todo:
        module = todo.pop()
        if module.__name__ not in found:
            found[module.__name__] = module
            todo += [getattr(module, n) for n in public_names(module) if _is_child(module, n)]
    return dict(sorted(found.items(), key=lambda item: (item[0].count("."), item[0])))


def in_order_of_use(module: ModuleType) -> list[str]:
    """Return the public names of a module, those that its docstring mentions first and in the order of their last mention."""
    mentioned = re.findall(r"`(?:fungrad\.)?(\w+)", module.__doc__ or "")
    place = {name: i for i, name in enumerate(mentioned)}
    return sorted(public_names(module), key=lambda n: (place.get(n, len(mentioned)), n.casefold()))


def parts(module: ModuleType) -> dict[str, list[str]]:
    """Return the names of a module that are not modules, by the module that defines them, in the order of use."""
    found: dict[str, list[str]] = {}
    for name in in_order_of_use(module):
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            home = getattr(value, "__module__", None) or type(value).__module__
            found.setdefault(home, []).append(name)
    return found


def title(home: str) -> str:
    """Return what a module is about: the first words of its docstring."""
    text = (sys.modules[home].__doc__ or home).splitlines()[0]
    return text.split(": ")[0].split(". ")[0].rstrip(".:").replace("`", "")


def api() -> Pages:
    """Return a page for each public module, and for each part of the large ones."""
    made: Pages = {}
    described: dict[int, str] = {}
    for name, module in public_modules().items():
        made |= _module_pages(name, module, described)
    return made


def _module_pages(name: str, module: ModuleType, described: dict[int, str]) -> Pages:
    """Return a module's pages. What other modules have as well is described in the first of them."""
    text = [*_heading(name, "="), f".. automodule:: {name}", "   :no-members:", ""]
    children = [f"{name}.{n}" for n in in_order_of_use(module) if _is_child(module, n)]
    if children:
        text += [*_heading("Modules", "-"), *_toctree(children)]
    own: dict[str, list[str]] = {}
    elsewhere: list[str] = []
    for home, names in parts(module).items():
        for n in names:
            value = getattr(module, n)
            first = described.setdefault(id(value), name) if callable(value) else name
            if not home.startswith("fungrad"):
                elsewhere.append(f"- ``{n}``, of {home}")
            elif first != name:
                elsewhere.append(f"- ``{n}``: `{first}.{getattr(value, '__name__', n)}`")
            else:
                own.setdefault(home, []).append(n)
    count = sum(map(len, own.values()))
    if count < FEW * len(own):
        listed = {*itertools.chain(*own.values())}
        own = {name: [n for n in in_order_of_use(module) if n in listed]}
    large = count > MOST and len(own) > 1
    made: Pages = {}
    linked: list[str] = []
    for home, names in own.items():
        if len(own) > 1:
            text += _heading(title(home), "-")
        if not large:
            text += _entries(name, module, names)
            continue
        text += [".. autosummary::", "   :nosignatures:", "", *(f"   {n}" for n in names), ""]
        page = [*_heading(f"{name}: {title(home)}", "="), f".. currentmodule:: {name}", ""]
        entries = _entries(name, module, names)
        part = f"{name}-{home.rpartition('.')[2]}"
        made[f"api/{part}.rst"] = "\n".join([*page, *entries])
        linked.append(f"{title(home)} <{part}>")
    if linked:
        text += _toctree(linked, hidden=True)
    if elsewhere:
        text += [*_heading("Of other modules", "-"), *elsewhere]
    return {**made, f"api/{name}.rst": "\n".join([*text, ""])}


def _heading(text: str, line: str) -> list[str]:
    text = text.replace("_", r"\_")
    return [text, line * len(text), ""]


def _toctree(pages: list[str], hidden: bool = False) -> list[str]:
    lines = [".. toctree::", *(["   :hidden:"] if hidden else ["   :maxdepth: 1"]), ""]
    return [*lines, *(f"   {page}" for page in pages), ""]


def _entries(name: str, module: ModuleType, names: list[str]) -> Iterator[str]:
    for n in names:
        value = getattr(module, n)
        if isinstance(value, type):
            kind = "exception" if issubclass(value, BaseException) else "class"
        else:
            kind = "function" if callable(value) else "data"
        yield f".. auto{kind}:: {name}.{n}"
        yield from ["   :no-value:", ""] if kind == "data" else [""]


# The gallery

_END = [
    "..",
    "",
]  # of a directive: an indented text after it, such as a command, is no content of its


def gallery() -> Pages:
    """Return a page of pictures, and for each example one with its text and its code."""
    cards: list[str] = []
    made: Pages = {}
    for path in sorted((ROOT / "examples").glob("*.py")):
        picture = ROOT / "docs" / "pictures" / f"{path.stem}.png"
        if path.stem.startswith("_") or not picture.exists():
            continue
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or path.stem
        first, _, rest = text.partition("\n")
        shown = f"/docs/pictures/{picture.name}"
        cards += [f".. grid-item-card:: {first}", f"   :link: examples/{path.stem}"]
        cards += ["   :link-type: doc", f"   :img-top: {shown}", ""]
        code = [f".. literalinclude:: /examples/{path.name}", "   :language: python"]
        page = [
            *_heading(first.rstrip("."), "="),
            f".. image:: {shown}",
            f"   :alt: {first}",
            "   :class: drawn",
            "",
            *_END,
        ]
        run = [f"``python examples/{path.name} --picture {picture.name}`` runs it.", ""]
        made[f"examples/{path.stem}.rst"] = "\n".join([*page, rest, "", *run, *code, ""])
    grid = [
        ".. grid:: 1 2 3 3",
        "   :gutter: 3",
        "",
        *(f"   {line}".rstrip() for line in cards),
        "",
    ]
    intro = "Classic programs of the field, each in one file that takes less than a minute on two cores."
    head = [*_heading("Gallery", "="), intro, ""]
    toc = [".. toctree::", "   :hidden:", "   :glob:", "", "   examples/*", ""]
    made["gallery.rst"] = "\n".join([*head, *grid, *toc])
    return made


# The benchmarks


def benchmark_page() -> Pages:
    """Return a page of the newest measurements, and one for each that is kept."""
    made = {
        f"results/{path.stem}.md": f"# {path.stem}\n\n```{{include}} /benchmarks/results/{path.name}\n```\n"
        for path in tables.RESULTS.glob("*-cores*.md")
    }
    text = [
        "# Benchmarks",
        "This page is made of [what is kept](/benchmarks/results/README.md) of `python -m benchmarks`. Its medians are of rounds in which "
        "each contender is timed once, in turn; JAX is always waited for. [How to read and repeat it](/benchmarks/README.md).",
        "## Jitted programs beside jitted JAX",
        _measured("native"),
        tables.on_the_whole(),
        "![A bar for each program: JAX's time over fungrad's](/docs/pictures/native.png)",
        _programs("native", [tables.JITTED, tables.JITTED_JAX]),
        "## Training beside JAX and PyTorch",
        _measured("training"),
        _programs("training", [tables.JITTED, tables.JITTED_JAX, "torch"]),
        "## Small calls, before there were kernels",
        _measured(""),
        tables.beside_peers(),
        "## All that is kept",
        "```{toctree}\n:glob:\n:reversed:\n\nresults/*\n```",
    ]
    return {**made, "benchmarks.md": "\n\n".join(text) + "\n"}


def _measured(kind: str) -> str:
    """Return when, on what and with which versions a measurement was made."""
    path = tables.newest(kind)
    made: dict[str, Any] = json.loads(path.read_text("utf-8"))["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    where = f"{made['cores']} cores of a shared machine ({made['cpu']}), {made['python']}"
    return f"{made['date']}, {where}; {versions}. [All figures](results/{path.stem}.md)."


def _programs(kind: str, contenders: list[str]) -> str:
    ours, *peers = contenders
    named = {tables.JITTED: "fungrad", tables.JITTED_JAX: "JAX", "torch": "PyTorch"}
    heads = ["program", "fungrad", *(f"{named[peer]} / fungrad" for peer in peers), "first call"]
    rows = []
    for name, workload in tables.read(tables.newest(kind)).items():
        seconds = workload["seconds"]
        ratios = [times(tables.ratio(workload, peer)) for peer in peers]
        said = f"`{name.removeprefix(f'{kind}_')}`: {workload['measures']}"
        rows.append(
            [
                said,
                duration(seconds[ours]["median"]),
                *ratios,
                duration(seconds[ours]["first_call"]),
            ]
        )
    return tables.markdown(heads, rows)

"""The names of autograd's modules, and the table of docs/coming_from_autograd.md that says which of them fungrad has.

``python -m tests.compat.autograd_names`` writes the list, where autograd is installed, and ``python -m
fungrad.compat.autograd -m tests.compat.autograd_names`` the table.
"""

import ast
import importlib
import json
import pkgutil
import types
from pathlib import Path

LIST = Path(__file__).with_name("autograd_names.json")
PAGE = Path(__file__).parents[2] / "docs" / "coming_from_autograd.md"
START, END = "<!-- names: start -->\n", "<!-- names: end -->\n"
GATHER = {"autograd", "autograd.extend", "autograd.misc", "autograd.scipy", "autograd.scipy.stats"}
"""Modules that offer what others define."""
WRAP = {
    f"autograd.{name}": name
    for name in ("numpy", "numpy.fft", "numpy.linalg", "numpy.random", "scipy.linalg")
}
"""Modules that offer all that one of NumPy's or SciPy's does, besides what they define themselves."""
INERT = {
    "autograd.builtins": ["DictBox", "SequenceBox"],
    "autograd.extend": ["JVPNode"],
    "autograd.core": ["JVPNode"],
    "autograd.numpy.numpy_vjps": ["nograd_functions"],
}
"""What is there and does nothing: types of which nothing is an instance, lists that nobody reads."""


def defined(module):
    """Return the names that the source of a module defines itself."""
    own = set()
    for node in ast.parse(Path(module.__file__).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Assign):
            targets = [name for target in node.targets for name in ast.walk(target)]
            own |= {name.id for name in targets if isinstance(name, ast.Name)}
    return own


def names():
    """Return the public names by module, of autograd itself."""
    root = importlib.import_module("autograd")
    modules = [root.__name__, *[m.name for m in pkgutil.walk_packages(root.__path__, "autograd.")]]
    table = {}
    for name in sorted(modules):
        module = importlib.import_module(name)
        public = [
            n
            for n, value in sorted(vars(module).items())
            if not n.startswith("_") and not isinstance(value, types.ModuleType)
        ]
        if name not in GATHER:
            own = defined(module)
            public = [n for n in public if n in own]
        table[name] = public
    return table


def missing():
    """Return by module which of the names are not there; for a process in which `autograd` is fungrad."""
    table = {}
    for name, public in json.loads(LIST.read_text("utf-8")).items():
        module = importlib.import_module(name)
        theirs = vars(importlib.import_module(WRAP[name])) if name in WRAP else {}
        wrapped = [
            n for n, x in theirs.items() if n[0] != "_" and not isinstance(x, types.ModuleType)
        ]
        table[name] = [n for n in [*public, *wrapped] if not hasattr(module, n)]
    return table


def table():
    """Return the table of absent names by reason, and the counts; for such a process."""
    from fungrad.compat.autograd.absent import ABSENT
    from fungrad.compat.standing_in import lacks

    listed, absent = json.loads(LIST.read_text("utf-8")), missing()
    reasons = {}
    for name, names in absent.items():
        if names:
            reason = lacks(f"{name}.x", ABSENT).partition(": ")[2]
            reasons.setdefault(reason, []).append(f"`{name}` {len(names)}")
    inert = sorted({f"`{n}`" for names in INERT.values() for n in names})
    counts = [sum(map(len, t.values())) for t in (listed, absent)]
    rows = [
        f"Of {counts[0]} names, {counts[0] - counts[1]} are there; of these, {', '.join(inert)} do nothing.",
        "",
        "| names that are not there | because |",
        "|---|---|",
        *[f"| {', '.join(modules)} | {reason} |" for reason, modules in reasons.items()],
    ]
    return "\n".join(rows) + "\n"


def written(page, rows):
    """Return a page with the table in its place."""
    before, rest = page.split(START)
    return before + START + rows + END + rest.split(END)[1]


if __name__ == "__main__":
    if "fungrad" in importlib.import_module("autograd").__name__:
        PAGE.write_text(written(PAGE.read_text("utf-8"), table()), "utf-8")
    else:
        LIST.write_text(json.dumps(names(), indent=0) + "\n", "utf-8")

"""A file of fungrad imports only from its own layer and lower ones; no cycles; files stay small.

That goes for every way to import: at the top of a file, within functions, for types alone, and by a name in a string.
"""

import ast
import functools
import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parent.parent
LAYERS = {
    "core": 0,
    "primitives": 1,
    "rewrite": 2,
    "compile": 3,
    "transforms": 4,
    "programs": 5,
    "numpy": 6,
    "reading": 10,  # on the stand-ins of compat/numpy; transforms reach it by a hook of core/reading.py
    "compat": 10,  # on all of fungrad, which knows nothing of it
}
PUBLIC = 7  # lax, scipy, random, tree, typing, ...
TOP = 8  # fungrad/__init__.py
ABOVE = 9  # what is made with the public names of fungrad, and what fungrad.extend publishes
LAYERS |= dict.fromkeys(
    (
        "distributed", "example_libraries", "extend", "image", "nn", "optim", "profiling", "saving", "sharding", "show",
        "test_util", "training",
    ),
    ABOVE,
)  # fmt: skip

EXCEPTIONS = {
    ("fungrad", "fungrad.reading"): "transforms read functions once they run some",
}
"""(module, what it reaches): why it may, though that is above it or closes a circle. None happens on import."""

BY_NAME = {
    "fungrad": "where each public name is, in a table beside it",
    "fungrad.numpy.elsewhere": "which module has a name that another was asked for",
    "fungrad.numpy.on_demand": "packages whose public names are imported on demand, each from a module of its own",
    "fungrad.numpy.rules": "modules that have said they hold rules, and others that SciPy mirrors",
    "fungrad.numpy": "extensions of the array API standard that packages above have named",
    "fungrad.compat.jax.adapting": "where the functions are that stand for those of a module of JAX",
    "fungrad.compat.standing_in": "modules in the place of another library's, laid out as these",
    "fungrad.programs.decoding": "saved programs name primitives and the modules that declared them",
    "fungrad.compile.canonical": "where a class of fungrad's is, that the text of a value names",
    "fungrad.primitives.ufunc": "a pickled entry of a table names the module of the table",
    "fungrad.reading.tables": "where the stand-in of a function is, which is imported when that is called",
    "fungrad.show": "where each public name is, in a table beside it",
    "fungrad.transforms.linear": "a pickled function names NumPy or CuPy",
}
"""Modules that import what they are told by others, or by a table: why."""


def modules(root: Path) -> dict[str, Path]:
    """Map the name of every module under root/fungrad to its file."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (root / "fungrad").rglob("*.py")
    }


def layer(module: str) -> int:
    parts = module.split(".")
    return TOP if len(parts) == 1 else LAYERS.get(parts[1], PUBLIC)


@functools.cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def dotted(node: ast.AST) -> str:
    """Return ``a.b.c`` as it is written; "" of anything else than names and attributes."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements right within a node, and the branches of `try` and `match` that hold others."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


@functools.cache
def importing(text: str) -> list[ast.AST]:
    """Return what imports something, in whatever way: statements, and expressions with a name in a string."""
    if any(word in text for word in ("import_module", "__import__", "modules")):
        return [
            node
            for node in ast.walk(parsed(text))
            if isinstance(node, ast.Import | ast.ImportFrom) or name_in_string(node)
        ]
    found, waiting = list[ast.AST](), [parsed(text)]
    while waiting:  # expressions are most of a text, and import nothing here
        for child in statements(waiting.pop()):
            waiting.append(child)
            if isinstance(child, ast.Import | ast.ImportFrom):
                found.append(child)
    return found


def import_statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that happen when a module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and dotted(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from import_statements(ast.Module([other], []))
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from import_statements(child)


def names_in(
    statement: ast.Import | ast.ImportFrom, package: list[str], files: dict[str, Path]
) -> list[str]:
    """Return what a statement of a module in `package` imports; of ``from a import b`` both may be modules."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    up = package[: len(package) + 1 - statement.level] if statement.level else []
    base = ".".join([*up, *filter(None, [statement.module])])
    candidates = (f"{base}.{alias.name}" for alias in statement.names)
    return [name if name in files else base for name in candidates]


def name_in_string(node: ast.AST) -> str | None:
    """Return the name in ``import_module("a.b")``, ``sys.modules["a.b"]`` and the like; None for anything else.

    Of an f-string it is what comes before the first value. "?" stands for an import of what is in no string.
    """
    if isinstance(node, ast.Call) and node.args:
        by, what = dotted(node.func), node.args[0]
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        by, what = dotted(node.value), node.slice
    else:
        return None
    imports = by.endswith(("import_module", "__import__"))
    if not imports and by not in ("sys.modules", "sys.modules.get"):
        return None
    start = what.values[0] if isinstance(what, ast.JoinedStr) else what
    if isinstance(start, ast.Constant) and isinstance(start.value, str):
        return start.value.rstrip(".")
    return "?" if imports else None


def imported(module: str, files: dict[str, Path], lazy: bool) -> Iterator[tuple[int, str]]:
    """Yield (line, name) for the modules of fungrad that `module` imports.

    With `lazy`, in whatever way; else only where it happens on import.
    """
    package = module.split(".")
    if files[module].name != "__init__.py":
        package.pop()
    text = files[module].read_text("utf-8")
    nodes = importing(text) if lazy else list(import_statements(parsed(text)))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = names_in(node, package, files)
        else:
            names = [name_in_string(node) or ""]
        for name in dict.fromkeys(names):
            if name.split(".")[0] == "fungrad" and name != module:
                yield node.lineno, name  # type: ignore[attr-defined]


def imports_by_name(root: Path) -> set[str]:
    """Return the modules that import what is in no string."""
    return {
        module
        for module, path in modules(root).items()
        if "?" in map(name_in_string, importing(path.read_text("utf-8")))
    }


def upward_imports(root: Path) -> list[str]:
    files = modules(root)
    return [
        f"{files[module].relative_to(root)}:{line} (layer {layer(module)}) imports {name} "
        f"(layer {layer(name)})"
        for module in sorted(files)
        for line, name in dict.fromkeys(imported(module, files, lazy=True))
        if layer(name) > layer(module) and (module, name) not in EXCEPTIONS
    ]


def circles(root: Path) -> set[frozenset[str]]:
    """Return the sets of modules that all reach one another by imports, in whatever way these happen."""
    files = modules(root)
    numbers = {module: i for i, module in enumerate(files)}
    arrows = [
        (numbers[module], numbers[name])
        for module in files
        for _, name in imported(module, files, lazy=True)
        if name in files
    ]
    graph = np.zeros((len(files), len(files)), bool)
    graph[tuple(np.array(arrows, int).reshape(-1, 2).T)] = True
    _, labels = connected_components(graph, connection="strong")
    found: dict[int, set[str]] = {}
    for module, label in zip(files, labels, strict=True):
        found.setdefault(label, set()).add(module)
    return {frozenset(group) for group in found.values() if len(group) > 1}


def line_counts(root: Path) -> dict[str, int]:
    """Count the lines of every file that holds more than a docstring."""
    texts = {module: path.read_text("utf-8") for module, path in modules(root).items()}
    return {
        module: len(text.splitlines())
        for module, text in texts.items()
        if any(not isinstance(node, ast.Expr) for node in parsed(text).body)
    }


def function_lengths(root: Path) -> dict[str, int]:
    """Count the lines of every function, those of functions within it too, without its docstring."""

    def lengths(node: ast.AST, inside: str) -> Iterator[tuple[str, int]]:
        for child in statements(node):
            name = f"{inside}.{getattr(child, 'name', '')}".rstrip(".")
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                text = child.body[0]
                documented = ast.get_docstring(child) is not None
                yield name, lines_of(child) - (lines_of(text) if documented else 0)
            yield from lengths(child, name)

    def lines_of(node: ast.stmt) -> int:
        return (node.end_lineno or node.lineno) - node.lineno + 1

    found = dict[str, int]()
    for module, path in modules(root).items():
        for name, n in lengths(parsed(path.read_text("utf-8")), module):
            found[name] = max(n, found.get(name, 0))
    return found


def test_files_import_only_from_lower_layers():
    assert modules(ROOT)
    assert upward_imports(ROOT) == []


def test_no_module_imports_itself_by_way_of_others():
    """The exceptions and what is imported within functions are counted too."""
    assert circles(ROOT) == set()


def test_exceptions_are_needed_and_happen_when_a_function_is_called():
    files = modules(ROOT)
    for module, name in EXCEPTIONS:
        assert name in [n for _, n in imported(module, files, lazy=True)]
        assert name not in [n for _, n in imported(module, files, lazy=False)]


def test_modules_that_import_by_names_of_others_are_known():
    assert imports_by_name(ROOT) == set(BY_NAME)


def test_files_are_small():
    counts = line_counts(ROOT)
    assert {module for module, n in counts.items() if n > 400} == set()
    assert statistics.median(counts.values()) < 180


def test_functions_are_short():
    counts = function_lengths(ROOT)
    assert {name for name, n in counts.items() if n > 60} == set()


@pytest.fixture
def fake(tmp_path):
    """Return a function that adds a file to a made-up fungrad, and its root."""

    def write(name: str, text: str = "") -> Path:
        path = tmp_path / "fungrad" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return tmp_path

    for package in ["", "core/", "numpy/", "compile/"]:
        write(f"{package}__init__.py")
    write("numpy/math.py")
    write("core/trace.py")
    return write


@pytest.mark.parametrize(
    "text",
    [
        "import fungrad",
        "import fungrad.numpy",
        "import fungrad.numpy.math as m",
        "from fungrad import numpy",
        "from fungrad.numpy import sin",
        "from fungrad.numpy.math import sin",
        "from ..numpy import math",
        "from .. import grad",
        "def f():\n    from fungrad.numpy import sin",
        "class A:\n    def f(self):\n        try:\n            import fungrad.lax\n        finally: 0",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING: 0\nelse:\n    import fungrad.numpy",
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import fungrad.numpy",
        "import typing\nif typing.TYPE_CHECKING:\n    from fungrad.numpy import sin",
        "import importlib\ndef f():\n    return importlib.import_module('fungrad.numpy.math')",
        "from importlib import import_module\ndef f(x):\n    return import_module(f'fungrad.numpy.{x}')",
        "def f():\n    return __import__('fungrad.numpy')",
        "import sys\ndef f():\n    return sys.modules['fungrad.numpy'].sin",
        "import sys\ndef f():\n    return sys.modules.get('fungrad')",
    ],
)
def test_checker_finds_an_upward_import(fake, text):
    (violation,) = upward_imports(fake("core/bad.py", text))
    assert violation.startswith("fungrad/core/bad.py:")


@pytest.mark.parametrize(
    "text",
    [
        "import numpy",
        "from fungrad.core import trace",
        "from .trace import bind",
        "from . import trace",
        "import importlib\nnumpy = importlib.import_module('numpy')",
        "import importlib\ntrace = importlib.import_module('fungrad.core.trace')",
        "modules = {}\nfound = modules.get('fungrad.numpy')",
    ],
)
def test_checker_accepts_imports_from_below(fake, text):
    assert upward_imports(fake("core/good.py", text)) == []
    assert upward_imports(fake("lax.py", "import fungrad.numpy, fungrad.random")) == []
    assert upward_imports(fake("__init__.py", "from fungrad.lax import dot")) == []


@pytest.mark.parametrize(
    "text",
    [
        "import fungrad.core.a",
        "if True:\n    from . import a",
        "class C:\n    from .a import f",
        "def f():\n    import fungrad.core.a",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fungrad.core.a import A",
        "import importlib\ndef f():\n    importlib.import_module('fungrad.core.a')",
    ],
)
def test_checker_finds_a_cycle(fake, text):
    fake("core/a.py", "from fungrad.core import b")
    root = fake("core/b.py", "import fungrad.core.c")
    fake("core/c.py")
    assert circles(root) == set()
    fake("core/c.py", text)
    assert circles(root) == {frozenset({"fungrad.core.a", "fungrad.core.b", "fungrad.core.c"})}


def test_checker_finds_imports_by_names_that_are_in_no_string(fake):
    fake("core/a.py", "import importlib\nnumpy = importlib.import_module('numpy')")
    root = fake("core/b.py", "import importlib\ndef f(x):\n    return importlib.import_module(x)")
    assert imports_by_name(root) == {"fungrad.core.b"}


def test_checker_counts_lines(fake):
    root = fake("core/long.py", "x = 1\n" * 701)
    fake("core/documented.py", '"""Nothing else."""\n')
    assert line_counts(root) == {"fungrad.core.long": 701}


def test_checker_counts_lines_of_functions(fake):
    body = "\n    ".join(["x = 1"] * 60)
    text = (
        f'def f():\n    """Do.\n\n    Long.\n    """\n    {body}\nclass A:\n  def g(self): pass\n'
    )
    assert function_lengths(fake("core/long.py", text)) == {
        "fungrad.core.long.f": 61,
        "fungrad.core.long.A.g": 1,
    }

"""A file of fungrad imports only from its own layer and lower ones; no cycles; files stay small."""

import ast
import graphlib
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = {
    "core": 0,
    "primitives": 2,
    "compile": 3,
    "transforms": 4,
    "control": 5,
    "numpy": 6,
}
PUBLIC = 7  # lax, scipy, random, nn, ...: built on the public API
TOP = 8  # fungrad/__init__.py
TYPES_ONLY = ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def modules(root: Path) -> dict[str, Path]:
    """Map the name of every module under root/fungrad to its file."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (root / "fungrad").rglob("*.py")
    }


def layer(module: str) -> int:
    parts = module.split(".")
    return TOP if len(parts) == 1 else LAYERS.get(parts[1], PUBLIC)


def import_statements(node: ast.AST, lazy: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports under `node`, those inside functions only if `lazy`; none for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test) in TYPES_ONLY:
            for other in child.orelse:
                yield from import_statements(ast.Module([other], []), lazy)
        elif lazy or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from import_statements(child, lazy)


def imported(module: str, files: dict[str, Path], lazy: bool) -> Iterator[tuple[int, str]]:
    """Yield (line, name) for the modules of fungrad that `module` imports."""
    package = module.split(".")
    if files[module].name != "__init__.py":
        package.pop()
    for statement in import_statements(ast.parse(files[module].read_text("utf-8")), lazy):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        else:
            up = package[: len(package) + 1 - statement.level] if statement.level else []
            base = ".".join([*up, *filter(None, [statement.module])])
            candidates = (f"{base}.{alias.name}" for alias in statement.names)
            names = [name if name in files else base for name in candidates]
        for name in dict.fromkeys(names):
            if name.split(".")[0] == "fungrad":
                yield statement.lineno, name


def upward_imports(root: Path) -> list[str]:
    files = modules(root)
    return [
        f"{files[module].relative_to(root)}:{line} (layer {layer(module)}) imports {name} "
        f"(layer {layer(name)})"
        for module in sorted(files)
        for line, name in imported(module, files, lazy=True)
        if layer(name) > layer(module)
    ]


def import_cycle(root: Path) -> list[str]:
    """Return the modules of a cycle of imports that happen on import; [] if there is none."""
    files = modules(root)
    graph = {module: {name for _, name in imported(module, files, lazy=False)} for module in files}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def line_counts(root: Path) -> dict[str, int]:
    """Count the lines of every file that holds more than a docstring."""
    texts = {module: path.read_text("utf-8") for module, path in modules(root).items()}
    return {
        module: len(text.splitlines())
        for module, text in texts.items()
        if any(not isinstance(node, ast.Expr) for node in ast.parse(text).body)
    }


def test_files_import_only_from_lower_layers():
    assert modules(ROOT)
    assert upward_imports(ROOT) == []


def test_no_import_cycles():
    assert import_cycle(ROOT) == []


def test_files_are_small():
    counts = line_counts(ROOT)
    assert {module: n for module, n in counts.items() if n > 700} == {}
    assert statistics.median(counts.values()) < 200


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
        "import typing\nif typing.TYPE_CHECKING:\n    from fungrad.numpy import sin",
    ],
)
def test_checker_accepts_imports_from_below(fake, text):
    assert upward_imports(fake("core/good.py", text)) == []
    assert upward_imports(fake("lax.py", "import fungrad.numpy, fungrad.random")) == []
    assert upward_imports(fake("__init__.py", "from fungrad.lax import dot")) == []


def test_checker_finds_a_cycle(fake):
    fake("core/a.py", "from fungrad.core import b")
    root = fake("core/b.py", "def f():\n    import fungrad.core.a")
    assert import_cycle(root) == []
    fake("core/b.py", "class B:\n    from .c import f")
    fake("core/c.py", "if True:\n    import fungrad.core.a")
    assert set(import_cycle(root)) == {"fungrad.core.a", "fungrad.core.b", "fungrad.core.c"}


def test_checker_counts_lines(fake):
    root = fake("core/long.py", "x = 1\n" * 701)
    fake("core/documented.py", '"""Nothing else."""\n')
    assert line_counts(root) == {"fungrad.core.long": 701}

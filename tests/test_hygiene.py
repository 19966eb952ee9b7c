"""What holds for the repository as a whole: no leftovers, documented names, a README that runs."""

import ast
import doctest
import functools
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fungrad
from fungrad.transforms import retraces
from tests.conftest import MANY
from tests.folding import each
from tools import stubs

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def test_no_leftovers():
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b|\bbreakpoint\(\)|\bpdb\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "fungrad").rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if marks.search(line) and path.name != "debug.py"  # which opens debuggers
    ]
    assert found == []


def test_code_asks_for_facts_of_a_library_and_not_which_it_is():
    allowed = ("fungrad/core/backend.py", "fungrad/compat/")  # compat asks whose names it looks up
    asks = re.compile(  # the others need not be parsed
        r"\b(np|numpy)[\s()\\]*(==|is\b)|(==|\bis(\s+not)?)[\s()\\]*(np|numpy)\b"
    )
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((ROOT / "fungrad").rglob("*.py"))
        if not (name := path.relative_to(ROOT).as_posix()).startswith(allowed)
        if asks.search(text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq)
        if any(ast.unparse(x) in ("np", "numpy") for x in [node.left, *node.comparators])
    ]
    assert found == []


def test_no_code_counts_frames():
    """Whose code a frame runs tells whose it is; how many there are depends on decorators."""
    counted = re.compile(r"_getframe\((?!1?\))|own_frames")
    found = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "fungrad").rglob("*.py"))
        if counted.search(path.read_text("utf-8"))
    ]
    assert found == []


def test_public_names_are_listed_once():
    assert fungrad.__doc__
    assert len(fungrad.__all__) == len(set(fungrad.__all__))


@each("name", sorted(fungrad.__all__))
def test_public_name_is_documented(name):
    value = getattr(fungrad, name)
    documentation = inspect.getdoc(value)
    assert documentation, f"fungrad.{name} has no docstring"
    if callable(value):
        assert ">>>" in documentation, f"the docstring of fungrad.{name} has no example"


def test_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert getattr(fungrad, "__version__", project["version"]) == project["version"]


def run_blocks(path: Path) -> int:
    """Run a document's ```python blocks in one namespace; return how many there are.

    A block with `>>>` prompts is run as a doctest. "```python skip" marks one that is not run.
    """
    text = path.read_text("utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for block in re.finditer(r"^```python[ ]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text[: block.start(1)].count("\n")
        if ">>>" in block[1]:
            test = doctest.DocTestParser().get_doctest(
                block[1], namespace, path.name, str(path), line
            )
            flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
            doctest.DebugRunner(optionflags=flags).run(test, clear_globs=False)
            namespace.update(test.globs)
        else:
            exec(compile("\n" * line + block[1], str(path), "exec"), namespace)
        count += 1
    return count


@pytest.mark.skipif(not README.exists(), reason="there is no README.md here")
def test_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes is gone afterwards
    assert run_blocks(README) > 0


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_docs_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(retraces, "MANY", MANY)
    run_blocks(path)


def test_blocks_share_a_namespace_and_fail_loudly(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "```python\nx = 1\n```\n```python skip\n1 / 0\n```\n```python\n>>> y = x + 1\n>>> y\n2\n```\n"
        "```python\nassert (x, y) == (1, 2)\n```\n"
    )
    assert run_blocks(path) == 3
    path.write_text("```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(doctest.DocTestFailure):
        run_blocks(path)
    path.write_text("text\n\n```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as error:
        run_blocks(path)
    assert error.traceback[-1].lineno + 1 == 4  # the line in the document


def output_of(program):
    """Run a program in a process of its own, where warnings are errors; return what it prints."""
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split()


@pytest.fixture(scope="module")
def imported():
    """The modules that `import fungrad` leaves there, with the size of the file of each of ours."""
    program = (
        "import os, sys, fungrad\n"
        "for name, m in [*sys.modules.items()]:\n"
        "    print(name, os.path.getsize(m.__file__) if name.startswith('fungrad') else 0)"
    )
    words = output_of(program)
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def test_import_is_light(imported):
    heavy = {"scipy", "cupy", "jax", "llvmlite", "autograd", "matplotlib", "logging", "optree"}
    ours = ("compile", "lax", "debug", "programs", "rewrite", "settings", "transforms")
    heavy |= {f"fungrad.{name}" for name in ours}
    assert {"fungrad", "numpy"} <= {*imported}
    assert sorted(heavy & {*imported}) == []


def test_programs_without_linear_systems_load_no_scipy():
    """It takes seven times as long to import as fungrad does."""
    program = (
        "import sys, numpy as np, fungrad as fg, fungrad.numpy as fnp\n"
        "def f(w, x):\n"
        "    step = lambda c, a: (fnp.tanh(c @ w + a), fnp.sum(c))\n"
        "    c, ys = fg.lax.scan(step, x[0], x)\n"
        "    return fnp.mean(fnp.sort(ys)) + fnp.where(c > 0, c, fnp.exp(c)).sum()\n"
        "w, x = np.ones((3, 3)), np.ones((4, 3))\n"
        "fg.grad(f)(w, x), fg.jit(fg.grad(f))(w, x), fg.jit(fg.vmap(f, (None, 0)))(w, np.ones((2, 4, 3)))\n"
        "print(*{'scipy'} & set(sys.modules))"
    )
    assert output_of(program) == []


def test_import_reads_little_source(imported):
    """Where bytecode cannot be kept, Python compiles what it imports every time: 100 kB take some 25 ms."""
    sizes = [size for name, size in imported.items() if name.startswith("fungrad")]
    assert len(sizes) <= 56
    assert sum(sizes) <= 400_000


def test_modules_can_be_imported_first_while_a_function_is_traced():
    """What a module computes when it is imported is not recorded."""
    program = (
        "import importlib, pkgutil, fungrad as fg\n"
        "def f(x):\n"
        "    for module in pkgutil.walk_packages(fg.__path__, 'fungrad.'):\n"
        "        importlib.import_module(module.name)\n"
        "    [getattr(m, name) for m in (fg, fg.numpy) for name in m.__all__]\n"
        "    return x\n"
        "print(len(fg.make_expr(f)(1.0).equations))"
    )
    assert output_of(program) == ["0"]


def test_names_of_fungrad_are_where_its_table_says():
    for name, home in fungrad._HOME.items():
        module = importlib.import_module(f"fungrad.{name}" if home == "fungrad" else home)
        assert getattr(fungrad, name) is (module if home == "fungrad" else getattr(module, name))


written_stubs = functools.cache(stubs.stubs)


@each("path", written_stubs, ids=lambda path: "-".join(path.relative_to(ROOT).parts[1:-1]))
def test_stubs_are_up_to_date(path):
    """If not: python tools/stubs.py."""
    stub, written = path.read_text("utf-8"), written_stubs()[path]
    module = importlib.import_module(".".join(path.relative_to(ROOT).parent.parts))
    names = {*re.findall(r"^(?:def |(?=\w+: ))(\w+)", stub, re.MULTILINE)}
    names |= {*re.findall(r"\b(\w+) as \1\b", stub)}
    if module is fungrad.optim:
        names -= {"losses"}  # which has names of its own, and is shown beside them
    versions = ("# As NumPy", "# As SciPy")
    if stub.startswith(versions) and not stub.startswith(written.partition("\n")[0]):
        pytest.skip(f"it is written with other versions: {stub.partition(chr(10))[0]}")
    assert {name for name in names if name[0] != "_" or name in module.__all__} == {*module.__all__}
    assert stub == written


def test_names_of_fungrad_numpy_are_where_its_table_says():
    fnp = fungrad.numpy
    for name, home in fnp._HOME.items():
        assert getattr(fnp, name) is getattr(importlib.import_module(f"fungrad.numpy.{home}"), name)
    assert (fnp.fft, fnp.linalg) == (
        sys.modules["fungrad.numpy.fft"],
        sys.modules["fungrad.numpy.linalg"],
    )


STARRED = [
    path
    for path in sorted((ROOT / "fungrad").rglob("__init__.py"))
    if re.search(r"^from \S+ import \*", path.read_text("utf-8"), re.MULTILINE)
]


@each("path", STARRED, ids=lambda path: path.parent.name)
def test_a_package_lists_what_type_checkers_see(path):
    """They see what its modules list, and what is imported under its own name once more."""
    package = importlib.import_module(".".join(path.relative_to(ROOT).parent.parts))
    seen = set()
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            seen |= {*importlib.import_module(statement.module).__all__}
        elif isinstance(statement, ast.ImportFrom):
            seen |= {alias.name for alias in statement.names if alias.name == alias.asname}
    assert len(seen) == len(package.__all__)
    assert seen == {*package.__all__}


OWN = (
    "ad_checkpoint", "conventions", "custom_batching", "custom_derivatives", "debug", "distributed", "experimental",
    "flatten_util", "nn", "ops", "random", "settings", "sharding", "show", "test_util", "training",
    "tree", "tree_util",
)  # fmt: skip
"""Modules whose functions are not documented elsewhere, as NumPy's and SciPy's are."""


@each("name", OWN)
def test_public_names_of_modules_have_examples(name):
    module = importlib.import_module(f"fungrad.{name}")
    values = [getattr(module, public) for public in module.__all__]
    without = [
        value
        for value in values
        if callable(value)
        and str(getattr(value, "__module__", "")).startswith("fungrad")
        and ">>>" not in (inspect.getdoc(value) or "")
    ]
    assert without == []

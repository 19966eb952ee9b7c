"""Plugin of pytest: markers ``no_leaked_tracers`` and ``no_nans``, and fixture ``expr_snapshot``.

It is a module beside the package, and imports it only where a test asks for something: so pytest starts without NumPy.
docs/testing.md shows all of it at work.
"""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fungrad import Expr

MARKERS = {
    "no_leaked_tracers": "fail if a tracer outlives the function that was traced in the test (fungrad.checking_leaks)",
    "no_nans": "fail where a traced or compiled function computes a NaN (fungrad.debug_nans)",
}

FOLDER = "__snapshots__"

SUFFIX = ".expr"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-snapshots``."""
    parser.getgroup("fungrad").addoption(
        "--update-snapshots",
        action="store_true",
        help="write the snapshots of programs that tests compare with, and remove those that no test does",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and keep account of the snapshots."""
    for name, what in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {what}")
    config.pluginmanager.register(Snapshots(config), "fungrad_snapshots")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a marked test within the checks that it asks for."""
    marked = [name for name in MARKERS if item.get_closest_marker(name) is not None]
    if not marked:
        return (yield)
    import fungrad

    ended = False
    try:
        with ExitStack() as stack:
            if "no_leaked_tracers" in marked:
                stack.enter_context(fungrad.checking_leaks())
            if "no_nans" in marked:
                stack.enter_context(fungrad.debug_nans())
            result = yield
            ended = True
        return result
    except fungrad.LeakedTracerError as error:
        if not ended:  # it is the test's own
            raise
        leak = str(error)
    pytest.fail(f"no_leaked_tracers: {leak}", pytrace=False)


# Snapshots


class Snapshots:
    """Which snapshots tests have compared with, in all processes of a run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.update: bool = config.getoption("--update-snapshots")
        self.used: set[str] = set()
        self.written: set[str] = set()
        self.passed: set[str] = set()
        self.items: dict[str, list[str]] = {}
        """The tests of each module that has snapshots, by their folder; those that are not run too."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Record the collected tests, before other plugins deselect some."""
        for item in items:
            folder = folder_of(item.path)
            if folder.is_dir():
                self.items.setdefault(str(folder), []).append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a test that has passed."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Hand the account of a worker of pytest-xdist to the process that asked for it."""
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["fungrad_snapshots"] = [sorted(self.used), sorted(self.written), self.items]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the account of a worker of pytest-xdist."""
        used, written, items = getattr(node, "workeroutput", {}).get(
            "fungrad_snapshots", ([], [], {})
        )
        self.used.update(used)
        self.written.update(written)
        self.items.update(items)

    def unused(self) -> list[Path]:
        """Return the snapshots that no test has compared with, of modules whose tests have all passed."""
        if any("::" in argument for argument in self.config.args):  # a part of a module
            return []
        whole = [folder for folder, tests in self.items.items() if self.passed.issuperset(tests)]
        files = [path for folder in whole for path in sorted(Path(folder).glob(f"*{SUFFIX}"))]
        return [path for path in files if str(path) not in self.used]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say which snapshots were written, and which are of no test."""
        unused = self.unused()
        if self.update:
            for path in unused:
                path.unlink()
        self._list(terminalreporter, "written", map(Path, sorted(self.written)))
        self._list(terminalreporter, "removed" if self.update else "of no test", unused)
        if unused and not self.update:
            terminalreporter.write_line("remove them with --update-snapshots")

    def _list(self, terminalreporter: Any, what: str, paths: Iterable[Path]) -> None:
        shown = [shown_path(self.config, path) for path in paths]
        if shown:
            terminalreporter.section(f"snapshots {what}: {len(shown)}")
            for line in shown:
                terminalreporter.write_line(line)


def folder_of(module: Path) -> Path:
    """Return where the snapshots of a test module are."""
    return module.parent / FOLDER / module.stem


def file_name(test: str, number: int, name: str | None) -> str:
    """Return the name of the file of a snapshot: the test's, and the snapshot's if a test has several."""
    whole = test if name is None and number == 1 else f"{test}-{name or number}"
    plain = re.sub(r"[^\w.\-\[\]]", "_", whole)
    if plain != whole or len(plain) > 150:  # which other names would be, too
        plain = f"{plain[:150]}-{zlib.crc32(whole.encode()):08x}"
    return plain + SUFFIX


def shown_path(config: pytest.Config, path: Path) -> str:
    """Return a path as people would write it, from the root of the tests."""
    root = config.rootpath
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


@pytest.fixture
def expr_snapshot(request: pytest.FixtureRequest) -> ExprSnapshot:
    """Compare programs with those that ``pytest --update-snapshots`` last stored beside the test."""
    return ExprSnapshot(request)


class ExprSnapshot:
    """Comparison of a test's programs with stored ones: the class of the fixture ``expr_snapshot``."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._account: Snapshots = request.config.pluginmanager.get_plugin("fungrad_snapshots")  # type: ignore[assignment]
        self._config = request.config
        self._item: pytest.Item = request.node
        self._names: set[str] = set()

    def __call__(self, program: Expr, name: str | None = None) -> None:
        """Fail if a program differs from its snapshot.

        Parameters
        ----------
        program
            The program to compare: of `fungrad.make_expr`, of ``jit(f).lower(*args)``, or a stage of that.
        name
            What to call the snapshot; a test that has several without names has them numbered.
        """
        __tracebackhide__ = True
        from fungrad.test_util.exprs import as_expr, snapshot_text, text_difference

        expr = as_expr(program, "expr_snapshot")
        test = self._item.nodeid.partition("::")[2].replace("::", ".")
        file = file_name(test, len(self._names) + 1, name)
        if file in self._names:
            pytest.fail(f"expr_snapshot: this test has two snapshots of the name {name!r}")
        self._names.add(file)
        path = folder_of(self._item.path) / file
        self._account.used.add(str(path))
        kept = path.read_text("utf-8") if path.is_file() else None
        if self._account.update:
            if kept != (text := snapshot_text(expr)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8", newline="\n")
                self._account.written.add(str(path))
            return
        command = f"pytest {shlex.quote(self._item.nodeid)} --update-snapshots"
        shown = shown_path(self._config, path)
        if kept is None:
            pytest.fail(f"expr_snapshot: there is no {shown}. Write it: {command}")
        difference = text_difference(expr, kept)
        if difference:
            pytest.fail(
                f"expr_snapshot: the program is not as in {shown}, {difference}\nIf it should be so: {command}",
            )

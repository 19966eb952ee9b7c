"""``python -m fungrad``: what it prints for reports of faults, and what it says of errors."""

import ast
import builtins
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import reporting
from fungrad.compile.targets.host import missing

ROOT = Path(__file__).parent.parent


def command(*arguments, **environment):
    """Run ``python -m fungrad`` in another folder; return the status and what it prints."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    run = [sys.executable, "-W", "error", "-m", "fungrad", *arguments]
    result = subprocess.run(
        run, cwd=Path.home(), env=given, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    return result.returncode, result.stdout


def test_the_report_of_this_machine(tmp_path):
    status, text = command(
        FUNGRAD_CACHE_DIR=str(tmp_path), FUNGRAD_NUM_THREADS="2", FUNGRAD_COMPILE="background"
    )
    assert status == 0
    lines = dict(line.partition(": ")[::2] for line in text.splitlines() if ": " in line)
    assert f"numpy {np.__version__}\n" in text
    assert f"fungrad {fg.__version__}\n" in text
    assert lines["cpu"] == "cpu:0"
    assert lines["gpu"].startswith(("gpu:0", "devices: there is no GPU"))
    assert lines["threads"].startswith("2 for kernels, ")
    assert "Config(disable_jit=False, debug_nans=False" in text
    assert lines["environment"].startswith(
        f"FUNGRAD_CACHE_DIR={tmp_path}, FUNGRAD_COMPILE=background"
    )
    for check in (
        "gradient",
        "vmap",
        "jit without kernels",
        *["jit with kernels"] * (not missing()),
    ):
        assert lines[f"check {check}"].startswith("right, ")
    assert int(lines["programs"].partition(" ")[0]) > 0
    if not missing():
        assert lines["cache"].startswith(str(tmp_path))


def test_a_check_that_fails_is_told(monkeypatch, capsys):
    monkeypatch.setattr(reporting, "_SLOPE", np.ones(1000))
    assert reporting.report() == 1
    assert "check gradient: FAILED\nTraceback" in capsys.readouterr().out
    monkeypatch.setattr(reporting, "_checks", lambda: {"division": lambda: 1 // 0})
    assert reporting.report() == 1
    assert "ZeroDivisionError" in capsys.readouterr().out


def exceptions_of_the_package():
    """Return the names of all classes of errors and warnings in the source, each with where it is."""
    classes = [
        (node.name, path.relative_to(ROOT), [ast.unparse(base) for base in node.bases])
        for path in sorted((ROOT / "fungrad").rglob("*.py"))
        if re.search(r"^\s*class \w+[\[(]", text := path.read_text("utf-8"), re.MULTILINE)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    ]
    names = {name for name, value in vars(builtins).items() if isinstance(value, type)}
    found = {name for name in names if issubclass(getattr(builtins, name), BaseException)}
    ours: dict[str, Path] = {}
    for _ in range(3):  # bases may stand in later files
        for name, path, bases in classes:
            if any(base.rpartition(".")[2] in {*found, *ours} for base in bases):
                ours[name] = path
    return ours


SIGNALS = {
    "Again", "Assigns", "Dependent", "Elsewhere", "ElsewhereError", "GivenUp", "Grows", "Keeps", "Looks", "NeedsTracing",
    "NotAtFirst", "NotConstant", "NotForAll", "NotKept", "NotRecorded", "NotScalar", "NotToBeCached", "NotYet", "Rebinds", "Refused", "Rerun", "Shorter", "Switch",
    "TooDense", "Uncaptured", "Uneven", "Unfit", "Unprintable", "Unreadable", "Unspeakable", "Unsupported", "WritesTo", "_Mismatch", "_NaNAtStart", "_Unknown",
}  # fmt: skip
"""Raised and caught inside of fungrad."""
NEVER_RAISED = {"InconclusiveDimensionOperation", "TypePromotionError"}
"""Names that programs for JAX may mention in `except`."""


def test_each_class_of_errors_and_warnings_has_a_section_that_its_messages_name():
    ours = exceptions_of_the_package()
    assert {"FungradError", "StoreException", "KeyReuseError", "DistributedError"} < {*ours}
    explained = {*ours} - SIGNALS - NEVER_RAISED - {"FungradError"}
    for name in sorted(explained):
        module = importlib.import_module(str(ours[name].with_suffix("")).replace(os.sep, "."))
        message = str(getattr(module, name)("what is wrong"))
        assert message == f"what is wrong\nMore: python -m fungrad explain {name}"
        titles = [title for title in reporting.explanations() if name in title]
        assert len(titles) == 1, name
    assert {*ours} >= SIGNALS | NEVER_RAISED


def test_what_is_never_raised_is_not():
    text = "".join(path.read_text("utf-8") for path in (ROOT / "fungrad").rglob("*.py"))
    for name in NEVER_RAISED:
        assert f"raise {name}" not in text


def test_a_message_ends_with_the_command_that_explains_it():
    with pytest.raises(fg.ConcretizationError) as error:
        fg.make_expr(bool)(1.0)
    last = str(error.value).rpartition("\n")[2]
    assert last == "More: python -m fungrad explain ConcretizationError"
    status, text = command(*last.split()[4:])
    assert (status, text.splitlines()[0]) == (0, "ConcretizationError")
    assert "lax.cond" in text
    assert "LeakedTracerError" not in text


def test_sections_are_found_by_a_word(capsys):
    assert reporting.print_sections("vmap") == 0
    assert capsys.readouterr().out.startswith("Axes of vmap\n============\n\nAll mapped axes")
    assert reporting.print_sections("") == 0
    assert capsys.readouterr().out.split("\n  ")[1] == "ConcretizationError"
    assert reporting.print_sections("nonsense") == 1
    assert capsys.readouterr().out.startswith("Nothing is said of 'nonsense'. There is:")


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        ("jit", ""),
        ("in_axes", "Axes of vmap"),
        ("unhashable type: 'Tracer'", "Tracers as keys"),
        ("operands could not be broadcast together with shapes (2,) (3,)", "Shapes and dtypes"),
        ("float(x) makes a constant", "StrictConversionWarning"),
    ],
)
def test_sections_are_found_by_words_and_by_messages(words, heading, capsys):
    assert reporting.print_sections(words) == 0
    assert capsys.readouterr().out.startswith(heading)


def raised(function):
    with pytest.raises(Exception, match=r".") as error:
        function()
    return error.value


@pytest.mark.parametrize(
    ("about", "heading"),
    [
        ("vmap", "Axes of vmap"),
        (fg.LeakedTracerError, "LeakedTracerError"),
        (raised(lambda: fg.make_expr(bool)(1.0)), "ConcretizationError"),
        (str(raised(lambda: fg.make_expr(bool)(1.0))), "ConcretizationError"),
        (raised(lambda: fg.jit(np.add)(np.ones(2), np.ones(3))), "Shapes and dtypes"),
        (raised(lambda: fg.vmap(np.add)(np.ones(2), np.ones(3))), "Axes of vmap"),
        (raised(lambda: np.ones(2) + np.ones(3)), "Shapes and dtypes"),
    ],
    ids=str,
)
def test_errors_classes_messages_and_words_are_explained(about, heading, capsys):
    assert fg.explain(about) is None
    assert capsys.readouterr().out.startswith(heading)


def test_explain_of_nothing_lists_and_of_another_thing_is_refused(capsys):
    fg.explain()
    assert "ConcretizationError" in capsys.readouterr().out
    with pytest.raises(TypeError, match="explain takes an error, its class, its message or words"):
        fg.explain(3)


def test_the_page_is_in_the_wheel():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"] == {
        "docs/errors.md": "fungrad/errors.md"
    }

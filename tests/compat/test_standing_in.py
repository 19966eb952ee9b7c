"""A package in the place of a library: what is imported, run and missing, of a made-up library in processes of its own."""

import textwrap

import pytest

from tests.compat.processes import ROOT

FILES = {
    "ours/__init__.py": """
        from fungrad.compat.standing_in import stand_in
        ABSENT = {"somelib.gone": "it was never there", "somelib.numpy.f": "it has no derivative"}
        def install():
            stand_in("somelib", "ours.modules", ABSENT, install)
        def pytest_addoption(parser):
            install()
    """,
    "ours/__main__.py": """
        from fungrad.compat.standing_in import run
        from ours import install
        run("ours", install)
    """,
    "ours/modules/__init__.py": """
        import ours
        from fungrad.compat.standing_in import attributes
        x = 1
        __getattr__ = attributes("somelib", ours.ABSENT, ["numpy"])
    """,
    "ours/modules/numpy.py": """
        import ours
        from fungrad.compat.standing_in import attributes
        __getattr__ = attributes("somelib.numpy", ours.ABSENT)
        def g():
            return 2
    """,
    "somelib.py": "x = 'the real one'",
    "beside.py": "",
    "program.py": """
        import importlib, importlib.util, pickle, sys
        import beside, somelib
        print(sys.argv[1:], __name__, somelib.x)
        if __name__ == "__main__":
            class A: pass
            assert type(pickle.loads(pickle.dumps(A()))) is A
    """,
    "checks.py": """
        import importlib, importlib.util, pickle, sys
        import somelib
        from somelib import numpy
        import somelib.numpy as again
        assert numpy is again is somelib.numpy is sys.modules["ours.modules.numpy"]
        assert numpy.__name__ == numpy.__spec__.name == "ours.modules.numpy"
        assert somelib.__spec__.submodule_search_locations == list(somelib.__path__)
        assert importlib.util.find_spec("somelib.numpy")
        assert b"ours.modules.numpy" in pickle.dumps(numpy.g)
        assert pickle.loads(pickle.dumps(numpy.g)) is numpy.g
        assert importlib.reload(somelib).numpy is numpy and not hasattr(numpy, "f")
        def message(text, error):
            try:
                exec(text)
            except Exception as e:
                assert type(e) is error, (text, e)
                return str(e)
            raise SystemExit(text)
        never = "fungrad, in the place of somelib, has no somelib.gone: it was never there"
        assert message("somelib.gone", AttributeError) == never
        assert message("from somelib import gone", ImportError) == never
        assert message("import somelib.gone", ModuleNotFoundError) == never
        assert message("import somelib.gone.more", ModuleNotFoundError) == never
        f = "fungrad, in the place of somelib, has no somelib.numpy.f: it has no derivative"
        assert message("numpy.f", AttributeError) == message("from somelib.numpy import f", ImportError) == f
        other = "fungrad, in the place of somelib, has no somelib.numpy.h"
        assert message("from somelib.numpy import h", ImportError) == other
        assert message("import nothing_of_the_kind", ModuleNotFoundError).startswith("No module")
        import ours
        finders = len(sys.meta_path)
        ours.install()
        assert len(sys.meta_path) == finders
    """,
    "test_it.py": "import somelib\ndef test_it():\n    assert somelib.x == 1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("library")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text), "utf-8")
    return root


@pytest.fixture
def python(folder, server):
    """Return what gives the output of a process in an empty folder, which finds the library and ours on its path."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)

    def python(*arguments, fails=False, **variables):
        done = server.run(*arguments, cwd=elsewhere, path=(ROOT, folder), **variables)
        assert fails == bool(done.returncode), done.stderr
        return done.stderr if fails else done.stdout

    return python


def test_modules_stand_in_and_say_what_they_lack(folder, python):
    python("-m", "ours", str(folder / "checks.py"))


def test_programs_modules_and_code_run(folder, python):
    program = str(folder / "program.py")
    assert python("-m", "ours", program, "a", "-m") == "['a', '-m'] __main__ 1\n"
    assert python("-m", "ours", "-m", "program", "a") == "['a'] __main__ 1\n"
    assert python("-m", "ours", "-c", "import program", "a") == "['a'] program 1\n"
    assert python(program) == "[] __main__ the real one\n"
    usage = "usage: python -m ours program.py | -m module | -c code, and arguments"
    assert python("-m", "ours", fails=True).strip() == usage
    assert "division by zero" in python("-m", "ours", "-c", "1 / 0", fails=True)


def test_pytest_runs_with_it(folder, python):
    plain = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test_it.py"))
    assert "1 passed" in python(*plain, "-p", "ours", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def test_a_library_that_has_been_imported_stays(python):
    text = python("-c", "import somelib, ours; ours.install()", fails=True)
    assert "RuntimeError: somelib has been imported already, from " in text
    assert "Install before anything imports somelib" in text

"""Every public function and class shows an example in its documentation, and the example runs."""

import doctest
import importlib
import sys
import types
from pathlib import Path

import pytest

import fungrad
from fungrad.core.examples import examples_of
from tests.folding import each
from tests.test_public import public_modules

PACKAGE = Path(fungrad.__file__).parent


def shown(module):
    """Map the names of the functions and classes of fungrad's own that a public module shows to what they are."""
    if module.__name__ == "fungrad.compat":
        values = {x: importlib.import_module(f"fungrad.compat.{x}") for x in dir(module)}
    else:
        values = {x: getattr(module, x) for x in dir(module)}
    return {name: value for name, value in values.items() if callable(value) and is_own(value)}


def is_own(value):
    """Whether a function or class is written in fungrad, whatever module it says it is of."""
    code = getattr(value, "__code__", None)
    return str(getattr(value, "__module__", "")).startswith("fungrad") or (
        code is not None and PACKAGE in Path(code.co_filename).parents
    )


@each("name", public_modules)
def test_all_that_can_be_called_has_an_example(name):
    found = shown(public_modules()[name])
    assert [x for x, value in found.items() if ">>>" not in (value.__doc__ or "")] == []


@pytest.mark.parametrize("name", public_modules())
def test_examples_that_tables_give_run(name):
    """The others are in the source, where doctest finds them."""
    finder, runner = (
        doctest.DocTestFinder(),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE),
    )
    read = set()
    values = shown(public_modules()[name])
    for home in {value.__module__ for value in values.values()} & {*sys.modules}:
        read |= {test.docstring for test in finder.find(sys.modules[home])}
    # Those that are added to docstrings in the source may be there already when doctest looks for what is in it.
    added = {*examples_of(name)}
    for public, value in values.items():
        text = value.__doc__ or ""
        if ">>>" in text and (text not in read or public in added):
            lines = []
            test = doctest.DocTestParser().get_doctest(text, {}, f"{name}.{public}", None, None)
            runner.run(test, out=lines.append)
            assert not lines, "".join(lines)


@each("name", public_modules)
def test_examples_are_of_public_names(name):
    module, examples = public_modules()[name], examples_of(name)
    if hasattr(module, "__path__"):
        assert [*examples] == sorted(examples)
        for public, example in examples.items():
            value = getattr(module, public)
            value = getattr(value, public) if isinstance(value, types.ModuleType) else value
            assert example in value.__doc__


def test_what_a_library_lacks_in_its_version_has_an_example_too(monkeypatch):
    from fungrad.scipy.special import sums

    monkeypatch.delattr("scipy.special.softmax")

    def softmax(x):
        """Of tracers."""

    assert sums.implements_if_there("softmax")(softmax).__doc__.startswith(
        "Of tracers.\n\nExamples"
    )

"""Examples in docstrings print no more digits than all processors and libraries agree on."""

import ast
import doctest
import re
from pathlib import Path

import fungrad

PACKAGE = Path(fungrad.__file__).parent
DIGITS = 13
MANY = re.compile(rf"[\d.]{{{DIGITS + 1}}}")
"""What a file has that has a number of more digits: most have none, and need not be parsed."""
NUMBER = re.compile(r"(?<![\w.])\d*\.\d+(?:e[-+]?\d+)?")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def precise(text):
    """Return the numbers in what examples of a module print that have more digits than are certain."""
    if not MANY.search(text):
        return []
    docs = [ast.get_docstring(n) for n in ast.walk(ast.parse(text)) if isinstance(n, DOCUMENTED)]
    examples = [e for doc in docs if doc for e in doctest.DocTestParser().get_examples(doc)]
    numbers = [number for e in examples for number in NUMBER.findall(e.want)]
    return [x for x in numbers if len(x.partition("e")[0].replace(".", "").lstrip("0")) > DIGITS]


def test_the_last_digits_of_numbers_are_left_out():
    found = {path: precise(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {str(path): numbers for path, numbers in found.items() if numbers} == {}


def test_numbers_of_all_digits_are_found():
    doc = '"""Text.\n\n>>> x\n(0.0012345678901234, 0.5, 1e-17, array([12.345678901234]))\n"""'
    assert precise(doc) == ["0.0012345678901234", "12.345678901234"]

"""The documentation of `fungrad.lax` is whole: what docstrings leave out is added from the glossary."""

import inspect
import re
import textwrap

from fungrad import lax
from fungrad.lax import linalg
from fungrad.lax.glossary import PARAMETERS, RAISES, completed, public, public_like
from tests.folding import each

FUNCTIONS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (lax, linalg)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}


def described(function):
    """The names in the section of parameters."""
    section = re.search(
        r"\nParameters\n-+\n(.*?)(\n\n[A-Z]|\Z)", inspect.getdoc(function), re.DOTALL
    )
    headings = re.findall(r"^\S.*", section[1], re.MULTILINE) if section else []
    return [name.strip("*") for heading in headings for name in heading.split(" : ")[0].split(", ")]


@each("name", FUNCTIONS)
def test_every_parameter_is_described_once(name):
    parameters = list(inspect.signature(FUNCTIONS[name]).parameters)
    assert sorted(described(FUNCTIONS[name])) == sorted(parameters)


@each("name", FUNCTIONS)
def test_every_function_says_what_it_returns(name):
    documentation = inspect.getdoc(FUNCTIONS[name])
    assert documentation.startswith("Return ") or "\nReturns\n-------\n" in documentation


def test_the_glossary_has_no_entry_that_none_needs():
    used = {p for f in FUNCTIONS.values() for p in inspect.signature(f).parameters}
    assert {*PARAMETERS} <= used
    assert {*RAISES} <= {*PARAMETERS}


def test_help_is_whole():
    assert inspect.getdoc(lax.split) == textwrap.dedent("""\
        Cut an array along an axis into pieces of given lengths.

        Parameters
        ----------
        operand
            An array of any shape and dtype.
        sizes
            The lengths of the pieces, whose sum is that of the axis.
        axis
            The axis; negative ones count from the last.

        Returns
        -------
        list of arrays
            The pieces in order.

        Raises
        ------
        ValueError
            If the lengths do not add up.

        Examples
        --------
        >>> import numpy as np
        >>> from fungrad import lax
        >>> lax.split(np.array([1, 2, 3]), (1, 2))
        [array([1]), array([2, 3])]""")
    assert "x, y\n    Arrays or numbers" in inspect.getdoc(lax.add)


def test_what_a_docstring_says_itself_is_kept():
    own = "Do.\n\nParameters\n----------\naxis, x\n    Mine.\n\nRaises\n------\nValueError\n    Never."
    text = completed(own, ["operand", "x", "axis"])
    assert "operand\n    An array of any shape and dtype.\nx, axis\n    Mine." in text
    assert text.endswith("Raises\n------\nValueError\n    Never.")


def test_a_function_like_another_says_the_rest_as_that_does():
    @public
    def first(x, axis):
        """Do.

        Parameters
        ----------
        x : int
            The one.

        Returns
        -------
        int
            That.
        """

    @public_like(first)
    def second(x, y, axis):
        """Do otherwise.

        Parameters
        ----------
        y
            The other.
        """

    assert described(second) == ["x", "y", "axis"]
    assert "x : int\n    The one.\ny\n    The other.\n" in second.__doc__
    assert "Returns\n-------\nint\n    That.\n\nRaises\n------\nValueError" in second.__doc__


def test_imports_are_those_that_the_examples_need():
    text = completed("Do.\n\nExamples\n--------\nOne:\n\n>>> lax.neg(1)\nnp.int64(-1)", [])
    assert text.endswith("One:\n\n>>> from fungrad import lax\n>>> lax.neg(1)\nnp.int64(-1)")

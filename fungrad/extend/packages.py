"""Documentation and messages for packages of functions, such as `fungrad.nn` and `fungrad.optim`.

`api_boundary`
    The decorator of public functions: whatever exception leaves one, the state of transforms is as before, and the traceback
    has no frames of fungrad's.
`boundary`
    The same for functions of numbers: where there are no numbers of 64 bits, arguments and results have 32.
`Glossary`, `COMMON`
    What docstrings have in common; that of fungrad's transforms.
`add_example`, `examples_of`
    An example from a package's `examples.txt` as the end of a docstring; all of them.
`import_on_demand`
    The public names of a package's modules, each of which is imported when one is asked for.
`tell_missing`, `unknown_name`
    The error for a name that a module lacks.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from fungrad.core import errors
from fungrad.core.examples import add_example, examples_of
from fungrad.core.glossary import COMMON, Glossary
from fungrad.numpy.elsewhere import unknown_name
from fungrad.numpy.names import tell_missing
from fungrad.numpy.narrow import boundary
from fungrad.numpy.on_demand import import_on_demand

__all__ = [
    "COMMON",
    "Glossary",
    "add_example",
    "api_boundary",
    "boundary",
    "examples_of",
    "import_on_demand",
    "tell_missing",
    "unknown_name",
]
__dir__ = __all__.copy

F = TypeVar("F", bound=Callable[..., Any])


def api_boundary(function: F) -> F:
    """Decorate a public function: an exception that leaves it leaves no state of transforms behind.

    The traceback has no frames of fungrad's own; FUNGRAD_FULL_TRACEBACKS=1 keeps them.

    Parameters
    ----------
    function
        A function.

    Returns
    -------
    Callable
        The same with its name and documentation.

    Examples
    --------
    >>> @api_boundary
    ... def half(x):
    ...     if x % 2:
    ...         raise ValueError("an even number is expected")
    ...     return x // 2
    >>> half(3)
    Traceback (most recent call last):
    ValueError: an even number is expected
    """
    return errors.api_boundary(function)

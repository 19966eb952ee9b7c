"""Programs for tools that read, show or run them, such as `fungrad.show` and `fungrad.test_util`.

`fungrad.make_expr` gives the `Expr` of a function; its `equations` are tuples of a primitive and of variables, which are
integers.

`evaluate`
    The results of a program of arrays; recorded, if they are tracers.
`inline`, `simplify`
    The program without calls of others; with constants folded and common subexpressions shared.
`Calling`
    The primitives that call a program, their `callee`.
`Jitted`, `Lowered`
    Functions that `jit` made; what `lower` of one returns.
`format_value`, `variable_names`
    A scalar in the text of a program; names for variables.
`Source`, `InDerivative`, `describe_source`
    Where an equation comes from; that of one that a derivative rule made; the line of it.
`check_callable`, `name_of`
    The error for what is no function; how messages call one.
"""

from typing import Any

from fungrad.compile.pipeline import simplify
from fungrad.core import errors
from fungrad.core.errors import InDerivative, Source
from fungrad.core.evaluate import evaluate, inline
from fungrad.core.expr import Calling, format_value, variable_names
from fungrad.transforms.arguments import check_callable, name_of
from fungrad.transforms.jit import Jitted
from fungrad.transforms.lowered import Lowered

__all__ = [
    "Calling",
    "InDerivative",
    "Jitted",
    "Lowered",
    "Source",
    "check_callable",
    "describe_source",
    "evaluate",
    "format_value",
    "inline",
    "name_of",
    "simplify",
    "variable_names",
]
__dir__ = __all__.copy

_EXAMPLES: dict[Any, str] = {
    Jitted: """
    >>> import fungrad as fg
    >>> isinstance(fg.jit(lambda x: x + 1), Jitted)
    True
    """,
    InDerivative: """
    >>> import fungrad as fg
    >>> *_, last = fg.make_expr(fg.grad(lambda x: x * x))(1.0).sources
    >>> isinstance(last, InDerivative)
    True
    """,
    simplify: """
    >>> import fungrad as fg
    >>> expr = fg.make_expr(lambda x: (x + 1) * (x + 1))(2.0)
    >>> len(expr.equations), len(simplify(expr).equations)
    (3, 2)
    """,
}
for _public, _example in _EXAMPLES.items():
    if _public.__doc__ and ">>>" not in _public.__doc__:  # there is none under ``python -OO``
        _public.__doc__ += f"\n\n    Examples\n    --------{_example}"


def describe_source(source: Source | None) -> str:
    """Return the user's line that an equation comes from: ``file.py:12 (in loss): y = x @ w``.

    Parameters
    ----------
    source
        One of the `sources` of a program; None for none.

    Returns
    -------
    str
        The line, or "an unknown line".

    Examples
    --------
    >>> describe_source(None)
    'an unknown line'
    """
    return errors.describe_source(source)

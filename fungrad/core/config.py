"""Settings. They are local to a thread or task, and to a `with` block."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

check_exprs: contextvars.ContextVar[bool] = contextvars.ContextVar("check_exprs", default=False)
"""Whether every program is checked after it is built; for tests of rules."""


@contextlib.contextmanager
def checking(enabled: bool = True) -> Iterator[None]:
    """Check every program that is traced or rewritten inside the block.

    Raises `ExprError` there if a rule makes a malformed one. Slow: for tests.

    Examples
    --------
    >>> import fungrad as fg
    >>> with checking():
    ...     print(fg.grad(lambda x: x * x)(3.0))
    6.0
    """
    token = check_exprs.set(enabled)
    try:
        yield
    finally:
        check_exprs.reset(token)

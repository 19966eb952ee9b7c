"""Limits of memory: the setting `memory_limit`, which is in `fungrad.settings`."""

from __future__ import annotations

import operator
from contextlib import AbstractContextManager

from fungrad.core.config import setting
from fungrad.core.glossary import COMMON


@COMMON.documented
def memory_limit(size: int | None) -> AbstractContextManager[None]:
    """Return a context in which gradients of loops keep at most so many bytes of a loop's steps.

    A loop whose steps take more is cut into parts. Only the carries with which parts begin are kept, and on the way back the steps of one
    part after the other are computed again (Griewank and Walther, 2000, in as many levels as are needed). That
    costs about the time of the loop once more for each level. `checkpoint` does the same for a function by hand.

    Parameters
    ----------
    size
        The number of bytes; None for half of the machine's memory, the default.

    Raises
    ------
    TypeError
        If `size` is no integer.
    ValueError
        If `size` is not positive.

    Examples
    --------
    >>> import fungrad as fg
    >>> from fungrad import lax
    >>> def f(x):
    ...     return lax.fori_loop(0, 10_000, lambda i, c: np.sin(c), x).sum()
    >>> with memory_limit(1_000_000):  # where all steps would take 8
    ...     print(fg.jit(fg.grad(f))(np.ones(100))[0].round(10))
    0.0
    """
    if size is None:
        return setting(memory_limit=None)
    try:
        size = operator.index(size)
    except TypeError:
        raise TypeError(
            f"memory_limit: a number of bytes is an integer, got {size!r}; int(2e9) is two gigabytes"
        ) from None
    if size <= 0:
        raise ValueError(f"memory_limit: a number of bytes is positive, got {size}")
    return setting(memory_limit=size)

"""NumPy's own functions on traced values: ``np.array([t, 1.0])``, ``z = np.zeros(3); z[0] = t``.

Programs that create and convert arrays with `numpy` are differentiated as they are, and so are functions of SciPy written in
Python. Nothing of it is on unless asked for: for a block, by `tracing`, or for the process, by `install`.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad.compat.numpy import tracing
>>> def f(x):
...     z = np.zeros(3)
...     z[1:] = np.array([x, 2.0]) ** 2
...     return z.sum()
>>> with tracing():
...     print(fg.grad(f)(3.0))
6.0

While it is on, names of `numpy`, and what other modules have imported of them, stand for functions that ask whether a trace
is open in this thread; if none is, NumPy's is called. docs/numpy.md says what is replaced and what that changes.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from fungrad.compat.numpy.replacing import replacement as _replacement
from fungrad.compat.numpy.scipys import AfterImport
from fungrad.core.config import process_settings, settings

__all__ = ["install", "tracing", "uninstall"]
__dir__ = __all__.copy

_switching = threading.RLock()


def install() -> None:
    """Let NumPy's functions take traced values, from now on and in all threads.

    It may be called several times; as many calls of `uninstall` put NumPy's functions back.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.compat.numpy import install, uninstall
    >>> install()
    >>> print(fg.grad(lambda x: np.array([x, x * x]).sum())(3.0))
    7.0
    >>> uninstall()
    """
    with _switching:
        try:
            _install()
        except BaseException:  # Ctrl-C, say
            uninstall()
            raise


def _install() -> None:
    # The signatures import modules of SciPy, for which they are asked once these are watched.
    from fungrad.compat.numpy import scipys, signatures, stand_ins  # noqa: F401

    done = set[str]()

    def imported(*names: str) -> None:
        ready = [name for name in names if name not in done and scipys.is_ready(name)]
        done.update(ready)
        # At once: each addition goes through the names of all modules.
        _replacement.add([pair for name in ready for pair in scipys.stand_ins(name)])

    if _replacement.on(stand_ins.stand_ins):
        _replacement.add(scipys.numbers())
        _convert_constants(True)
        sys.meta_path.insert(0, AfterImport(imported))
        imported(*scipys.WATCHED)


def _convert_constants(value: bool) -> None:
    for each in (process_settings, settings.get()):
        each.set("constants_converted", value)


def uninstall() -> None:
    """Put NumPy's functions back, if no other `install` or `tracing` is in force.

    Raises
    ------
    RuntimeError
        If nothing is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.compat.numpy import install, uninstall
    >>> array = np.array
    >>> install()
    >>> uninstall()
    >>> np.array is array
    True
    """
    with _switching:
        was_last = _replacement.off()
        if was_last:
            _convert_constants(False)
            sys.meta_path[:] = [x for x in sys.meta_path if type(x) is not AfterImport]
    if was_last is None:
        raise RuntimeError("fungrad.compat.numpy is not installed: call install() first")


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Let NumPy's functions take traced values, inside the block.

    Entering and leaving looks through all modules, which takes some milliseconds: put it around a program, not around a
    call in a loop. Blocks may be nested. Other threads see it too; where no trace is open, functions are NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.compat.numpy import tracing
    >>> with tracing():
    ...     print(fg.grad(lambda x: np.full(3, x).prod())(2.0))
    12.0
    """
    install()
    try:
        yield
    finally:
        uninstall()

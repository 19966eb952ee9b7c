"""Unchanged programs for JAX, on NumPy's arrays: their `jax` is fungrad.

In the shell, ``python -m fungrad.compat.jax program.py``; in Python, `install` before `jax` is first
imported; for tests, ``pytest -p fungrad.compat.jax``. docs/coming_from_jax.md says what is there and what differs.
"""

from __future__ import annotations

import sys
from typing import Any

from fungrad.compat.jax.absent import ABSENT
from fungrad.compat.standing_in import Finder, stand_in

__all__ = ["install", "is_installed"]
__dir__ = [*__all__, "pytest_addoption"].copy  # pytest finds its hooks by `dir`


def is_installed() -> bool:
    """Return whether `jax` means fungrad in this process.

    Examples
    --------
    >>> is_installed()
    False
    """
    return any(isinstance(f, Finder) and f.library == "jax" for f in sys.meta_path)


def install() -> None:
    """From here on, ``import jax`` gives fungrad under JAX's names, in the whole process.

    Also JAX's dtypes, promotion and rules for indices out of bounds become those of the process. Calling it again does nothing.

    Raises
    ------
    RuntimeError
        If the real JAX has been imported already.

    Examples
    --------
    >>> install()  # doctest: +SKIP
    >>> import jax  # doctest: +SKIP
    """
    if is_installed():
        return
    stand_in("jax", "fungrad.compat.jax.modules", ABSENT, install, _imported)
    from fungrad.compat.jax import process

    process.set_up()


def _imported() -> None:
    from fungrad.compat.jax.config import read_environment

    read_environment()  # the program may have changed it


def pytest_addoption(parser: Any) -> None:
    r"""Install when pytest loads this module as a plugin, by the hook that it calls first.

    Examples
    --------
    >>> import pathlib, subprocess, sys, tempfile
    >>> test = "import jax\n\ndef test_it():\n    assert jax.grad(jax.numpy.tanh)(0.0) == 1"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "test_it.py").write_text(test)
    ...     command = [sys.executable, "-m", "pytest", "-q", "-p", "fungrad.compat.jax"]
    ...     print(subprocess.check_output(command, cwd=folder, text=True).splitlines()[-1][:8])
    1 passed
    """
    install()

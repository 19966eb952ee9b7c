"""Programs written for autograd run as they are: in a process that asks for it, `autograd` is fungrad.

``python -m fungrad.compat.autograd program.py`` runs a program (likewise with ``-m module`` and ``-c code``), ``pytest -p
fungrad.compat.autograd`` tests, and `install`, called first of all, the rest of the process it is called in.
"""

from __future__ import annotations

from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import stand_in
from fungrad.core.tracer import Tracer

__all__ = ["install"]
__dir__ = [*__all__, "pytest_addoption"].copy  # pytest finds its hooks by `dir`


def install() -> None:
    r"""From now on, ``import autograd`` gives fungrad.

    Raises
    ------
    RuntimeError
        If autograd itself has been imported.

    Examples
    --------
    >>> import subprocess, sys
    >>> program = "import autograd.numpy as np; from autograd import grad; print(grad(np.tanh)(0.0))"
    >>> subprocess.check_output([sys.executable, "-m", "fungrad.compat.autograd", "-c", program])
    b'1.0\n'
    """
    from fungrad.compat import in_place
    from fungrad.compat.autograd.boxes import node_of, value_below

    stand_in("autograd", "fungrad.compat.autograd.modules", ABSENT, install)
    # What programs read of a box.
    in_place.set_up()
    Tracer._value = property(value_below)  # type: ignore[attr-defined]
    Tracer._node = property(node_of)  # type: ignore[attr-defined]
    Tracer._trace = property(lambda x: x._owner)  # type: ignore[attr-defined]
    if Tracer.__module__.startswith("fungrad."):  # else JAX's has been installed
        # By these libraries tell whose it is.
        Tracer.__module__ = "autograd.numpy.numpy_boxes"
        Tracer.__name__ = Tracer.__qualname__ = "ArrayBox"


def pytest_addoption(parser: Any) -> None:
    r"""Install; of pytest's hooks this is the first to be called, before other plugins are imported.

    Examples
    --------
    >>> import pathlib, subprocess, sys, tempfile
    >>> test = "import autograd.numpy as np\n\ndef test_it():\n    assert np.arange(4).sum() == 6"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "test_it.py").write_text(test)
    ...     command = [sys.executable, "-m", "pytest", "-q", "-p", "fungrad.compat.autograd"]
    ...     print(subprocess.check_output(command, cwd=folder, text=True).splitlines()[-1][:8])
    1 passed
    """
    install()

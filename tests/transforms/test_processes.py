"""Other processes: interpreters that drop docstrings and assertions."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def python(*options: str, timeout: float = 120) -> str:
    """Run an interpreter of its own on the fungrad of this repository; return what it prints."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


OPTIMIZED = """
    import importlib, pkgutil, sys
    import numpy as np
    import fungrad as fg
    import fungrad.numpy as fnp

    for module in pkgutil.walk_packages(fg.__path__, "fungrad."):
        importlib.import_module(module.name)
    for module in (fg, fnp, fg.lax, fg.scipy.special, fg.scipy.stats):
        for name in dir(module):
            getattr(module, name)

    def f(x):
        y = fnp.zeros_like(x)
        y[1:] = fnp.sin(x[:-1])
        return (fnp.where(y > 0, y * x, x) ** 2).sum()

    x = np.arange(4.0)
    print(fg.jit(f)(x) == f(x), fg.vmap(f)(np.stack([x, x])).shape)
    print(np.allclose(fg.grad(f)(x), fg.jit(fg.grad(f))(x)))
    print(fg.lax.scan(lambda c, x: (c + x, c * x), 0.0, x)[0])
"""


def test_without_docstrings_and_assertions():
    assert python("-OO", "-c", textwrap.dedent(OPTIMIZED)).splitlines() == [
        "True (2,)",
        "True",
        "6.0",
    ]

"""`fungrad.compat.jax`, in processes of its own: it replaces `jax` for good."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_ENABLE_X64": "0", **environment},
        cwd=ROOT,
    )
    return done.returncode, done.stdout + done.stderr


def test_programs_as_with_jax():
    code, text = python(
        *(
            "-W",
            "error",
            "-m",
            "pytest",
            "-q",
            "-p",
            "fungrad.compat.jax",
            "-p",
            "no:cacheprovider",
        ),
        str(Path(__file__).parent / "jax_basics.py"),
    )
    assert code == 0, text


def test_without_being_asked_nothing_is_installed():
    code, text = python(
        "-c",
        "import sys, fungrad.compat.jax as c; print(c.is_installed(), 'jax' in sys.modules)",
    )
    assert (code, text) == (0, "False False\n")


def test_immutable():
    program = "import jax.numpy as jnp\nx = jnp.ones(2)\nx[0] = 2"
    code, text = python("-m", "fungrad.compat.jax", "-c", program, FUNGRAD_COMPAT_IMMUTABLE="1")
    assert code == 1
    assert "TypeError: JAX arrays are immutable" in text

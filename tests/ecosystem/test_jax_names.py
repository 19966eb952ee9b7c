"""`tools/jax_names.py`, which reports the names of JAX that packages use."""

import importlib.util
import sys
import zipfile
from pathlib import Path

FILE = Path(__file__).parents[2] / "tools" / "jax_names.py"
TEXT = """
import jax
import jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import sparse as sp
from .jax import mine

def f(x):
    return jnp.sin(np.cos(x)) + lax.add(x, jax.nowhere.name) + sp.BCOO.fromdense(x)
"""
USED = {
    "jax",
    "jax.numpy",
    "jax.lax",
    "jax.experimental.sparse",
    "jax.numpy.sin",
    "jax.lax.add",
    "jax.nowhere",
    "jax.nowhere.name",
    "jax.experimental.sparse.BCOO",
    "jax.experimental.sparse.BCOO.fromdense",
}


def tool():
    spec = importlib.util.spec_from_file_location("tools_jax_names", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_of_a_module():
    assert tool().names(TEXT) == USED


def test_packages_by_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "one-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("one/a.py", TEXT)
        wheel.writestr("one/template.py", "{{ no python }")
    assert tool().uses(tmp_path) == {name: {"one"} for name in USED}


def test_absent_names():
    python = [sys.executable, "-m", "fungrad.compat.jax"]
    assert tool().absent(python, USED) == {"jax.nowhere", "jax.nowhere.name"}

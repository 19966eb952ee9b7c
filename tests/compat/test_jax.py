"""`fungrad.compat.jax`, in processes of its own: it replaces `jax` for good."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.compat import jax_walk

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


DIFFERENT = {
    "jax.api_util": ["debug_info"],
    "jax.core": ["max_dim", "min_dim"],
    "jax.debug": ["breakpoint", "print"],
    "jax.dtypes": ["issubdtype"],
    "jax.experimental.mesh_utils": ["create_device_mesh"],
    "jax.extend.core": ["find_top_trace", "gensym", "jaxpr_as_fun"],
    "jax.extend.source_info_util": ["current_name_stack"],
    "jax.interpreters.ad": ["jvp", "linearize"],
    "jax.interpreters.mlir": ["register_lowering"],
    "jax.interpreters.partial_eval": ["trace_to_jaxpr_dynamic"],
    "jax.interpreters.xla": ["apply_primitive"],
    "jax.numpy": ["result_type", "set_printoptions"],
    "jax.profiler": ["annotate_function"],
}
"""Functions whose parameters are not named as JAX's: they take more, or less of what nothing here would read."""


def test_names_and_signatures():
    code, text = python("-W", "ignore", "-m", "tests.compat.jax_walk", "--json")
    assert code == 0, text
    found = json.loads(text)
    missing = {m: [n for n, why in k["absent"].items() if not why] for m, k in found.items()}
    assert not any(missing.values()), missing
    assert {m: k["differs"] for m, k in found.items() if k["differs"]} == DIFFERENT
    assert found["jax.numpy"]["absent"].keys() < {
        "frompyfunc",
        "ufunc",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "int1",
        "uint1",
        "_",
    }
    written = jax_walk.PAGE.read_text("utf-8")
    assert written == jax_walk.page(written, found), (
        "write it anew: python -m tests.compat.jax_walk"
    )

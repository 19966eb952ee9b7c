"""`fungrad.compat.jax`, in processes of its own: it replaces `jax` for good."""

import json
from pathlib import Path

import pytest

from fungrad.compat.jax.arguments import REFUSED
from tests.compat import jax_walk
from tests.compat.processes import ROOT, start

BITS_32 = {"JAX_ENABLE_X64": "0"}
PYTEST = ("-m", "pytest", "-q", "-p", "fungrad.compat.jax", "-p", "no:cacheprovider")
PROGRAMS = [
    f"jax_{name}.py"
    for name in (
        "libraries",
        "arguments",
        "immutable",
        "interpreters",
        "references",
        "pallas",
        "numbers",
    )
]
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def python(*arguments):
    done = start(*arguments, **BITS_32)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_as_with_jax(program, server):
    immutable = {"FUNGRAD_COMPAT_IMMUTABLE": "1"} if program == "jax_immutable.py" else {}
    file = str(Path(__file__).with_name(program))
    done = server.run(*PYTEST, file, **BITS_32, **NO_PLUGINS, **immutable)
    assert done.returncode == 0, done.stdout + done.stderr


def test_basics_as_users_start_them():
    """With the plugins that are installed: ours has to be there before one of them imports `jax`."""
    code, text = python("-W", "error", *PYTEST, str(Path(__file__).with_name("jax_basics.py")))
    assert code == 0, text


def test_without_being_asked_nothing_is_installed():
    code, text = python(
        "-c",
        "import sys, fungrad.compat.jax as c; print(c.is_installed(), 'jax' in sys.modules)",
    )
    assert (code, text) == (0, "False False\n")


def test_immutable(server):
    program = "import jax.numpy as jnp\nx = jnp.ones(2)\nx[0] = 2"
    done = server.run("-m", "fungrad.compat.jax", "-c", program, FUNGRAD_COMPAT_IMMUTABLE="1")
    assert done.returncode == 1
    assert "TypeError: JAX arrays are immutable" in done.stderr


def test_variables_that_the_program_sets(server):
    program = """
import os
os.environ["JAX_ENABLE_X64"], os.environ["JAX_DEBUG_NANS"] = "True", "1"
import jax, jax.numpy as jnp
os.environ["JAX_ENABLE_X64"] = "0"
import jax.scipy.special
print(jnp.ones(2).dtype, jax.config.jax_debug_nans)
"""
    done = server.run("-m", "fungrad.compat.jax", "-c", program, JAX_ENABLE_X64="0")
    assert (done.stdout, done.stderr) == ("float64 True\n", "")


KINDS = """
import jax, numpy as np

def kinds(x):
    several = [(int, np.ndarray), (int, (np.ndarray,)), np.ndarray | int, (np.ndarray, jax.Array), np.ndarray | jax.Array]
    return [isinstance(x, kind) for kind in [np.ndarray, *several, jax.Array, object]]
"""
ASKING = """
import jax, jax.numpy as jnp, numpy as np, kinds

no_array_of_numpys, none_of_jaxs = [False, False, False, False, True, True, True, True], [True] * 6 + [False, True]
kept = []
jax.grad(lambda x: (kept.append(2 * jnp.ones(3)), x)[1])(1.0)
for x in (jnp.ones(3), jnp.asarray(2), kept[0]):
    assert kinds.kinds(x) == no_array_of_numpys, x
    assert not isinstance(x, np.ndarray), x
jax.jit(lambda x: kept.append(kinds.kinds(x)))(1.0)
assert kept[-1] == no_array_of_numpys
assert kinds.kinds(np.ones(3)) == none_of_jaxs
assert [isinstance(np.ones(3), np.ndarray), isinstance(2, int)] == [True, True]
assert kinds.__spec__.loader is kinds.__loader__
assert kinds.__loader__.get_source("kinds").startswith(chr(10) + "import jax")
"""


@pytest.mark.parametrize("how", ["file", "module", "code", "pytest"])
def test_arrays_are_none_of_numpys(how, tmp_path, server):
    (tmp_path / "kinds.py").write_text(KINDS)
    (tmp_path / "test_asking.py").write_text(ASKING)
    by = ("-m", "fungrad.compat.jax")
    command = {
        "file": (*by, "test_asking.py"),
        "module": (*by, "-m", "test_asking"),
        "code": (*by, "-c", ASKING),
        "pytest": (*PYTEST, "test_asking.py"),
    }[how]
    done = server.run(*command, cwd=tmp_path, path=(ROOT, tmp_path), **BITS_32, **NO_PLUGINS)
    no_tests = 5
    assert done.returncode == (no_tests if how == "pytest" else 0), done.stdout + done.stderr


SPAWNING = """
import multiprocessing as mp
import jax, jax.numpy as jnp

def slope(x):
    return jax.jit(jax.grad(lambda x: jnp.sum(x**2)))(x)

if __name__ == "__main__":
    for how in ("spawn", "forkserver"):
        with mp.get_context(how).Pool(1) as pool:
            print(pool.map(slope, [jnp.arange(2.0)]))
"""


def test_spawned_processes(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(SPAWNING)
    code, text = python("-m", "fungrad.compat.jax", str(file))
    assert (code, text) == (0, "[Array([0., 2.], dtype=float32)]\n" * 2)


POOL = """
import sys
import fungrad.compat.jax, jax, jax.numpy as jnp
from joblib import Parallel, delayed, parallel_config

def slope(x):
    return jax.grad(lambda x: jnp.sum(x**2) * jnp.float32(1))(x)

if __name__ == "__main__":
    for options in {"initializer": fungrad.compat.jax.install}, {}:
        print(*options, file=sys.stderr, flush=True)
        with parallel_config("loky", **options):
            print(Parallel(n_jobs=2)(delayed(slope)(jnp.arange(2.0) + 0.5) for _ in range(1)))
"""


def test_processes_of_other_libraries_call_install_first(tmp_path):
    """Without it they would compute by other rules; that is an error."""
    pytest.importorskip("joblib")
    file = tmp_path / "program.py"
    file.write_text(POOL)
    done = start("-m", "fungrad.compat.jax", str(file), **BITS_32)
    assert (done.returncode, done.stdout) == (1, "[Array([1., 3.], dtype=float32)]\n"), done.stderr
    assert done.stderr.startswith("initializer\n\n")  # no word of the processes that called it
    assert "Have each process call fungrad.compat.jax.install first, as in joblib" in done.stderr


BOTH = """
import warnings
import fungrad.compat.autograd, fungrad.compat.jax
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    fungrad.compat.{}.install()
    fungrad.compat.{}.install()
assert "JAX's conventions hold for both" in str(given[0].message)
import autograd, autograd.numpy as anp, jax, jax.numpy as jnp
print(autograd.grad(lambda x: anp.sum(anp.sin(x) ** 2))(anp.array([0.5, 1.0])).round(14))
print(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(jnp.array([0.5, 1.0])).round(14))
print(autograd.jacobian(lambda x: x**2)(anp.ones(2)).tolist(), jax.jacobian(lambda x: x**2)(jnp.ones(2)).tolist())
print(type(jnp.ones(2)).__name__, type(anp.ones(2)).__name__, jnp.ones(2).dtype)
"""


@pytest.mark.parametrize("order", [("jax", "autograd"), ("autograd", "jax")])
def test_beside_autograd(order, server):
    done = server.run("-c", BOTH.format(*order), JAX_ENABLE_X64="1")
    sines = "[0.84147098 0.90929743]\n"
    assert (done.returncode, done.stdout + done.stderr) == (
        0,
        f"{sines}{sines}{[[2.0, 0.0], [0.0, 2.0]]} {[[2.0, 0.0], [0.0, 2.0]]}\nArray ndarray float64\n",
    )


def test_names_and_signatures(server):
    done = server.run("-m", "tests.compat.jax_walk", "--json", **BITS_32)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    missing = {m: [n for n, why in k["absent"].items() if not why] for m, k in found.items()}
    assert not any(missing.values()), missing
    different = [f"{m}.{name}" for m, k in found.items() for name in k["differs"]]
    assert sorted(different) == sorted(jax_walk.DIFFERENT)
    in_place_of_classes = {name for k in found.values() for name in k["functions"]}
    assert in_place_of_classes == {"finfo", "iinfo"}
    explained = {(f, p) for f, reasons in REFUSED.items() for p in reasons}
    assert jax_walk.refusals(found) == explained
    assert found["jax.numpy"]["absent"].keys() <= {"frompyfunc", "ufunc"}
    written = jax_walk.PAGE.read_text("utf-8")
    assert written == jax_walk.page(written, found), (
        "write it anew: python -m tests.compat.jax_walk"
    )

"""Run the programs of one file, twice each, and write what they return.

    python tests/ecosystem/run.py FILE RESULTS
    python -m fungrad.compat.jax tests/ecosystem/run.py FILE RESULTS

The one is run by JAX, the other by fungrad; those of programs/of_autograd by autograd, or with fungrad.compat.autograd. RESULTS.npz gets the arrays, RESULTS.json for each program the
seconds of the first call and of the second, or the error.
"""

import importlib.util
import inspect
import json
import sys
import time
import traceback
from pathlib import Path

OF_AUTOGRAD = Path(sys.argv[1]).parent.name == "of_autograd"
"""Whether the programs are autograd's, and not JAX's."""


def programs(path):
    """Import the file; return its public functions without parameters, in order."""
    spec = importlib.util.spec_from_file_location(f"programs_of_{path.stem}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        name: f
        for name, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == spec.name and not name.startswith("_")
        and not inspect.signature(f).parameters
    }  # fmt: skip


def arrays(result, path=""):
    """Return the numbers of a pytree as NumPy arrays by their path; without JAX, of lists, tuples and dicts."""
    import numpy as np

    if OF_AUTOGRAD:
        if not isinstance(result, (list, tuple, dict)):
            return {path: np.asarray(result)}
        parts = result.items() if isinstance(result, dict) else enumerate(result)
        return {k: x for i, part in parts for k, x in arrays(part, f"{path}[{i!r}]").items()}
    import jax

    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(result):
        if jax.dtypes.issubdtype(getattr(leaf, "dtype", np.float32), jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        found[jax.tree_util.keystr(path)] = np.asarray(leaf)
    return found


def measured(program):
    begin = time.perf_counter()
    result = program()
    if not OF_AUTOGRAD:
        import jax

        jax.block_until_ready(result)
    return result, time.perf_counter() - begin


def main(file, results):
    import numpy as np

    begin = time.perf_counter()
    functions = programs(Path(file))
    report = {"": {"seconds": [time.perf_counter() - begin]}}  # what it takes to import
    found = {}
    for name, program in functions.items():
        try:
            result, cold = measured(program)
            again, warm = measured(program)
            values = arrays(result)
            for path, value in arrays(again).items():  # sums may be in another order
                rtol = 1e-4 if value.dtype in (np.float32, np.complex64) else 1e-5
                close = value.dtype.kind in "fc" and np.allclose(
                    value, values[path], rtol, 1e-7, True
                )
                if not close and not np.array_equal(value, values[path]):
                    raise AssertionError(f"the second call gives another {path}")
            found |= {f"{name}:{path}": value for path, value in values.items()}
            report[name] = {"seconds": [cold, warm]}
        except Exception as error:
            report[name] = {
                "error": f"{type(error).__name__}: {error}"[:2000],
                "traceback": traceback.format_exc(),
            }
    np.savez(f"{results}.npz", **found)
    Path(f"{results}.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Run all cells with whatever `jax` is here, and write what they give to a file."""

import importlib
import pickle
import sys
import traceback
import warnings

import jax
import numpy as np

from tests.peers.jax_cells import recording


def plain(x):
    """Return a result with arrays as NumPy's, and what is a list or dict as such."""
    if isinstance(x, (jax.Array, np.ndarray, np.generic)):
        return np.asarray(x)
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)) or hasattr(x, "_fields"):
        return [plain(v) for v in x]
    return x


def run(module):
    """Return the results of the cells of a module, or their errors."""
    found = {}
    for name, cell in vars(module).items():
        if callable(cell) and getattr(cell, "__module__", None) == module.__name__:
            try:
                found[name] = plain(cell())
            except Exception:
                found[name] = traceback.format_exc()
    return found


PARTS = ("arguments", "arrays", "transforms", "libraries", "weakness")

if __name__ == "__main__" and sys.argv[1] == "--record":
    recording.record(sys.argv[2])
elif __name__ == "__main__":
    warnings.simplefilter("ignore")
    results = {}
    for part in sys.argv[2:] or PARTS:
        module = importlib.import_module(f"tests.peers.jax_cells.{part}")
        results.update({f"{part}.{name}": x for name, x in run(module).items()})
    with open(sys.argv[1], "wb") as file:
        pickle.dump(results, file)

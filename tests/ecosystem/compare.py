"""Run the programs of a library by JAX and by fungrad, each in a process of its own, and compare what they return."""

import dataclasses
import json
import os
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
LIBRARIES = {
    "optax": "optax", "chex": "chex", "equinox": "equinox", "lineax": "lineax", "optimistix": "optimistix",
    "diffrax": "diffrax", "jaxopt": "jaxopt", "flax_linen": "flax", "flax_nnx": "flax", "haiku": "dm-haiku",
    "numpyro": "numpyro", "blackjax": "blackjax", "tinygp": "tinygp", "jraph": "jraph", "distrax": "distrax",
    "jaxtyping": "jaxtyping",
}  # fmt: skip
"""The files in programs/ and what has to be installed for them."""

OF_AUTOGRAD = {
    name: name.replace("_", "-")
    for name in ("autograd_gamma", "autoptim", "lifelines", "pymanopt", "pymoo")
}
"""Those in programs/of_autograd."""

GAPS: dict[int, dict[str, str]] = {
    64: {},
    32: {
        "blackjax.window_adaptation": "hundreds of steps, each adapted to those before; unoptimized JAX differs by 1.5",
        "numpyro.nuts_on_eight_schools": "likewise; unoptimized JAX has trees of other depths, too",
    },
}
"""The programs that do not give what they give by JAX in numbers of so many bits, and why."""

BY = {
    "jax": [],
    "fungrad": ["-m", "fungrad.compat.jax"],
    "autograd": [],
    "fungrad_for_autograd": ["-m", "fungrad.compat.autograd"],
}


def is_installed(name):
    try:
        metadata.version((LIBRARIES | OF_AUTOGRAD)[name])
    except metadata.PackageNotFoundError:
        return False
    return util.find_spec("jax" if name in LIBRARIES else "autograd") is not None


@dataclasses.dataclass
class Outcome:
    """What one side made of the programs: a report by program, and arrays by program and path."""

    report: dict
    arrays: dict

    def of(self, program):
        return {name: x for name, x in self.arrays.items() if name.startswith(program + ":")}


def outcome(path, by, folder, bits=64):
    """Run the programs of a file; `by` is one of `BY`."""
    results = Path(folder) / f"{path.stem}.{by}{bits}"
    command = [
        sys.executable,
        "-W",
        "ignore",
        *BY[by],
        str(HERE / "run.py"),
        str(path),
        str(results),
    ]
    environment = os.environ | {
        "JAX_ENABLE_X64": str(int(bits == 64)), "JAX_PLATFORMS": "cpu", "FUNGRAD_COMPILE": "background",
        "PYTHONPATH": os.pathsep.join([str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-3000:]}")
    return read(path, by, folder, bits)


def read(path, by, folder, bits=64):
    """Return what `outcome` has left in a folder; None if there is nothing."""
    results = Path(folder) / f"{path.stem}.{by}{bits}"
    report = Path(f"{results}.json")
    if not report.exists():
        return None
    with np.load(f"{results}.npz") as arrays:
        return Outcome(json.loads(report.read_text()), dict(arrays))


def difference(found, expected):
    """Return how far two arrays are apart, relative to the larger of 1 and the largest number; inf of unlike ones."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return np.inf
    if found.dtype.kind not in "fc":
        return 0.0 if np.array_equal(found, expected) else np.inf
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return np.inf
    found, expected = found[finite], expected[finite]
    if not expected.size:
        return 0.0
    return float(np.max(np.abs(found - expected)) / max(1.0, np.max(np.abs(expected))))


TOLERANCES: dict[int, dict[str, float]] = {
    64: {
        # Tuned by hundreds of steps, of which each continues with the rounding of those before: 9e-9 by unoptimized JAX.
        "blackjax.window_adaptation": 1e-7,
        "numpyro.nuts_on_eight_schools": 1e-3,  # likewise: 4e-4
        # Ends where steps are 1e-9 long; 2e-9 by unoptimized JAX.
        "jaxopt.projected_gradient": 1e-7,
        # Conjugate gradients to 1e-8 and a simplex to 1e-6, in a valley: they end elsewhere in it, by unoptimized JAX at the same distance.
        "optimistix.minima": 1e-5,
        # A rate is computed of a count of 32 bits in single precision, of which an ulp is 6e-8: 2e-8 and 3e-9 by unoptimized JAX.
        "optax.chain_with_schedule": 1e-7,
        "optax.wrappers": 1e-7,
    },
    32: {
        "numpyro.nuts_on_logistic_regression": 1e-3,  # as in double precision
        "optimistix.minima": 1e-3,
    },
}
"""Of programs in which rounding makes a greater difference, and why; JAX is unoptimized with XLA_FLAGS=--xla_backend_optimization_level=0."""


def tolerance(library, program, jax, bits=64):
    """Return the difference that rounding may make: that of single precision if any result has that."""
    single = any(x.dtype in (np.float32, np.complex64) for x in jax.of(program).values())
    return TOLERANCES[bits].get(f"{library}.{program}", 1e-4 if single else 1e-9)


def differences(fungrad, jax):
    """Return for each program that JAX runs the largest difference, or the error of the one that does not run here."""
    found = {}
    for program, row in jax.report.items():
        if "error" in row or not program:
            continue
        if "error" in fungrad.report[program]:
            found[program] = fungrad.report[program]["error"]
            continue
        mine, theirs = fungrad.of(program), jax.of(program)
        if mine.keys() != theirs.keys():
            found[program] = f"other results: {sorted(mine.keys() ^ theirs.keys())[:5]}"
        else:
            found[program] = max([difference(mine[k], theirs[k]) for k in theirs], default=0.0)
    return found

"""JAX's results of the cells, as they are recorded for a version of JAX: it compiles them for two minutes.

``python -m tests.peers.jax_cells --record FILE`` records what an earlier run has written to FILE.
"""

import hashlib
import json
import pickle
from importlib import metadata
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RECORD = HERE / "results.json"


def source():
    """Return what results depend on: the version of JAX, and the text of the cells."""
    files = sorted({*HERE.glob("*.py")} - {Path(__file__)})
    text = b"".join(path.read_bytes() for path in files)
    return {"jax": metadata.version("jax"), "cells": hashlib.sha256(text).hexdigest()}


def as_json(x):
    """Return results as JSON holds them, arrays by dtype, shape and numbers."""
    if isinstance(x, np.ndarray):
        flat = x.ravel()
        parts = [flat.real.tolist(), flat.imag.tolist()] if x.dtype.kind == "c" else [flat.tolist()]
        return {"dtype": x.dtype.name, "shape": x.shape, "parts": parts}
    if isinstance(x, dict):
        assert "dtype" not in x  # which tells arrays
        return {k: as_json(v) for k, v in x.items()}
    return [as_json(y) for y in x] if isinstance(x, list) else x


def from_json(x):
    """Return results of what `as_json` returned."""
    if isinstance(x, dict) and "dtype" in x:
        real, *imaginary = [np.array(part) for part in x["parts"]]
        values = real + 1j * imaginary[0] if imaginary else real
        return values.astype(x["dtype"]).reshape(x["shape"])
    if isinstance(x, dict):
        return {k: from_json(v) for k, v in x.items()}
    return [from_json(y) for y in x] if isinstance(x, list) else x


def record(results):
    """Write the results of this JAX."""
    found = pickle.loads(Path(results).read_bytes())
    lines = [f"{json.dumps(k)}: {json.dumps(as_json(x))}" for k, x in found.items()]
    text = '{"of": %s, "results": {\n%s\n}}\n' % (json.dumps(source()), ",\n".join(lines))  # noqa: UP031
    RECORD.write_text(text, "utf-8")


def recorded():
    """Return the results that are recorded for this JAX and these cells; None if there are none."""
    kept = json.loads(RECORD.read_text("utf-8"))
    return from_json(kept["results"]) if kept["of"] == source() else None

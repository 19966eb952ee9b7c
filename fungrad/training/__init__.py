"""Around a training loop: minibatches, files of its state, bars of its progress.

>>> import tempfile
>>> import numpy as np
>>> from fungrad import random, training
>>> data = {"x": np.arange(6.0), "y": np.arange(6) % 2}
>>> with tempfile.TemporaryDirectory() as folder:
...     batches = training.minibatches(data, 2, key=random.key(0), epochs=10)
...     for step, batch in enumerate(batches, 1):
...         if step % 10 == 0:
...             training.save(f"{folder}/run.ckpt", (step, batches.position))
...     step, position = training.load(f"{folder}/run.ckpt")
>>> step, position["epoch"]
(30, 10)
"""

import importlib as _importlib
from typing import Any as _Any

_NAMES = {
    "bars": "progress",
    "batches": "Minibatches minibatches",
    "checkpoint": "load save",
    "errors": "CheckpointError",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME]
__dir__ = __all__.copy


def __getattr__(name: str) -> _Any:
    from fungrad.extend.packages import unknown_name

    if name not in _HOME:
        raise unknown_name("fungrad.training", name, __all__)
    attribute = getattr(_importlib.import_module(f"fungrad.training.{_HOME[name]}"), name)
    globals()[name] = attribute
    return attribute

"""Around a training loop: minibatches, files of its state, bars of its progress.

>>> import numpy as np
>>> from fungrad import training
>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     training.save(f"{folder}/run.ckpt", {"step": 3, "w": np.ones(2)})
...     print(training.load(f"{folder}/run.ckpt"))
{'step': 3, 'w': array([1., 1.])}
"""

import importlib as _importlib
from typing import Any as _Any

_NAMES = {
    "checkpoint": "load save",
    "errors": "CheckpointError",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> _Any:
    from fungrad.numpy.exclusions import unknown_name

    if name not in _HOME:
        raise unknown_name("fungrad.training", name, __all__)
    found = getattr(_importlib.import_module(f"fungrad.training.{_HOME[name]}"), name)
    globals()[name] = found
    return found

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

from fungrad.extend.packages import import_on_demand as _import_on_demand

_NAMES = {
    "bars": "progress",
    "batches": "Minibatches minibatches",
    "checkpoint": "load save",
    "errors": "CheckpointError",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_import_on_demand(globals(), _NAMES)

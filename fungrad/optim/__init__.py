"""Optimizers and what they are made of, with the names and numbers of optax.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import optim
>>> tx = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(0.1))
>>> params = {"w": np.array([3.0, -4.0])}
>>> state = tx.init(params)
>>> @fg.jit
... def step(params, state):
...     grads = fg.grad(lambda p: (p["w"] ** 2).sum())(params)
...     updates, state = tx.update(grads, state, params)
...     return optim.apply_updates(params, updates), state
>>> for _ in range(100):
...     params, state = step(params, state)
>>> bool(abs(params["w"]).max() < 0.5)
True
"""

from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

from fungrad.optim import tree as tree
from fungrad.optim.accumulation import *
from fungrad.optim.adaptive import *
from fungrad.optim.adaptive_squares import *
from fungrad.optim.base import *
from fungrad.optim.clipping import *
from fungrad.optim.combining import *
from fungrad.optim.conditions import *
from fungrad.optim.factored import *
from fungrad.optim.hyperparams import *
from fungrad.optim.joined_schedules import *
from fungrad.optim.masking import *
from fungrad.optim.optimizers import *
from fungrad.optim.optimizers_squares import *
from fungrad.optim.scaling import *
from fungrad.optim.schedules import *
from fungrad.optim.signs import *

if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__ = [
        name
        for name, value in globals().items()
        if name[0] != "_" and name != "TYPE_CHECKING" and not isinstance(value, _ModuleType)
    ]
    __all__ += ["tree"]

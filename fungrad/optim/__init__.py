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

import importlib as _importlib
import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING
from typing import Any as _Any

from fungrad.optim import perturbations as perturbations
from fungrad.optim import projections as projections
from fungrad.optim import tree as tree
from fungrad.optim.accumulation import *
from fungrad.optim.adaptive import *
from fungrad.optim.adaptive_squares import *
from fungrad.optim.backtracking import *
from fungrad.optim.base import *
from fungrad.optim.clipping import *
from fungrad.optim.combining import *
from fungrad.optim.conditions import *
from fungrad.optim.factored import *
from fungrad.optim.hyperparams import *
from fungrad.optim.joined_schedules import *
from fungrad.optim.line_points import *
from fungrad.optim.masking import *
from fungrad.optim.moments import *
from fungrad.optim.optimizers import *
from fungrad.optim.optimizers_simple import *
from fungrad.optim.optimizers_squares import *
from fungrad.optim.quasi_newton import *
from fungrad.optim.randomness import *
from fungrad.optim.scaling import *
from fungrad.optim.signs import *
from fungrad.optim.single_schedules import *
from fungrad.optim.two_speeds import *
from fungrad.optim.utilities import *
from fungrad.optim.zoom import *

if TYPE_CHECKING:
    from fungrad.nn import losses as losses
    from fungrad.nn.losses import *
else:  # type checkers know all names by the imports
    __all__ = [
        name
        for name, value in globals().items()
        if name[0] != "_" and name != "TYPE_CHECKING" and not isinstance(value, _ModuleType)
    ]
    __all__ += ["perturbations", "projections", "tree"]


def __dir__() -> list[str]:
    losses = _importlib.import_module("fungrad.nn.losses").__all__
    return [*globals()["__all__"], *losses, "losses", "schedules", "transforms"]


def __getattr__(name: str) -> _Any:
    from fungrad.numpy.elsewhere import unknown_name
    from fungrad.optim.exclusions import EXCLUDED

    if name in ("schedules", "transforms"):  # optax has them once more in these modules
        return _sys.modules[__name__]
    losses = _importlib.import_module("fungrad.nn.losses")
    if name == "losses":
        return losses
    if name in losses.__all__:
        return getattr(losses, name)
    raise unknown_name(__name__, name, globals()["__all__"], EXCLUDED)

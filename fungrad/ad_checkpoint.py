"""Memory of the backward pass: values kept or recomputed. The names of `jax.ad_checkpoint`.

>>> import numpy as np
>>> import fungrad.numpy as fnp
>>> from fungrad.ad_checkpoint import checkpoint, checkpoint_name, checkpoint_policies, saved_residuals
>>> def f(w, x):
...     h = checkpoint_name(fnp.tanh(w @ x), "h")
...     return fnp.sum(fnp.sin(w @ h))
>>> w, x = np.eye(3), np.ones(3)
>>> len(saved_residuals(f, w, x)), len(saved_residuals(checkpoint(f), w, x))
(5, 2)
>>> policy = checkpoint_policies.save_only_these_names("h")
>>> [type_ for type_, _ in saved_residuals(checkpoint(f, policy=policy), w, x)]
[float64[3,3], float64[3], float64[3]]
"""

from typing import Any

from fungrad.programs.rules import policies as checkpoint_policies
from fungrad.programs.rules.checkpoint import checkpoint, checkpoint_name, remat
from fungrad.programs.rules.residuals import print_saved_residuals, saved_residuals

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    from fungrad.numpy.elsewhere import unknown_name

    if name in ("Recompute", "Saveable", "Offloadable"):
        raise AttributeError(
            f"fungrad.ad_checkpoint has no {name!r}: a policy returns True where results may be kept, else False"
        )
    raise unknown_name(__name__, name, __all__)

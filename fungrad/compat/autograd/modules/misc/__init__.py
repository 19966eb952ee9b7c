"""``autograd.misc``."""

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.misc.flatten import flatten
from fungrad.compat.autograd.modules.misc.tracers import const_graph
from fungrad.compat.standing_in import attributes

__all__ = ["const_graph", "flatten"]
__getattr__ = attributes("autograd.misc", ABSENT, ["fixed_points", "optimizers", "tracers"])

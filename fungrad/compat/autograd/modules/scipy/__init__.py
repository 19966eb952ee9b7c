"""``autograd.scipy``."""

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import attributes

__getattr__ = attributes(
    "autograd.scipy", ABSENT, ["integrate", "linalg", "misc", "signal", "special", "stats"]
)

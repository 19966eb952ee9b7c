"""``autograd.scipy.stats.gamma``."""

from scipy.stats import gamma as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import gamma as _ours

__getattr__ = names_of("autograd.scipy.stats.gamma", _ours, _theirs, ABSENT)

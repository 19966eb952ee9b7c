"""``autograd.scipy.stats.t``."""

from scipy.stats import t as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import t as _ours

__getattr__ = names_of("autograd.scipy.stats.t", _ours, _theirs, ABSENT)

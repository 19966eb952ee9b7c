"""``autograd.scipy.stats.norm``."""

from scipy.stats import norm as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import norm as _ours

__getattr__ = names_of("autograd.scipy.stats.norm", _ours, _theirs, ABSENT)

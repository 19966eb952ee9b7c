"""``autograd.scipy.stats.poisson``."""

from scipy.stats import poisson as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import poisson as _ours

__getattr__ = names_of("autograd.scipy.stats.poisson", _ours, _theirs, ABSENT)

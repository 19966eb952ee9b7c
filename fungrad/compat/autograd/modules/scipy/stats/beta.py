"""``autograd.scipy.stats.beta``."""

from scipy.stats import beta as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import beta as _ours

__getattr__ = names_of("autograd.scipy.stats.beta", _ours, _theirs, ABSENT)

"""``autograd.scipy.stats.chi2``."""

from scipy.stats import chi2 as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import chi2 as _ours

__getattr__ = names_of("autograd.scipy.stats.chi2", _ours, _theirs, ABSENT)

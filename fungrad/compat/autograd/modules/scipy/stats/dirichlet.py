"""``autograd.scipy.stats.dirichlet``."""

from scipy.stats import dirichlet as _theirs

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.namespaces import names_of
from fungrad.scipy.stats import dirichlet as _ours

__getattr__ = names_of("autograd.scipy.stats.dirichlet", _ours, _theirs, ABSENT)

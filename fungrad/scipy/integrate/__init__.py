"""Integrals and differential equations: `scipy.integrate` for traced arrays."""

from typing import TYPE_CHECKING

import scipy.integrate

from fungrad.scipy.integrate.equations import *
from fungrad.scipy.integrate.quadratures import *
from fungrad.scipy.integrate.samples import *
from fungrad.scipy.names import mirror_of

if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__, __dir__, __getattr__ = mirror_of(scipy.integrate, globals())

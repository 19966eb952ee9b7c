"""Integrals and differential equations: `scipy.integrate` for traced arrays."""

import scipy.integrate

from fungrad.scipy.integrate.equations import *
from fungrad.scipy.integrate.initial_values import *
from fungrad.scipy.integrate.quadratures import *
from fungrad.scipy.integrate.samples import *
from fungrad.scipy.names import mirror_of

__all__, __dir__, __getattr__ = mirror_of(scipy.integrate, globals())

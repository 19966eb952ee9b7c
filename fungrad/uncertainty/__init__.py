"""Propagation of uncertainty through functions, and uncertainty of estimated parameters."""

from fungrad.uncertainty.laplace import laplace as laplace
from fungrad.uncertainty.propagation import propagate as propagate

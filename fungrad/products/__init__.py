"""Products with matrices of derivatives that are never formed."""

from fungrad.products.curvature import fvp as fvp
from fungrad.products.curvature import gnvp as gnvp
from fungrad.products.operators import linear_operator as linear_operator

"""The table of elementwise primitives, with the derivative of each.

Operands have equal shapes and the dtypes of one of the ufunc's loops; `fungrad.numpy` broadcasts
and promotes before it comes here. A derivative is stated once, per operand, as the tangent it
contributes. In ``lambda t, out, x`` all that does not depend on the tangent `t` is multiplied
first: linearization computes that once.

The table is in three parts: `arithmetic`, with conversions; `order`, with signs and maxima; and the `elementary`
functions. All their names are here.
"""

from typing import TYPE_CHECKING

from fungrad.primitives.elementwise import arithmetic, elementary, order
from fungrad.primitives.elementwise.arithmetic import *
from fungrad.primitives.elementwise.elementary import *
from fungrad.primitives.elementwise.order import *

if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__ = [*arithmetic.__all__, *order.__all__, *elementary.__all__]

"""`jax.errors`: the errors of fungrad under the names of JAX's that they are raised in place of."""

from fungrad.compat.jax.callbacks import JaxRuntimeError as JaxRuntimeError
from fungrad.core.errors import ConcretizationError as ConcretizationTypeError
from fungrad.core.errors import ExprError as JaxprTypeError
from fungrad.core.errors import LeakedTracerError as UnexpectedTracerError
from fungrad.core.errors import LostDerivativeError as TracerArrayConversionError
from fungrad.random.reuse import KeyReuseError

TracerBoolConversionError = TracerIntegerConversionError = ConcretizationTypeError
NonConcreteBooleanIndexError = ConcretizationTypeError
JAXTypeError, JAXIndexError = TypeError, IndexError


class InconclusiveDimensionOperation(Exception):
    """Never raised: shapes are known."""


__all__ = [
    "ConcretizationTypeError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]

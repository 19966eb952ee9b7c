"""`jax.numpy.fft`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.frequencies import fftfreq, rfftfreq

__all__ = ["fftfreq", "rfftfreq"]
__getattr__ = _namespace("jax.numpy.fft", globals(), ["fungrad.numpy.fft"])

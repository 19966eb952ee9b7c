"""`jax.numpy.fft`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.numpy.fft", globals(), ["fungrad.numpy.fft"])

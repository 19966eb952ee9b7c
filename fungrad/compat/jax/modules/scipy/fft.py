"""`jax.scipy.fft`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.scipy.fft", globals(), ["fungrad.scipy.fft"], "", "")

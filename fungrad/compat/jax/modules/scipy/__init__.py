"""`jax.scipy`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace(
    "jax.scipy",
    globals(),
    ["fungrad.scipy"],
    "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats",
    "",
)

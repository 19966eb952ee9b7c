"""`jax.test_util`."""

from fungrad.compat.jax.adapting import namespace as _namespace

__getattr__ = _namespace("jax.test_util", globals(), ["fungrad.test_util.gradients"], "", "*")

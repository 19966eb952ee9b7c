"""What JAX keeps in `jax.experimental`."""

from fungrad.callback import io_callback as io_callback
from fungrad.experimental import checkify as checkify
from fungrad.experimental import jet as jet

"""Unchanged programs for other libraries: JAX's, autograd's, and NumPy's that convert traced arrays.

Each module here is used only where it is asked for; nothing else of fungrad knows of them.

`fungrad.compat.jax`
    ``python -m fungrad.compat.jax program.py``: what is imported as `jax` is fungrad.
`fungrad.compat.autograd`
    Likewise for `autograd`.
`fungrad.compat.numpy`
    NumPy's functions that create and convert arrays take what is traced.
"""

__all__ = ["autograd", "jax", "numpy"]
__dir__ = __all__.copy

"""`jax.experimental.sparse`: names for isinstance alone; no such array can be made."""

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace


class JAXSparse:
    """The base of sparse arrays."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "fungrad, in the place of jax, has no sparse arrays of JAX's; those of traced values are in fungrad.scipy.sparse"
        )


class BCOO(JAXSparse):
    """An array by coordinates."""


class BCSR(JAXSparse):
    """An array by rows."""


__getattr__ = _namespace("jax.experimental.sparse", globals(), [])

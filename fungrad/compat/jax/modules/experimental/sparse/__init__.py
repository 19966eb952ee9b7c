"""`jax.experimental.sparse`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.sparse import BCOO as BCOO
from fungrad.compat.jax.sparse import BCSR as BCSR
from fungrad.compat.jax.sparse import JAXSparse as JAXSparse
from fungrad.compat.jax.sparse import bcoo_fromdense as bcoo_fromdense
from fungrad.compat.jax.sparse import bcoo_reduce_sum as bcoo_reduce_sum
from fungrad.compat.jax.sparse import bcoo_todense as bcoo_todense
from fungrad.compat.jax.sparse import bcsr_fromdense as bcsr_fromdense
from fungrad.compat.jax.sparse import bcsr_todense as bcsr_todense
from fungrad.compat.jax.sparse import sparsify as sparsify
from fungrad.compat.jax.sparse import todense as todense

__getattr__ = _namespace("jax.experimental.sparse", globals(), [], "linalg")

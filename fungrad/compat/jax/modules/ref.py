"""`jax.ref`."""

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.refs import AbstractRef as AbstractRef
from fungrad.compat.jax.refs import Ref as Ref
from fungrad.compat.jax.refs import TransformedRef as TransformedRef
from fungrad.compat.jax.refs import addupdate as addupdate
from fungrad.compat.jax.refs import empty_ref as empty_ref
from fungrad.compat.jax.refs import free_ref as free_ref
from fungrad.compat.jax.refs import freeze as freeze
from fungrad.compat.jax.refs import get as get
from fungrad.compat.jax.refs import new_ref as new_ref
from fungrad.compat.jax.refs import set as set
from fungrad.compat.jax.refs import swap as swap

__getattr__ = _namespace("jax.ref", globals(), [])

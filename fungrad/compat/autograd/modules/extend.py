"""``autograd.extend``: functions and types of one's own."""

from __future__ import annotations

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.core import (
    JVPNode,
    SparseObject,
    VJPNode,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    vspace,
)
from fungrad.compat.autograd.modules.tracer import (
    Box,
    notrace_primitive,
    primitive,
    register_notrace,
)
from fungrad.compat.standing_in import attributes

__all__ = [
    "Box", "JVPNode", "SparseObject", "VJPNode", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp",
    "defvjp_argnum", "defvjp_argnums", "notrace_primitive", "primitive", "register_notrace", "vspace",
]  # fmt: skip

__getattr__ = attributes("autograd.extend", ABSENT)

"""The names of autograd that are not there, with reasons; and those that are and do nothing."""

from __future__ import annotations

_RULES = "derivatives of NumPy's functions are fungrad's; a function of your own gets its by primitive and defvjp"
_GRAPH = "fungrad records programs and no graph of nodes: fungrad.make_expr(f)(x) has the program"
_BOXES = (
    "fungrad has one class of boxes, for arrays; containers are Python's own, with boxes in them"
)

ABSENT: dict[str, str] = {
    "autograd.numpy.numpy_jvps": _RULES,
    "autograd.numpy.numpy_vjps": _RULES,
    "autograd.misc.tracers": _GRAPH,
    "autograd.tracer": _GRAPH,
    "autograd.core": _GRAPH,
    "autograd.builtins": _BOXES,
}
"""Reasons, for all that is missing below a name too."""

"""The names of autograd that are not there, with reasons; and those that are and do nothing."""

from __future__ import annotations

_RULES = "derivatives of NumPy's and SciPy's functions are fungrad's; those of your own get theirs by primitive and defvjp"
_GRAPH = "fungrad records programs and no graph of nodes: fungrad.make_expr(f)(x) has the program"
_BOXES = (
    "fungrad has one class of boxes, for arrays; containers are Python's own, with boxes in them"
)

_LIKE_NUMPYS = "functions of these names are fungrad's, and wrapping them is not needed"

ABSENT: dict[str, str] = {
    **dict.fromkeys(
        [
            "autograd.misc.fixed_points", "autograd.numpy.fft", "autograd.numpy.linalg", "autograd.numpy.numpy_jvps",
            "autograd.numpy.numpy_vjps", "autograd.scipy.integrate", "autograd.scipy.linalg", "autograd.scipy.signal",
            "autograd.scipy.special", "autograd.scipy.stats",
        ],
        _RULES,
    ),
    **dict.fromkeys(["autograd.core", "autograd.misc.tracers", "autograd.tracer"], _GRAPH),
    **dict.fromkeys(["autograd.builtins", "autograd.numpy.numpy_boxes"], _BOXES),
    **dict.fromkeys(["autograd.numpy", "autograd.numpy.numpy_wrapper"], _LIKE_NUMPYS),
}  # fmt: skip
"""Reasons, for all that is missing below a name too."""

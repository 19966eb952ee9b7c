"""Advice where SciPy asks a tracer for a number, and SciPy's reaction to a refusal."""

from __future__ import annotations

import itertools
import sys
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

from fungrad.core.cached import public_names
from fungrad.core.frames import at_store, is_internal, outwards, package_of

_OTHERS = {
    "scipy.optimize.fsolve": "optimize.root",
    "scipy.optimize.leastsq": "optimize.least_squares",
    "scipy.optimize.approx_fprime": "fungrad.grad",
    "scipy.integrate.dblquad": "integrate.quad",
    "scipy.integrate.tplquad": "integrate.quad",
    "scipy.integrate.nquad": "integrate.quad",
    "scipy.integrate.ode": "integrate.solve_ivp",
    "scipy.interpolate.interp1d": "interpolate.make_interp_spline",
}
"""Functions of SciPy, and those of fungrad that do the same under another name."""


def instead_of_scipy() -> str:
    """Return the advice for a SciPy function, called by the user, that converts a tracer; or ""."""
    entry = None
    for frame in outwards():
        package = package_of(frame)
        if package == "scipy":
            within = str(frame.f_globals.get("__name__")).startswith("scipy._")  # decorators
            entry = entry if within else frame
        elif package != "numpy" and not (entry is None and is_internal(frame)):
            break
    if entry is None:
        return ""
    name = _public_name(entry)
    method = entry.f_code.co_name
    if name.startswith("scipy.sparse.") and method in _WRITE:
        return f"It is {name}.{method} that asks for it: write {_WRITE[method]}, which is the same product."
    if name.startswith("scipy.spatial.") and name.endswith("KDTree"):
        made = method == "__init__"
        write = (
            "KDTree(fungrad.stop_gradient(x))"
            if made
            else "tree.query(fungrad.stop_gradient(x))[1]"
        )
        return (
            f"It is {name}.{method} that asks for it. Neighbours do not change with small steps: take their positions as constants, "
            f"{write}, and compute with the distances to these points."
        )
    ours = _OTHERS.get(name, name if _is_ours(name) else "")
    if not ours:
        return (
            f"It is {name} that asks for it, which fungrad does not differentiate: a function that calls it can be given a "
            "derivative with fungrad.custom_jvp and fungrad.pure_callback."
        )
    ours = ours if ours.startswith("fungrad.") else f"fungrad.scipy.{ours.removeprefix('scipy.')}"
    takes_functions = name.startswith(("scipy.optimize.", "scipy.integrate."))
    where = "; what its function depends on goes into `args`" if takes_functions else ""
    return f"It is {name} that asks for it: call {ours} in its place{where}."


_ASKING = {"_matmul_dispatch", "_divide", "multiply", "_multiply_2d_with_broadcasting"}

_WRITE = {"dot": "A @ x", "multiply": "scipy.sparse.csr_array(A) * x"}
"""Code for methods that are not operators, and cannot leave the product to the other operand."""


def asked_by_sparse_matrix() -> bool:
    """Whether a sparse matrix of SciPy's asks for the nature of its other operand.

    It takes an array of one object for something that is not for it to compute with, and leaves the operator to the operand.
    """
    asking = None
    for frame in outwards():
        if package_of(frame) == "numpy" or (asking is None and is_internal(frame)):
            continue
        if not str(frame.f_globals.get("__name__")).startswith("scipy.sparse."):
            break
        if asking is None and frame.f_code.co_name not in _ASKING:
            return False
        asking = frame.f_code.co_name
    return asking not in (None, "multiply")  # whose result a call of the user's returns


def as_one_object(x: Any) -> np.ndarray[Any, Any]:
    """Return an array whose only element is an object."""
    array = np.empty((), object)
    array[()] = x
    return array


def loses(frame: FrameType) -> bool:
    """Whether `float` loses a derivative there: in SciPy, but of the errors of `quad_vec`."""
    return package_of(frame) == "scipy" and not frame.f_code.co_name.startswith("_quadrature_")


def _public_name(frame: FrameType) -> str:
    """Return the public name of the SciPy function that runs in a frame."""
    parts = str(frame.f_globals.get("__name__")).split(".")
    module = ".".join(itertools.takewhile(lambda part: part[0] != "_", parts))
    known: dict[str, Any] = vars(sys.modules.get(module, itertools))
    owner, name = frame.f_locals.get("self"), frame.f_code.co_name
    if owner is not None:
        kinds = [cls.__name__ for cls in type(owner).__mro__ if known.get(cls.__name__) is cls]
        named = [f"{key}.{name}" for key, value in known.items() if value is owner]
        name = (named or kinds or [name])[0]
    return f"{module}.{'minimize' if name.startswith('fmin') else name}"


def _is_ours(name: str) -> bool:
    """Whether fungrad has a function of its own in the place of one of SciPy."""
    ours, theirs = public_names.get(), sys.modules.get("scipy")
    for part in name.split("."):
        ours = getattr(ours, part, None)
        theirs = theirs if part == "scipy" else getattr(theirs, part, None)
    return ours is not None and ours is not theirs


class _Last(threading.local):
    """The last refusal of this thread: class of the error, message, and the place that had asked."""

    refused: tuple[type[TypeError], str, CodeType, int] | None = None


_last = _Last()


def note_refusal(kind: type[TypeError], message: str) -> None:
    """Remember that a conversion is refused: compiled code may drop the error and raise one of its own."""
    frame = next((frame for frame in outwards() if not is_internal(frame)), None)
    asked = frame is not None and (package_of(frame) == "scipy" or at_store(frame))
    place = (frame.f_code, frame.f_lasti) if asked and frame is not None else None
    _last.refused = (kind, message, *place) if place else None


def refusal_behind(error: BaseException, same_place: bool = False) -> TypeError | None:
    """Return the refusal after which compiled code raised `error`, made anew; None if there is none.

    It was in the same function, or, with `same_place`, at the same place in it.
    """
    traceback = _innermost(error.__traceback__)
    if traceback is None or _last.refused is None:
        return None
    kind, message, code, offset = _last.refused
    if traceback.tb_frame.f_code is not code or (same_place and traceback.tb_lasti != offset):
        return None
    forget_refusal()
    return kind(message)


def forget_refusal() -> None:
    """Forget the last refusal: it has been reported."""
    _last.refused = None


def raising_frame(traceback: TracebackType | None) -> FrameType | None:
    """Return the frame in which an error was raised."""
    innermost = _innermost(traceback)
    return None if innermost is None else innermost.tb_frame


def _innermost(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback

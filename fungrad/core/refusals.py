"""Advice where a tracer is refused, read off the user's line and the function called there."""

from __future__ import annotations

import itertools
import sys
from types import FrameType
from typing import Any

import numpy as np

from fungrad.core import frames
from fungrad.core.cached import numpy_names, public_names
from fungrad.core.config import settings
from fungrad.core.errors import ConcretizationError, LostDerivativeError, here
from fungrad.core.frames import (
    ARRAYS,
    at_index,
    at_store,
    called_in,
    innermost_frame,
    names_in,
    outwards,
    package_of,
    user_frame,
)
from fungrad.core.reading import why_not_read
from fungrad.core.recorder import Recorder
from fungrad.core.scipys import instead_of_scipy, note_refusal
from fungrad.core.types import ArrayType


def refused(kind: type[TypeError], message: str) -> TypeError:
    """Return the error for a refused conversion. It says why the user's function was not read, if so."""
    frame, _ = user_frame()
    unread = "" if frame is None else why_not_read(frame.f_code)
    message = f"{message} {unread}" if unread else message
    note_refusal(kind, message)
    return kind(message)


def in_library() -> str:
    """Return the advice for errors inside a library that the user has called, or ""."""
    _, inner = user_frame()
    library = "" if inner is None else package_of(inner)
    if not library or library in sys.stdlib_module_names:
        return ""
    return (
        f"It is {library} that does so, which works on arrays and knows nothing of tracers: call it outside of the transformed "
        "function, or hand it the values when they are there, with fungrad.debug.callback(function, x); no derivative "
        "flows through it. A function of it that returns arrays can be given a derivative with fungrad.custom_jvp and "
        "fungrad.pure_callback."
    )


def instead(of_store: bool = False) -> str:
    """Return the advice for a function of SciPy, a library or NumPy that asks for a number, or ""."""
    return (
        instead_of_scipy()
        or in_library()
        or (instead_of_store() if of_store else "")
        or instead_of_numpy()
    )


def instead_of_store() -> str:
    """Return the advice for ``array[i] = x`` with a traced index or integer; "" for other lines."""
    frame = innermost_frame()
    if frame is None or not at_store(frame):
        return ""
    return (
        "Make the array a traced one first, with fungrad.numpy.zeros or a = fungrad.numpy.array(a): it takes traced "
        "indices and elements."
    )


BRANCH = (
    "Write `if` with fungrad.lax.cond, which runs one branch, or fungrad.numpy.where, which computes both; `while` with "
    "fungrad.lax.while_loop; `and`, `or` and `not` with fungrad.numpy.logical_and, logical_or and logical_not. If the condition "
    "depends on an argument that is not an array, name the argument in static_argnums or static_argnames of the transform."
)
TAKE = (
    "To index a NumPy array with a traced one, write fungrad.numpy.array(a)[index] in place of a[index], or "
    "fungrad.numpy.take(a, index, axis=0), or pass the array as an argument of the transformed function; for a "
    "mask, use fungrad.numpy.where."
)
MAPPED = (
    "It differs between batch elements. Write a branch with fungrad.lax.cond or numpy.where and an index "
    "with fungrad.numpy.take, pass None in in_axes for what is the same in all calls, or use a Python loop."
)
COMPARE = (
    "Compare the results outside, or when the values are there: write "
    "fungrad.debug.callback(np.testing.assert_allclose, x, y)."
)
CONVERT = (
    "Keep it an array (fungrad.numpy functions take 0-d arrays), return it and convert outside, or "
    "name the argument in static_argnums or static_argnames of the transform."
)
INDEX = (
    "Shapes and Python indices must be known when the function is traced: name the argument in "
    "static_argnums or static_argnames of the transform; to pick elements, index an array: x[i] works, and "
    "fungrad.lax.dynamic_slice_in_dim(x, i, n) is x[i : i + n] for a length n that is known (for a traced one mask, with "
    "fungrad.numpy.where); for a number of steps, fungrad.lax.fori_loop."
)


def float_index(type_: ArrayType) -> str:
    """Return the message for a non-integer tracer of that type that indexes an array."""
    return (
        f"this one is a tracer of type {type_}. Write x[i.astype(int)]; no derivative flows through an index (between "
        "elements, fungrad.numpy.interp has one)"
    )


def check_no_float_index(type_: ArrayType) -> None:
    """Raise if the user's line is ``array[tracer]`` with a NumPy array and a non-integer tracer."""
    frame = innermost_frame()
    if frame is not None and at_index(frame):
        raise refused(
            LostDerivativeError,
            f"at {here()}\nindices are integers, and {float_index(type_)}. To index a NumPy array with it, write "
            "fungrad.numpy.array(a)[i.astype(int)].",
        )


FLOAT = (
    "Where it has a value, write int(i), through which no derivative flows; elements of an array are picked by x[i.astype(int)], "
    "and those of a list by fungrad.numpy.array(items)[i.astype(int)]."
)


_IN_PLACE = ("fill", "itemset", "partition", "put", "sort")


def instead_of_method(written: str, function: Any) -> str | None:
    """Return the replacement for a method of a NumPy array given a tracer; None for other functions.

    `written` is the name by which the function is called.
    """
    if not isinstance(getattr(function, "__self__", None), np.ndarray):
        return None
    array, _, name = written.rpartition(".")
    if not array or name.startswith("__"):
        return None
    if name in _IN_PLACE or not hasattr(numpy_names.get(), name):
        advice = f"Make the array a traced one first, {array} = fungrad.numpy.array({array})."
    else:
        advice = f"Write fungrad.numpy.{name}({array}, ...), or fungrad.numpy.array({array}).{name}(...)."
    return f"NumPy does not let `{written}`, a method of a NumPy array, take a traced one. {advice}"


def vectorizes() -> bool:
    """Whether NumPy's `vectorize` runs, which the user has called."""
    inner = itertools.takewhile(lambda frame: package_of(frame) in ARRAYS, outwards())
    return any(isinstance(frame.f_locals.get("self"), np.vectorize) for frame in inner)


def instead_of_numpy() -> str:
    """Return the replacement for NumPy's function that the user's line calls, or ""."""
    if vectorizes():
        return (
            "numpy.vectorize runs a function on the numbers of an array, one by one: write fungrad.numpy.vectorize(f)(x), or "
            "fungrad.vmap(f)(x)."
        )
    frame = innermost_frame()
    written, function = ("", None) if frame is None else called_in(frame)
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        ufunc, _, method = written.rpartition(".")
        return (
            f"`{written}` takes no traced `initial`: write {ufunc}({written}(...), initial)."
            if method == "reduce"
            else ""
        )
    module = str(getattr(function, "__module__", None))
    name = getattr(function, "__name__", "")
    if isinstance(function, type) and issubclass(function, np.generic):
        return f"`{written}` makes a number: write x.astype({written}) for an array of that dtype."
    if isinstance(function, type) or module.partition(".")[0] != "numpy":
        return instead_of_method(written, function) or ""
    ours: Any = public_names.get()
    for part in (*module.split("."), name):
        ours = getattr(ours, part, None)
    if ours is None or ours is function:
        return ""
    return f"NumPy does not hand what `{written}` is given here on to fungrad. Write fungrad.{module}.{name}(...)."


def check_not_shuffled(type_: ArrayType) -> None:
    """Raise if NumPy's `shuffle` exchanges rows.

    It does not know that these are views, and would double some.
    """
    frame = innermost_frame()
    if frame is not None and not at_store(frame) and "shuffle" in names_in(frame):
        raise LostDerivativeError(
            f"at {here()}\n`shuffle` cannot exchange the rows of a tracer of type {type_}: write "
            "x = x[rng.permutation(len(x))]; under jit and vmap pass the permutation as an argument."
        )


def check_no_method(type_: ArrayType) -> None:
    """Raise if a method of an array or of a random number generator is given a tracer of that type."""
    from fungrad.core.draws import instead_of_draw  # only errors need it

    frame = innermost_frame()
    called = ("", None) if frame is None else called_in(frame)
    instead = instead_of_draw(*called) or instead_of_method(*called)
    if instead is not None:
        raise LostDerivativeError(f"at {here()}\n{instead}")


def check_no_empty_mask(type_: ArrayType) -> None:
    """Raise if an empty mask of that type indexes a NumPy array: it would be taken for integers."""
    frame = innermost_frame()
    if frame is not None and at_index(frame):
        raise ConcretizationError(
            f"at {here()}\nan array of NumPy is indexed by a traced mask of type {type_}. NumPy takes what is no array of "
            "its own and has no elements for integers: write fungrad.at(array)[mask].get()."
        )


def check_not_assigned(type_: ArrayType, owner: Recorder) -> None:
    """Raise if the user's line is ``array[i] = tracer``, which NumPy does not let one intercept.

    NumPy may raise an error of its own instead, which the user's code may catch: the trace raises this one at its end.
    """
    frame = innermost_frame()
    if frame is not None and at_store(frame):
        advice = (
            "Make the array with fungrad.numpy.zeros inside of the transformed function, or copy it there with "
            "fungrad.numpy.array(a): such an array takes traced elements. To store the bare number, write float(fungrad.stop_gradient(x))."
        )
        error = refused(
            LostDerivativeError,
            f"at {here()}\nelements of a NumPy array are set to a tracer of type {type_}: the "
            f"derivative would be lost. {in_library() or advice}",
        )
        if owner.facts.failed is None:
            owner.facts.failed = error
        raise error


def no_array(type_: ArrayType, owner: Recorder) -> TypeError:
    """Return the error for a tracer that NumPy is to make an array of."""
    check_not_assigned(type_, owner)
    check_no_method(type_)
    check_no_float_index(type_)
    advice = (
        "Use the function of the same name in fungrad.numpy (fnp.array or fnp.stack for lists that hold tracers) "
        "or, for one of SciPy, in fungrad.scipy; if a constant is what you want, x.tolist() gives the values."
    )
    return refused(
        LostDerivativeError,
        f"at {here()}\na tracer of type {type_} cannot become a NumPy array: what is computed "
        f"from the array would be lost to the transform. {instead() or advice}",
    )


def no_number(type_: ArrayType, owner: Recorder, name: str, by: str) -> TypeError:
    """Return the error for a tracer that a compiled function, `by`, makes a Python number of."""
    check_not_assigned(type_, owner)
    check_no_method(type_)
    advice = (
        "Use the function of fungrad.numpy or fungrad.scipy that does the same (fnp.sqrt instead of math.sqrt). If the "
        f"number is to count as a constant, with a derivative of 0, convert it yourself: {name}(x)."
    )
    advice = instead() or advice
    return refused(
        LostDerivativeError,
        f"at {here()}\n{by or 'a function outside of fungrad'} converts a tracer of type {type_} to a Python number: "
        f"its derivative would be lost. {advice}",
    )


PICKLE = (
    "cannot be pickled, nor sent to another process: it stands for an array "
    "while a function is traced. Return it, and pickle the array that comes out; or hand the values on while the function "
    "runs, with fungrad.debug.callback(function, x)."
)
KEY = (
    "can be no key of a dictionary, no "
    "element of a set and no argument of a function with functools.lru_cache: what stands for all values "
    "equals none. Use what is known when the function is traced as the key (a name, an index, x.shape); in place "
    "of lru_cache, compute the result once and pass it on, or, if a constant is meant, write float(x)."
)


def is_key(frame: FrameType) -> bool:
    """Whether code of the user's looks a key up: no cache of a library would keep it."""
    if not settings.get().reading:
        return False
    while str(frame.f_globals.get("__name__")).startswith("fungrad.reading.") and frame.f_back:
        frame = frame.f_back  # which it stands for
    if frames.package_of(frame) in ("collections", "__main__"):
        return True
    return not frames.is_internal(frame) and not frames.is_installed(frame.f_code.co_filename)


def without_value(what: str, type_: ArrayType, label: str, advice: str) -> TypeError:
    """Return the error for a question of Python's for a value that there is not."""
    return refused(
        ConcretizationError,
        f"at {here()}\n{what} needs the value of an array, and a tracer of type {type_} under `{label}` has none: "
        f"the function is traced once for all values. {instead(of_store=True) or globals()[advice]}",
    )

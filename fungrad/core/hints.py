"""Hints for errors that other libraries raise when given a tracer. Read when one is raised."""

from __future__ import annotations

_TORCH = (
    "PyTorch knows nothing of tracers: write it with functions of fungrad.numpy, with t.detach().numpy() for a tensor t; or "
    "fungrad.pure_callback for the values of a function of PyTorch and fungrad.custom_jvp for its derivative"
)
_HINTS = {
    "returned NotImplemented from __array_ufunc__": "an array class that computes NumPy's functions itself does not take tracers: compute with "
    "its plain values, np.asarray(x), and make an object of the class from the results, outside of the transformed function",
    "unsupported operand...'NoneType'": "the other operand is None: find out where it is made, or leave the operation out where it is None",
    "'SymbolicZero'": "a SymbolicZero stands for a tangent or cotangent of zeros, and has no arithmetic: leave its term out "
    "where isinstance(t, SymbolicZero), or define the rule without symbolic_zeros=True, which gives arrays of zeros",
    "Iterator operand": "numpy.nditer works on the memory of arrays, and a tracer has none: iterate over x.ravel(), over "
    "the indices in numpy.ndindex(x.shape), or write the loop with operations on whole arrays",
    "output must be an array": "where `out` is a traced array, use the function of fungrad.numpy in place of the method of a NumPy "
    "array: fungrad.numpy.cumsum(a, out=x) for a.cumsum(out=x)",
    "expected a sequence of integers": "shapes must be known when a function is traced: take them from x.shape, or name the "
    "argument in static_argnums or static_argnames of jit",
    "Tracer...'Fraction'": "a Fraction is exact, and arrays hold floating-point numbers: write float(q) in place of the Fraction q",
    "Tracer...'decimal.Decimal'": "a Decimal is exact, and arrays hold floating-point numbers: write float(d) in place of the Decimal d",
    "to Decimal is not supported": "a traced array has no digits of a Decimal: compute with the array itself, and make a Decimal "
    "of the result, outside of the transformed function",
    "string or a Rational instance": "if x is a traced array in Fraction(x): compute with the array itself, and make a Fraction of the "
    "result, outside of the transformed function",
    "must be Tensor...Tracer": _TORCH,
    "Tracer...'Tensor'": _TORCH,
    "Tracer": "a Tracer stands for an array while a function is traced. Use the function of fungrad.numpy or "
    "fungrad.scipy that does the same; where only the values matter, x.item() and x.tolist() give them",
}
"""Hints by parts of an error message, with dots between the parts."""

_OF_LIBRARIES = {
    "numba": "numba compiles functions of numbers and arrays, and knows no tracers: call the Python function, f.py_func(x), and let "
    "fungrad.jit compile it; or keep the compiled one, with fungrad.pure_callback for its values and fungrad.custom_jvp for "
    "its derivative",
    "pydantic_core": "pydantic validates values, and a tracer is none: write M.model_construct(...), which validates nothing, or keep "
    "the model outside of the transformed function",
    "torch": _TORCH,
}
"""Hints for errors of a library's own classes that mention a tracer, by the package of the class."""


def hint_for(message: str) -> str | None:
    """Return the hint for an error of another library with a message, or None."""
    found = (
        hint for parts, hint in _HINTS.items() if all(x in message for x in parts.split("..."))
    )
    return next(found, None)


def note_for(error: BaseException) -> str | None:
    """Return the hint for an error of a library's own class that mentions a tracer, or None."""
    note = _OF_LIBRARIES.get(type(error).__module__.partition(".")[0])
    return note if note is not None and "Tracer" in str(error) else None

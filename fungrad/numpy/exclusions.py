"""The names of NumPy's main namespace that `fungrad.numpy` does not have, and why.

What is asked for in vain gets the reason as its error message; a test holds that every name of NumPy is
either here or implemented.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "it reads or writes files or bytes, which a traced function does once and not in every call; use "
    "numpy.{name} outside of transformed functions": (
        "frombuffer fromfile fromregex fromstring genfromtxt load loadtxt memmap save savetxt savez "
        "savez_compressed"
    ),
    "it takes elements from a Python iterator one by one; make the array with numpy.{name} and pass it in": (
        "fromiter"
    ),
    "text has no derivatives; numpy.{name} works on plain arrays": (
        "base_repr binary_repr bytes_ char format_float_positional format_float_scientific rec record str_ "
        "strings"
    ),
    "dates have no derivatives; convert them to numbers, for example with (dates - start) / unit": (
        "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday "
        "isnat timedelta64"
    ),
    "traced arrays hold numbers of one dtype, no Python objects or records": (
        "flexible frompyfunc object_ recarray void character"
    ),
    "traced arrays have no layout in memory": "isfortran may_share_memory require shares_memory",
    "only some platforms have this name; use fungrad.numpy.longdouble or clongdouble": (
        "complex192 complex256 float96 float128"
    ),
    "it walks over elements in Python, one by one, with views into memory; write the loop over "
    "fungrad.numpy.ndindex(x.shape), or better an array operation": "flatiter nditer nested_iters",
    "it broadcasts lazily; use fungrad.numpy.broadcast_arrays or broadcast_shapes": "broadcast",
    "matrices and masked arrays are classes of their own, superseded by arrays; use 2-d arrays and "
    "fungrad.numpy.where": "asmatrix bmat ma matrix",
    "use the functions polyval, polyfit, roots, ... on arrays of coefficients; numpy.{name} holds plain "
    "arrays": "poly1d",
    "its functions and classes take traced arrays as they are; use numpy.{name}": "polynomial",
    "drawing random numbers is an effect that tracing would do once: use fungrad.random, whose numbers follow from a "
    "key, or draw them with numpy.random outside and pass them in": "random",
    "its dtype would depend on values: make the operand complex, as in fungrad.numpy.sqrt(x + 0j)": "emath",
    "it is an old name; use fungrad.numpy.vstack": "row_stack",
    "it sets how NumPy itself works or tells about that; use numpy.{name}": (
        "geterr geterrcall getbufsize seterr seterrcall setbufsize get_include info show_config "
        "show_runtime test __version__"
    ),
    "it is about types alone, which are NumPy's here; use numpy.{name}": (
        "ScalarType little_endian mintypecode sctypeDict typecodes typename ufunc"
    ),
    "it is a part of NumPy that has nothing to do with traced arrays; import it from numpy": (
        "core ctypeslib dtypes exceptions f2py testing typing"
    ),
}
"""The names, separated by blanks, to which each reason applies; {name} in a reason is the name."""

EXCLUDED: dict[str, str] = {
    name: reason.replace("{name}", name)
    for reason, names in REASONS.items()
    for name in names.split()
}
"""For each excluded name, why it is."""

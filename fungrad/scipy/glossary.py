"""Texts that the docstrings of `fungrad.scipy` share and leave out."""

from __future__ import annotations

from fungrad.core.glossary import Glossary

_AS_IN_SCIPY = [
    "**options",
    "absolute_sigma",
    "bounds",
    "bracket",
    "callback",
    "dense_output",
    "disp",
    "events",
    "full_output",
    "kwargs",
    "maxiter",
    "method",
    "options",
    "p0",
    "rtol",
    "sigma",
    "tol",
    "vectorized",
    "x1",
    "xdata",
    "xtol",
    "ydata",
]
_FUNCTION = "The function; it takes `x`, then `args`."

PARAMETERS = {
    **dict.fromkeys(_AS_IN_SCIPY, "As in SciPy."),
    **dict.fromkeys(("f", "fun", "func"), _FUNCTION),
    **dict.fromkeys(("a", "b"), "The ends of the interval."),
    "args": "Further arguments of the function: a tuple, or the only one.",
    "axis": "The axis of `y` along `x`.",
    "check_finite": "Whether to check that plain arrays are finite.",
    "extrapolate": "As for `PPoly`.",
    "x": "Places, in increasing order, of shape (n,); not traced.",
    "x0": "Where to start.",
    "y": "Values, n of them along `axis`.",
}

IMPORTS = {
    "np": "import numpy as np",
    "fg": "import fungrad as fg",
    "fnp": "import fungrad.numpy as fnp",
    "integrate": "from fungrad.scipy import integrate",
    "optimize": "from fungrad.scipy import optimize",
    "linalg": "from fungrad.scipy.sparse import linalg",
}
"""How the modules that examples use are imported."""

_GLOSSARY = Glossary(PARAMETERS, imports=IMPORTS)
documented, public, public_like = _GLOSSARY.documented, _GLOSSARY.public, _GLOSSARY.public_like

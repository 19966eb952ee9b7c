"""Texts that the docstrings of `fungrad.random` share and leave out."""

from __future__ import annotations

from fungrad.core.glossary import F, Glossary
from fungrad.numpy.narrow import boundary_of_results

PARAMETERS = {
    "key": "A key, from `key`, `split` or `fold_in`, or two words as from `PRNGKey`. For an array of keys: `fungrad.vmap`.",
    "keys": "A key or an array of keys.",
    "shape": "The shape of the result.",
    "dtype": "The dtype of the result: float64 by default, or any other of floating-point numbers.",
    "impl": 'The generator: "threefry2x32", which None stands for, "rbg" or "unsafe_rbg".',
    "mode": 'How many bits are used for a number: "low" or "high", which takes twice as long and gives rare events their\n'
    "    probability.",
    "out_sharding": "Accepted for JAX's sake; must be None.",
}
_SHAPE = ("ValueError", "If parameters do not fit into `shape`, or `dtype` is of another kind.")
RAISES = {
    "key": ("TypeError", "If `key` is no key, or an array of several."),
    "shape": _SHAPE,
}

GLOSSARY = Glossary(
    PARAMETERS,
    RAISES,
    {
        "np": "import numpy as np",
        "fg": "import fungrad as fg",
        "fnp": "import fungrad.numpy as fnp",
        "random": "from fungrad import random",
    },
    boundary_of_results,
)
public_like = GLOSSARY.public_like

RETURNS = "\n\nReturns\n-------\narray\n    Of the shape and dtype asked for."
"""Section on results, for functions that lack it."""


def public(function: F) -> F:
    """Return a public function with its documentation completed."""
    return GLOSSARY.boundary(GLOSSARY.documented(function, RETURNS))  # type: ignore[no-any-return]

"""Texts that the docstrings of `fungrad.lax` share and leave out."""

from __future__ import annotations

from fungrad.core.glossary import Glossary
from fungrad.numpy.narrow import boundary

PARAMETERS = {
    "accuracy": "Must be None: NumPy's functions are exact up to rounding.",
    "allow_negative_indices": "Whether negative places count from the end; otherwise they are 0.",
    "axes": "The axes, a sequence of integers.",
    "axis": "The axis; negative ones count from the last.",
    "axis_index_groups": "Accepted for JAX's sake; must be None.",
    "axis_name": "The name of the axis, or a tuple of names.",
    "dimension": "The axis; negative ones count from the last.",
    "dimensions": "The axes, a sequence of integers.",
    "fill_value": "The value, a scalar; it may be traced.",
    "implementation": "Must be None.",
    "index_dtype": "The dtype of the result, one of integers.",
    "indices_are_sorted": "A promise of which no use is made.",
    "keepdims": "Whether the result has the axis, with length 1.",
    "operand": "An array of any shape and dtype.",
    "out_sharding": "Must be None.",
    "precision": "Makes no difference: NumPy computes in the precision of the operands.",
    "preferred_element_type": "The dtype of the result.",
    "reverse": "Whether to begin at the end.",
    "shape": "The shape of the result, a sequence of integers.",
    "sharding": "Must be None.",
    "subset_by_index": "Must be None.",
    "use_magma": "Must be None.",
}

_NO_AXIS = ("ValueError", "If there is no such axis.")
RAISES = {
    "axes": _NO_AXIS,
    "axis": _NO_AXIS,
    "axis_name": ("NameError", "If no axis of that name is open."),
    "dimension": _NO_AXIS,
    "dimensions": _NO_AXIS,
}

IMPORTS = {
    "np": "import numpy as np",
    "fg": "import fungrad as fg",
    "lax": "from fungrad import lax",
    "linalg": "from fungrad.lax import linalg",
}
"""How the modules that examples use are imported."""

_GLOSSARY = Glossary(PARAMETERS, RAISES, IMPORTS, boundary)
public, public_like, completed = _GLOSSARY.public, _GLOSSARY.public_like, _GLOSSARY.completed

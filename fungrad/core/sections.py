"""Sections of docs/errors.md for errors and warnings of other classes. Read when one is raised."""

from __future__ import annotations

import numpy as np

SECTIONS = {
    "operands could not be broadcast together": "shapes",
    "has a mismatch in its core dimension": "shapes",
    "not aligned": "shapes",
    "is not defined for operands of types": "shapes",
    "input array dimensions except for the concatenation axis": "shapes",
    "cannot reshape array": "shapes",
    "is out of bounds for array of dimension": "indices",
    "is out of bounds for axis": "indices",
    "mapped axes must have one length": "vmap",
    "Pass None in in_axes": "vmap",
    "has no axis to map over": "vmap",
    "in_axes has": "vmap",
    "needs a function that returns": "grad",
    "have a derivative. Pass a float": "grad",
    "belongs to a value of type": "tangents",
    "does not have the structure of the first": "pytrees",
    "must have the same structure": "pytrees",
    "is not an array or a number": "arrays",
    "which is not hashable": "arrays",
    "is changed in place. Transformed functions": "place",
    "can be no key of a dictionary": "keys",
    "must keep its structure, shapes and dtypes": "loops",
    "must return the same structure, shapes and dtypes": "loops",
    "has no rule: define it with": "rules",
    "must return a tuple with a cotangent": "rules",
    "has no rule for traced arrays": "functions",
    "gave nan in its result": "FloatingPointError",
    "gave inf in its result": "FloatingPointError",
}
"""A word of the heading of a section, by a part of the messages that it is about."""


def more(topic: str) -> str:
    """Return the line at the end of a message that says how to read about it."""
    return f"\nMore: python -m fungrad explain {topic}"


def point_to_section(error: BaseException) -> None:
    """Let the message of an error, or its last note if the message is computed, point to its section."""
    text = str(error)
    topic = next((topic for part, topic in SECTIONS.items() if part in text), None)
    if isinstance(error, np.linalg.LinAlgError):
        topic = "LinAlgError"
    notes = getattr(error, "__notes__", [])
    if topic is None or any(more(topic) in said for said in (text, *notes)):
        return
    if len(error.args) == 1 and error.args[0] == text:
        error.args = (text + more(topic),)
    elif notes:
        notes[-1] += more(topic)

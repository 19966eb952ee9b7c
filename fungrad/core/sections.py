"""Which section of docs/errors.md is about an error that is none of fungrad's own classes. Read when one is raised."""

from __future__ import annotations

SECTIONS = {
    "operands could not be broadcast together": "shapes",
    "has a mismatch in its core dimension": "shapes",
    "not aligned": "shapes",
    "is not defined for operands of types": "shapes",
    "input array dimensions except for the concatenation axis": "shapes",
    "cannot reshape array": "shapes",
    "is out of bounds for array of dimension": "axes",
    "is out of bounds for axis": "axes",
    "mapped axes must have one length": "vmap",
    "Pass None in in_axes": "vmap",
    "in_axes has": "vmap",
    "needs a function that returns": "grad",
    "have a derivative. Pass a float": "grad",
    "belongs to a value of type": "tangents",
    "does not have the structure of the first": "pytrees",
    "must have the same structure": "pytrees",
    "is not an array or a number": "arguments",
}
"""A word of the heading of a section, by a part of the messages that it is about."""


def more(topic: str) -> str:
    """Return the line at the end of a message that says how to read about it."""
    return f"\nMore: python -m fungrad explain {topic}"


def point_to_section(error: BaseException) -> None:
    """Let the message of an error, or its last note if the message is computed, end with how to read about it."""
    text = str(error)
    topic = next((topic for part, topic in SECTIONS.items() if part in text), None)
    if topic is None or more(topic) in text:
        return
    notes = getattr(error, "__notes__", [])
    if len(error.args) == 1 and error.args[0] == text:
        error.args = (text + more(topic),)
    elif notes and more(topic) not in notes[-1]:
        notes[-1] += more(topic)

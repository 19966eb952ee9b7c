"""Signatures and fields of the user's functions and classes, without evaluating annotations.

Nothing here needs what an annotation means. From Python 3.14 on, annotations are evaluated when somebody asks for them
(PEP 649), so they may name what is imported for type checkers alone, or what is defined further down.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection
from typing import Any

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    def signature(function: Callable[..., Any]) -> inspect.Signature:
        """Return the signature of a function; its annotations are text."""
        return inspect.signature(function, annotation_format=Format.STRING)

    def annotated(cls: type) -> Collection[str]:
        """Return the names that the body of a class annotates."""
        return get_annotations(cls, format=Format.STRING)

    def copy_annotations(made: object, function: object) -> None:
        """Give `made` the annotations of a function; those that cannot be evaluated as they are written.

        `functools.update_wrapper` no longer does, and then those of the class of `made` would be found.
        """
        try:
            hints = get_annotations(function, format=Format.FORWARDREF)
        except Exception:  # of what the user has written there
            hints = get_annotations(function, format=Format.STRING)
        vars(made)["__annotations__"] = hints
else:

    def signature(function: Callable[..., Any]) -> inspect.Signature:
        """Return the signature of a function."""
        return inspect.signature(function)

    def annotated(cls: type) -> Collection[str]:
        """Return the names that the body of a class annotates."""
        return inspect.get_annotations(cls)

    def copy_annotations(made: object, function: object) -> None:
        """Do nothing: `functools.update_wrapper` has done it."""

"""Errors for functions that CuPy lacks."""

from __future__ import annotations


def not_in_cupy(function: str, package: str) -> NotImplementedError:
    """Return the error of a function of SciPy that CuPy lacks, or has for other operands alone."""
    return NotImplementedError(
        f"CuPy has no {package} function {function}. Move the operands to the host (x.get()) and call "
        f"fungrad.scipy.{package}.{function.partition(' ')[0]} there."
    )

"""What is known of the processor that kernels are compiled for."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping

VECTOR_BYTES = 64
"""Bytes of the vectors of the widest dtype at hand. LLVM splits them where registers are narrower."""


@functools.cache
def features() -> Mapping[str, bool]:
    """Return what the processor can do, by LLVM's names; nothing where LLVM is not installed."""
    try:
        import llvmlite.binding as binding
    except ImportError:
        return {}
    return dict(binding.get_host_cpu_features())


def is_x86() -> bool:
    """Whether it is one of Intel's or AMD's, of 64 bits."""
    return platform.machine().lower() in ("x86_64", "amd64")


def has_halves() -> bool:
    """Whether it converts between float16 and float32: else LLVM calls functions that are not here."""
    return not is_x86() or features().get("f16c", False)


def has_wide_registers() -> bool:
    """Whether it has 32 registers of 64 bytes; else they are of half that size or less, or half as many."""
    return features().get("avx512f", False)

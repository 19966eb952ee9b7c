"""The processor that kernels are compiled for."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

VECTOR_BYTES = 64
"""Bytes of the vectors of the widest dtype at hand. LLVM splits them where registers are narrower."""

_NEEDS = {"avx2": {"avx"}, "fma": {"avx"}, "f16c": {"avx"}, "avx512f": {"avx2", "fma", "f16c"}}
"""Features of x86 processors that decide how kernels are written, with their prerequisites, in order.

Source: LLVM's X86.td.
"""


@functools.cache
def features() -> Mapping[str, bool]:
    """Return the features that kernels may use, by LLVM's names; none where LLVM is not installed."""
    try:
        import llvmlite.binding as binding
    except ImportError:
        return {}
    return allowed(binding.get_host_cpu_features(), disabled())


@functools.cache
def disabled() -> Sequence[str]:
    """Return the names in FUNGRAD_DISABLE_CPU_FEATURES, which are separated by spaces or commas."""
    names = os.environ.get("FUNGRAD_DISABLE_CPU_FEATURES", "").lower()
    return tuple(names.replace(",", " ").split())


def allowed(host: Mapping[str, bool], without: Sequence[str]) -> dict[str, bool]:
    """Return the features of a processor, less those named and those that need these.

    Raises
    ------
    ValueError
        If LLVM knows no feature of a name, so that a slip does not leave it switched on.
    """
    found = dict(host)
    for name in without:
        if name not in found:
            raise ValueError(
                f"the environment variable FUNGRAD_DISABLE_CPU_FEATURES has {name!r}, which LLVM does not know for this "
                f"processor; it can have {', '.join(sorted(k for k, has in found.items() if has))}"
            )
        found[name] = False
    for name, needs in _NEEDS.items():
        if not all(found.get(other, True) for other in needs):
            found[name] = False
    return found


def target() -> dict[str, Any]:
    """Return the processor for LLVM: triple, name and features, such as "+fma,-avx512f".

    LLVM reads the features in order and switches off, with each, all that imply it; so those that are disabled come last.
    """
    import llvmlite.binding as binding

    names = [f"{'+' if has else '-'}{name}" for name, has in sorted(features().items())]
    off = [f"-{x}" for x in (*disabled(), *(k for k in _NEEDS if not features().get(k, True)))]
    return {
        "triple": binding.get_default_triple(),
        "cpu": binding.get_host_cpu_name(),
        "features": ",".join([*names, *off]),
    }


def is_x86() -> bool:
    """Whether it is one of Intel's or AMD's, of 64 bits."""
    return platform.machine().lower() in ("x86_64", "amd64")


def has_halves() -> bool:
    """Whether it converts between float16 and float32: else LLVM calls functions that are not here."""
    return not is_x86() or features().get("f16c", False)


def has_wide_registers() -> bool:
    """Whether it has 32 registers of 64 bytes; else they are of half that size or less, or half as many."""
    return features().get("avx512f", False)


@functools.cache
def system() -> Any:
    """Return the system's functions, or an object without them."""
    return ctypes.CDLL(None) if os.name == "posix" else None


def threads() -> int:
    """Return the number of threads of large kernels: FUNGRAD_NUM_THREADS, or one per processor."""
    if not hasattr(system(), "pthread_create"):
        return 1
    if asked := os.environ.get("FUNGRAD_NUM_THREADS"):
        if not asked.isdecimal() or not int(asked):
            raise ValueError(
                f"the environment variable FUNGRAD_NUM_THREADS is {asked!r}; set it to 1, 2, ..., or unset it to use all cores"
            )
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_installed() -> bool:
    """Whether llvmlite can be imported, in any version."""
    try:
        return importlib.util.find_spec("llvmlite") is not None
    except ValueError:  # somebody has barred it
        return False

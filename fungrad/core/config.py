"""Settings: for the process, and others within a `with` block of a thread or task.

Design: docs/design/34-types-settings-conventions.md.
"""

from __future__ import annotations

import dataclasses
import os
from contextlib import AbstractContextManager
from typing import Any

from fungrad.core.cached import cached_property
from fungrad.core.state import chosen, state_variable

check_exprs = state_variable("check_exprs", False)
"""Whether every program is checked after it is built; for tests of rules."""


COMPILATIONS = ("background", "eager", "off")


def _compilation() -> str:
    mode = os.environ.get("FUNGRAD_COMPILE", "").lower() or "background"
    if mode not in COMPILATIONS:
        raise ValueError(
            f"the environment variable FUNGRAD_COMPILE is {mode!r}; it can be background, eager or off"
        )
    return mode


compilation = state_variable("compilation", _compilation())
"""When kernels are compiled: in the background once that pays, before the first run, or never."""


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return ""


STARTED_IN = _folder()
"""The folder of the process at import time, or "". Relative paths in settings begin there."""


def _environment(name: str, default: bool = False) -> bool:
    value = os.environ.get(f"FUNGRAD_{name}", "").lower()
    return value in ("1", "true", "yes", "on") if value else default


CONVENTIONS = {
    "promotion": ("numpy", "jax"),
    "out_of_bounds": ("numpy", "jax"),
    "failures": ("raise", "nan"),
}
"""Settings that choose conventions, with their possible values; the first is the default."""


def check_convention(name: str, value: Any) -> None:
    """Raise ValueError if a setting has an impossible value."""
    if value not in CONVENTIONS[name]:
        choices = " or ".join(map(repr, CONVENTIONS[name]))
        raise ValueError(f"fungrad: the setting {name} is {choices}, not {value!r}")


@dataclasses.dataclass
class Settings:
    """Switches for users."""

    jit_disabled: bool = False
    """Whether jitted functions, and loops and branches given as functions, run as plain Python."""

    nans_checked: bool = False
    infs_checked: bool = False
    divisions_checked: bool = False
    """Whether a NaN, an infinity, a division by zero that a program computes is an error."""

    compiles_logged: bool = False
    misses_explained: bool = False

    conversions_checked: bool = False
    """Whether lines that make constants of traced numbers, or mistake tracers for no arrays, are reported."""

    constants_converted: bool = False
    """Whether traced arrays without derivatives become NumPy's where one is asked for."""

    reading: bool = True
    """Whether transforms read functions, guard values and part mapped calls."""

    dependence_checked: bool = False
    """Whether a result that does not depend on the differentiated arguments is an error."""

    key_reuse_checked: bool = False
    """Whether a key that random numbers have been drawn from is not to be drawn from again."""

    key_uses: dict[bytes, Any] | None = dataclasses.field(default=None, repr=False)
    """Which keys have been, where that is checked; `fungrad.random.reuse` keeps it."""

    threefry_partitionable: bool = True
    """Whether each random number comes of its own counter, and not, as in JAX before 0.5, of two halves."""

    inexact_algebra: bool = False
    """Whether `jit` rewrites programs by rules that change rounding."""

    promotion: str = "numpy"
    """Whose rules promote operands of several dtypes: "numpy" or "jax"."""

    enable_x64: bool = True
    """Whether there are 64-bit numbers; otherwise these are made with 32 bits."""

    out_of_bounds: str = "numpy"
    """Whether indices out of bounds are errors, or read the nearest element and write none."""

    failures: str = "raise"
    """Whether matrices without factors or solution are an error, or give NaN."""

    default_device: Any = None
    """Target of `device_put` for values on no device; None for the CPU."""

    profiled: bool = False
    """Whether a profile observes running programs: see `core/observing.py`."""

    def __post_init__(self) -> None:
        self.watched = self.nans_checked or self.infs_checked or self.divisions_checked
        """Whether programs run equation by equation, each result being checked."""
        self.observed = self.watched or self.profiled
        if self.key_reuse_checked is (self.key_uses is None):
            self.key_uses = {} if self.key_reuse_checked else None
        self.jax_types, self.narrow = self.promotion == "jax", not self.enable_x64
        self.dtypes = (self.jax_types, self.narrow) if self.jax_types or self.narrow else ()
        """Settings on which dtypes of results depend, besides the operands; usually ()."""
        self.clamps = self.out_of_bounds == "jax"
        self.soft = self.failures == "nan"
        self.unlike_numpy = bool(self.dtypes) or self.clamps or self.soft
        """Whether functions of plain arrays are not NumPy's."""
        unusual = (
            self.key_reuse_checked, self.dependence_checked,
            not self.threefry_partitionable, self.inexact_algebra,
        )  # fmt: skip
        others = (self.dtypes, self.clamps, self.soft) if self.unlike_numpy else ()
        self.programs = (*unusual, *others) if any((*unusual, others)) else ()
        """Settings on which the program of a traced function depends, besides its arguments; usually ()."""
        self.direct = not (self.observed or self.jit_disabled or any(unusual))
        """Whether a jitted function may run its program by the shortest way."""

    @cached_property
    def wide(self) -> Settings:
        """The same settings with 64 bits, for the code inside public functions."""
        return dataclasses.replace(self, enable_x64=True)

    @cached_property
    def of_numpy(self) -> Settings:
        """The same settings with NumPy's dtypes, for programs that count on them."""
        return dataclasses.replace(self, enable_x64=True, promotion="numpy")

    def set(self, name: str, value: Any) -> None:
        """Change one setting in place."""
        for kept in ("wide", "of_numpy"):
            self.__dict__.pop(kept, None)
        setattr(self, name, value)
        self.__post_init__()


process_settings = Settings(
    jit_disabled=_environment("DISABLE_JIT"),
    nans_checked=_environment("DEBUG_NANS"),
    infs_checked=_environment("DEBUG_INFS"),
    compiles_logged=_environment("LOG_COMPILES"),
    misses_explained=_environment("EXPLAIN_CACHE_MISSES"),
    conversions_checked=_environment("STRICT_CONVERSIONS"),
    reading=_environment("READING", True),
    dependence_checked=_environment("STRICT_DEPENDENCE"),
    key_reuse_checked=_environment("DEBUG_KEY_REUSE"),
    threefry_partitionable=_environment("THREEFRY_PARTITIONABLE", True),
    inexact_algebra=_environment("INEXACT_ALGEBRA"),
    enable_x64=_environment("ENABLE_X64", True),
    default_device=os.environ.get("FUNGRAD_DEFAULT_DEVICE") or None,
)
"""The settings outside of all `with` blocks: the one thing here that threads share and change."""

settings = state_variable("settings", process_settings)
"""The settings in force. They are one object so that a hot path reads one variable."""


def setting(**values: Any) -> AbstractContextManager[None]:
    """Change settings inside the block, for this thread or task."""
    return chosen(settings, lambda current: dataclasses.replace(current, **values))


def convention(name: str, value: str) -> AbstractContextManager[None]:
    """Change a setting of `CONVENTIONS` inside the block."""
    check_convention(name, value)
    return setting(**{name: value})


def checking(enabled: bool = True) -> AbstractContextManager[None]:
    """Check every program that is traced or rewritten inside the block.

    Raises `ExprError` there if a rule makes a malformed one. Slow: for tests.

    Examples
    --------
    >>> import fungrad as fg
    >>> with checking():
    ...     print(fg.grad(lambda x: x * x)(3.0))
    6.0
    """
    return chosen(check_exprs, lambda _: enabled)

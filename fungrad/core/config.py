"""Settings of the process, and their changes within `with` blocks, each for one thread or task.

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
    """Whether a program that computes a NaN (an infinity; divides by zero) raises an error."""

    compiles_logged: bool = False
    """Whether each compilation is logged."""
    misses_explained: bool = False
    """Whether the log says why a jitted function was traced again."""

    conversions_checked: bool = False
    """Whether lines that turn a tracer into a constant, or take it for no array, get a warning."""

    constants_converted: bool = False
    """Whether a tracer without derivatives gives its value wherever a NumPy array is asked for."""

    reading: bool = True
    """Whether transforms rewrite functions from their source, guard values, and part lanes of vmap."""

    dependence_checked: bool = False
    """Whether a result that does not depend on the differentiated arguments is an error."""

    key_reuse_checked: bool = False
    """Whether drawing twice from one random key is an error."""

    key_uses: dict[bytes, Any] | None = dataclasses.field(default=None, repr=False)
    """The keys drawn from, if `key_reuse_checked`; kept by `fungrad.random.reuse`."""

    threefry_partitionable: bool = True
    """Whether each random number has its own counter, as in JAX since 0.5; before, counters were halves."""

    inexact_algebra: bool = False
    """Whether `jit` rewrites programs by rules that change rounding."""

    memory_limit: int | None = None
    """Most bytes that the gradient of a loop keeps of its steps; half of the memory, if that is None."""

    promotion: str = "numpy"
    """The rules of promotion for operands of several dtypes: "numpy" or "jax"."""

    enable_x64: bool = True
    """Whether 64-bit dtypes exist; otherwise arrays of them are made with 32 bits."""

    out_of_bounds: str = "numpy"
    """Convention for indices out of bounds: "numpy" raises; "jax" reads the nearest element, writes none."""

    failures: str = "raise"
    """Convention for matrices that cannot be factored or solved: "raise" an error, or give "nan"."""

    default_device: Any = None
    """Target of `device_put` for values on no device; None for the CPU."""

    gpu_graphs: bool = True
    """Whether jitted programs on a GPU are one CUDA graph from their third call on."""

    profiled: bool = False
    """Whether a profile observes running programs: see `core/observing.py`."""

    def __post_init__(self) -> None:
        self.watched = self.nans_checked or self.infs_checked or self.divisions_checked
        """Whether programs run equation by equation, with each result checked for NaN and the like."""
        self.observed = self.watched or self.profiled
        if self.key_reuse_checked is (self.key_uses is None):
            self.key_uses = {} if self.key_reuse_checked else None
        self.jax_types, self.narrow = self.promotion == "jax", not self.enable_x64
        self.dtypes = (self.jax_types, self.narrow) if self.jax_types or self.narrow else ()
        """The settings that dtypes of results depend on; () if all are the defaults."""
        self.clamps = self.out_of_bounds == "jax"
        self.soft = self.failures == "nan"
        self.unlike_numpy = bool(self.dtypes) or self.clamps or self.soft
        """Whether functions of plain arrays differ from NumPy's."""
        unusual = (
            self.key_reuse_checked, self.dependence_checked,
            not self.threefry_partitionable, self.inexact_algebra, self.memory_limit,
        )  # fmt: skip
        others = (self.dtypes, self.clamps, self.soft) if self.unlike_numpy else ()
        self.programs = (*unusual, *others) if any((*unusual, others)) else ()
        """The settings that the program of a traced function depends on; () if all are the defaults."""
        self.direct = not (self.jit_disabled or self.observed)
        """Whether a jitted function just runs the program that it finds by the types of its arguments."""

    @cached_property
    def wide(self) -> Settings:
        """The same settings with 64 bits, for the code inside public functions."""
        return dataclasses.replace(self, enable_x64=True)

    @cached_property
    def of_numpy(self) -> Settings:
        """The same settings with NumPy's dtypes, for programs that rely on these."""
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
    gpu_graphs=_environment("GPU_GRAPHS", True),
    default_device=os.environ.get("FUNGRAD_DEFAULT_DEVICE") or None,
)
"""The settings outside of all `with` blocks: the only mutable object here that threads share."""

settings = state_variable("settings", process_settings)
"""The settings in force: one object, so that a hot path reads one variable."""


def setting(**values: Any) -> AbstractContextManager[None]:
    """Change settings inside the block, for this thread or task."""
    return chosen(settings, lambda current: dataclasses.replace(current, **values))


def convention(name: str, value: str) -> AbstractContextManager[None]:
    """Change a setting of `CONVENTIONS` inside the block."""
    check_convention(name, value)
    return setting(**{name: value})


def checking(enabled: bool = True) -> AbstractContextManager[None]:
    """Check every program that is traced or rewritten inside the block.

    Raises `ExprError` if a rule makes a malformed program. Slow: for tests.

    Examples
    --------
    >>> import fungrad as fg
    >>> with checking():
    ...     print(fg.grad(lambda x: x * x)(3.0))
    6.0
    """
    return chosen(check_exprs, lambda _: enabled)

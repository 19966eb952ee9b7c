"""`jax.config`: every option can be set and read; those that mean something here take effect."""

from __future__ import annotations

import os
from typing import Any

import fungrad
from fungrad.compat.jax import x64

_EFFECTIVE_NAMES = """
jax_disable_jit jax_debug_nans jax_debug_infs jax_log_compiles jax_explain_cache_misses
jax_debug_key_reuse jax_threefry_partitionable
"""
_EFFECTIVE = frozenset(_EFFECTIVE_NAMES.split())
_DEFAULTS = {
    "jax_default_prng_impl": "threefry2x32",
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
    "jax_default_matmul_precision": None,
    "jax_default_device": None,
    "jax_platforms": "cpu",
    "jax_platform_name": "cpu",
    "jax_enable_checks": False,
    "jax_check_tracer_leaks": False,
    "jax_default_dtype_bits": "64",
    "jax_softmax_custom_jvp": True,
}


_read: dict[str, str | None] = {}
"""The values of environment variables when they were last read."""


def _is_on(variable: str, value: str) -> bool:
    if value.lower() in ("y", "yes", "t", "true", "on", "1"):
        return True
    if value.lower() in ("", "n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"the environment variable {variable} is {value!r}; it can be 0 or 1")


def read_environment() -> None:
    """Read options from the environment, JAX_ENABLE_X64 and the like, where they have changed.

    JAX reads them when it is imported, and programs set them before that.
    """
    for name in ("jax_enable_x64", *sorted(_EFFECTIVE), *_DEFAULTS):
        variable = name.upper()
        value = os.environ.get(variable)
        if variable in _read and _read[variable] == value:
            continue
        before, _read[variable] = _read.get(variable), value
        default = _DEFAULTS.get(name, name == "jax_threefry_partitionable")
        if value is None:
            if before is not None or name == "jax_enable_x64":
                config.update(name, default)
        else:
            config.update(name, _is_on(variable, value) if type(default) is bool else value)


class Config:
    """The options of the process, by their names."""

    def __init__(self) -> None:
        vars(self)["values"] = dict(_DEFAULTS)

    def update(self, name: str, value: Any) -> None:
        """Change an option."""
        if name == "jax_enable_x64":
            x64.set_x64(value)
        elif name in _EFFECTIVE:
            fungrad.config.update(name, bool(value))
        else:
            self.values[name] = value

    def read(self, name: str) -> Any:
        """Return the value of an option; None of one that is not known and has not been set."""
        if name == "jax_enable_x64":
            return x64.x64_enabled()
        if name in _EFFECTIVE:
            return getattr(fungrad.config, name)
        return self.values.get(name, os.environ.get(name.upper()))

    _read = read

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" or name == "values":
            raise AttributeError(name)
        return self.read(name if name[:4] == "jax_" else f"jax_{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def parse_flags_with_absl(self) -> None:
        """Do nothing: there are no flags."""

    config_with_absl = parse_flags_with_absl


config = Config()

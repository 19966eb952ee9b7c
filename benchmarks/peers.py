"""The libraries fungrad is compared with. None is required: what is missing is left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from benchmarks.workload import Call, LeftOut, Setting


@cache
def _jax(platform: str) -> ModuleType:
    """Import JAX for one platform, in double precision, with its backend already started."""
    import jax

    jax.config.update("jax_enable_x64", True)  # so that its answers have NumPy's dtypes
    if platform == "cpu":
        jax.config.update("jax_platforms", "cpu")
    jax.block_until_ready(jax.numpy.zeros(1))
    return jax


def load_jax(setting: Setting) -> ModuleType:
    """Return JAX on the device that the setting measures, or leave the contender out."""
    jax = _jax("cpu" if setting.backend == "numpy" else "gpu")
    if setting.backend == "cupy" and jax.default_backend() != "gpu":
        raise LeftOut("this installation of jax sees no GPU")
    return jax


def jax_call(jax: ModuleType, function: Callable[..., Any], *args: Any, array: bool = True) -> Call:
    """Bind `args`; the call waits for its answer, since JAX's dispatch is asynchronous.

    A single array waits by its own method, `array=False` is for answers that are pytrees:
    `jax.block_until_ready` takes those too, but adds about 3 us that JAX should not be charged for.
    """
    if array:
        return lambda: function(*args).block_until_ready()
    return lambda: jax.block_until_ready(function(*args))


def load_autograd(setting: Setting) -> ModuleType:
    """Return autograd, with its NumPy as `autograd.numpy`."""
    setting.numpy_only("autograd")
    import autograd
    import autograd.numpy

    return autograd

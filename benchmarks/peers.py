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
    else:
        jax.config.update(
            "jax_default_matmul_precision", "highest"
        )  # as CuPy's: else TF32's ten bits
    jax.block_until_ready(jax.numpy.zeros(1))
    return jax


def load_jax(setting: Setting) -> ModuleType:
    """Return JAX on the device that the setting measures, or leave the contender out."""
    jax = _jax("cpu" if setting.backend == "numpy" else "gpu")
    if setting.backend == "cupy" and jax.default_backend() != "gpu":
        raise LeftOut("this installation of jax sees no GPU")
    return jax


def jax_call(jax: ModuleType, function: Callable[..., Any], *args: Any) -> Call:
    """Bind `args`; the call waits for its answer, since JAX's dispatch is asynchronous.

    A single array waits by its own method: `jax.block_until_ready` takes arrays and pytrees, but adds
    about 3 us that JAX should not be charged for.
    """

    def call() -> Any:
        answer = function(*args)
        if hasattr(answer, "block_until_ready"):
            return answer.block_until_ready()
        return jax.block_until_ready(answer)

    return call


def load_autograd(setting: Setting) -> ModuleType:
    """Return autograd, with its NumPy as `autograd.numpy`."""
    setting.numpy_only("autograd")
    import autograd
    import autograd.numpy

    return autograd

"""Changes to fungrad by `install`: settings, and attributes of tracers."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

import fungrad
from fungrad.compat import in_place
from fungrad.compat.jax import inert, instances, methods, powers
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.config import read_environment
from fungrad.compat.jax.crossing import dtype_of, leave
from fungrad.compat.jax.places import Places
from fungrad.compat.jax.viewing import viewing
from fungrad.core import kept
from fungrad.core.config import process_settings
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.transforms import foreign
from fungrad.transforms.avals import ShapedArray

SETTINGS = {"promotion": "jax", "out_of_bounds": "jax", "failures": "nan", "reading": False}


def _say_shardings(of_types: Any) -> None:
    """Give types a sharding where nobody says one: programs look for the axes of a mesh in it."""
    said = of_types.sharding

    def sharding(self: Any) -> Any:
        given = said.__get__(self)
        return inert.undivided(self.ndim) if given is None else given

    of_types.sharding = property(sharding, said.__set__)


def set_up() -> None:
    """Do it."""
    methods.install()
    if os.environ.get("FUNGRAD_COMPAT_IMMUTABLE", "") == "1":
        from fungrad.compat.jax import immutable

        immutable.set_up()
    np.seterr(all="ignore")  # JAX does not warn
    warnings.filterwarnings(
        "ignore", "Diagonal number .* is exactly zero"
    )  # SciPy's lu_factor does
    for name, value in SETTINGS.items():
        if hasattr(process_settings, name):
            process_settings.set(name, value)
    read_environment()
    for name in ("device", "sharding", "addressable_shards", "is_fully_addressable", "committed"):
        setattr(Tracer, name, vars(Array)[name])
    for name in ("block_until_ready", "copy_to_host_async", "is_fully_replicated"):
        setattr(Tracer, name, vars(Array)[name])
    of_tracer: Any = Tracer
    if of_tracer.__module__.startswith("fungrad."):  # else autograd's has been installed
        of_tracer.__module__ = (
            "jax._src.interpreters.partial_eval"  # libraries tell by it whose it is
        )
    of_tracer.devices = lambda self: {inert.CPU}
    of_tracer.aval = property(fungrad.typeof)
    of_tracer.sort = vars(Array)["sort"]  # NumPy's sorts in place
    of_tracer.at = property(Places)
    of_tracer._trace = property(lambda self: getattr(self._owner, "of", self._owner))
    _say_shardings(ShapedArray)
    of_trace: Any = Trace
    of_trace.main = property(lambda self: self)
    of_tracer.weak_type = property(lambda self: self._type.weak)
    cast = of_tracer.astype
    of_tracer.astype = lambda self, dtype, *a, **k: cast(self, dtype_of(dtype, "astype"), *a, **k)
    of_tracer.view = viewing(of_tracer.view)
    powers.set_up(of_tracer)
    kept.finished = leave  # type: ignore[assignment]
    foreign.finished = leave  # type: ignore[assignment]
    instances.set_up()
    in_place.set_up()
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
        setattr(Tracer, f"__i{name}__", getattr(Tracer, f"__{name}__"))
    for name in ("and", "or", "xor", "lshift", "rshift"):
        setattr(Tracer, f"__i{name}__", getattr(Tracer, f"__{name}__"))

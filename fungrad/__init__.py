"""Function transformations for the arrays people already have.

`grad`, `vjp`, `jvp`, `vmap`, `jit` and what they compose to, over plain arrays of NumPy (CPU) and CuPy
(GPU).

Derivatives
    `grad`, `value_and_grad`, `jacfwd`, `jacrev`, `hessian`, `hvp`; `jvp`, `linearize`, `vjp`,
    `jet`; `stop_gradient`; with rules of one's own `custom_jvp`, `custom_vjp`.
Batches
    `vmap`; with a named axis, `fungrad.lax.psum` sums across the calls.
Speed and memory
    `jit`: compile once for each type of arguments. `checkpoint`: keep less.
Modules
    `fungrad.numpy`, `fungrad.scipy`: their functions, also of traced arrays.
    `fungrad.lax`: loops, branches, JAX's lower level.
    `fungrad.nn`: networks. `fungrad.optim`: optax's optimizers.
    `fungrad.random`: JAX's random numbers, by keys. `fungrad.training`: minibatches, checkpoints.
    `fungrad.tree`, `fungrad.tree_util`: nested containers of arrays.
    `fungrad.flatten_util`, `fungrad.ops`: a tree as one vector; sums of segments.
    `fungrad.image`: images of other sizes.
    `fungrad.sharding`, `fungrad.distributed`: several processes.
    `fungrad.extend`: primitives of one's own. `fungrad.test_util`: `check_all`.
Looking inside
    `make_expr`: the program a function is; `to_source`: in NumPy; `show.graph`: drawn.
    `eval_shape`: types alone. `fungrad.debug`: print from inside.
    `profile`: where time goes. `fungrad.show`: tables and stages.
    `config`: settings. `show_config`: versions.

>>> import numpy as np
>>> import fungrad as fg
>>> import fungrad.numpy as fnp
>>> fg.grad(lambda x: fnp.sum(fnp.sin(x) * x))(np.array([0.0, 1.0]))
array([0.        , 1.38177329])
"""

import importlib
import sys
from typing import Any

import fungrad.numpy as numpy
from fungrad.core.cached import as_html as _as_html
from fungrad.core.cached import in_steps as _in_steps
from fungrad.core.cached import public_names as _public_names
from fungrad.core.checks import CheckError
from fungrad.core.config import checking
from fungrad.core.errors import (
    ConcretizationError,
    ExprError,
    FrozenRandomWarning,
    FungradError,
    LeakedTracerError,
    LostDerivativeError,
    MissingRuleError,
    RetraceWarning,
    StrictConversionWarning,
)
from fungrad.core.expr import Equation, Expr
from fungrad.core.foreign import provide_stand_ins as _provide_stand_ins
from fungrad.core.reading import provide as _provide_reader
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, float0
from fungrad.numpy.rules import extensions as _extensions
from fungrad.numpy.rules import provide as _provide

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "ArrayType", "CheckError", "ConcretizationError", "Equation", "Expr", "ExprError",
    "FrozenRandomWarning", "FungradError", "LeakedTracerError", "LostDerivativeError",
    "MissingRuleError", "RetraceWarning", "StrictConversionWarning", "Tracer", "checking",
    "float0", "numpy",
]
_AT_ONCE = len(__all__)

_HOME: dict[str, str] = {}
"""Where the other names are: the module is imported when one of them is asked for."""


def _are_in(module: str) -> None:
    """Say that the names listed since the last call are in a module."""
    home = f"fungrad.{module}".rstrip(".")
    _HOME.update(dict.fromkeys(__all__[_AT_ONCE + len(_HOME) :], home))


__all__ += ["at"]
_are_in("numpy.at")
__all__ += ["checkpoint_policies"]
_are_in("ad_checkpoint")
__all__ += ["pure_callback"]
_are_in("callback")
__all__ += [
    "block_until_ready", "device_get", "effects_barrier",
    "ensure_compile_time_eval", "named_call", "named_scope",
]
_are_in("execution")
__all__ += [
    "Device", "default_backend", "default_device", "device_count", "device_put", "devices",
]
_are_in("device")
__all__ += ["profile"]
_are_in("profiling")
__all__ += ["local_device_count", "local_devices", "process_count", "process_index"]
_are_in("distributed")
__all__ += ["checkpoint", "remat"]
_are_in("programs.rules.checkpoint")
__all__ += ["closure_convert", "custom_gradient"]
_are_in("programs.rules.closures")
__all__ += ["custom_jvp"]
_are_in("programs.rules.custom_jvp")
__all__ += ["custom_vjp"]
_are_in("programs.rules.custom_vjp")
__all__ += ["print_saved_residuals"]
_are_in("programs.rules.residuals")
__all__ += ["KeyReuseError"]
_are_in("random.reuse")
__all__ += ["explain"]
_are_in("reading.explain")
__all__ += ["as_written"]
_are_in("reading.leaving")
__all__ += ["show_config"]
_are_in("reporting")
__all__ += [
    "checking_leaks", "config", "debug_infs", "debug_key_reuse", "debug_nans", "disable_jit",
    "explain_cache_misses", "inexact_algebra", "log_compiles", "strict_conversions", "strict_dependence",
    "threefry_partitionable",
]
_are_in("settings")
__all__ += ["ExportError", "Exported", "export", "load"]
_are_in("saving")
__all__ += ["make_mesh", "shard_map"]
_are_in("sharding")
__all__ += ["to_source"]
_are_in("show")
__all__ += ["hessian_diagonal", "sparse_hessian", "sparse_jacobian", "sparsity"]
_are_in("patterns")
__all__ += ["fvp", "gnvp", "linear_operator"]
_are_in("products")
__all__ += ["ShapeDtypeStruct", "eval_shape", "make_expr", "make_jaxpr", "typeof"]
_are_in("transforms.abstract")
__all__ += ["jvp", "linear_transpose", "linearize", "vjp"]
_are_in("transforms.autodiff")
__all__ += ["grad", "value_and_grad"]
_are_in("transforms.grad")
__all__ += ["hessian", "hvp", "jacfwd", "jacobian", "jacrev"]
_are_in("transforms.jacobian")
__all__ += ["jet"]
_are_in("transforms.jet")
__all__ += ["jit"]
_are_in("transforms.jit")
__all__ += ["stop_gradient"]
_are_in("transforms.stop")
__all__ += ["vmap"]
_are_in("transforms.vmap")
__all__ += ["laplace", "propagate"]
_are_in("uncertainty")
__all__ += ["Array"]
_are_in("typing")
__all__ += [
    "ad_checkpoint", "conventions", "custom_batching", "custom_derivatives", "debug", "distributed", "example_libraries",
    "experimental", "extend", "flatten_util", "image", "lax", "nn", "ops", "optim", "random", "scipy",
    "settings", "sharding", "show", "test_util", "training", "tree", "tree_util", "typing",
]
_are_in("")
# fmt: on

_provide("fungrad.scipy.special", when="scipy.special")
# Where SciPy looks for an extension of the array API standard.
_extensions["special"] = "fungrad.scipy.special"


def _reader() -> Any:
    from fungrad.reading import read

    return read


_provide_reader(_reader)
_as_html.provide(lambda: importlib.import_module(f"{__name__}.show.html").as_html)
_in_steps.provide(lambda: importlib.import_module(f"{__name__}.programs.loops.loops").map)
_public_names.provide(lambda: sys.modules[__name__])


def _sparse_matrices() -> Any:
    from fungrad.scipy.sparse.arrays import as_sparse

    return as_sparse


_provide_stand_ins("scipy.sparse", _sparse_matrices)

__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home == "fungrad":
        return importlib.import_module(f"fungrad.{name}")
    if home:
        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value
    from fungrad.numpy.elsewhere import unknown_name

    raise unknown_name("fungrad", name, __all__)

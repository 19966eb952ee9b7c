"""Function transformations for the arrays people already have.

`grad`, `vjp`, `jvp`, `vmap`, `jit` and what they compose to, over plain NumPy arrays (CPU) and plain CuPy
arrays (GPU): arrays in, the same kind of arrays out.

Derivatives
    `grad`, `value_and_grad`: of a scalar function. `jacfwd`, `jacrev` (= `jacobian`), `hessian`, `hvp`.
    `jvp`, `linearize`: forward mode. `vjp`, `linear_transpose`: reverse mode. `stop_gradient`.
Batches
    `vmap`: map a function over an axis of its arguments.
Updates
    `at`: changed copies of an array, ``at(x)[i].set(v)``.
Speed
    `jit`: compile once for each type of the arguments.
Looking inside
    `make_expr`: the program a function is. `jit(f).source(*args)`: the NumPy source it becomes.
    `eval_shape`, `ShapeDtypeStruct`: types without values.
Modules
    `fungrad.numpy`: NumPy's functions, for arrays and for traced arrays.
    `fungrad.scipy`: SciPy's functions likewise.
    `fungrad.tree`: nested tuples, lists, dicts, ... of arrays.

>>> import numpy as np
>>> import fungrad as fg
>>> import fungrad.numpy as fnp
>>> fg.grad(lambda x: fnp.sum(fnp.sin(x) * x))(np.array([0.0, 1.0]))
array([0.        , 1.38177329])
"""

import fungrad.numpy as numpy
import fungrad.scipy as scipy
from fungrad.core import tree
from fungrad.core.config import checking
from fungrad.core.errors import (
    ConcretizationError,
    ExprError,
    FungradError,
    LeakedTracerError,
    LostDerivativeError,
    MissingRuleError,
)
from fungrad.core.expr import Equation, Expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, float0
from fungrad.numpy.at import at
from fungrad.numpy.dispatch import provide as _provide
from fungrad.transforms.abstract import ShapeDtypeStruct, eval_shape, make_expr, make_jaxpr
from fungrad.transforms.autodiff import jvp, linear_transpose, linearize, vjp
from fungrad.transforms.grad import grad, value_and_grad
from fungrad.transforms.jacobian import hessian, hvp, jacfwd, jacobian, jacrev
from fungrad.transforms.jit import jit
from fungrad.transforms.stop import stop_gradient
from fungrad.transforms.vmap import vmap

__version__ = "0.1.0"

__all__ = [
    "ArrayType",
    "ConcretizationError",
    "Equation",
    "Expr",
    "ExprError",
    "FungradError",
    "LeakedTracerError",
    "LostDerivativeError",
    "MissingRuleError",
    "ShapeDtypeStruct",
    "Tracer",
    "at",
    "checking",
    "eval_shape",
    "float0",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_expr",
    "make_jaxpr",
    "numpy",
    "scipy",
    "stop_gradient",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]

_provide("fungrad.scipy.special", when="scipy.special")

_LOOPS = (
    "Python's own `if`, `for` and `while` work under grad, vjp and jvp; under jit, write choices with "
    "fungrad.numpy.where."
)
_RULES = (
    "Write the function so that its derivative is the one meant: fungrad.stop_gradient(x) hides a part of it, "
    "and solvers of fungrad.scipy have their implicit derivatives."
)
_MEMORY = (
    "Call the function as it is: results and derivatives are the same, only more is kept in memory."
)
_RANDOM = (
    "Draw numbers with numpy.random outside of the transformed function and pass them as arguments."
)
_NOT_YET = {
    "cond": _LOOPS,
    "fori_loop": _LOOPS,
    "lax": _LOOPS,
    "scan": _LOOPS,
    "switch": _LOOPS,
    "while_loop": _LOOPS,
    "custom_jvp": _RULES,
    "custom_vjp": _RULES,
    "checkpoint": _MEMORY,
    "remat": _MEMORY,
    "random": _RANDOM,
    "nn": "Its functions are short in fungrad.numpy and fungrad.scipy.special (expit, softmax, softplus).",
}


def __getattr__(name: str) -> object:
    if name in _NOT_YET:
        raise AttributeError(f"fungrad has no {name!r} yet. {_NOT_YET[name]}")
    raise AttributeError(f"module 'fungrad' has no attribute {name!r}")

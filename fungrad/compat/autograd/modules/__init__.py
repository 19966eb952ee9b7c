"""``autograd``."""

from __future__ import annotations

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.builtins import dict, isinstance, list, tuple, type
from fungrad.compat.autograd.modules.core import primitive_with_deprecation_warnings as primitive
from fungrad.compat.autograd.modules.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from fungrad.compat.standing_in import attributes

__all__ = [
    "checkpoint", "deriv", "dict", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "isinstance", "jacobian", "list",
    "make_ggnvp", "make_hvp", "make_jvp", "make_vjp", "multigrad_dict", "primitive", "tensor_jacobian_product",
    "tuple", "type", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip

_MODULES = [
    "builtins", "core", "differential_operators", "extend", "misc", "numpy", "scipy", "test_util", "tracer", "util",
    "wrap_util",
]  # fmt: skip
__getattr__ = attributes("autograd", ABSENT, _MODULES)

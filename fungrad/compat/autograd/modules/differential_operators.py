"""``autograd.differential_operators``: functions of functions."""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import fungrad.numpy as np
from fungrad.compat.autograd import derivatives
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.derivatives import argument, total
from fungrad.compat.autograd.modules.wrap_util import check_argnum, unary_to_nary, wrap_nary_f
from fungrad.compat.autograd.vectors import vspace
from fungrad.compat.standing_in import attributes
from fungrad.core import tree
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_array, type_of
from fungrad.programs.rules.checkpoint import checkpoint as fungrad_checkpoint
from fungrad.transforms.grad import REAL_SCALARS
from fungrad.transforms.grad import grad as fungrad_grad
from fungrad.transforms.grad import value_and_grad as fungrad_value_and_grad
from fungrad.transforms.jacobian import jacrev

__getattr__ = attributes("autograd.differential_operators", ABSENT)

make_vjp = unary_to_nary(derivatives.make_vjp)
make_jvp = unary_to_nary(derivatives.make_jvp)
_make_vjp, _make_jvp = derivatives.make_vjp, derivatives.make_jvp  # which programs take, too
_getargspec = inspect.getfullargspec

_ONE_NUMBER = "{} only applies to real scalar-output functions. Try jacobian, elementwise_grad or holomorphic_grad."


def _by_gradient(name: str, message: str, size_one: bool, with_value: bool) -> Callable[..., Any]:
    """Return an operator for the gradient of the sum of a function's result."""

    def operator(fun: Callable[..., Any], argnum: Any = 0) -> Any:
        check_argnum(argnum)
        positions = (argnum,) if isinstance(argnum, int) else tuple(argnum)

        def summed(*args: Any, **kwargs: Any) -> Any:
            number = result = fun(*args, **kwargs)
            if type(result) is not Tracer or result._type not in REAL_SCALARS:
                number = total(result, [args[i] for i in positions], message, size_one)
            return (number, result) if with_value else number

        chosen = argnum if isinstance(argnum, int) else positions
        make = fungrad_value_and_grad if with_value else fungrad_grad
        gradient = make(summed, chosen, has_aux=with_value)

        @wrap_nary_f(fun, operator, argnum)
        def of_arguments(*args: Any, **kwargs: Any) -> Any:
            new = list(args)
            for i in positions:
                new[i] = argument(args[i])
            if not with_value:
                return gradient(*new, **kwargs)
            (_, result), by_argument = gradient(*new, **kwargs)
            return result, by_argument

        return of_arguments

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = (
        f"Return the function of the same arguments that gives the {name} of `fun`, by `argnum`."
    )
    return operator


grad = _by_gradient("grad", _ONE_NUMBER.format("Grad"), True, False)
value_and_grad = _by_gradient("value_and_grad", _ONE_NUMBER.format("value_and_grad"), True, True)
elementwise_grad = _by_gradient(
    "elementwise_grad", "Elementwise_grad only applies to real-output functions.", False, False
)


@unary_to_nary
def deriv(fun: Any, x: Any) -> Any:
    """Return the derivative of `fun` along ones."""
    return derivatives.make_jvp(fun, x)(vspace(argument(x)).ones())[1]


@unary_to_nary
def jacobian(fun: Any, x: Any) -> Any:
    """Return the matrix of derivatives, of the shape of the result and then that of the argument."""
    return jacrev(lambda x: derivatives.checked(fun(x), x))(argument(x))


@unary_to_nary
def holomorphic_grad(fun: Any, x: Any) -> Any:
    """Return the complex derivative of a holomorphic function that returns one number."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Any, argname: str) -> Any:
    """Return the gradient by the argument of a name."""
    return grad(fun, inspect.getfullargspec(fun).args.index(argname))


@unary_to_nary
def hessian(fun: Any, x: Any) -> Any:
    """Return the second derivatives."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Any, x: Any) -> Any:
    """Return the product with the Hessian at `x`, and the gradient there."""
    return derivatives.make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Any, argnum: Any = 0) -> Any:
    """Return the function of ``(*args, vector)`` that is the Hessian times the vector."""
    gradient = grad(fun, argnum)

    def along(*args: Any, **kwargs: Any) -> Any:
        *args_, vector = args
        return np.tensordot(gradient(*args_, **kwargs), vector, np.ndim(vector))

    return grad(along, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Any, argnum: Any = 0) -> Any:
    """Return the function of ``(*args, vector)`` that is the vector times the Jacobian."""

    def along(*args: Any, **kwargs: Any) -> Any:
        *args_, vector = args
        return np.tensordot(vector, fun(*args_, **kwargs), axes=np.ndim(vector))

    return jacobian(along, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Any, x: Any) -> Any:
    """Return the derivative of `fun` at `x` along a direction, by reverse mode alone."""
    pull, value = derivatives.make_vjp(fun, x)
    return derivatives.make_vjp(pull, vspace(value).zeros())[0]


def _half_square(x: Any) -> Any:
    return np.sum(x**2, axis=-1) / 2


def make_ggnvp(f: Any, g: Any = _half_square, f_argnum: Any = 0) -> Any:
    """Return the product with the generalized Gauss-Newton matrix of ``g(f(x))``."""

    @unary_to_nary
    def at(f: Any, x: Any) -> Any:
        pull, value = derivatives.make_vjp(f, x)
        curved, gradient = derivatives.make_vjp(grad(g), value)
        push, _ = derivatives.make_vjp(pull, vspace(gradient).zeros())
        return lambda v: pull(curved(push(v)))

    return at(f, f_argnum)


def grad_and_aux(fun: Any, argnum: Any = 0) -> Any:
    """Return the function that gives the gradient of the first of two results, and the second."""

    @unary_to_nary
    def of(fun: Any, x: Any) -> Any:
        def first(x: Any) -> tuple[Any, Any]:
            result, aux = fun(x)
            return total(result, x, _ONE_NUMBER.format("Grad"), False), aux

        return fungrad_grad(first, has_aux=True)(argument(x))

    return of(fun, argnum)


def multigrad_dict(fun: Any) -> Any:
    """Return the function that gives the gradients by all arguments, in a dict by their names."""
    signature = inspect.signature(fun)

    def gradients(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def by_name(arguments: Any) -> Any:
            bound.arguments.update(arguments)
            return fun(*bound.args, **bound.kwargs)

        grads = grad(by_name)(dict(bound.arguments))
        return OrderedDict((name, grads[name]) for name in signature.parameters)

    return gradients


def checkpoint(fun: Any) -> Any:
    """Return `fun` with a derivative that keeps no intermediate values."""

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        at = [i for i, x in enumerate(leaves) if type(x) is Tracer or _moves(x)]

        def run(*operands: Any) -> Any:
            new = list(leaves)
            for i, x in zip(at, operands):
                new[i] = x
            args, kwargs = tree.unflatten(structure, new)
            return fun(*args, **kwargs)

        return fungrad_checkpoint(run)(*[leaves[i] for i in at])

    return wrap_nary_f(fun, checkpoint, None)(checkpointed)


def _moves(x: Any) -> bool:
    return is_array(x) and type_of(x).inexact

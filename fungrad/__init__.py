"""Function transformations for NumPy and CuPy arrays."""
import fungrad.numpy
from fungrad.transforms.abstract import ShapeDtypeStruct, eval_shape, make_expr, make_jaxpr
from fungrad.transforms.autodiff import jvp, linear_transpose, linearize, vjp
from fungrad.transforms.grad import grad, value_and_grad
from fungrad.transforms.jacobian import hessian, hvp, jacfwd, jacobian, jacrev
from fungrad.transforms.jit import jit
from fungrad.transforms.vmap import vmap

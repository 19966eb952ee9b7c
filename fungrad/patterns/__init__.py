"""Sparse Jacobians and Hessians: patterns of non-zeros, colourings, matrices."""

from fungrad.patterns.diagonal import hessian_diagonal as hessian_diagonal
from fungrad.patterns.jacobian import sparse_hessian as sparse_hessian
from fungrad.patterns.jacobian import sparse_jacobian as sparse_jacobian
from fungrad.patterns.jacobian import sparsity as sparsity

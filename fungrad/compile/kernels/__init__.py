"""Kernels: elementwise computation in one loop over an index space, for compilers to print."""

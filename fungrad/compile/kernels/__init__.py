"""Kernels: what is computed element by element, in one loop over an index space, for compilers to print."""

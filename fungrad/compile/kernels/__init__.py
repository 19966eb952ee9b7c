"""Kernels: elementwise computation in one loop over an index space, for compilers to print.

Design: docs/design/22-kernels.md.
"""

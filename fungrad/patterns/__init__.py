"""Sparse derivatives: which of them can be non-zero, colourings, and the matrices that `sparse_jacobian` gives."""

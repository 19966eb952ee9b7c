"""Linear algebra: factorizations and solutions of matrices, batched over leading axes."""

"""Functions with custom rules: derivatives, batches, and policies of recomputation."""

"""Functions with rules of their own: derivatives, batches, and what is kept or computed again."""

"""Rewriting of programs: tangents, transposes, gradients, Taylor series, batches."""

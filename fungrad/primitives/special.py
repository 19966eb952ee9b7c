"""Special functions, computed by SciPy."""

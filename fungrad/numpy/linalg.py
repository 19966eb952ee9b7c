"""NumPy's linear algebra, `numpy.linalg`, for tracers too."""

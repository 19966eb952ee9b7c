"""Types, programs and traces: the ground floor. It needs NumPy and optree alone."""

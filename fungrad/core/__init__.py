"""Types, programs, traces: what everything else is built on. NumPy and optree are all it needs."""

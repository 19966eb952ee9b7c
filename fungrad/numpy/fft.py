"""NumPy's discrete Fourier transforms, `numpy.fft`, for tracers too."""

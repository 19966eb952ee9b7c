"""NumPy's functions, for arrays and for tracers."""

from fungrad.numpy import dispatch, operators

dispatch.install()
operators.install()

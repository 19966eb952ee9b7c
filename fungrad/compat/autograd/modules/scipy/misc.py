"""``autograd.scipy.misc``, of older versions."""

from fungrad.scipy.special import logsumexp

__all__ = ["logsumexp"]

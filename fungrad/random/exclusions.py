"""The names of `jax.random` that `fungrad.random` does not have, and why: what is asked for in vain gets the reason."""

from __future__ import annotations

EXCLUDED: dict[str, str] = {
    "random_gamma_p": "it is a primitive of JAX's own, bound by its machinery; call random.gamma or random.loggamma, which are made of it",
}
"""For each name, why it is not there; a test holds that every public name of `jax.random` is either here or implemented."""

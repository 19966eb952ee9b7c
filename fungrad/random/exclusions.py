"""Names of `jax.random` that `fungrad.random` lacks, with reasons."""

from __future__ import annotations

EXCLUDED: dict[str, str] = {
    "random_gamma_p": "it is a primitive of JAX's own, bound by its machinery; call random.gamma or random.loggamma, which are made of it",
}
"""The reason for each missing name; a test checks that others are implemented."""

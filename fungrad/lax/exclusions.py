"""The names of `jax.lax` that `fungrad.lax` does not have, and why.

What is asked for in vain gets the reason as its error message; a test holds that every public name of `jax.lax`
is either here or implemented.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "it is for the machine's own formats of small numbers; use lax.dot_general, whose operands and "
    "preferred_element_type say what is computed": "DotAlgorithm DotAlgorithmPreset scaled_dot",
    "it directs XLA's compiler, and programs here are compiled to NumPy's calls as they were written; leave the "
    "call out": "after_all create_token dce_sink optimization_barrier",
    "it names an operation for XLA's compiler; call the function that it would be made of": "composite",
    "it chooses among approximations of XLA, and NumPy's functions are exact up to rounding; leave the argument "
    "`accuracy` out": "AccuracyMode Tolerance",
    "arrays here are on one device, not spread over several; leave the call out": (
        "with_sharding_constraint"
    ),
    "calls under vmap exchange all they send in one step; use lax.ppermute": "precv psend",
    "rows of different lengths have no shape to compute with; fill them up to one length and use lax.all_to_all": (
        "ragged_all_to_all"
    ),
    "types here do not say across which axes values vary; leave the call out": "pcast",
    "its bits are those of XLA's own generator; use fungrad.random, whose numbers follow from a key": "RandomAlgorithm rng_bit_generator rng_uniform",
    "it makes arrays of the compiler's values; use fungrad.numpy.asarray, which gives a traced array while a "
    "function is traced": "stage",
}
"""The names, separated by blanks, to which each reason applies."""

EXCLUDED: dict[str, str] = {
    name: reason for reason, names in REASONS.items() for name in names.split()
}
"""For each excluded name, why it is."""

PRIMITIVE = (
    "names that end in _p are primitives of JAX's own, bound by its machinery; call the function that is made of "
    "it, as lax.sin is of sin_p"
)


def reason(name: str) -> str | None:
    """Return why `fungrad.lax` lacks a name of `jax.lax`; None if no reason is known.

    Names that end in `_p` are JAX's primitives, all of which are excluded.

    >>> reason("composite")
    "it names an operation for XLA's compiler; call the function that it would be made of"
    """
    if name.endswith("_p") and not name.startswith("_"):
        return PRIMITIVE
    return EXCLUDED.get(name)

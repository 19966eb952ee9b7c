"""The names of optax that `fungrad.optim` does not have, and why.

What is asked for in vain gets the reason as its error message; a test holds that every public name of optax is either
here or implemented.
"""

from __future__ import annotations

_UNSTABLE = (
    "optax keeps there what may change with each version; write it as a pair of functions, "
    "GradientTransformation(init, update)"
)
_PARTS = (
    "it runs a function on one part of a batch after another to save memory; run fungrad.lax.map(f, batch, "
    "batch_size=n), or collect the gradients of parts with MultiSteps"
)

EXCLUDED: dict[str, str] = {
    "assignment": (
        "its algorithm runs on whole numbers and has no derivatives; scipy.optimize.linear_sum_assignment(costs) gives "
        "the pairs, and costs[rows, columns] what they cost"
    ),
    "contrib": _UNSTABLE,
    "experimental": _UNSTABLE,
    "matrix_inverse_pth_root": (
        "it iterates in float32; w, v = fungrad.numpy.linalg.eigh(matrix) gives it whole, as (v * w ** (-1 / p)) @ v.T"
    ),
    "microbatch": _PARTS,
    "microbatching": _PARTS,
    "multi_normal": (
        "it served optax.monte_carlo, which is no more; write fungrad.random.normal(key, shape) * "
        "fungrad.numpy.exp(log_scale) + loc, and fungrad.scipy.stats.norm.logpdf"
    ),
    "optimistic_adam": (
        "optax has deprecated it; write optimistic_adam_v2(1.0, alpha=learning_rate, beta=optimism)"
    ),
    "second_order": (
        "fungrad.jvp(fungrad.grad(f), (x,), (v,))[1] is the product of the Hessian and v, and fungrad.hessian(f)(x) "
        "the whole"
    ),
    "tree_map_params": "it is fungrad.optim.tree.map_params",
    "tree_utils": "its functions are in fungrad.optim.tree, without tree_ before their names",
}
"""For each excluded name, why it is."""

"""What is written here in place of names of JAX, NumPy, autograd, PyTorch and TensorFlow.

Read when a module is asked for a name that it does not have.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping

SPELLINGS: dict[str, str] = {
    "checking_leaks": "check_tracer_leaks",
    "conventions.enable_x64": "enable_x64",
    "conventions.promotion": "numpy_dtype_promotion",
    "grad": "egrad",
    "hvp": "hessian_vector_product make_hvp",
    "jit": "compile",
    "jvp": "make_jvp forward_mode_grad",
    "lax.dynamic_slice_in_dim": "narrow",
    "lax.rsqrt": "rsqrt",
    "lax.top_k": "topk",
    "make_expr": "make_fx",
    "nn.log_softmax": "log_softmax",
    "nn.softmax_cross_entropy_with_integer_labels": "cross_entropy sparse_softmax_cross_entropy_with_logits",
    "nn.sigmoid_binary_cross_entropy": "binary_cross_entropy_with_logits sigmoid_cross_entropy_with_logits",
    "nn.squared_error": "mse_loss",
    "numpy.array": "tensor",
    "numpy.array_split": "chunk",
    "numpy.asarray": "as_tensor convert_to_tensor from_numpy asnumpy",
    "numpy.broadcast_to": "expand expand_as",
    "numpy.clip": "clamp clip_by_value",
    "numpy.concatenate": "cat",
    "numpy.divide": "div",
    "numpy.equal": "eq",
    "numpy.expand_dims": "unsqueeze",
    "numpy.flip": "reverse",
    "numpy.greater": "gt",
    "numpy.greater_equal": "ge",
    "numpy.less": "lt",
    "numpy.less_equal": "le",
    "numpy.linalg.det": "det",
    "numpy.linalg.eigh": "symeig self_adjoint_eig",
    "numpy.linalg.inv": "inverse matrix_inverse",
    "numpy.linalg.matrix_power": "matrix_power mpow",
    "numpy.linalg.norm": "norm",
    "numpy.linalg.slogdet": "logdet slogdet",
    "numpy.linalg.solve": "solve matrix_solve",
    "numpy.linalg.svd": "svd",
    "numpy.matmul": "batch_matmul batched_dot bmm mm mv",
    "numpy.max": "reduce_max",
    "numpy.mean": "reduce_mean",
    "numpy.min": "reduce_min",
    "numpy.multiply": "mul",
    "numpy.ndim": "rank",
    "numpy.negative": "neg",
    "numpy.not_equal": "ne neq",
    "numpy.outer": "ger",
    "numpy.prod": "reduce_prod",
    "numpy.remainder": "rem",
    "numpy.repeat": "repeat_interleave",
    "numpy.reshape": "view view_as reshape_as",
    "numpy.ravel": "flatten",
    "numpy.size": "numel",
    "numpy.subtract": "sub",
    "numpy.sum": "reduce_sum",
    "numpy.take": "index_select",
    "numpy.take_along_axis": "take_along_dim",
    "numpy.transpose": "permute dimshuffle",
    "numpy.where": "masked_fill masked_scatter",
    "optim.adam": "Adam AdamOptimizer",
    "optim.adamw": "AdamW",
    "optim.sgd": "SGD GradientDescentOptimizer",
    "optim.rmsprop": "RMSprop RMSProp",
    "optim.adagrad": "Adagrad",
    "optim.clip_by_global_norm": "clip_grad_norm_ clip_grad_norm",
    "pure_callback": "ffi numpy_function py_func",
    "random.key": "manual_seed set_random_seed seed RandomState default_rng",
    "random.normal": "randn random_normal standard_normal",
    "random.permutation": "randperm shuffle",
    "random.uniform": "rand random_uniform random_sample",
    "scipy.special.erfinv": "erf_inv",
    "scipy.special.gammaln": "lgamma",
    "scipy.special.logsumexp": "logsumexp reduce_logsumexp",
    "scipy.special.i0": "bessel_i0",
    "scipy.special.i1": "bessel_i1",
    "show_config": "print_environment_info show_versions",
    "stop_gradient": "detach disconnected_grad getval no_grad",
    "test_util.check_grads": "gradcheck gradgradcheck check_grad",
    "to_source": "export",
    "tree.leaves": "tree_leaves",
    "tree.map": "tree_map tree_multimap",
    "tree.reduce": "tree_reduce",
    "tree.structure": "tree_structure",
    "tree.transpose": "tree_transpose",
    "tree.unflatten": "tree_unflatten",
    "value_and_grad": "grad_and_value multigrad_dict_and_value",
    "vjp": "make_vjp vector_jacobian_product",
}
"""What is written here, without "fungrad." in front, and how that is called elsewhere, separated by blanks."""

_ONE_DEVICE = "map with fungrad.vmap; over several processes, with fungrad.shard_map"
_RULES = "rules are given to a function by fungrad.custom_jvp and fungrad.custom_vjp"
_NO_TAPE = "no array knows of gradients: write a function of what is differentiated by and call fungrad.grad of it"

ADVICE: dict[str, str] = {
    "Tensor": "annotate with fungrad.Array, which arrays and traced arrays are instances of",
    "Variable": _NO_TAPE,
    "GradientTape": _NO_TAPE,
    "backward": _NO_TAPE,
    "requires_grad": _NO_TAPE,
    "enable_grad": _NO_TAPE,
    "inference_mode": "there is nothing to switch off: derivatives are computed where fungrad.grad asks for them",
    "set_grad_enabled": "there is nothing to switch off: derivatives are computed where fungrad.grad asks for them",
    "elementwise_grad": "write fungrad.vmap(fungrad.grad(f)), or fungrad.grad(lambda x: f(x).sum())",
    "holomorphic_grad": "write fungrad.grad(f, holomorphic=True)",
    "grad_named": "write fungrad.grad(f, argnums), or make the argument the first one",
    "multigrad_dict": "write fungrad.grad of a function of a dict of its arguments",
    "deriv": "write fungrad.grad(f), or fungrad.vmap(fungrad.grad(f)) for each element",
    "make_ggnvp": "write it as fungrad.jvp, the Hessian's product fungrad.hvp, and fungrad.vjp, one after the other",
    "primitive": _RULES,
    "defjvp": _RULES,
    "defvjp": _RULES,
    "Function": _RULES,
    "pmap": _ONE_DEVICE,
    "clear_caches": "a jitted function's cache is emptied by f.clear_cache(), and all caches are bounded; fungrad.show_config() names the folder of kernels",
    "contiguous": "arrays are NumPy's: write numpy.ascontiguousarray(x) outside of transformed functions",
    "set_default_dtype": "dtypes are those of the arrays given; fungrad.config.update('enable_x64', False) makes numbers of 32 bits",
    "optimizers": "they are in fungrad.optim, and JAX's old ones in fungrad.example_libraries",
    "func": "its functions are in fungrad itself: fungrad.grad, fungrad.vmap, fungrad.jacrev",
    "autograd": "its functions are in fungrad itself: fungrad.grad, fungrad.vjp, fungrad.jacobian",
    "jnp": "write import fungrad.numpy as fnp",
    "np": "write import fungrad.numpy as fnp",
    "grad_and_aux": "write fungrad.grad(f, has_aux=True)",
    "default_matmul_precision": "products of matrices are BLAS's, of the precision of their operands",
    "interpreters": "rules of one's own are given through fungrad.extend",
    **dict.fromkeys(
        (
            "NamedSharding",
            "P",
            "reshard",
            "set_mesh",
            "with_sharding_constraint",
        ),
        "arrays know nothing of places: leave it out, or divide them by the in_specs of fungrad.shard_map",
    ),
    **dict.fromkeys(("Mesh", "PartitionSpec"), "it is in fungrad.sharding"),
    "Module": "a model is a function of its parameters, a pytree: fungrad.nn has what layers compute, and docs/training.md trains one",
}
"""What is said of names for which no single one stands here."""

_MODULES = (
    "fungrad", "fungrad.numpy", "fungrad.lax", "fungrad.nn", "fungrad.random", "fungrad.numpy.linalg", "fungrad.scipy.special",
    "fungrad.scipy.linalg", "fungrad.tree", "fungrad.tree_util", "fungrad.experimental", "fungrad.optim", "fungrad.numpy.fft",
    "fungrad.scipy.ndimage", "fungrad.scipy.signal",
)  # fmt: skip
"""Where a name that a module lacks is looked up, in this order."""


def instead_of(name: str) -> str | None:
    """Return what to write for a name of another library; None for one that nothing is known of.

    Examples
    --------
    >>> instead_of("unsqueeze")
    'write fungrad.numpy.expand_dims'
    >>> instead_of("softmax")
    'it is fungrad.nn.softmax'
    """
    if name in ADVICE:
        return ADVICE[name]
    for here, names in SPELLINGS.items():
        if name in names.split():
            return f"write fungrad.{here}"
    if name.startswith("_"):
        return None
    homes = (m for m in _MODULES if name in getattr(importlib.import_module(m), "__all__", ()))
    home = next(homes, None)
    return None if home is None else f"it is {home}.{name}"


def unknown_name(
    module: str, name: str, known: Iterable[str], excluded: Mapping[str, str] | None = None
) -> AttributeError:
    """Return the error for a name that a module does not have.

    It tells why the name is `excluded`, what is written in its place, or which of those `known` is nearest.
    """
    reason = (excluded or {}).get(name) or instead_of(name)
    if reason is not None:
        return AttributeError(f"{module} has no {name!r}: {reason}", name=name)
    close = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)

"""JAX's lower-level functions, `jax.lax`, for NumPy and CuPy arrays: names and meaning are JAX's.

Each module holds one kind of function, and is imported when one of its names is asked for. Functions are strict where those of
`fungrad.numpy` are lenient: dtypes must be equal, and nothing is promoted.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import lax
>>> lax.reduce(np.array([1.0, 2.0, 3.0]), 1.0, lax.mul, (0,))
np.float64(6.0)
>>> fg.grad(lambda x: lax.cumlogsumexp(x)[-1])(np.zeros(2))
array([0.5, 0.5])
>>> lax.optimization_barrier
Traceback (most recent call last):
...
AttributeError: fungrad.lax has no 'optimization_barrier': it directs XLA's compiler, and programs here are
compiled to NumPy's calls as they were written; leave the call out
"""

from fungrad.numpy.on_demand import import_on_demand as _import_on_demand

_NAMES = {
    "arithmetic": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or "
        "bitwise_xor cbrt ceil clz cos cosh div eq exp exp2 expm1 floor ge gt integer_pow "
        "is_finite le log log1p lt max min mul mulhi ne neg nextafter population_count pow "
        "reciprocal rem rsqrt shift_left shift_right_arithmetic shift_right_logical sign sin sinh "
        "sqrt square sub tan tanh"
    ),
    "associative": "associative_scan",
    "broadcasting": "broadcast broadcast_in_dim broadcast_like broadcast_shapes broadcast_to_rank",
    "choices": "clamp select select_n",
    "collectives": "all_gather axis_index axis_size pmax pmean pmin psum",
    "contraction": (
        "DotDimensionNumbers Precision PrecisionLike batch_matmul dot dot_general ragged_dot"
    ),
    "control": (
        "cond custom_linear_solve custom_root fori_loop map platform_dependent scan switch "
        "while_loop"
    ),
    "conv_shapes": "conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple",
    "conversion": (
        "RoundingMethod bitcast_convert_type complex conj convert_element_type imag real "
        "reduce_precision round stop_gradient"
    ),
    "convolution": "conv conv_general_dilated conv_transpose conv_with_general_padding",
    "creation": "broadcasted_iota dtype empty full full_like iota shape_as_value",
    "dynamic_slicing": (
        "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim "
        "dynamic_update_slice dynamic_update_slice_in_dim"
    ),
    "exchanges": "all_to_all pbroadcast ppermute pshuffle psum_scatter pswapaxes",
    "folding": "reduce",
    "fourier": "FftType fft",
    "gathering": "GatherDimensionNumbers gather index_take",
    "joining": "concatenate pad split stack tile unstack",
    "patches": "conv_general_dilated_local conv_general_dilated_patches",
    "places": "GatherScatterMode",
    "ragged": "RaggedDotDimensionNumbers ragged_dot_general",
    "reductions": (
        "argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce_and reduce_max reduce_min "
        "reduce_or reduce_prod reduce_sum reduce_xor"
    ),
    "scattering": (
        "ScatterDimensionNumbers scatter scatter_add scatter_apply scatter_max scatter_min "
        "scatter_mul scatter_sub"
    ),
    "shaping": "collapse expand_dims reshape rev squeeze transpose",
    "slicing": "index_in_dim slice slice_in_dim",
    "sorting": "approx_max_k approx_min_k sort sort_key_val top_k",
    "spatial": (
        "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv_dimension_numbers "
        "conv_general_permutations padtype_to_pads"
    ),
    "special": (
        "bessel_i0e bessel_i1e betainc digamma erf erf_inv erfc igamma igamma_grad_a igammac "
        "lgamma logistic polygamma random_gamma_grad zeta"
    ),
    "windows": "reduce_window reduce_window_shape_tuple",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""


def _reason(name: str) -> str | None:
    from fungrad.lax.exclusions import reason  # read where a name is missing

    return reason(name)


_import_on_demand(globals(), _NAMES, ("linalg",), _reason)

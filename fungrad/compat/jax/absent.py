"""Names of JAX that are not there, and why; a reason goes for all that is below a name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_TABLE: dict[str, dict[str, str]] = {
    "it is part of XLA, and programs here become NumPy's calls": {
        "jax": "memory live_arrays",
        "jax.extend": "mlir lowering xla",
        "jax.extend.backend": """
            backend_xla_version get_compile_options register_backend_cache register_backend_factory
        """,
        "jax.extend.sharding": "",
        "jax.experimental": "serialize_executable",
        "jax.interpreters.mlir": "",
        "jax.interpreters.pxla": "create_compile_options",
        "jax.interpreters.xla": "Backend",
        "jax.lax": """
            dce_sink_p rng_uniform scaled_dot
        """,
        "jax.nn": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
        "jax.ad_checkpoint": "Offloadable Recompute Saveable",
        "jax.profiler": "ProfileData ProfileEvent ProfileOptions ProfilePlane device_memory_profile",
    },
    "there is one process with one device; map with jax.vmap": {
        "jax": "make_array_from_process_local_data make_array_from_single_device_arrays smap",
        "jax.experimental.custom_partitioning": "",
        "jax.experimental.mesh_utils": "create_hybrid_device_mesh device_kind_handler_dict",
        "jax.experimental.multihost_utils": "",
        "jax.lax": "precv psend ragged_all_to_all",
        "jax.sharding": "AbstractDevice ManualAxisType",
    },
    "its kernels are written for GPUs and TPUs": {
        "jax.experimental": "mosaic rnn",
        "jax.experimental.pallas": "fuser ops tpu_sc",
        "jax.lax.linalg": "qdwh",
    },
    "arrays are traced here, and no types that libraries declare by hijax": {
        "jax.experimental": "EArray primal_tangent_dtype",
    },
    "programs are differentiated and mapped by fungrad's own traces and rules": {
        "jax": "ad fwd_and_bwd make_user_context",
        "jax.debug": "DebugEffect OrderedDebugEffect",
        "jax.experimental.ode": """
            abs2 fit_4th_order_polynomial initial_step_size interp_fit_dopri mean_error_ratio optimal_step_size
            promote_dtypes_inexact ravel_first_arg ravel_pytree runge_kutta_step tree_leaves tree_map
        """,
        "jax.experimental.jet": "",
        "jax.extend.core": "InconclusiveDimensionOperation call_impl",
        "jax.extend.source_info_util": "NameStack",
        "jax.interpreters.ad": "JVPTrace",
        "jax.interpreters.partial_eval": """
            dce_jaxpr dce_jaxpr_call_rule dce_jaxpr_closed_call_rule dce_jaxpr_consts
        """,
    },
    "fungrad.random has its own generators; new ones cannot be declared": {
        "jax.extend.random": "",
        "jax.experimental": "random",
    },
    "its arrays have operators with dense ones, with numbers and with each other's sums; of others take x.todense()": {
        "jax.experimental.sparse": ""
    },
    "it is not written yet": {
        "jax.numpy": "frompyfunc ufunc",
        "jax.scipy.linalg": "fiedler_companion qr_multiply rsf2csf",
        "jax.scipy.special": "bessel_jn",
    },
    "the ml_dtypes installed here has no such dtype; a newer one has it": {
        "jax.numpy": "float6_e2m3fn float6_e3m2fn int1 uint1"
    },
    "Equinox and others print by wadler_lindig, which has its documents": {
        "jax._src.pretty_printer": "",
    },
    "there is no TensorFlow here": {"jax.experimental": "jax2tf"},
}

ABSENT: Mapping[str, str] = MappingProxyType(
    {
        f"{module}.{name}" if name else module: reason
        for reason, modules in _TABLE.items()
        for module, names in modules.items()
        for name in names.split() or [""]
    }
)

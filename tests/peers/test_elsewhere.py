"""Public names of JAX and autograd: those that are not here are told what is written instead."""

import types
from importlib import import_module

import pytest

pytest.importorskip("jax")
pytest.importorskip("autograd")

OF_THE_LIBRARY = {
    "how JAX runs: its clients, its random bits, what watches over transfers and over tracing": """
        allow_f16_reductions array_garbage_collection_guard auto_pcast copy_to_host_async default_prng_impl dlpack ds enable_checks
        enable_custom_prng fwd_and_bwd host_ids jax2tf_associative_scan_reductions legacy_prng_key live_arrays make_user_context memory
        monitoring no_execution no_tracing numpy_rank_promotion process_indices softmax_custom_jvp thread_guard transfer_guard
        transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device version""",
    "arrays that JAX's kernels change in place": "empty_ref free_ref ref",
    "how autograd wraps NumPy": """
        array_from_args c_class concatenate_args custom_where metadata notrace_functions numpy_version parse_einsum_input r_class
        wrap_if_boxes_inside wrap_intdtype wrap_namespace unary_to_nary atuple JVPNode VJPNode SparseObject""",
    "what modules import or define for themselves": """
        OrderedDict EPS RTOL TOL check_equivalent get_name make_numerical_jvp product scalar_close""",
}
"""What nobody who moves a program here would look for."""


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("jax", "fungrad"),
        ("jax.numpy", "fungrad.numpy"),
        ("jax.lax", "fungrad.lax"),
        ("jax.nn", "fungrad.nn"),
        ("jax.random", "fungrad.random"),
        ("autograd", "fungrad"),
        ("autograd.numpy", "fungrad.numpy"),
        ("autograd.misc", "fungrad"),
        ("autograd.differential_operators", "fungrad"),
        ("autograd.extend", "fungrad"),
        ("autograd.test_util", "fungrad"),
    ],
)
def test_public_names_are_here_or_told_what_to_write(theirs, ours):
    there, here = import_module(theirs), import_module(ours)
    bare = set()
    for name in set(dir(there)) - {*" ".join(OF_THE_LIBRARY.values()).split()}:
        if name.startswith("_") or (
            theirs != "jax" and isinstance(getattr(there, name, None), types.ModuleType)
        ):
            continue
        try:
            getattr(here, name)
        except AttributeError as error:
            if "has no attribute" in str(error):
                bare.add(name)
    assert bare == set()

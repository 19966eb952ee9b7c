"""JAX's names of primitives and parameters, where they differ from fungrad's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

NAMES: Mapping[str, str] = {
    **{f"arc{f}": f"a{f}" for f in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{f"bitwise_{f}": f for f in ("and", "or", "xor")},
    **{f"logical_{f}": f for f in ("and", "or", "xor", "not")},
    **{f"reduce_bitwise_{f}": f"reduce_{f}" for f in ("and", "or", "xor")},
    "absolute": "abs", "arctan2": "atan2", "argsort": "sort", "bitcast": "bitcast_convert_type",
    "broadcast": "broadcast_in_dim", "cast": "convert_element_type", "checkpoint": "remat",
    "conjugate": "conj", "convolution": "conv_general_dilated", "count_leading_zeros": "clz",
    "custom_jvp": "custom_jvp_call", "custom_vjp": "custom_vjp_call", "divide": "div",
    "equal": "eq", "fmod": "rem", "erfinv": "erf_inv", "expit": "logistic", "gammainc": "igamma", "gammaincc": "igammac",
    "gammaln": "lgamma", "greater": "gt", "greater_equal": "ge", "i0e": "bessel_i0e", "i1e": "bessel_i1e",
    "integer_power": "integer_pow", "invert": "not", "isfinite": "is_finite", "left_shift": "shift_left",
    "less": "lt", "less_equal": "le", "maximum": "max", "minimum": "min", "multiply": "mul", "named": "name",
    "negative": "neg", "not_equal": "ne", "p_max": "pmax", "p_min": "pmin", "p_permute": "ppermute",
    "p_sum": "psum", "p_sum_scatter": "reduce_scatter", "permute": "transpose", "power": "pow",
    "reverse": "rev", "right_shift": "shift_right_arithmetic", "rint": "round",
    "select": "select_n", "subtract": "sub",
}  # fmt: skip
"""JAX's names of primitives."""

_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "bitcast": {"dtype": "new_dtype"},
    "broadcast": {"axes": "broadcast_dimensions"},
    "cast": {"dtype": "new_dtype", "weak": "weak_type"},
    "concatenate": {"axis": "dimension"},
    "integer_power": {"n": "y"},
    "iota": {"axis": "dimension"},
    "named": {"label": "name"},
    "permute": {"axes": "permutation"},
    "reshape": {"shape": "new_sizes"},
    "reverse": {"axes": "dimensions"},
    "scan": {"body": "jaxpr"},
    "sort": {"axis": "dimension", "stable": "is_stable"},
    "slice": {"start": "start_indices", "stop": "limit_indices", "step": "strides"},
    "while": {"cond": "cond_jaxpr", "body": "body_jaxpr"},
}  # fmt: skip
"""Of primitives, by our names, those parameters that JAX calls otherwise."""


Fields = dict[str, Any]


def _others(fields: Fields) -> Fields:
    """Exchange a broadcast's axes for the others: ours are new, JAX's the operand's. Its own inverse."""
    axes = [d for d in range(len(fields["shape"])) if d not in fields["axes"]]
    return {**fields, "axes": tuple(axes)}


def _dimension_numbers(fields: Fields) -> Fields:
    numbers = fields["contracting"], fields["batch_axes"]
    return {"dimension_numbers": numbers, "precision": None, "preferred_element_type": None}


def _pairs_of_axes(params: Fields) -> Fields:
    if any(params.get(k) is not None for k in ("precision", "preferred_element_type")):
        return params
    contracting, batch_axes = params["dimension_numbers"]
    return {"contracting": contracting, "batch_axes": batch_axes, "ndims": None}


def _of_loop(fields: Fields) -> Fields:
    """Return a scan as JAX's: of our flags, those that are set."""
    consts, carry = fields.pop("counts")
    flags = {k: fields.pop(k) for k in _FLAGS}
    counts = {"num_consts": consts, "num_carry": carry, "unroll": 1}
    return {**fields, **counts, **{k: x for k, x in flags.items() if x}}


def _loop(params: Fields) -> Fields:
    if "num_carry" not in params:
        return params
    counts = params.pop("num_consts"), params.pop("num_carry")
    fields = {k: x for k, x in params.items() if k not in ("unroll", "linear", "_split_transpose")}
    return {**_FLAGS, **fields, "counts": counts}


_FLAGS: Fields = {"tangent": False, "stepwise": False, "versions": (), "together": False}


def _of_while(fields: Fields) -> Fields:
    of_cond, of_body = fields.pop("counts")
    counts = {"cond_nconsts": of_cond, "body_nconsts": of_body}
    return {k: x for k, x in {**fields, **counts}.items() if k != "together" or x}


def _while(params: Fields) -> Fields:
    if "cond_nconsts" not in params:
        return params
    counts = params.pop("cond_nconsts"), params.pop("body_nconsts")
    return {"together": False, **params, "counts": counts}


def _of_position(fields: Fields) -> Fields:
    return {"axes": (fields["axis"],), "index_dtype": np.dtype(np.int64)}


def _position(params: Fields) -> Fields:
    if params.keys() != {"axes", "index_dtype"} or params["index_dtype"] != np.int64:
        return params
    return {"axis": params["axes"][0]}


def _of_slice(fields: Fields) -> Fields:
    return fields if fields["dropped"] else {k: x for k, x in fields.items() if k != "dropped"}


def _slice(params: Fields) -> Fields:
    if params.get("step", ...) is None:
        params = {**params, "step": (1,) * len(params["start"])}
    return {"dropped": (), **params}


_VALUES: Mapping[str, tuple[Callable[[Fields], Fields], Callable[[Fields], Fields]]] = {
    "argmax": (_of_position, _position),
    "argmin": (_of_position, _position),
    "broadcast": (_others, _others),
    "dot_general": (_dimension_numbers, _pairs_of_axes),
    "scan": (_of_loop, _loop),
    "slice": (_of_slice, _slice),
    "while": (_of_while, _while),
}
"""Conversions, both ways, of parameters whose values differ in JAX."""


def shown_params(name: str, fields: Fields) -> Fields:
    """Return the fields of a primitive, by our name for it, as JAX has them."""
    if name in _VALUES:
        fields = _VALUES[name][0](fields)
    renamed = _PARAMETERS.get(name, {})
    return {renamed.get(k, k): x for k, x in fields.items()}


def fields_of(name: str, params: Mapping[str, Any]) -> Fields:
    """Return the fields of a primitive whose parameters are `params`: the inverse of `shown_params`."""
    ours = {theirs: k for k, theirs in _PARAMETERS.get(name, {}).items()}
    fields = {ours.get(k, k): x for k, x in params.items()}
    return _VALUES[name][1](fields) if name in _VALUES else fields

"""Arguments of JAX's functions that mean nothing here, and those that are refused, with the reasons."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

_INERT_NAMES = """
accuracy allow_negative_indices compiler_options device donate indices_are_sorted inline
may_alias mode order out_sharding out_shardings in_shardings precision
reduce_axes sharding spmd_axis_name src unique_indices unroll copy
preferred_element_type series_order backend keep_unused prevent_cse concrete method context_fn subok
"""
INERT = frozenset(_INERT_NAMES.split())
"""Parameters that change no result here, or by rounding alone."""

INERT_OF: Mapping[str, str] = MappingProxyType(
    {
        "eigh_tridiagonal": "key",  # where inverse iteration begins
        "gmres": "solve_method",  # two ways to one solution
        "polar": "eps max_iterations",  # of an iteration: the decomposition is that of singular values
        "solve": "debug",
        "solve_triangular": "debug",
        "sph_harm_y": "n_max",  # how large a table is made
    }
)
"""Likewise of single functions."""

UNREAD = frozenset(["accuracy", "algorithm", "implementation", "out_sharding", "use_magma"])
"""Those that functions of fungrad have too, some of them to refuse: they are not handed on."""

REFUSED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "einsum": {"_dot_general": "products are NumPy's; JAX's own dot_general is taken"},
        "eigh": {"eigvals": "JAX refuses it as well"},
        "key_dtype": {
            "impl_spec": "it is an object of JAX's own; the one generator is threefry2x32"
        },
        "minimize": {
            "line_search_maxiter": "the searches are SciPy's",
            "norm": "SciPy's L-BFGS looks at the largest derivative",
        },
        "svd": {"subset_by_index": "JAX refuses it as well, but on TPUs"},
        "vmap": {"sum_match": "it is of JAX's sharding in types"},
    }
)
"""Why functions refuse arguments, other than `out`."""


def is_inert(function: str, parameter: str) -> bool:
    """Return whether a parameter changes no result of a function."""
    return parameter in INERT or parameter in INERT_OF.get(function, "").split()


def refuse(function: str, parameter: str) -> NoReturn:
    """Raise the error for a parameter that has no meaning here."""
    reason = REFUSED.get(function, {}).get(parameter)
    if parameter == "out":
        reason = "JAX's arrays do not change"
    raise NotImplementedError(
        f"fungrad, in the place of jax, has no argument {parameter!r} of {function}; leave it out"
        + (f" ({reason})" if reason else "")
    )


def refuse_unless(function: str, parameter: str, value: Any, default: Any) -> None:
    """Raise that error unless a value is the parameter's default."""
    plain = type(value) is type(default) and isinstance(value, (str, int, float))
    if value is not default and not (plain and value == default):
        refuse(function, parameter)


def parsed(parameters: str) -> list[inspect.Parameter]:
    """Return the parameters of a function that are written between its parentheses."""
    namespace: dict[str, Any] = {}
    exec(f"def f({parameters}): pass", namespace)
    return [*inspect.signature(namespace["f"]).parameters.values()]

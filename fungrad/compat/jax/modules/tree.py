"""`jax.tree`."""

from __future__ import annotations

from typing import Any

from fungrad import tree as _tree
from fungrad.compat.jax.adapting import namespace as _namespace


def transpose(outer_treedef: Any, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out by the order of its leaves; its containers may be others."""
    leaves = _tree.leaves(pytree_to_transpose)
    if inner_treedef and len(leaves) == outer_treedef.num_leaves * inner_treedef.num_leaves:
        whole = outer_treedef.compose(inner_treedef)
        pytree_to_transpose = _tree.unflatten(whole, leaves)
    return _tree.transpose(outer_treedef, inner_treedef, pytree_to_transpose)


__getattr__ = _namespace("jax.tree", globals(), ["fungrad.tree"], "", "*")

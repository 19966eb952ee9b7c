"""Pytrees in messages and arguments: paths of leaves as text, differences and prefixes of trees.

`leaves_with_paths`, `paths_of`
    Leaves with paths as text; the paths of the leaves of a structure as tuples of keys.
`flatten_one_level`
    The children of a node with their paths, and the structure with them as leaves.
`difference`
    The first path at which a tree has another structure, and how it differs there.
`broadcast_prefix`
    The leaves of a prefix of a tree, repeated for all leaves below them.

The other functions of pytrees are in `fungrad.tree` and `fungrad.tree_util`.
"""

from fungrad.core.paths import difference, flatten_one_level, paths_of
from fungrad.core.tree import broadcast_prefix, leaves_with_paths

__all__ = ["broadcast_prefix", "difference", "flatten_one_level", "leaves_with_paths", "paths_of"]
__dir__ = __all__.copy

"""Functions that the places of a mesh run together: `shard_map`, with JAX's names.

The places of a `Mesh` are divided among the processes that `fungrad.distributed` knows of, a block for each; one process by itself
has them all and runs them as calls of `vmap`. So a program is written, and tried, in one process; see docs/distributed.md.
"""

from fungrad.extend.packages import tell_missing
from fungrad.sharding.mapping import shard_map
from fungrad.sharding.mesh import Mesh, PartitionSpec, make_mesh
from fungrad.sharding.moving import to_global, to_local

__all__ = ["Mesh", "PartitionSpec", "make_mesh", "shard_map", "to_global", "to_local"]
__dir__ = __all__.copy
tell_missing(globals())

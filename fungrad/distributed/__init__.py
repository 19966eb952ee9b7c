"""Several processes that run one program: which they are, and how they are started.

A launcher of MPI starts them, ``mpiexec -n 4 python program.py``; the program calls `initialize` first. What they compute
together is a function under `fungrad.sharding.shard_map`; see docs/distributed.md.
"""

from fungrad.distributed.world import (
    DistributedError,
    initialize,
    process_count,
    process_index,
)

__all__ = ["DistributedError", "initialize", "process_count", "process_index"]
__dir__ = __all__.copy

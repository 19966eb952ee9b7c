"""Several processes that run one program: their numbers, devices and start.

A launcher of MPI starts them, ``mpiexec -n 4 python program.py``; the program calls `initialize` first. What they compute
together is a function under `fungrad.sharding.shard_map`; see docs/distributed.md.
"""

from fungrad.distributed.local import local_device_count, local_devices
from fungrad.distributed.world import (
    DistributedError,
    initialize,
    process_count,
    process_index,
)
from fungrad.extend.packages import tell_missing

__all__ = [
    "DistributedError",
    "initialize",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]
__dir__ = __all__.copy
tell_missing(globals())

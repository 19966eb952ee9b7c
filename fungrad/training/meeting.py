"""Messages between processes that write or read files together."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad import distributed, lax
from fungrad.distributed.world import launched, world
from fungrad.sharding import PartitionSpec, make_mesh, shard_map

_AXIS = "process"


def together(what: str, step: Callable[[], Any]) -> list[Any]:
    """Do something in each process; return the results of all, in their order.

    Results are what JSON can say. If it fails in some, it is an error in all, and they can go on.

    Raises
    ------
    DistributedError
        If it has failed in another process, or if the processes do not know of each other. What this one raised is raised as it is.
    """
    if world() is None and launched():
        raise distributed.DistributedError(
            f"{what}: several processes were started, and each would write or read by itself: call fungrad.distributed.initialize() first"
        )
    failed, said = None, {"failed": "", "result": None}
    try:
        said["result"] = step()
    except Exception as error:
        failed = error
        text, _, _ = str(error).partition("\nMore: ")
        said["failed"] = f"{type(error).__name__}: {text}"
    everyone = [said]
    if distributed.process_count() > 1:
        everyone = [json.loads(text) for text in _gathered(json.dumps(said).encode())]
    if failed is not None:
        raise failed
    for process, other in enumerate(everyone):
        if other["failed"]:
            raise distributed.DistributedError(
                f"{what}: process {process} has failed: {other['failed']}"
            )
    return [other["result"] for other in everyone]


def _gathered(mine: bytes) -> list[bytes]:
    """Return the bytes of each process, of any lengths."""
    lengths = _stacked(np.array([len(mine)]))[:, 0]
    data = np.zeros(lengths.max(), np.uint8)
    data[: len(mine)] = np.frombuffer(mine, np.uint8)
    return [row[:n].tobytes() for row, n in zip(_stacked(data), lengths, strict=True)]


def _stacked(x: Any) -> Any:
    mesh = make_mesh((distributed.process_count(),), (_AXIS,))
    run = shard_map(
        lambda x: lax.all_gather(x, _AXIS, tiled=True),
        mesh=mesh,
        in_specs=PartitionSpec(_AXIS),
        out_specs=PartitionSpec(),
        local_arrays=True,
    )
    return np.asarray(run(x[None]))

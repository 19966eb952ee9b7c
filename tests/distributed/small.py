"""Operands of few bytes, which travel with what processes first tell each other, and of a few more, run by test_ranks.py."""

import numpy as np

from fungrad import distributed, lax
from fungrad.sharding import PartitionSpec as P
from fungrad.sharding import make_mesh, shard_map

SHAPES = [(0,), (1,), (3,), (2, 3), (6, 1), (7,)]
DTYPES = ["?", "i1", "u2", "f2", "f4", "f8", "c8", "c16"]


def main():
    distributed.initialize()
    count, index = distributed.process_count(), distributed.process_index()
    mesh = make_mesh((count,), ("i",))
    options = {"mesh": mesh, "local_arrays": True, "in_specs": P("i"), "out_specs": P()}
    for dtype in DTYPES:
        for shape in SHAPES:
            base = np.arange(np.prod(shape)).reshape(shape)
            stacked = np.stack([(base + k).astype(dtype) for k in range(count)])
            own = stacked[index]
            gathered = shard_map(lambda x: lax.all_gather(x, "i"), **options)(own)
            np.testing.assert_array_equal(gathered, stacked)
            assert gathered.dtype == stacked.dtype
            if dtype != "?":
                total = shard_map(lambda x: lax.psum(x, "i"), **options)(own)
                np.testing.assert_array_equal(total, stacked.sum(0, dtype=dtype))
    place = shard_map(
        lambda: lax.psum(lax.axis_index("i") + 1, "i"), mesh=mesh, in_specs=(), out_specs=P()
    )
    assert place() == count * (count + 1) // 2


if __name__ == "__main__":
    main()

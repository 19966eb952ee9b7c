"""What several processes have computed beside what this one does."""

import functools
import pickle

import numpy as np

from tests.distributed.cases import TRAINING, computed, of_group
from tests.distributed.launch import launch
from tests.distributed.training import alone

EXACT = ("value", "jit", "vmap", "jvp")
"""Here the same operations run in the same order, where each process has one place along an axis. Cotangents are added in another."""


@functools.cache
def expected(mesh, name):
    """Return what each transform gives in this process, for all tests that ask."""
    return alone() if mesh == TRAINING else computed(mesh, name)


def found_by(count, group, path, *options):
    """Return what processes have computed of a group, and how often they called what NCCL has."""
    ended = launch(count, "-m", "tests.distributed.cases", str(path), group, *options)
    assert ended.returncode == 0, ended.stderr[-3000:]
    ranks, found, called = pickle.loads(path.read_bytes())
    assert ranks == count
    assert [*found] == of_group(group) != []
    return found, called


def agree(found, *, exact=False):
    """Raise unless processes have found what this one does; to the bit under the transforms of `EXACT`, if it is asked."""
    for key, results in found.items():
        for transform, want in expected(*key).items():
            got = results[transform]
            assert got.dtype == want.dtype
            message = f"{key} {transform}"
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=message)
            if exact and transform in EXACT:
                assert got.tobytes() == want.tobytes(), message

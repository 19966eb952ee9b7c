"""The same programs in one process and in several that have a device each, or share one: by stand-ins for CuPy and NCCL."""

import pytest

from tests.distributed.agreement import agree, found_by
from tests.distributed.cases import NESTED_ON
from tests.distributed.launch import launch, needs_mpi

ALWAYS = {"NcclCommunicator", "allGather"}
TO_ONE, TO_ALL = {"send", "recv"}, {"broadcast"}
MESSAGES = [
    (2, NESTED_ON, TO_ONE),
    (2, "nested", TO_ONE),
    (4, "flat", TO_ONE),
    (4, "columns", TO_ALL),
    (4, "both", TO_ONE),
]
"""Numbers of processes, what they compute, and what they call of NCCL.

How messages go depends on meshes and numbers of processes, not on what a collective is within.
"""


@pytest.mark.parametrize(
    ("count", "group", "calls"), MESSAGES, ids=[f"{n}-{group}" for n, group, _ in MESSAGES]
)
def test_messages_from_device_to_device(count, group, calls, tmp_path, monkeypatch):
    """By the stand-in for NCCL, which knows the memory at an address, and has all members call the same in the same order."""
    needs_mpi()
    monkeypatch.setenv("FUNGRAD_COMPILE", "off")
    found, called = found_by(count, group, tmp_path / "found", "cupy")
    assert called.keys() == ALWAYS | calls
    agree(found)


def test_processes_that_share_a_device():
    """NCCL refuses them, so their arrays go through the memory of the host."""
    needs_mpi()
    program = (
        "import sys, numpy as np, fungrad as fg\n"
        "from fungrad import distributed, lax\n"
        "from tests.backends import nccl_on_host\n"
        "from tests.backends.fake_cupy import make_stand_in\n"
        "from tests.distributed.cases import P, make_mesh, shard_map\n"
        "distributed.initialize()\n"
        "sys.modules['cupy'] = cupy = make_stand_in()\n"
        "sys.modules['cupy.cuda.nccl'] = nccl_on_host.installed_in(cupy)\n"
        "nccl_on_host.Device.pci_bus_id = property(lambda self: 'one', lambda self, _: None)\n"
        "mesh = make_mesh((2,), ('i',))\n"
        "f = shard_map(lambda x: x * lax.psum(x, 'i'), mesh=mesh, in_specs=P('i'), out_specs=P('i'))\n"
        "x = np.arange(1.0, 2001.0)\n"
        "for g in (f, fg.jit(f), fg.grad(lambda x: f(x).sum())):\n"
        "    for _ in range(3):\n"
        "        found = g(cupy.asarray(x))\n"
        "        assert isinstance(found, cupy.ndarray)\n"
        "        np.testing.assert_allclose(found.get(), g(x), rtol=1e-13)\n"
        "assert not nccl_on_host.counts\n"
    )
    ended = launch(2, "-c", program)
    assert ended.returncode == 0, ended.stderr[-3000:]

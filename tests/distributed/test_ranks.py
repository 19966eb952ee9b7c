"""The same programs in one process and in several."""

import pickle
import re

import numpy as np
import pytest

from tests.distributed.cases import computed, names
from tests.distributed.faults import FAULTS, GO_ON, said
from tests.distributed.launch import launch, needs_mpi, needs_tables
from tests.distributed.training import WAYS, alone

EXACT = ("value", "jit", "vmap", "jvp")
"""Here the same operations run in the same order, where each process has one place along an axis. Cotangents are added in another."""


@pytest.mark.parametrize(("count", "kernels"), [(2, "off"), (4, "off"), (2, "background")])
def test_ranks_compute_what_one_process_does(count, kernels, tmp_path, monkeypatch):
    needs_mpi()
    monkeypatch.setenv("FUNGRAD_COMPILE", kernels)
    path = tmp_path / "found"
    ended = launch(count, "-m", "tests.distributed.cases", str(path))
    assert ended.returncode == 0, ended.stderr[-3000:]
    ranks, found, _ = pickle.loads(path.read_bytes())
    assert ranks == count
    trained = {("training", name): alone() for name in WAYS}
    assert [*found] == [*names(), *trained]
    for key, results in found.items():
        expectations = trained[key] if key in trained else computed(*key)
        for transform, expected in expectations.items():
            got = results[transform]
            assert got.dtype == expected.dtype
            message = f"{key} {transform}"
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12, err_msg=message)
            if count == 4 and kernels == "off" and transform in EXACT:
                assert got.tobytes() == expected.tobytes(), message


@pytest.mark.parametrize("count", [2, 4])
def test_messages_from_device_to_device(count, tmp_path, monkeypatch):
    """By the stand-in for NCCL, which knows the memory at an address, and has all members call the same in the same order."""
    needs_mpi()
    monkeypatch.setenv("FUNGRAD_COMPILE", "off")
    path = tmp_path / "found"
    ended = launch(count, "-m", "tests.distributed.cases", str(path), "cupy")
    assert ended.returncode == 0, ended.stderr[-3000:]
    ranks, found, called = pickle.loads(path.read_bytes())
    assert ranks == count
    assert [*found] == names()
    assert called.keys() == {"NcclCommunicator", "allGather", "broadcast", "send", "recv"}
    for key, results in found.items():
        for transform, expected in computed(*key).items():
            got = results[transform]
            assert got.dtype == expected.dtype
            message = f"{key} {transform}"
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12, err_msg=message)


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


def test_processes_listen_to_this_machine_alone(tmp_path):
    """The launcher's own port aside, which MPICH has open to all."""
    needs_mpi()
    needs_tables()
    program = (
        "from fungrad import distributed\n"
        "from tests.distributed.launch import listening\n"
        "distributed.initialize()\n"
        f"open(f'{tmp_path}/{{distributed.process_index()}}', 'w').write(' '.join(listening()))"
    )
    ended = launch(2, "-c", program)
    assert ended.returncode == 0, ended.stderr[-3000:]
    said = [(tmp_path / str(i)).read_text().split() for i in range(2)]
    assert {*said[0], *said[1]} <= {"127.0.0.1"}


@pytest.mark.parametrize("count", [2, 4])
def test_small_operands(count):
    needs_mpi()
    ended = launch(count, "-m", "tests.distributed.small")
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_others_are_told(fault, tmp_path):
    needs_mpi()
    status, texts = said(fault.__name__, tmp_path)
    assert status != 0
    assert re.search(FAULTS[fault], texts[0]), texts
    after = re.search(r"process 0 failed after ([\d.]+) s", texts[0])
    assert float(after[1]) < 10


def test_each_is_told_of_the_one_at_fault(tmp_path):
    """Also those who notice later, when others have failed because of it."""
    needs_mpi()
    _, texts = said("killed", tmp_path, count=4)
    for process in (0, 2, 3):
        [error] = re.findall("DistributedError: (.*)", texts[process])
        assert re.fullmatch(
            rf"process {process} waits at .*, and process 1 comes to no more: it has been killed .*",
            error,
        )
        assert error.count("comes to no more") == 1


@pytest.mark.parametrize("program", GO_ON, ids=lambda f: f.__name__)
def test_processes_go_on(program, tmp_path):
    needs_mpi()
    status, texts = said(program.__name__, tmp_path)
    assert (status, *texts) == (0, "went on\n", "went on\n")

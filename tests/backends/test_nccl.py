"""A process by itself, as far as it has to do with NCCL: on a GPU with NCCL itself. Several processes are in tests/distributed."""

import importlib
import sys
import types
import weakref

import numpy as np
import pytest

from fungrad.distributed.nccl import Devices, OnDevice, are_apart
from fungrad.distributed.world import DistributedError
from tests.backends import nccl_on_host
from tests.backends.fake_cupy import BACKEND, make_module


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def nccl(cupy):
    if BACKEND != "cupy":
        pytest.importorskip("mpi4py")
        return nccl_on_host.installed_in(cupy)
    found = importlib.import_module("cupy.cuda.nccl")
    if not found.available:
        pytest.skip("CuPy finds no NCCL")
    return found


class Broadcast:
    """What MPI does among one process."""

    def first(self, x):
        yield types.SimpleNamespace(Test=lambda: True), x
        return x


def side(cupy, nccl, x):
    world = types.SimpleNamespace(where=[("here", 1)], index=0)
    having = Devices(world, cupy, nccl)
    return OnDevice(having, types.SimpleNamespace(done=True), x.data.device_id)


def through(on_device, messages):
    """Return what messages give, each waited for."""
    while True:
        try:
            with on_device.used():
                request, _ = next(messages)
        except StopIteration as end:
            return end.value
        while not request.Test():
            pass


@pytest.mark.parametrize("dtype", ["f8", "c8", "?", "i2"])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_messages(cupy, nccl, dtype, shape):
    host = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    x = cupy.asarray(host)
    here = side(cupy, nccl, x)
    mark = here.mark
    through(here, here.join((0,), 0, (mark,), Broadcast()))
    for messages, expected in [
        (here.gather(x), host[None]),
        (here.first(x), host),
        (here.gather_parts(x.reshape(-1), [host.size]), host.reshape(-1)),
        (here.exchange(x.reshape(-1), [host.size], [host.size]), host.reshape(-1)),
    ]:
        found = through(here, messages)
        (copy,) = here.handed_over([found])
        assert isinstance(copy, cupy.ndarray)
        assert copy.dtype == host.dtype
        np.testing.assert_array_equal(copy.get(), expected)
    here.having.leave()


def test_results_outlive_what_they_were_computed_in(cupy, nccl):
    """The memory of the stream of messages is used again by later ones, while others may still read results."""
    x = cupy.asarray(np.arange(1e6))
    here = side(cupy, nccl, x)
    through(here, here.join((0,), 0, (here.mark,), Broadcast()))
    copies = []
    for k in range(20):
        found = through(here, here.gather(x + k))
        copies += here.handed_over([found])
        del found
    for k, copy in enumerate(copies):
        np.testing.assert_array_equal(copy.get(), [np.arange(1e6) + k])


def test_turns(cupy, nccl):
    """Who was begun later waits, and holds on to nobody afterwards."""
    x = cupy.asarray(np.ones(3))
    first = side(cupy, nccl, x)
    meeting = types.SimpleNamespace(done=False)
    second = OnDevice(first.having, meeting, 0)
    third = OnDevice(first.having, types.SimpleNamespace(done=False), 0)
    assert through(second, second.turn()) is None  # for the first is done
    turn = third.turn()
    request, _ = next(turn)
    assert not request.Test()
    meeting.done = True
    assert request.Test()
    assert next(turn, "its turn") == "its turn"
    kept = weakref.ref(request)
    del request, turn
    assert kept() is None


def test_who_has_a_device_of_its_own():
    assert are_apart([3, 5, 7])
    assert not are_apart([3, 5, 3])  # two on one device, which NCCL refuses
    assert not are_apart([3, 0, 7])  # one that has no arrays on a device, or no NCCL


def test_what_nccl_refuses(cupy, nccl):
    x = cupy.asarray(np.ones(3))
    here = side(cupy, nccl, x)

    def refuse(*_):
        raise nccl.NcclError(3)

    here.comm = types.SimpleNamespace(allGather=refuse)
    with pytest.raises(DistributedError, match="NCCL sends nothing: "):
        through(here, here.gather(x))


def test_a_communicator_that_cannot_be_founded(cupy, nccl, monkeypatch):
    x = cupy.asarray(np.ones(3))
    here = side(cupy, nccl, x)

    def refuse(*_):
        raise RuntimeError("no route")

    monkeypatch.setattr(nccl, "NcclCommunicator", refuse)
    with pytest.raises(DistributedError, match="NCCL connects no devices: no route"):
        through(here, here.join((0,), 0, (here.mark,), Broadcast()))


def test_identities_of_cupy_13(cupy, nccl, monkeypatch):
    """They are tuples of signed numbers."""
    monkeypatch.setattr(cupy, "__version__", "13.6.0")
    numbers = tuple(range(-64, 64))
    monkeypatch.setattr(nccl, "get_unique_id", lambda: numbers)
    monkeypatch.setattr(nccl, "NcclCommunicator", lambda *given: given)
    here = side(cupy, nccl, cupy.asarray(np.ones(3)))
    through(here, here.join((0,), 0, (here.mark,), Broadcast()))
    assert here.comm == (1, numbers, 0)

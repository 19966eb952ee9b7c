"""Which devices there are, moving arrays, and the default device."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest

import fungrad as fg
from tests.backends import fake_cupy


class FakeGpu:
    """What `cupy.cuda.Device` is: a context in which arrays are made on a device."""

    __module__ = "cupy.cuda.device"
    entered = None

    def __init__(self, number):
        self.id = number

    def __enter__(self):
        FakeGpu.entered = self.id

    def __exit__(self, *_):
        FakeGpu.entered = None


@pytest.fixture
def cupy(monkeypatch):
    """A stand-in for CuPy that knows two GPUs, and on which of them an array was made."""
    module = fake_cupy.make_stand_in()
    made = module.asarray

    def asarray(x, dtype=None):
        array = made(x, dtype)
        if FakeGpu.entered is not None:
            array.device = FakeGpu(FakeGpu.entered)
        return array

    monkeypatch.setattr(fake_cupy.ndarray, "device", FakeGpu(0))
    module.asarray = asarray
    module.cuda = types.SimpleNamespace(
        Device=FakeGpu,
        runtime=types.SimpleNamespace(getDeviceCount=lambda: 2, is_hip=True),  # and so no kernels
    )
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # so that importing it fails


NO_GPU = r"there is no GPU to use here: CuPy cannot be imported \(.*pip install 'fungrad\[cuda12\]'"


# On NumPy alone


@pytest.mark.usefixtures("no_cupy")
def test_there_is_the_cpu():
    (cpu,) = fg.devices()
    assert (cpu.platform, cpu.id, repr(cpu)) == ("cpu", 0, "cpu:0")
    assert fg.devices("cpu") == [cpu]
    assert (fg.device_count(), fg.default_backend()) == (1, "cpu")
    with pytest.raises(RuntimeError, match=f"devices: {NO_GPU}"):
        fg.devices("gpu")
    with pytest.raises(ValueError, match="'tpu' is no platform; 'cpu' and 'gpu' are"):
        fg.devices("tpu")


@pytest.mark.usefixtures("no_cupy")
def test_putting_on_the_cpu_moves_nothing():
    x = np.ones(2)
    for device in (None, "cpu", "cpu:0", fg.devices()[0], x.device):
        put = fg.device_put({"x": x, "y": 1.0, "none": None}, device)
        assert put["x"] is x
        assert type(put["y"]) is np.float64
        assert put["none"] is None
        assert fg.grad(lambda x, d=device: fg.device_put(x, d) ** 2)(3.0) == 6.0
        assert fg.jit(lambda x, d=device: fg.device_put(x, d) ** 2)(3.0) == 9.0


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("gpu", RuntimeError, f"device_put: {NO_GPU}"),
        ("cpu:1", RuntimeError, r"there is no device 'cpu:1' here, but \[cpu:0\]"),
        ("cpu:", ValueError, "'cpu:' is no device; 'cpu', 'gpu' and 'gpu:1' are names"),
        ("tpu", ValueError, "'tpu' is no device"),
        (0, TypeError, r"takes a device, of those in fungrad.devices\(\), .* got 0 of type int"),
    ],
)
@pytest.mark.usefixtures("no_cupy")
def test_devices_that_are_not_there(device, error, message):
    with pytest.raises(error, match=message):
        fg.device_put(np.ones(2), device)
    with pytest.raises(error, match=message.replace("device_put", "default_device")):
        fg.default_device(device)
    with pytest.raises(error, match=message.replace("device_put", "default_device")):
        fg.config.update("jax_default_device", device)
    assert fg.config.default_device is None


def test_arrays_know_where_they_come_from():
    with pytest.raises(ValueError, match="src must be None, got 'cpu'"):
        fg.device_put(np.ones(2), src="cpu")


def test_devices_of_a_process():
    assert fg.local_devices() == fg.local_devices(0) == fg.local_devices(host_id=0) == fg.devices()
    assert fg.distributed.local_device_count("cpu") == 1
    with pytest.raises(
        ValueError, match="process_index must be None or 0, this process's of 1; got 1"
    ):
        fg.local_devices(1)
    with pytest.raises(ValueError, match="'tpu' is no platform"):
        fg.local_devices(backend="tpu")


# With GPUs


def test_arrays_move_between_devices(cupy):
    x = np.arange(3.0)
    first, second = fg.devices("gpu")
    assert (repr(first), repr(second), fg.device_count("gpu")) == ("gpu:0", "gpu:1", 2)
    assert fg.local_devices(backend="gpu") == [first, second]
    there = fg.device_put({"x": x, "y": 2.0}, second)
    assert type(there["x"]) is cupy.ndarray
    assert (there["x"].device.id, there["y"].device.id) == (1, 1)
    assert fg.device_put(there["x"]) is there["x"]  # it is on a device
    also = fg.device_put(x, there["x"].device)
    assert also.device.id == 1
    back = fg.device_put(there, "cpu")
    np.testing.assert_array_equal(back["x"], x)
    assert type(back["x"]) is np.ndarray
    assert type(back["y"]) is np.float64


@pytest.mark.usefixtures("cupy")
def test_a_program_moves_nothing_between_devices():
    at = fg.devices("gpu")[0]
    f = lambda x, device: fg.device_put(x, device) ** 2
    x = fg.device_put(3.0, at)
    assert float(fg.grad(f)(x, at).get()) == 6.0
    for transformed, device in ((fg.grad(f), "cpu"), (fg.jit(f, static_argnums=1), at)):
        with pytest.raises(ValueError, match=r"cannot be moved to .*; move the arguments"):
            transformed(x, device)


def test_default_device_of_a_block_and_of_the_process(cupy):
    at = fg.devices("gpu")[1]
    with fg.default_device("gpu:1"):
        assert fg.default_backend() == "gpu"
        assert fg.devices() == fg.devices("gpu")
        assert fg.device_put(1.0).device.id == 1
        with fg.default_device(None):
            assert type(fg.device_put(1.0)) is np.float64
    assert type(fg.device_put(1.0)) is np.float64
    try:
        fg.config.update("jax_default_device", at)
        assert fg.config.default_device == at
        assert fg.device_put(1.0).device.id == 1
    finally:
        fg.config.update("default_device", None)
    assert fg.default_backend() == "cpu"


@pytest.mark.parametrize(
    ("named", "expected"),
    [("cpu", "cpu:0"), ("", "cpu:0"), ("tpu", "FUNGRAD_DEFAULT_DEVICE: 'tpu' is no device")],
)
def test_default_device_from_the_environment(named, expected):
    program = (
        "import fungrad as fg\ntry:\n    print(fg.devices()[0])\n"
        "except ValueError as error:\n    print(error)"
    )
    environment = {**os.environ, "FUNGRAD_DEFAULT_DEVICE": named}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert expected in result.stdout


def test_default_device_of_the_environment_is_found_when_it_is_asked_for(cupy, monkeypatch):
    from fungrad.core.config import settings

    monkeypatch.setattr(settings.get(), "default_device", "gpu:1")
    assert fg.device_put(1.0).device.id == 1
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    message = "FUNGRAD_DEFAULT_DEVICE: there is no GPU to use here: CuPy finds none"
    with pytest.raises(RuntimeError, match=message):
        fg.device_put(1.0)
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", failing)
    with pytest.raises(RuntimeError, match=r"finds none \(OSError: no driver\)"):
        fg.devices("gpu")


def failing():
    raise OSError("no driver")

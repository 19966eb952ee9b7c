"""What JAX programs call and has little to do here."""

import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import execution
from tests.backends.fake_cupy import make_module


def test_identities():
    x = np.ones(2)
    assert execution.block_until_ready(x) is x
    assert execution.effects_barrier() is None
    with execution.named_scope("part"):
        pass
    assert fg.jit(execution.named_scope("part")(lambda x: x + 1))(1.0) == 2.0
    with (
        pytest.raises(TypeError, match="named_scope takes a string, got 3 of type int"),
        execution.named_scope(3),
    ):
        pass


def test_named_call():
    f = execution.named_call(lambda x: x + 1, name="increment")
    assert repr(fg.jit(f)) == "<jit(increment)>"
    assert f(1) == 2
    assert execution.named_call(np.sin).__name__ == "sin"
    with pytest.raises(TypeError, match="named_call takes a function, not 1 of type int"):
        execution.named_call(1)


def test_device_get(monkeypatch):
    x = np.ones(2)
    found = execution.device_get({"x": x, "y": 1.0, "text": "kept"})
    assert found["x"] is x
    assert found == {"x": x, "y": 1.0, "text": "kept"}
    seen = []
    fg.grad(lambda x: (seen.append(execution.device_get(x * 2)), x)[1])(3.0)
    assert seen == [6.0]
    with pytest.raises(
        TypeError,
        match=r"device_get: a tracer of type float64\[\] under `jit\(<lambda>\)` has no value: call it outside",
    ):
        fg.jit(lambda x: execution.device_get(x))(1.0)
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert type(execution.device_get(cupy.asarray(x))) is np.ndarray


def test_indices_that_are_traced_within():
    """What is computed of a traced array is recorded all the same."""

    def f(i):
        with execution.ensure_compile_time_eval():
            return fg.at(np.arange(3.0))[i].get(), fg.at(np.arange(3.0))[i].add(i)[1]

    assert fg.jit(f)(1) == (1.0, 2.0)


def test_ensure_compile_time_eval():
    def f(x):
        with execution.ensure_compile_time_eval():
            table = fnp.zeros(3)
        assert type(table) is np.ndarray
        return x + table.size

    assert fg.jit(f)(1.0) == 4.0

"""Programs as modules that need CuPy alone, run with a strict stand-in for it where there is no GPU."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import tree
from fungrad.core import backend
from fungrad.show import plain
from fungrad.show.libraries import NOT_IN_CUPY, NOT_IN_CUPYX
from tests.backends.fake_cupy import make_module, tells_of_lack, up_to_signs
from tests.programs import LOOKS_AT_VALUES, PROGRAMS, weighted
from tests.samples import rows
from tests.samples.row import Sample
from tests.show.test_source import LOOPS, NOT_WRITTEN, run

SAMPLES = {sample.primitive.name: sample for sample in reversed(rows())}


@pytest.fixture
def cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def assert_same(found: object, expected: object, rtol: float) -> None:
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert type(x).__module__ == "cupy"
        assert (x.shape, x.dtype) == (np.shape(y), y.dtype)
        np.testing.assert_allclose(x.get(), y, rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_primitive(cupy, sample: Sample):
    def f(*operands):
        return sample.primitive(*operands)

    write = fg.to_source(f, xp="cupy")
    name = sample.primitive.name
    if name in NOT_WRITTEN:
        with pytest.raises(NotImplementedError, match="cannot be written with CuPy alone: "):
            write(*sample.operands)
        return
    try:
        text = write(*sample.operands)
    except NotImplementedError as error:
        before, _, lacks = str(error).rpartition(".")
        if "CuPy has no counterpart of " not in before or lacks not in NOT_IN_CUPY | NOT_IN_CUPYX:
            raise
        with pytest.raises((AttributeError, NotImplementedError), match=lacks):
            sample.primitive.impl(cupy, *map(cupy.asarray, sample.operands))
        return
    on_device = tuple([cupy.asarray(x) for x in sample.operands])
    try:
        found = run(text, "f", on_device, "cupy")
    except NotImplementedError as error:  # for these operands alone
        if not tells_of_lack(error):
            raise
        return
    assert_same(*up_to_signs(sample.primitive, found, f(*sample.operands)), 1e-13)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LOOKS_AT_VALUES])
def test_programs_with_their_gradients(cupy, name):
    _, _, changed, args = PROGRAMS[name]
    both = lambda *args: (changed(*args), fg.grad(weighted(changed))(*args))
    if name == "airy_disk":
        with pytest.raises(NotImplementedError, match=r"no counterpart of scipy\.special\.jv"):
            fg.to_source(both, xp="cupy")(*args)
        return
    text = fg.to_source(both, name="f", xp="cupy")(*args)
    assert_same(run(text, "f", args, "cupy"), fg.jit(both)(*args), 1e-10)


@pytest.mark.parametrize("name", LOOPS)
def test_loops(cupy, name):
    shape = (3,) if name in ("branches", "while") else (4, 3)
    x = np.random.default_rng(0).uniform(0.2, 0.9, shape)
    x = x[0] if name == "while" else x
    x = x.ravel() if name == "batched while" else x
    f = LOOPS[name]
    text = fg.to_source(f, name="f", xp="cupy")(x)
    assert_same(run(text, "f", (x,), "cupy"), f(x), 1e-12)


def test_arguments_of_cupy_give_a_text_for_cupy(cupy):
    large = cupy.asarray(np.random.default_rng(0).normal(size=(20, 30)))

    def f(p):
        return fnp.tanh(p["x"] @ large), p["x"], fnp.max(p["x"] / 3)

    x = np.linspace(0, 1, 20)
    text = fg.to_source(f)({"x": cupy.asarray(x)})
    assert "import cupy as cp" in text
    assert "numpy" not in text
    assert text == fg.to_source(f, xp="cupy")({"x": x})
    given = cupy.asarray(x)
    found = run(text, "f", ({"x": given},), "cupy")
    assert_same(found, (np.tanh(x @ large.get()), x, x[-1] / 3), 1e-14)
    assert found[1].data.ptr != given.data.ptr
    for_host = fg.to_source(f, xp="numpy")({"x": cupy.asarray(x)})
    np.testing.assert_allclose(run(for_host, "f", ({"x": x},))[0], found[0].get(), rtol=1e-14)


def test_rows_are_copied(cupy):
    x = np.ones((3, 3))
    for xp, given in (("numpy", x), ("cupy", cupy.array(x))):
        text = fg.to_source(lambda x, i: (x[i], x[0]), name="f", xp=xp)(x, np.int64(1))
        found = run(text, "f", (given, np.int64(1)), xp)
        given[...] = 7.0
        assert [float(row.sum()) for row in found] == [3.0, 3.0]


def test_what_cupy_lacks_raises_as_it_is_written():
    for f, name in (
        (fg.scipy.special.i0, None),
        (lambda x: fg.scipy.special.kv(0.5, x), r"scipy\.special\.kv"),
        (lambda x: fg.scipy.special.spherical_jn(2, x), r"scipy\.special\.spherical_jn"),
        (lambda x: fnp.spacing(x), r"numpy\.spacing"),
    ):
        write = fg.to_source(f, name="f", xp="cupy")
        if name is None:
            assert "cupyx.scipy.special.i0(" in write(1.0)
            continue
        with pytest.raises(NotImplementedError, match=f"CuPy has no counterpart of {name}"):
            write(1.0)
    with pytest.raises(NotImplementedError, match="CuPy has no dtype"):
        fg.to_source(lambda x: x * 2, xp="cupy")(np.ones(2, np.longdouble))
    with pytest.raises(ValueError, match='xp is "numpy" or "cupy", got \'jax\''):
        fg.to_source(lambda x: x, xp="jax")(1.0)
    with pytest.raises(ValueError, match="an argument is called cp"):
        fg.to_source(lambda cp: cp * 2, xp="cupy")(1.0)


def test_the_facts_of_the_machines_are_those_that_fungrad_runs_by():
    for machine, target in ((plain.Host, backend.NUMPY), (plain.Device, backend.CUPY)):
        facts = {name: getattr(machine, name) for name in vars(target)}
        assert facts == vars(target)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_what_is_said_to_be_missing_is_missing():
    program = (
        "import cupy, cupyx.scipy.special as special\n"
        f"print([n for n in {sorted(NOT_IN_CUPY)} if hasattr(cupy, n)])\n"
        f"print([n for n in {sorted(NOT_IN_CUPYX)} if hasattr(special, n)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["[]", "[]"], done.stderr

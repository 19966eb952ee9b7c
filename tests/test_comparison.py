"""What docs/comparison.md says of fungrad: each row of its table, with a program that shows it."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.pipeline import Way, prepared, simplify
from fungrad.compile.targets import host, host_kernels
from fungrad.compile.tiers import CALLS
from fungrad.core import config
from fungrad.core.backend import target_of
from fungrad.core.state import chosen
from fungrad.sharding import PartitionSpec as P
from fungrad.sharding import make_mesh, shard_map
from tests.backends.fake_cupy import make_module

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "comparison.md").read_text("utf-8")
X = np.array([0.5, -1.0, 2.0])


def rows():
    """Return the heads of the table, and the cells of each row by its first."""
    lines = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("|")]
    heads, _, *cells = [[cell.strip() for cell in line] for line in lines]
    return heads, {first: dict(zip(heads[1:], rest, strict=True)) for first, *rest in cells}


def descent(x):
    total = 0.0 * x
    while x > 1.0:
        x = x / 2.0 if x > 4.0 else x - 0.5
        total = total + x * x
    return total


def arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy := make_module())
    assert type(fg.grad(lambda x: fnp.sum(x**2))(X)) is np.ndarray
    assert isinstance(fg.grad(lambda x: fnp.sum(x**2))(cupy.asarray(X)), cupy.ndarray)


def names(monkeypatch):
    for xp in (np, fnp):
        np.testing.assert_allclose(fg.grad(lambda x, xp=xp: xp.sum(xp.sin(x)))(X), np.cos(X))


def derivative(monkeypatch):
    assert fg.grad(fnp.sin)(0.5) == pytest.approx(np.cos(0.5))


def modes(monkeypatch):
    f = fnp.sin
    for _ in range(4):
        f = fg.grad(f)
    assert f(0.5) == pytest.approx(np.sin(0.5))
    forward = lambda x: fg.jvp(fg.grad(fnp.sin), (x,), (1.0,))[1]
    assert forward(0.5) == pytest.approx(-np.sin(0.5))
    _, series = fg.jet(fnp.sin, (0.5,), ([1.0, 0.0, 0.0],))
    np.testing.assert_allclose(series, [np.cos(0.5), -np.sin(0.5), -np.cos(0.5)])


def vmap(monkeypatch):
    np.testing.assert_array_equal(fg.vmap(lambda x: x * x)(X), X * X)


def control(monkeypatch):
    step = 1e-6
    difference = (descent(10.2 + step) - descent(10.2 - step)) / (2 * step)
    assert fg.grad(descent)(10.2) == pytest.approx(difference, rel=1e-6)
    with fg.settings.reading(True):
        assert fg.jit(descent)(10.2) == descent(10.2)
        assert fg.jit(fg.grad(descent))(10.2) == pytest.approx(difference, rel=1e-6)
        each = [descent(x) for x in 3.0 * X]
        np.testing.assert_allclose(fg.vmap(descent)(3.0 * X), each, atol=1e-12)


def assignment(monkeypatch):
    def f(x):
        y = x * 1.0
        row = y[1:]
        row[0] = 3.0 * x[0]
        return fnp.sum(y**2)

    np.testing.assert_allclose(fg.grad(f)(X), [20 * X[0], 0.0, 2 * X[2]])


def compiled(monkeypatch):
    lowered = fg.jit(lambda x: fnp.sum(fnp.sin(x) * x)).lower(X)
    assert "np." in lowered.source
    if not host.missing():
        with chosen(config.compilation, lambda _: "eager"):
            assert lowered.kernels
    assert "llvmlite" in (ROOT / "pyproject.toml").read_text("utf-8")


def waiting(monkeypatch):
    monkeypatch.delenv("FUNGRAD_COMPILE", raising=False)
    assert (config._compilation(), CALLS > 1) == ("background", True)
    monkeypatch.setattr(
        host_kernels, "compile_kernels", lambda kernels: pytest.fail("it is compiled")
    )
    with chosen(config.compilation, lambda _: "background"):
        assert fg.jit(lambda x: fnp.sum(x * x + 1.0))(X) == pytest.approx(np.sum(X * X + 1.0))


def accelerators(monkeypatch):
    cupy = make_module()
    assert not target_of(cupy).on_host
    expr = simplify(fg.make_expr(lambda x: fnp.exp(x) * x @ fnp.sort(x))(X))
    names = [equation.primitive.name for equation in prepared(expr, Way.DEVICE).equations]
    assert sorted(names) == ["dot_general", "kernel", "sort"]
    assert (ROOT / "benchmarks" / "results" / "2026-11-26-h100.md").exists()


def machines(monkeypatch):
    mesh = make_mesh((3,), ("i",))
    total = shard_map(lambda x: fg.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
    np.testing.assert_allclose(fg.grad(lambda x: fnp.sum(total(x) ** 2))(X), [2 * X.sum()] * 3)
    assert "NCCL on one GPU" in (ROOT / "docs" / "distributed.md").read_text("utf-8")


def floats(monkeypatch):
    assert fg.jit(fnp.sin)(1.0).dtype == np.sin(1.0).dtype == np.float64
    assert fg.jit(fnp.sin)(np.float32(1.0)).dtype == np.float32


def libraries(monkeypatch):
    programs = {path.stem for path in (ROOT / "tests" / "ecosystem" / "programs").glob("*.py")}
    said = (ROOT / "docs" / "coming_from_jax.md").read_text("utf-8").lower()
    assert len(programs) > 10
    assert all(name.partition("_")[0] in said for name in programs)


def release(monkeypatch):
    headings = re.findall(r"^## \[(.*)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings == ["Unreleased"]
    assert f"It is young ({fg.__version__.rpartition('.')[0]})" in TEXT


CLAIMS = {
    "arrays": ("NumPy's, CuPy's", arrays),
    "NumPy is written as": ("`np` or `fungrad.numpy`", names),
    "a derivative is": ("a function: `grad(f)`", derivative),
    "modes": ("forward and reverse, any order, Taylor", modes),
    "`vmap`": ("yes", vmap),
    "`if`, `while` on values": ("yes, under `jit` and `vmap` too", control),
    "`x[i] = v`": ("yes, views too", assignment),
    "compiled": ("to calls of NumPy's, then kernels of LLVM", compiled),
    "first call waits for it": ("no", waiting),
    "GPU, TPU": ("GPU, with CuPy: fused elementwise kernels, else one CuPy call per operation", accelerators),
    "several devices, several machines": ("processes over MPI, tried on one machine; from GPU to GPU by NCCL, tried on one GPU", machines),
    "default floats": ("double, as in NumPy", floats),
    "libraries built on it": ("[many of JAX's](coming_from_jax.md)", libraries),
    "first release": ("not yet", release),
}  # fmt: skip


def test_the_table_has_these_rows():
    heads, table = rows()
    assert heads == ["", "fungrad", "JAX", "autograd", "torch.func", "MyGrad", "PyTensor"]
    assert {name: of["fungrad"] for name, of in table.items()} == {
        name: text for name, (text, _) in CLAIMS.items()
    }
    assert all(cell for of in table.values() for cell in of.values())


@pytest.mark.parametrize("name", CLAIMS)
def test_what_is_said_of_fungrad(name, monkeypatch):
    _, check = CLAIMS[name]
    check(monkeypatch)

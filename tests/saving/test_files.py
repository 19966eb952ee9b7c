"""What cannot be saved, and files that are none, are damaged, made up, or of another version."""

from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad import extend, lax
from tests.saving.test_saving import SCALARS, X, assert_same

GOLDEN = Path(__file__).parent / "format_1.fungrad"


# What cannot be saved


class Opaque:
    def __init__(self, x):
        self.x = x


ERRORS = {
    "pure_callback": (
        lambda x: fg.pure_callback(np.sin, x, x),
        "calls Python code through `pure_callback`",
    ),
    "print": (lambda x: (fg.debug.print("{}", x), x)[1], "prints or calls Python.*Leave it out"),
    "value": (lambda x: x * np.ones(int(x[0])).sum(), "needs the value.*static argument"),
    "custom_vmap": (fg.custom_batching.custom_vmap(lambda x: x + 1), "custom_vmap.*Export vmap"),
    "solver on values": (
        lambda x: lax.custom_linear_solve(
            lambda v: 2 * v, x, lambda mv, b: b / np.ones(int(b[0] + 1)).sum()
        ),
        "the parameter solve of `linear_solve` is",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_refused(name):
    f, message = ERRORS[name]
    if name == "custom_vmap":
        f.def_vmap(lambda size, batched, x: (x + 1, batched[0]))
    with pytest.raises(fg.ExportError, match=message) as caught:
        fg.export(f)(X + 1)
    assert "cannot be saved" in str(caught.value)
    assert "test_files.py" in str(caught.value)  # the line


def test_traced_arrays_are_no_constants():
    with pytest.raises(fg.ExportError, match="closes over a traced array"):
        fg.grad(lambda y: fg.export(lambda x: x * y)(1.0)(y))(2.0)


def test_containers_that_cannot_be_saved():
    cls = type("Local", (Opaque,), {})
    fg.tree_util.register_pytree_node(cls, lambda n: ((n.x,), Opaque), lambda _, c: cls(*c))
    data = fg.export(lambda n: n.x)(cls(X)).serialize()
    with pytest.raises(fg.ExportError, match=r"Opaque.* pass types="):
        fg.load(data)
    other = type("Other", (Opaque,), {})
    static = Opaque(1)
    fg.tree_util.register_pytree_node(other, lambda n: ((n.x,), static), lambda _, c: other(*c))
    with pytest.raises(fg.ExportError, match=r"container that cannot be saved.*Opaque"):
        fg.export(lambda n: n.x)(other(X))


def test_primitives_of_others_are_given_to_load():
    @extend.primitive
    class Twice(extend.Primitive):
        linear = ()

        def abstract_eval(self, x):
            return x

        def impl(self, xp, x):
            return 2 * x

        def transpose(self, ct, x):
            return (self(ct),)

    data = fg.export(lambda x: Twice()(x))(X).serialize()
    with pytest.raises(
        fg.ExportError, match="holds the primitive Twice, which is not fungrad's: pass it in types="
    ):
        fg.load(data)
    assert_same(fg.grad(lambda x: fg.load(data, types=[Twice])(x).sum())(X), np.full(3, 2.0))


# Files


def test_file_of_the_first_format_is_read():
    """It was written by the first version that wrote such files; all later ones read it."""
    g = fg.load(GOLDEN)
    assert repr(g) == "<exported first(float64[3], float32[2,2]) -> float64[3], float32[]>"
    f = lambda x, m: {"a": fg.jit(SCALARS["rule in a loop"])(x) * np.sin(x), "b": np.linalg.det(m)}
    m = np.eye(2, dtype=np.float32) * 2
    assert_same(g(X, m), fg.jit(f)(X, m))
    for order in (fg.grad, lambda f: fg.grad(lambda x: fg.grad(f)(x).sum())):
        slopes = [order(lambda x, f=f: f(x, m)["a"].sum())(X) for f in (f, g)]
        np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-12)


def test_every_cut_and_every_flipped_bit_is_found():
    data = fg.export(lambda x: np.sin(x) * np.arange(3.0))(X).serialize()
    rng = np.random.default_rng(0)
    for n in [0, 1, 100, len(data) - 1, *rng.integers(0, len(data), 20)]:
        with pytest.raises(fg.ExportError, match=r"does not end as a program|damaged"):
            fg.load(data[:n])
    for i in rng.integers(0, len(data), 60):
        flipped = bytearray(data)
        flipped[i] ^= 1 << rng.integers(8)
        with pytest.raises(fg.ExportError, match=r"the program (is|has|does)"):
            fg.load(bytes(flipped))


def test_other_files(tmp_path):
    data = fg.export(np.sin)(X).serialize()
    newer = data.replace(b"fungrad program 1 sha256", b"fungrad program 2 sha256")
    with pytest.raises(fg.ExportError, match=r"is a program in format 2.* it reads format 1"):
        fg.load(newer)
    fg.training.save(tmp_path / "x", {"a": X})
    with pytest.raises(fg.ExportError, match=r"x does not end as a program of fungrad"):
        fg.load(tmp_path / "x")
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(
        fg.training.CheckpointError, match="does not end as a checkpoint of fungrad"
    ):
        fg.training.load(tmp_path / "f")
    with pytest.raises(FileNotFoundError):
        fg.load(tmp_path / "none")


MADE_UP = {
    "no such primitive": lambda t: t["primitives"][0].__setitem__(0, "NoSuch"),
    "no such parameter": lambda t: t["primitives"][0][2].append(["newer", 1]),
    "wrong type": lambda t: t["types"].__setitem__(1, [[], "float32", False]),
    "undefined variable": lambda t: t["programs"][0]["equations"][0].__setitem__(1, [99]),
    "no such number": lambda t: t["programs"][0]["equations"][0].__setitem__(0, 99),
    "function of another module": lambda t: t["primitives"][0][2].append(
        ["axes", ["function", "os", "system"]]
    ),
    "record of another module": lambda t: t["primitives"][0][2].append(
        ["axes", ["record", "fungrad.core.expr", "Expr", []]]
    ),
    "program within itself": lambda t: t["primitives"][0][2].append(
        ["axes", ["program", 0, (), ()]]
    ),
}


@pytest.mark.parametrize("name", MADE_UP)
def test_made_up_files(name):
    e = fg.export(lambda x: np.sum(x, axis=0))(X)
    MADE_UP[name](e._encoded["tables"])
    with pytest.raises(fg.ExportError):
        fg.load(e.serialize())

"""Random numbers that are drawn while a function is traced: who is warned, of which line, and who is not."""

import collections
import functools
import random
import subprocess
import sys
import types
import warnings
from pathlib import Path
from random import gauss

import numpy as np
import pytest
import scipy.stats
from numpy.random import standard_normal

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax

rng = np.random.default_rng(0)
legacy = np.random.RandomState(0)
twister = np.random.Generator(np.random.MT19937(0))
own = random.Random(0)
X = np.zeros(3)


class Noise:
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def __call__(self, x):
        return x + self.rng.normal()  # DRAW

    def add(self, x):
        return x + self.rng.normal()  # DRAW


noise = Noise()


class Model:
    shared = [np.random.default_rng(1)]

    def __init__(self):
        self.generators = {"noise": np.random.default_rng(1)}
        self.inner = types.SimpleNamespace(inner=noise, generators=[np.random.default_rng(1)])
        self._hidden = np.random.default_rng(1)

    @property
    def hidden(self):
        return self._hidden  # DRAW

    def by_key(self, x):
        return x + self.generators["noise"].normal()  # DRAW

    def of_inner(self, x):
        return x + self.inner.inner.rng.normal()  # DRAW

    def in_inner(self, x):
        return x + self.inner.generators[0].normal()  # DRAW

    def of_class(self, x):
        return x + self.shared[0].normal()  # DRAW

    def by_property(self, x):
        return x + self.hidden.normal()


class Slots:
    __slots__ = ("generator",)

    def __init__(self):
        self.generator = np.random.default_rng(1)


Pair = collections.namedtuple("Pair", "number generator")
model, slots = Model(), Slots()
generators = [np.random.default_rng(0), np.random.default_rng(1)]
settings = {"seed": 0, "noise": {"rng": np.random.default_rng(0)}}
pair = Pair(1, np.random.default_rng(0))
ordered = collections.OrderedDict(rng=np.random.default_rng(0))


def helper(x):
    return x + rng.normal()  # DRAW


def captured():
    local = np.random.default_rng(0)
    return lambda x: x + local.normal()  # DRAW


def captured_items():
    local = [[np.random.default_rng(0)]]
    return lambda x: x + local[0][0].normal()  # DRAW


def by_argument(generator, x):
    return x + generator.normal()


DRAWING = {
    "global": lambda x: x + rng.normal(),  # DRAW
    "captured": captured(),
    "default": lambda x, r=rng: x + r.normal(),  # DRAW
    "of a method": noise.add,
    "of an attribute": lambda x: noise.add(x),
    "of a callable object": noise,
    "helper": lambda x: helper(x) * 2,
    "inside": lambda x: (lambda y: y + rng.normal())(x),  # DRAW
    "partial": functools.partial(by_argument, rng),
    "other bits": lambda x: x + twister.random(),  # DRAW
    "one bit": lambda x: x + twister.integers(0, 2, dtype=np.uint8),  # DRAW
    "RandomState": lambda x: x + legacy.normal(),  # DRAW
    "np.random": lambda x: x + np.random.rand(),  # DRAW  # noqa: NPY002
    "np.random.normal": lambda x: x + np.random.normal(),  # DRAW  # noqa: NPY002
    "imported": lambda x: x + standard_normal(),  # DRAW  # noqa: NPY002
    "scipy": lambda x: x + scipy.stats.norm.rvs(),  # DRAW
    "random": lambda x: x + random.random(),  # DRAW
    "random, imported": lambda x: x + gauss(0, 1),  # DRAW
    "Random": lambda x: x + own.random(),  # DRAW
    "item": lambda x: x + generators[1].normal(),  # DRAW
    "items": lambda x: x + sum(r.normal() for r in generators[:1]),  # DRAW
    "key": lambda x: x + ordered["rng"].normal(),  # DRAW
    "key of a key": lambda x: x + settings["noise"]["rng"].normal(),  # DRAW
    "item of a default": lambda x, rs=generators: x + rs[0].normal(),  # DRAW
    "captured item": captured_items(),
    "named item": lambda x: x + pair.generator.normal(),  # DRAW
    "slot": lambda x: x + slots.generator.normal(),  # DRAW
    "key of an attribute": model.by_key,
    "attribute of attributes": model.of_inner,
    "item of an attribute of an attribute": model.in_inner,
    "item of an attribute of the class": lambda x: model.of_class(x),
    "property": model.by_property,
    "derivative": fg.grad(lambda x: x * rng.normal()),  # DRAW
}
QUIET = {
    "nothing": lambda x: fnp.sin(x) + np.pi,
    "unused": lambda x: x if rng is not None and random else -x,
    "made inside": lambda x: x + np.random.default_rng(0).normal(),
    "state": lambda x: x + rng.bit_generator.state["has_uint32"],
    "other function": lambda x: x if helper else -x,
    "unused items": lambda x: x if generators and settings and model else -x,
}
LINES = {
    n
    for n, line in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1)
    if "# DRAW" in line
}


def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [w for w in found if w.category is fg.FrozenRandomWarning]


@pytest.mark.parametrize("name", DRAWING)
def test_vmap_and_jit_warn_of_the_line(name):
    f = DRAWING[name]
    for _ in range(3):  # a normal number may be left over from a pair
        for transform, x in ((fg.vmap, X), (fg.jit, 1.0)):
            (found,) = warned(lambda: transform(f)(x))  # noqa: B023
            assert found.filename == __file__
            assert found.lineno in LINES or name == "partial"


def test_the_two_lines_to_write():
    def f(x):
        return x + rng.normal()

    (found,) = warned(lambda: fg.vmap(f)(X))
    assert str(found.message).endswith(
        "and map over them, too:\n    noise = rng.normal(size=n)\n    vmap(f)(x, noise)\nMore: python -m fungrad explain FrozenRandomWarning"
    )
    (found,) = warned(lambda: fg.jit(f)(1.0))
    assert str(found.message).endswith(
        "pass them as an argument:\n    noise = rng.normal(size=n)\n    jit(f)(x, noise)\nMore: python -m fungrad explain FrozenRandomWarning"
    )
    g = lambda x, noise: x + noise
    for transform in (fg.vmap, fg.jit, lambda f: fg.jit(fg.vmap(f))):
        assert not warned(lambda: transform(g)(X, rng.normal(size=3)))  # noqa: B023
    for draw, text in (
        (lambda x: x + generators[1].normal(), "generators[1].normal(size=n)"),
        (
            lambda x: x + settings["noise"]["rng"].normal(),
            "settings['noise']['rng'].normal(size=n)",
        ),
        (lambda x: x + np.random.rand(), "np.random.normal(size=n)"),  # noqa: NPY002
        (lambda x: x + random.random(), "np.array([random.random() for _ in range(n)])"),
    ):
        (found,) = warned(lambda: fg.jit(draw)(1.0))  # noqa: B023
        assert f"noise = {text}\n" in str(found.message)


def from_nowhere():
    return np.random.default_rng().normal()


UNSEEDED = {
    "default_rng": (lambda x: x + np.random.default_rng().normal(), "np.random.default_rng().normal(size=n)"),
    "in a function": (lambda x: x + from_nowhere(), "np.random.default_rng().normal(size=n)"),
    "RandomState": (lambda x: x + np.random.RandomState().normal(), "np.random.default_rng().normal(size=n)"),
    "of bits": (lambda x: x + np.random.Generator(np.random.PCG64()).normal(), "np.random.default_rng().normal(size=n)"),
    "of Python": (lambda x: x + random.Random().random(), "np.array([random.random() for _ in range(n)])"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEDED)
def test_generators_made_without_a_seed(name):
    f, numbers = UNSEEDED[name]
    for transform, x in ((fg.vmap, X), (fg.jit, 1.0)):
        (found,) = warned(lambda: transform(f)(x))  # noqa: B023
        assert found.filename == __file__
        made = from_nowhere if name == "in a function" else f
        assert found.lineno == made.__code__.co_firstlineno + (made is from_nowhere)
        assert f"noise = {numbers}\n" in str(found.message)


def seeded_first(x):
    random.seed(4)
    return x + random.random() * random.choice([1, 2])


def seeded_first_of_numpy(x):
    np.random.seed(4)  # noqa: NPY002
    return x + np.random.normal() + np.random.random()  # noqa: NPY002


def seeded_by_text(x):
    random.seed("text")
    return x + random.random()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.random.default_rng(3).normal(),
        seeded_first,
        seeded_first_of_numpy,
        seeded_by_text,
    ],
)
def test_generators_with_a_seed_are_as_outside(f):
    assert not warned(lambda: fg.vmap(f)(X))
    assert fg.vmap(f)(X).tolist() == [f(x) for x in X]
    jitted = fg.jit(f)
    assert not warned(lambda: jitted(1.0))
    assert [jitted(x) for x in X] == [f(x) for x in X]


def seeded_on_one_way(x):
    if len(X) > 5:
        random.seed(4)
    return x + random.random()


def seeded_too_late(x):
    y = random.random()
    random.seed(4)
    return x + y


def another_is_seeded(x):
    random.seed(4)
    return x + np.random.normal()  # noqa: NPY002


def seeded_by_the_time(x):
    random.seed()
    return x + random.random()


def seeded_by_a_value(x):
    random.seed(len(X))
    return x + random.random()


def seeded_by_a_function_that_may_come_later(x):
    seeded_first(x)
    return x + random.random()


@pytest.mark.parametrize(
    "f",
    [
        seeded_on_one_way,
        seeded_too_late,
        another_is_seeded,
        seeded_by_the_time,
        seeded_by_a_value,
        seeded_by_a_function_that_may_come_later,
    ],
)
def test_seeds_that_do_not_decide_the_numbers(f):
    assert warned(lambda: fg.jit(f)(1.0))


def test_once_per_line():
    def f(x):
        return x + rng.normal()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            fg.vmap(f)(X)
            fg.jit(f)(1.0)
            fg.jit(fg.vmap(f))(X)
    assert len(found) == 1


@pytest.mark.parametrize("name", QUIET)
def test_no_warning_where_nothing_is_drawn(name):
    f = QUIET[name]
    for transform, x in ((fg.vmap, X), (fg.jit, 1.0), (lambda f: fg.jit(fg.vmap(f)), X)):
        assert not warned(lambda: transform(f)(x))  # noqa: B023


def test_no_warning_where_each_call_is_traced_anew():
    f = lambda x: x * rng.normal()
    for transform in (fg.grad, fg.value_and_grad, fg.hessian, lambda f: lambda x: fg.vjp(f, x)):
        assert not warned(lambda: transform(f)(1.0))  # noqa: B023
    g = fg.grad(f)
    assert g(1.0) != g(1.0)


def test_no_warning_when_a_program_is_known():
    f = fg.jit(DRAWING["global"])
    assert len(warned(lambda: f(1.0))) == 1
    rng.normal()
    assert not warned(lambda: f(1.0))
    assert len(warned(lambda: f(X))) == 1  # another program


def test_static_arguments_are_looked_at():
    f = fg.jit(lambda x, r: x + r.normal(), static_argnums=1)
    assert len(warned(lambda: f(1.0, rng))) == 1


@pytest.mark.parametrize(
    "loop",
    [
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0],
        lambda f: lambda x: lax.fori_loop(0, 3, lambda i, c: f(c), x),
        lambda f: lambda x: lax.while_loop(lambda c: c < 1, f, x),
    ],
)
def test_loops_that_are_traced_warn_and_loops_of_python_do_not(loop):
    draw = loop(lambda x: x + abs(rng.normal()))
    assert not warned(lambda: draw(0.0))
    found = warned(lambda: fg.jit(draw)(0.0))
    assert any(
        "while while_loop(" in (m := str(w.message))
        or "while scan(" in m
        or "while fori_loop(" in m
        for w in found
    )


def test_watching_draws_nothing():
    states = [x.bit_generator.state for x in (rng, noise.rng)]
    others = [legacy.get_state(legacy=False), np.random.get_state(legacy=False), random.getstate()]  # noqa: NPY002

    def f(x):
        return x if (rng, noise, legacy, np.random, random) else -x

    fg.vmap(f)(X)
    fg.jit(f)(1.0)
    np.testing.assert_equal([x.bit_generator.state for x in (rng, noise.rng)], states)
    np.testing.assert_equal(legacy.get_state(legacy=False), others[0])
    np.testing.assert_equal(np.random.get_state(legacy=False), others[1])  # noqa: NPY002
    assert random.getstate() == others[2]


def test_a_module_that_another_thread_is_importing(monkeypatch):
    """It stands in `sys.modules` before anything is in it."""
    for name in ("random", "numpy.random", "numpy.random.mtrand"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    scale = 2.0
    assert fg.jit(lambda x: np.multiply(x, scale))(1.0) == 2.0
    assert fg.vmap(lambda x: np.multiply(x, scale))(np.ones(1)) == 2.0


LATE = """
import sys, warnings, fungrad as fg, numpy as np

def own_import():
    import numpy.random
    return numpy.random

{f}

assert "numpy.random" not in sys.modules
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fg.jit(f)(1.0)
print(*[w.category.__name__ for w in caught])
"""


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        ("def f(x): return x + np.random.normal()", "FrozenRandomWarning"),
        ("def f(x): return x + own_import().normal()", "FrozenRandomWarning"),
        ("def f(x): return x + own_import().randint(3)", "FrozenRandomWarning"),
        ("def f(x): return (own_import(), x)[1]", ""),
        ("def f(x): return (own_import().seed(3), x)[1]", ""),
    ],
)
def test_generators_that_are_imported_meanwhile(f, expected):
    """NumPy imports its random numbers when they are asked for."""
    run = [sys.executable, "-c", LATE.format(f=f)]
    found = subprocess.run(run, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == expected

"""The first random programs of `make fuzz` that are compared with JAX."""

import numpy as np
import pytest

pytest.importorskip("jax")

import fungrad as fg
from tests.fuzz import driver, language, oracle, pure_python, with_jax

AT_ONCE = 15


@pytest.mark.parametrize("start", range(0, 30, AT_ONCE))
def test_programs(start):
    with_jax.tally.clear()
    for seed in range(start, start + AT_ONCE):
        failure = driver.attempt(with_jax, seed)
        assert failure is None, f"seed {seed}: {failure.mismatch}\n{failure.test}"
    assert with_jax.tally["compared"] > AT_ONCE // 2


def no_slope(f):
    return lambda x: fg.stop_gradient(f(x))


def no_curvature(f):
    g = fg.custom_jvp(f)
    slope = lambda x: fg.stop_gradient(fg.jvp(f, (x,), (np.ones_like(x),))[1])
    g.defjvp(lambda primals, tangents: (f(*primals), slope(*primals) * tangents[0]))
    return g


@pytest.mark.parametrize(
    ("faulty", "kind"),
    [(fg.jit, None), (no_slope, "vjp: JAX"), (no_curvature, "second: JAX")],
)
def test_faults_are_found(monkeypatch, faulty, kind):
    monkeypatch.setattr(oracle, "fungrad_names", pure_python.fungrad_names | {"jit": faulty})
    line = "v1 = jit(lambda u: np.sin(u) * u)(x0)"
    program = language.Program(("x0 = draw(0, (3,), 'f8')",), (), (line,), ("v1",))
    found = with_jax.check(program)
    assert (found and found.kind) == kind


def test_what_has_no_derivative_in_jax_is_exempt_by_name():
    line = "v1 = np.unique(x0)  # value"
    program = language.Program(("x0 = draw(0, (3,), 'f8')",), (), (line,), ("v1",))
    with_jax.tally.clear()
    assert with_jax.check(program) is None
    assert with_jax.tally["of no derivative in JAX, np.unique("] > 0

"""The checks of primitives can fail: each fault in a rule is found, by the checks that look there."""

import dataclasses
import sys

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import add, cos, mul, neg, sin, stop_gradient
from fungrad.primitives.shaping import expand
from fungrad.primitives.slices import Reverse
from tests.backends.fake_cupy import make_module
from tests.check import CHECKS, check_backend, checks_of
from tests.samples.row import Sample, reals


@primitive
class SineTimes(Primitive):
    """``sin(x) * flip(y, axis)``, with all rules written out and one `fault` in them."""

    axis: int = 0
    fault: str = ""

    def abstract_eval(self, x, y):
        if self.fault == "abstract: dtype" and x.dtype == np.float32:
            return x.update(dtype=np.dtype(float))
        if self.fault == "abstract: weak" and x.weak:
            return x.update(shape=x.shape[::-1])
        return x.update(weak=x.weak and y.weak)

    def impl(self, xp, x, y):
        if self.fault == "impl: writes into an operand":
            x[x < -100] = 0
            x *= 1
            if x.flags.f_contiguous and not x.flags.c_contiguous:
                x += 0.01
        if self.fault == "impl: only for one layout" and not x.flags.c_contiguous:
            return xp.sin(x)
        if self.fault == "backend: NumPy's function":
            return np.asarray(
                np.sin(np.array(x.tolist())) * np.flip(np.array(y.tolist()), self.axis)
            )
        return xp.sin(x) * xp.flip(y, self.axis)

    def expression(self, x, y):
        if self.fault == "source: another value":
            return f"np.sin({x}) * {y}"
        if self.fault == "source: another dtype":
            return f"(np.sin({x}) * np.flip({y}, {self.axis})).astype(complex)"
        if self.fault == "source: gives an operand":
            return f"np.multiply(np.sin({x}), np.flip({y}, {self.axis}), {x})"
        return f"np.sin({x}) * np.flip({y}, {self.axis})"

    def call_into(self, out, x, y):
        if self.fault == "source: overwrites what it still reads":
            return f"np.multiply(np.sin({x}, {out}), np.flip({y}, {self.axis}), {out})"
        if self.fault == "source: out is not the result":
            return f"np.sin({x}) * np.flip({y}, {self.axis}) + 0 * {out}"
        return f"np.multiply(np.sin({x}), np.flip({y}, {self.axis}).copy(), {out})"

    def jvp(self, tangents, out, x, y):
        t_x, t_y = tangents
        x_term = y_term = None
        if t_x is not None:
            slope = cos(x)
            if self.fault == "jvp: sign":
                slope = neg(slope)
            if self.fault == "jvp: derivative of the derivative":
                slope = stop_gradient(slope)
            x_term = mul(t_x, mul(slope, Reverse((self.axis,))(y)))
        if t_y is not None:
            y_term = self(x, t_y)
            if self.fault.startswith("jvp"):  # so that the fault is nowhere else
                y_term = mul(sin(x), Reverse((self.axis,))(t_y))
        if x_term is None or y_term is None:
            return y_term if x_term is None else x_term
        return x_term if self.fault == "jvp: drops a term" else add(x_term, y_term)

    def pull(self, ct, flags, out, operands):
        if not self.fault.startswith("pull"):
            return None
        x, y = operands
        of_y = Reverse((self.axis,))(mul(sin(x), ct))
        return ct * cos(x) * Reverse((self.axis,))(y), {
            "pull: right": of_y,
            "pull: sign": neg(of_y),
            "pull: drops an operand": None,
        }[self.fault]

    def transpose(self, ct, x, y):
        if isinstance(x, Linear) and self.fault != "nonlinear: no error":
            raise self.missing("transpose")
        if isinstance(x, Linear):
            return None, None
        weight = sin(x)
        if self.fault == "transpose: sign":
            weight = neg(weight)
        if self.fault == "transpose: derivative":
            weight = stop_gradient(weight)
        if self.fault == "transpose: of the wrong operand":
            return Reverse((self.axis,))(mul(weight, ct)), None
        if self.fault == "transpose: dtype":
            return None, Reverse((self.axis,))(mul(weight, ct)) > 0
        return None, Reverse((self.axis,))(mul(weight, ct))

    def batch(self, size, batched, x, y):
        axis = self.axis + 1
        if self.fault == "batch: axis":
            axis = self.axis
        if self.fault == "batch: one operand" and not batched[1]:
            axis = self.axis
        if self.fault == "batch: size 1" and size == 1:
            axis = self.axis
        if self.fault == "batch: size 0" and size == 0:
            return x if batched[0] else y[..., 0]
        return SineTimes(axis)(expand(size, x, batched[0]), expand(size, y, batched[1]))


def row(fault, *shape):
    return Sample(
        SineTimes(0, fault),
        (reals(*(shape or (3, 2))), reals(*(shape or (3, 2)), seed=1)),
        lambda x, y: np.array([np.sin(a) * b for a, b in zip(x, y[::-1], strict=True)]).reshape(
            x.shape
        ),
        linear=((1,),),
    )


def failing(sample):
    """Return the checks that fail, by AssertionError or by an error of the library."""
    failed = set()
    for name in checks_of(sample):
        try:
            CHECKS[name](sample)
        except (AssertionError, fg.FungradError, TypeError, ValueError, pytest.fail.Exception):
            failed.add(name)
    return failed


@pytest.mark.parametrize("shape", [(3, 2), (1,), (2, 0), (0,), (2, 3, 2)], ids=str)
def test_rules_without_a_fault_pass(shape):
    assert failing(row("", *shape)) == set()


ALL = {
    "impl",
    "abstract",
    "source",
    "jvp",
    "jvp2",
    "vjp",
    "vjp2",
    "grad",
    "transpose",
    "nonlinear",
    "batch",
}


def test_all_checks_run():
    assert {*checks_of(row(""))} == ALL
    assert {*CHECKS} == {*ALL, "gaps"}


@pytest.mark.parametrize(
    ("fault", "checks"),
    [
        ("impl: writes into an operand", {"impl"}),
        ("impl: only for one layout", {"impl"}),
        ("abstract: dtype", {"abstract"}),
        ("abstract: weak", {"abstract"}),
        ("source: another value", {"source"}),
        ("source: another dtype", {"source"}),
        ("source: gives an operand", {"source"}),
        ("source: overwrites what it still reads", {"source"}),
        ("source: out is not the result", {"source"}),
        ("jvp: sign", {"jvp"}),
        ("jvp: drops a term", {"jvp"}),
        ("jvp: derivative of the derivative", {"jvp2", "vjp2"}),
        ("nonlinear: no error", {"nonlinear"}),
        ("batch: axis", {"batch"}),
        ("batch: one operand", {"batch"}),
        ("batch: size 1", {"batch"}),
        ("batch: size 0", {"batch"}),
        # Reverse mode is made of jvp and transpose: it fails with the latter.
        ("transpose: sign", {"transpose", "vjp"}),
        ("transpose: of the wrong operand", {"transpose", "vjp"}),
        ("transpose: dtype", {"transpose", "vjp", "vjp2", "grad"}),
        ("transpose: derivative", {"vjp2"}),
        ("pull: right", set()),
        ("pull: sign", {"grad"}),
        ("pull: drops an operand", {"grad"}),
    ],
)
def test_a_fault_is_found(fault, checks):
    found = failing(row(fault))
    if fault.startswith("source"):  # derivatives are compiled when they run a second time
        found -= {"vjp", "jvp2", "vjp2", "grad"}
    assert found == checks


@primitive
class Doubled(Primitive):
    """``2 * x``; linear."""

    fault: str = ""

    linear = (0,)

    def abstract_eval(self, x):
        return x

    def impl(self, xp, x):
        if self.fault == "impl: shares memory":
            return x
        return 2 * x

    def transpose(self, ct, x):
        return (neg(self(ct)) if self.fault else self(ct),)

    def batch(self, size, batched, x):
        return self(x)


def test_a_wrong_transpose_of_a_linear_primitive():
    sample = Sample(Doubled(), (reals(3),), lambda x: x + x)
    assert failing(sample) == set()
    broken = dataclasses.replace(sample, primitive=Doubled("sign"))
    assert failing(broken) == {"transpose", "vjp", "vjp2"}


def test_results_that_share_memory():
    sample = Sample(Doubled("impl: shares memory"), (reals(3),), lambda x: x)
    with pytest.raises(AssertionError, match=r"shares memory with operands \[0\]"):
        CHECKS["impl"](sample)
    with pytest.raises(AssertionError, match="shares memory with operand 0"):
        CHECKS["source"](sample)


@pytest.mark.parametrize(
    "oracle",
    [
        lambda x: x + x + 1e-9,
        lambda x: np.float32(x + x),
        lambda x: (x + x)[None],
        lambda x: x + x + 0j,
    ],
)
def test_an_oracle_that_differs(oracle):
    assert failing(Sample(Doubled(), (reals(3),), oracle)) == {"impl"}


@pytest.mark.parametrize(
    ("gap", "checks"), [("jvp", {"gaps"}), ("transpose", {"gaps"}), ("batch", {"gaps"})]
)
def test_a_gap_that_is_none(gap, checks):
    sample = Sample(Doubled(), (reals(3),), lambda x: x + x, gaps=frozenset([gap]))
    assert failing(sample) == checks
    assert {"jvp": "jvp", "transpose": "vjp", "batch": "batch"}[gap] not in checks_of(sample)


def test_zero_tangents_of_what_varies():
    """A primitive declared without derivative is compared with the central difference too."""

    @primitive
    class Forgotten(Primitive):
        differentiable = False

        def abstract_eval(self, x):
            return x

        def impl(self, xp, x):
            return xp.sin(x)

        def batch(self, size, batched, x):
            return self(x)

    sample = Sample(Forgotten(), (reals(3),), lambda x: np.sin(x))
    assert failing(sample) == {"jvp"}


def test_backends(monkeypatch):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    check_backend(row(""), cupy)
    with pytest.raises(AssertionError, match="not an array of cupy"):
        check_backend(row("backend: NumPy's function"), cupy)


def test_every_fault_is_used():
    import inspect
    import re

    source = inspect.getsource(SineTimes) + inspect.getsource(Doubled)
    faults = set(re.findall(r'self\.fault [!=]= "([^"]+)"', source))
    tested = inspect.getsource(sys.modules[__name__]).split("def row")[1]
    assert {f for f in faults if f'"{f}"' not in tested} == set()
    assert type_of(row("").operands[0]).shape == (3, 2)

"""``autograd.test_util``: derivatives checked against differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.derivatives import make_jvp, make_vjp
from fungrad.compat.autograd.modules.wrap_util import get_name, unary_to_nary
from fungrad.compat.autograd.vectors import vspace
from fungrad.compat.standing_in import attributes

__all__ = [
    "EPS", "RTOL", "TOL", "check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check",
    "make_numerical_jvp", "scalar_close",
]  # fmt: skip
__getattr__ = attributes("autograd.test_util", ABSENT)

TOL = RTOL = EPS = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers are close, absolutely or relatively."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """Return the derivative of `f` at `x` by central differences."""
    space, of_result = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        above, below = [f(space.add(x, space.scalar_mul(v, s * EPS / 2))) for s in (1, -1)]
        difference = of_result.add(above, of_result.scalar_mul(below, -1.0))
        return of_result.scalar_mul(difference, 1.0 / EPS)

    return jvp


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise an AssertionError if reverse mode and differences disagree."""
    pull, y = make_vjp(f, x)
    of_x, of_y = vspace(x), vspace(y)
    v, w = of_x.randn(), of_y.randn()
    pulled = of_x.covector(pull(of_y.covector(w)))
    _check(vspace(pulled) == of_x, f"{get_name(f)}: a derivative by {of_x} is in {vspace(pulled)}")
    exact = of_x.inner_prod(v, pulled)
    numeric = of_y.inner_prod(w, make_numerical_jvp(f, x)(v))
    _check(
        scalar_close(numeric, exact),
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\nanalytic: {exact}\nnumeric:  {numeric}",
    )


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise an AssertionError if forward mode and differences disagree."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise an AssertionError if two vectors differ along a random direction."""
    space, other = vspace(x), vspace(y)
    _check(space == other, f"VSpace mismatch:\nx: {space}\ny: {other}")
    v = space.randn()
    close = scalar_close(space.inner_prod(x, v), space.inner_prod(y, v))
    _check(close, f"Value mismatch:\nx: {x}\ny: {y}")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


@unary_to_nary
def check_grads(f: Any, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise an AssertionError if derivatives up to `order` and differences disagree."""
    _check({*modes} <= {"fwd", "rev"}, f"modes are fwd and rev, not {modes}")
    derivative: Callable[..., Any]
    for mode in modes:
        if mode == "fwd":
            check_jvp(f, x)
            v, derivative = vspace(x).randn(), lambda x, v: make_jvp(f, x)(v)[1]
        else:
            check_vjp(f, x)
            v, derivative = vspace(f(x)).randn(), lambda x, v: make_vjp(f, x)[0](v)
        if order > 1:
            derivative.__name__ = f"{'jvp' if mode == 'fwd' else 'vjp'}_{get_name(f)}"
            check_grads(derivative, (0, 1), modes, order=order - 1)(x, v)


def combo_check(fun: Any, *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Return the check of derivatives of `fun` for all combinations of lists of arguments."""

    def check(*choices: Any, **named: Any) -> None:
        for chosen in itertools.product(*choices):
            for options in itertools.product(*named.values()):
                check_grads(fun, *args, **kwargs)(*chosen, **dict(zip(named, options)))

    return check

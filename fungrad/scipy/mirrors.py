"""Functions with SciPy's own parameters, of which rules take those that mean something for traced arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fungrad.numpy.dispatch import implements

Function = Callable[..., Any]

MEANINGLESS = frozenset(
    [
        *("blocksize", "check_finite", "driver", "lapack_driver", "lwork", "max_ev", "method"),
        *("overwrite_a", "overwrite_a_band", "overwrite_ab", "overwrite_b", "overwrite_x"),
        *("plan", "tol", "workers"),
    ]
)
"""Parameters about memory, threads and algorithms, which rules leave out: they change no value."""


def mirrors(function: Any, **options: Any) -> Callable[[Function], Function]:
    """Decorate what a function of SciPy's does when some argument is a tracer, as `implements` does.

    The rule is called by name with the parameters it has. Of others only those that are `MEANINGLESS` may be
    given: what a newer SciPy adds is refused for traced arrays.
    """
    return lambda rule: implements(function, **options)(with_parameters_of(function, rule))


def with_parameters_of(function: Any, rule: Function) -> Function:
    """Return a rule with all parameters of a function of SciPy's, in its order and with its defaults."""
    names = inspect.signature(rule).parameters
    namespace: dict[str, Any] = {"__name__": rule.__module__, "rule": rule, "refuse": _refuse}
    shown, taken, unknown = [], [], []
    for p in inspect.signature(function).parameters.values():
        default = p.default
        if default is not p.empty:
            namespace[f"default_{p.name}"] = default
            default = _Name(f"default_{p.name}")
        shown.append(p.replace(default=default, annotation=p.empty))
        if p.name in names:
            taken.append(f"{p.name}={p.name}")
        elif p.name not in MEANINGLESS:
            unknown.append(f"refuse({rule.__name__!r}, {p.name!r}, {p.name}, {default})")
    lines = [f"def {rule.__name__}{inspect.Signature(shown)}:", *unknown]
    exec("\n    ".join([*lines, f"return rule({', '.join(taken)})"]), namespace)
    found: Function = namespace[rule.__name__]
    found.__doc__, found.__module__ = rule.__doc__, rule.__module__
    return found


class _Name(str):
    """A name that stands for itself in a signature."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show it without quotes."""
        return str(self)


def _refuse(function: str, name: str, value: Any, default: Any) -> None:
    if value is not default:
        raise TypeError(
            f"{function}: the argument {name} cannot be used on traced arrays; leave it out"
        )

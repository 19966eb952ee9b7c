"""Functions with SciPy's own parameters; rules take those with a meaning for traced arrays."""

from __future__ import annotations

import dataclasses
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


class Group:
    """Base of dataclasses whose fields are parameters that several functions have."""


def mirrors(function: Any, **options: Any) -> Callable[[Function], Function]:
    """Declare the rule of a SciPy function for traced arguments, as `implements` does.

    The rule is called by name with the parameters it has; one whose annotation is a `Group` gets those of SciPy's
    that are fields of it. Of others only those that are `MEANINGLESS` may be given: what a newer SciPy adds is
    refused for traced arrays.
    """
    return lambda rule: implements(function, **options)(with_parameters_of(function, rule))


def with_parameters_of(function: Any, rule: Function) -> Function:
    """Return a rule with all parameters of a function of SciPy's, in its order and with its defaults."""
    public = getattr(function, "__name__", "function")  # SciPy before 1.16 has some without
    parameters = inspect.signature(function).parameters
    namespace: dict[str, Any] = {"__name__": rule.__module__, "rule": rule, "refuse": _refuse}
    passed, taken = [], set[str]()
    for name, p in inspect.signature(rule, eval_str=True).parameters.items():
        if isinstance(p.annotation, type) and issubclass(p.annotation, Group):
            fields = [f.name for f in dataclasses.fields(p.annotation) if f.name in parameters]  # type: ignore[arg-type]
            namespace[p.annotation.__name__] = p.annotation
            passed.append(f"{name}={p.annotation.__name__}({_by_name(fields)})")
            taken.update(fields)
        elif name in parameters:
            passed.append(_by_name([name]))
            taken.add(name)
    shown, unknown = [], []
    for p in parameters.values():
        default = p.default
        if default is not p.empty:
            namespace[f"default_{p.name}"] = default
            default = _Name(f"default_{p.name}")
        shown.append(p.replace(default=default, annotation=p.empty))
        if p.name not in taken and p.name not in MEANINGLESS:
            unknown.append(f"refuse({public!r}, {p.name!r}, {p.name}, {default})")
    lines = [f"def {public}{inspect.Signature(shown)}:", *unknown]
    exec("\n    ".join([*lines, f"return rule({', '.join(passed)})"]), namespace)
    mirror: Function = namespace[public]
    mirror.__doc__, mirror.__module__ = rule.__doc__, rule.__module__
    return mirror


def _by_name(names: list[str]) -> str:
    return ", ".join(f"{name}={name}" for name in names)


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

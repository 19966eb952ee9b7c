"""What a program in autograd's style imports, by the same names from either library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks import peers
from benchmarks.workload import Setting


@dataclass(frozen=True)
class Library:
    """The names that programs use, from one library."""

    np: Any
    grad: Callable[..., Any]
    value_and_grad: Callable[..., Any]
    stats: Any
    special: Any


def fungrad(setting: Setting) -> Library:
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad.scipy import special, stats

    setting.numpy_only("scipy")
    return Library(fnp, fg.grad, fg.value_and_grad, stats, special)


def autograd(setting: Setting) -> Library:
    ag = peers.load_autograd(setting)
    from autograd.scipy import special, stats

    return Library(ag.numpy, ag.grad, ag.value_and_grad, stats, special)

"""`jax.experimental.custom_partitioning`: there is one device, and nothing is partitioned."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.inert import no_effect as _no_effect


class custom_partitioning:
    """A function with rules for several devices, which is called as it is."""

    def __init__(self, fun: Callable[..., Any], static_argnums: Any = ()) -> None:
        self.fun = fun
        functools.update_wrapper(self, fun, updated=())

    def_partition = staticmethod(_no_effect)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)


__getattr__ = _namespace("jax.experimental.custom_partitioning", globals(), [])

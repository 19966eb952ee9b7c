"""What a benchmark declares: a `Workload`, its contenders and its `Target`s."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

Call = Callable[[], Any]
"""The thing that is timed: takes nothing, returns its answer when the answer is complete."""


class LeftOut(Exception):
    """Raised by a contender's factory that cannot take part here; its message says why."""


@dataclass(frozen=True)
class Setting:
    """Where a run takes place. Every factory is given one.

    Attributes
    ----------
    backend : str
        `"numpy"` or `"cupy"`: the arrays that fungrad and the code by hand work on.
    """

    backend: str = "numpy"

    @property
    def xp(self) -> ModuleType:
        """The array namespace of the backend: `numpy` or `cupy`."""
        if self.backend == "numpy":
            return np
        import cupy

        return cupy

    def asarray(self, data: Any) -> Any:
        """Put NumPy's array or scalar where the backend wants it."""
        return data if self.backend == "numpy" else self.xp.asarray(data)

    def call(self, function: Callable[..., Any], *args: Any) -> Call:
        """Bind `args`; on a GPU the call also waits until the device has finished."""
        if self.backend == "numpy":
            return partial(function, *args)
        synchronize = self.xp.cuda.get_current_stream().synchronize

        def call_and_wait() -> Any:
            answer = function(*args)
            synchronize()
            return answer

        return call_and_wait

    def numpy_only(self, library: str) -> None:
        """Leave a contender out where the arrays are not NumPy's."""
        if self.backend != "numpy":
            raise LeftOut(f"{library} works on NumPy arrays only")


@dataclass(frozen=True)
class Target:
    """A promise about medians: `contender` takes at most `limit` times what `of` takes: time, or memory.

    Attributes
    ----------
    contender : str
        Whose time is promised.
    limit : float
        The largest allowed ratio to `of`, or the largest time in seconds where `of` is None.
    of : str, optional
        The contender it is compared with.
    """

    contender: str
    limit: float
    of: str | None = None

    def measure(self, medians: Mapping[str, float]) -> float | None:
        """Return the promised quantity as measured, or None where a contender was left out."""
        if self.contender not in medians or (self.of is not None and self.of not in medians):
            return None
        return medians[self.contender] / (1.0 if self.of is None else medians[self.of])


@dataclass(frozen=True)
class Workload:
    """One thing to measure, and everyone who does it.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    measures : str
        One line for the head of the table.
    contenders : mapping of str to callable
        Name to factory. A factory is given the `Setting`, prepares its data and returns the
        zero-argument callable that is timed. It may raise `LeftOut`, or `ModuleNotFoundError`
        where its library is not installed. The first contender is what the others' ratios refer to.
    targets : tuple of Target
        What the project promises, printed beside what was measured.
    rtol : float
        How closely, relatively, all contenders' answers must agree.
    self_timed : bool
        The callables measure themselves and return a number; there is no answer to compare.
    unit : str
        Of what: `"seconds"`, `"bytes"` or, where something is counted, its name.
    rounds : int, optional
        How many samples of each contender are enough.
    blas_threads : int, optional
        How many threads NumPy's matrix products may use, where that is not left to NumPy. It says
        nothing about JAX, which has its own.
    rest : float
        Seconds before each sample: threads of OpenBLAS look for work for 30 ms after a product, and others want for a processor.
    """

    name: str
    measures: str
    contenders: Mapping[str, Callable[[Setting], Call]]
    targets: tuple[Target, ...] = ()
    rtol: float = 1e-9
    self_timed: bool = False
    unit: str = "seconds"
    rounds: int | None = None
    blas_threads: int | None = None
    rest: float = 0.0

"""A model of what training on several processes costs: latency, bandwidth, compute; and tables of it beside what was measured.

A collective takes time of its own, for each message that waits for another, and for each byte that a process sends. How many those are follows from how
`fungrad/distributed/exchange.py` computes it (R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
operations in MPICH", 2005). What a process computes of a step is measured for shares of the work, by one process and by two at a time, who
share the memory; what lies between is interpolated. Messages and computing are added, though some are sent meanwhile. Where processes share a core, all of it takes as many times
longer, and a message waits until the core is given to who sends it; that is fitted too, and no part of what is predicted for a core each.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

SMALL = 1 << 12
"""Bytes up to which each process is sent all parts of a sum, as in `exchange.py`."""
TARGET = 0.9
"""Of twice one core's throughput, on two."""
PROGRAMS = {"data": "data parallel", "tensor": "tensor parallel"}
REDUCTIONS = ("p_sum", "total", "p_max", "p_min")
LARGEST = 1024


def terms(kind: str, size: float, count: int) -> list[float]:
    """Return what a collective of so many bytes has on each process: itself, messages one after the other, bytes sent.

    Before each, processes exchange a mark of 8 bytes.
    """
    rounds = math.log2(count)
    common = [1.0, rounds, 8.0 * (count - 1)]
    if kind == "agreed":  # one mark more, of the value
        own = [0.0, rounds, 8.0 * (count - 1)]
    elif kind not in REDUCTIONS:
        raise ValueError(f"the model does not know how {kind!r} is computed: add it to terms()")
    elif size <= SMALL:
        own = [0.0, rounds, size * (count - 1)]
    elif count == 2:  # they swap all, and add
        own = [0.0, 1.0, size]
    else:  # parts are exchanged, added, and gathered
        own = [0.0, 2.0 * (count - 1), 2.0 * size * (count - 1) / count]
    return [a + b for a, b in zip(common, own, strict=True)]


def least_relative_squares(rows: list[list[float]], seconds: list[float]) -> Any:
    """Return coefficients, none negative, for which the errors relative to what was measured are least."""
    from scipy.optimize import nnls

    scaled = np.array(rows) / np.array(seconds)[:, None]
    norms = np.linalg.norm(scaled, axis=0)
    norms[norms == 0.0] = 1.0
    return nnls(scaled / norms, np.ones(len(rows)))[0] / norms


class Model:
    """Coefficients fitted to a measurement, and what they predict."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.cores = found["environment"]["cores"]
        self.runs = {run["count"]: run for run in found["runs"]}
        sums = [(c, float(b), t) for c, run in self.runs.items() for b, t in run["sums"].items()]
        self.of_sums = least_relative_squares(
            [self.crowded(terms("p_sum", size, count), count) for count, size, _ in sums],
            [seconds for *_, seconds in sums],
        )

    def crowd(self, count: int) -> float:
        """Return how many processes share a core, where it was measured."""
        return max(1.0, count / self.cores)

    def crowded(self, of: list[float], count: int) -> list[float]:
        """Return the terms of a collective where it was measured, with those of messages between processes that share a core."""
        crowd = self.crowd(count)
        return [*(crowd * t for t in of), of[1] if crowd > 1.0 else 0.0]

    def collective(self, kind: str, size: float, count: int, *, here: bool = False) -> float:
        """Return the seconds of a collective: where each process has a core, or on the cores that were measured."""
        if count == 1:
            return 0.0
        of = terms(kind, size, count)
        return float(self.of_sums @ (self.crowded(of, count) if here else [*of, 0.0]))

    def step(
        self, program: str, count: int, *, share: float | None = None, here: bool = False
    ) -> float:
        """Return the seconds of a step, of which each process has the share `1 / count`, or another."""
        met = self.runs[2][program]["meetings"]  # those of any number of processes
        computing = self.computing(program, count, 1.0 / count if share is None else share)
        waiting = sum(self.collective(kind, size, count, here=here) for kind, size in met)
        return (self.crowd(count) if here else 1.0) * computing + waiting

    def computing(self, program: str, count: int, share: float) -> float:
        """Return the seconds that a process takes for its share of a step: alone, or beside others."""
        measured = self.runs[min(count, 2)]["shares"][program]
        known = sorted((1.0 / int(k), seconds) for k, seconds in measured.items())
        shares, seconds = np.log(np.array(known)).T
        return float(np.exp(np.interp(math.log(share), shares, seconds)))


def milliseconds(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds * 1e3:.3g}"


def tables(found: dict[str, Any], markdown: Callable[..., str]) -> str:
    """Return all tables of a measurement, with a line above each."""
    model = Model(found)
    own, message, byte, _ = model.of_sums
    speed = f", and {1e-9 / byte:.2g} GB/s" if byte else ""
    sums = f"A collective takes {own * 1e6:.3g} us, {message * 1e6:.3g} us for each message that waits for another{speed}, as fitted to all sums:"
    counts = [c for c in model.runs if c > 1]
    heads = [f"{what}, {c} processes" for c in counts for what in ("us", "predicted")]
    cells = [
        [size, *(t for c in counts for t in _sum(model, c, size))] for size in model.runs[2]["sums"]
    ]
    parts = [
        _machine(found["environment"]),
        _steps(model, markdown),
        f"{sums}\n",
        markdown(["bytes", *heads], cells, left=0),
    ]
    parts += [_shares(model, markdown), _predictions(model, markdown)]
    return "\n".join(parts)


def _machine(made: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {made['versions'][name]}" for name in ("fungrad", "numpy"))
    return f"{made['date']}, {made['cores']} cores ({made['cpu']}), {made['python']}; {versions}.\n"


def _sum(model: Model, count: int, size: str) -> list[str]:
    predicted = model.collective("p_sum", float(size), count, here=True)
    return [f"{t * 1e6:.3g}" for t in (model.runs[count]["sums"][size], predicted)]


def _steps(model: Model, markdown: Callable[..., str]) -> str:
    """Return what a step takes beside what is predicted, and how much of the throughput of as many cores that is."""
    rows = []
    for program, said in PROGRAMS.items():
        for count, run in model.runs.items():
            measured = run[program]
            cores = min(count, model.cores)
            predicted = model.step(program, count, here=True)
            efficiency = measured["ratio"] / cores
            aim = (
                ""
                if count != 2
                else f" ({'at least' if efficiency >= TARGET else 'not'} {TARGET:.0%})"
            )
            times = (measured["alone"], measured["step"], predicted)
            rows.append(
                [said, f"{count}", f"{cores}", *map(milliseconds, times), f"{efficiency:.0%}{aim}"]
            )
    heads = ["", "processes", "cores", "one process, ms", "all, ms", "predicted, ms", "efficiency"]
    return (
        "A step of the same work by one process on one core, and by all; efficiency is how much of the throughput of that many cores, "
        "each as fast as the one, is reached, in turns of both:\n\n" + markdown(heads, rows)
    )


def _shares(model: Model, markdown: Callable[..., str]) -> str:
    measured = [model.runs[count]["shares"] for count in (1, 2)]
    rows = [
        [f"1/{k}", *(milliseconds(shares[p][k]) for p in PROGRAMS for shares in measured)]
        for k in measured[0]["data"]
    ]
    heads = [f"{said}, {how}" for said in PROGRAMS.values() for how in ("one, ms", "two, ms")]
    return (
        "What a process takes for its share of a step without messages, one alone and two at a time:\n\n"
        + markdown(["share", *heads], rows)
    )


def _predictions(model: Model, markdown: Callable[..., str]) -> str:
    rows = []
    for count in _powers(LARGEST):
        row = [f"{count}"]
        for program in PROGRAMS:
            alone = model.step(program, 1)
            divided, grown = model.step(program, count), model.step(program, count, share=1.0)
            row += [milliseconds(divided), f"{alone / count / divided:.0%}", f"{alone / grown:.0%}"]
        rows.append(row)
    heads = ["processes"]
    for said in PROGRAMS.values():
        heads += [f"{said}, ms", "efficiency", "as much work each"]
    return (
        f"Predicted for up to {LARGEST:,} processes with a core each, memory and messages as fast as for two here; efficiency with the same work divided, and with as "
        "much work for each as one has here:\n\n" + markdown(heads, rows)
    )


def _powers(last: int) -> Iterable[int]:
    return (2**k for k in range(last.bit_length()))


def medians(samples: list[tuple[float, float]]) -> dict[str, float]:
    """Return what is kept of turns of one process alone and of all."""
    alone, together = zip(*samples, strict=True)
    return {
        "alone": statistics.median(alone),
        "step": statistics.median(together),
        "ratio": statistics.median(a / t for a, t in samples),
    }

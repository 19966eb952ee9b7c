"""Tables of the measurements in `results/`, for README.md, for two pages of docs/, and for the site.

python -m benchmarks.tables          # write them
python -m benchmarks.tables --check  # fail if they are others
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import rank_model
from benchmarks.report import duration, times
from benchmarks.runner import JITTED, JITTED_JAX

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
README = ROOT / "README.md"
DOCS = ROOT / "docs"
Workloads = dict[str, dict[str, Any]]
"""What `results/` says of each workload, by its name."""

PEERS = [
    ("`grad` of `sum(sin(x) * x)`, 10 numbers, no `jit`", "grad_small", "fungrad"),
    ("`grad` of 200 operations on 10 numbers, no `jit`", "grad_chain", "fungrad"),
    ("a call of `jit(sin(x) * 2)`, 10 numbers", "jit_dispatch_10", "fungrad"),
    ("gradient of a loop that sets 200 elements, in `jit`", "in_place", JITTED),
    ("its first call", "in_place first", JITTED),
    ("a training step of the digits network, gradient in `jit`", "digits_step", "fungrad"),
    ("its first call", "digits_step first", "fungrad"),
    ("gradient of a convolution with max pooling, in `jit`", "convolution", JITTED),
    ("`vmap` of a `while_loop`, 60 x 60 points, in `jit`", "while_vmap", JITTED),
    ("`scan` of 1000 steps on 10 numbers, in `jit`", "scan", JITTED),
    ("its gradient", "scan_gradient", JITTED),
    ("`sin` of 10 numbers, no transform", "eager_call", "fungrad"),
]
"""Rows of the first table: what is said, the workload, and which of its contenders is fungrad's column."""
RATIOS = [
    ("Kalman filter of 200 steps, gradient", "native_kalman_gradient"),
    ("pairwise distances in 3 dimensions", "native_pairwise"),
    ("1000 Runge-Kutta steps, gradient", "native_runge_kutta_gradient"),
    ("sum of `exp(x) sin(x)`, 1e6", "native_exp_sin_1e6"),
    ("sort of 5e5 numbers", "native_sort"),
    ("chain of 200 operations on 10 numbers, gradient", "native_chain_gradient"),
    ("`scan` of 1000 steps on 32 numbers, gradient", "native_scan_rnn_gradient"),
    ("Black and Scholes, 1e6", "native_black_scholes"),
    ("k-means step", "native_k_means"),
    ("LSTM of 50 steps, a training step", "native_lstm_step"),
    ("layer norm, 512 x 1024", "native_layernorm"),
    ("1000 Runge-Kutta steps", "native_runge_kutta"),
    ("heat equation, 100 steps on 256 x 256", "native_heat"),
    ("transformer block", "native_transformer"),
    ("Gaussian process, 200 points, gradient", "native_gaussian_process"),
    ("`logsumexp`, 256 x 1000", "native_logsumexp"),
]
"""Rows of the second table."""


def newest(kind: str = "") -> Path:
    """Return the last measurement of a kind: "" is that beside all peers, others are in its name."""
    found = sorted(RESULTS.glob(f"*-2-cores{kind and '-'}{kind}.json"))
    if not found:
        raise FileNotFoundError(f"benchmarks/results has no measurement of the kind {kind!r}")
    return found[-1]


def read(path: Path) -> Workloads:
    """Return the workloads of a measurement."""
    return {w["name"]: w for w in json.loads(path.read_text("utf-8"))["workloads"]}


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a table, whose columns but for the first `left` are of numbers."""
    line = lambda cells: f"| {' | '.join(cells)} |"
    dashes = ["---"] * left + ["---:"] * (len(heads) - left)
    return "\n".join([line(heads), line(dashes), *map(line, rows)]) + "\n"


def ratio(workload: dict[str, Any], peer: str = JITTED_JAX, of: str = "median") -> float:
    """Return how many times what jitted fungrad takes a peer takes."""
    return workload["seconds"][peer][of] / workload["seconds"][JITTED][of]


def digits(value: float) -> str:
    """Return a ratio with two digits or three."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 1.1 else f"{value:.2f}"


def beside_peers() -> str:
    """Return times beside those of autograd and JAX."""
    workloads = read(newest())

    def cells(text: str, name: str, ours: str) -> list[str]:
        name, _, first = name.partition(" ")
        seconds = workloads[name]["seconds"]
        theirs = [JITTED_JAX] if ours == JITTED else ["jax, own arrays"]
        found = [seconds.get(contender) for contender in (ours, "autograd", *theirs)]
        return [
            text,
            *(duration(x["first_call" if first else "median"]) if x else "-" for x in found),
        ]

    heads = ["", "fungrad", "autograd, no `jit`", "JAX on its own arrays"]
    return markdown(heads, [cells(*row) for row in PEERS])


def beside_jitted_jax() -> str:
    """Return how many times longer jitted JAX takes, for some programs, and for all on the whole."""
    workloads = read(newest("native"))
    cells = [(text, digits(ratio(workloads[name]))) for text, name in RATIOS]
    half = (len(cells) + 1) // 2
    rows = [(*left, *right) for left, right in zip(cells[:half], cells[half:], strict=True)]
    table = markdown(["", "JAX / fungrad", "", "JAX / fungrad"], rows)
    return (
        table.replace("| --- | ---: | ---: | ---: |", "| --- | ---: | --- | ---: |")
        + on_the_whole()
    )


def on_the_whole() -> str:
    """Return the sentence that sums up the programs beside jitted JAX."""
    workloads = read(newest("native")).values()
    found = [ratio(w) for w in workloads]
    first = [ratio(w, of="first_call") for w in workloads]
    mean = statistics.geometric_mean
    return (
        f"\nGeometric mean of all {len(found)} programs: {times(mean(found))}, the smallest {times(min(found))}. "
        f"Of first calls: {times(mean(first))}, the smallest {times(min(first))}.\n"
    )


def training() -> str:
    """Return how many times longer training loops take elsewhere."""
    workloads = read(newest("training")).values()
    rows = [
        [
            w["measures"].partition(": ")[2],
            *(digits(ratio(w, peer)) for peer in (JITTED_JAX, "torch")),
        ]
        for w in workloads
    ]
    return markdown(["", "JAX / fungrad", "PyTorch / fungrad"], rows)


def ranks() -> str:
    """Return what training on several processes costs, measured and predicted."""
    try:
        path = newest("ranks")
    except FileNotFoundError:
        return "Nothing is kept yet of `python -m benchmarks.ranks`.\n"
    return rank_model.tables(json.loads(path.read_text("utf-8")), markdown)


TABLES: dict[str, Callable[[], str]] = {
    "on the whole": on_the_whole,
    "beside jitted JAX": beside_jitted_jax,
    "training": training,
    "beside peers": beside_peers,
    "ranks": ranks,
}
"""What stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`, by its name."""


PAGES = {
    README: ["on the whole"],
    DOCS / "performance.md": ["beside jitted JAX", "training", "beside peers"],
    DOCS / "distributed_results.md": ["ranks"],
}
"""Which of these stand where."""


def filled(text: str) -> str:
    """Return a text with its tables as the results have them."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}\n{TABLES[match[2]]()}\n{match[3]}"

    pattern = r"(<!-- figures: ([^>]*) -->\n).*?(<!-- end of figures -->)"
    return re.sub(pattern, table, text, flags=re.DOTALL)


def main() -> int:
    """Write the tables, or with `--check` tell whether they are up to date."""
    others = 0
    for page in PAGES:
        old = page.read_text("utf-8")
        new = filled(old)
        if "--check" not in sys.argv[1:]:
            page.write_text(new, "utf-8")
        elif new != old:
            name = page.relative_to(ROOT)
            print(
                f"{name} has other figures than benchmarks/results: make readme-table",
                file=sys.stderr,
            )
            others = 1
    return others


if __name__ == "__main__":
    sys.exit(main())

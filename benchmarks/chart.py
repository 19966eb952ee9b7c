"""The summary as a picture: how many times faster than JAX, a bar for each workload."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path


def draw(ratios: Mapping[str, float], path: Path) -> None:
    """Write a bar chart of the ratios, sorted, in the format that the file's name ends in."""
    import matplotlib

    matplotlib.use("Agg")  # draws without a display
    import matplotlib.pyplot as plt

    names, values = zip(*sorted(ratios.items(), key=lambda item: item[1]), strict=True)
    mean = statistics.geometric_mean(values)
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.2 * len(values)), layout="constrained")
    # a bar grows from 1, to the right where fungrad is faster
    axes.barh(
        names,
        [value - 1 for value in values],
        left=1,
        color=["tab:blue" if value >= 1 else "tab:red" for value in values],
    )
    axes.axvline(mean, color="black", linestyle="--")
    axes.set_title(f"geometric mean (dashed): {mean:.2g}")
    axes.set(xscale="log", xlabel="time of jitted JAX / time of jitted fungrad")
    axes.margins(y=0.01)
    axes.grid(axis="x", alpha=0.4)
    figure.savefig(path, dpi=150)
    plt.close(figure)

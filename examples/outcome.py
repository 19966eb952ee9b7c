"""How an example ends: what it reached beside what it should reach, and a picture if one is wanted.

`python examples` runs all of them, `python examples beam rocket` these two.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Check:
    """A number that an example reached, and the number it must reach."""

    metric: str
    reached: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the number is good enough; NaN is not."""
        above = self.at_least is None or self.reached >= self.at_least
        return above and (self.at_most is None or self.reached <= self.at_most)

    @property
    def required(self) -> str:
        """The requirement in words."""
        limits = ("at least", self.at_least), ("at most", self.at_most)
        return " and ".join(f"{word} {limit:.4g}" for word, limit in limits if limit is not None)


def row(name: str, metric: str, reached: str, required: str, seconds: str) -> str:
    """Return a row of the table that `python examples` prints."""
    return f"| {name:20} | {metric:52} | {reached:>9} | {required:>15} | {seconds:>7} |"


def report(name: str, checks: list[Check], seconds: float) -> int:
    """Print a row for each check; return 0 if all hold."""
    for check in checks:
        print(row(name, check.metric, f"{check.reached:.4g}", check.required, f"{seconds:.1f}"))
    missed = [check for check in checks if not check.holds]
    for check in missed:
        print(f"{name} missed: {check.metric} {check.reached} is not {check.required}")
    return 1 if missed else 0


def main(
    compute: Callable[..., T],
    check: Callable[[T], list[Check]],
    draw: Callable[[T, Any], None],
    by: Collection[str] = (),
) -> None:
    """Run an example as a command: compute, draw if there is `--picture FILE`, check, and exit.

    Parameters
    ----------
    compute : callable
        Does the work, and returns what there is to check and to draw.
    check : callable
        Says what was reached.
    draw : callable
        Draws into a figure of matplotlib's.
    by : collection of str
        What can run the tasks, of which `--by` chooses one, the first if it is left out; `compute` is given it.
    """
    from threadpoolctl import threadpool_limits

    path = Path(sys.argv[0])
    parser = argparse.ArgumentParser(prog=path.name)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the result")
    if by:
        parser.add_argument("--by", choices=by, default=next(iter(by)), help="what runs the tasks")
    options = parser.parse_args()
    threadpool_limits(1, user_api="blas")  # matrices this small only wait for a second thread
    start = time.perf_counter()
    result = compute(by=options.by) if by else compute()
    seconds = time.perf_counter() - start
    if options.picture:
        save(options.picture, lambda figure: draw(result, figure))
    sys.exit(report(path.stem, check(result), seconds))


def save(path: Path, draw: Callable[[Any], None]) -> None:
    """Write a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(6.0, 4.0), layout="constrained")
    draw(figure)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    shrink(path)


def shrink(path: Path) -> None:
    """Make a picture one of few colours, which takes little room."""
    from PIL import Image

    with Image.open(path) as picture:
        picture.convert("RGB").quantize(96).save(path, optimize=True)

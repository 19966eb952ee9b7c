"""Drawings of sparse matrices of derivatives: places of entries, and products that give them."""

from __future__ import annotations

import colorsys
import functools
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from fungrad.extend.packages import api_boundary
from fungrad.patterns.jacobian import plan_of
from fungrad.show.arrange import LETTER, LINE
from fungrad.show.labels import called
from fungrad.show.pictures import Picture
from fungrad.show.svg import MARGIN, page

LARGEST = 120
"""Rows or columns up to which each entry is a square; those of more are drawn in blocks."""
SIDE = 480.0
"""The longer side of a matrix, in pixels."""
STRIP = 8.0
"""Width of the strips that show the colours of columns and rows."""
LISTED = 12
"""Most products that the legend lists."""
GOLDEN = 0.381966
"""Step of the hue from colour to colour, in turns: neighbours are far apart."""

RULES = """\
.fgp text {{ font: 10.5px {font}; fill: {ink}; }}
.fgp .head {{ font-size: 13px; font-weight: bold; }}
.fgp .faint {{ fill: {faint}; }}
.fgp .page {{ fill: {page}; }}
.fgp .frame {{ fill: none; stroke: {line}; }}
.fgp .block {{ fill: {ink}; }}
"""


class Sparsity(Picture):
    """A drawing of a sparse matrix of derivatives. Made by ``sparsity(f)(*args)``; a notebook shows it.

    Attributes
    ----------
    name
        The matrix and the function.
    pattern
        A boolean ``scipy.sparse.csr_array``: where entries may be non-zero.
    columns, rows
        The colour of each column, a product with the matrix, and of each row, a product with its transpose; -1 for none.
    products
        For each entry, in the order of CSR, the number of the product that gives it; those of rows come after those of columns.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> drawing = fg.show.sparsity(lambda x: x[1:] * x[:-1])(np.ones(5))
    >>> drawing
    <Jacobian of <lambda>: 4 x 5, 8 entries (40 %), 2 products>
    >>> drawing.columns
    array([1, 0, 1, 0, 1])
    """

    def __init__(self, name: str, plan: Any) -> None:
        self.name, self.pattern = name, plan.pattern
        self._colouring = plan.colouring
        self.columns, self.rows = self._colouring.columns, self._colouring.rows

    @functools.cached_property
    def products(self) -> np.ndarray[Any, Any]:
        """The number of the product that gives each entry."""
        (m, n), (count, _) = self.pattern.shape, self._colouring.counts
        places = self._colouring.places
        backward = count + (places - count * m) // max(n, 1)
        return np.where(places < count * m, places // max(m, 1), backward)  # type: ignore[no-any-return]

    @property
    def _head(self) -> str:
        m, n = self.pattern.shape
        entries, count = self.pattern.nnz, sum(self._colouring.counts)
        share = f" ({100 * entries / (m * n):.3g} %)" if m * n else ""
        return (
            f"{self.name}: {m:,} x {n:,}, {entries:,} {'entry' if entries == 1 else 'entries'}{share}, "
            f"{count} product{'s' * (count != 1)}"
        )

    def __repr__(self) -> str:
        return f"<{self._head}>"

    def _drawn(self, dark: bool) -> str:
        m, n = self.pattern.shape
        blocks = max(1, -(-max(m, n) // LARGEST))
        side = min(SIDE / max(m, n, 1), 24.0)
        notes = list(self._notes(blocks))
        left, top = MARGIN + 2 * STRIP, MARGIN + LINE * (1 + len(notes)) + 2 * STRIP
        legend = list(self._legend(top + m * side + 2 * MARGIN))
        texts = [len(self._head) * 8.0, *[len(x) * LETTER for x in notes], 30 * LETTER]
        width = max(left + n * side, *texts) + 2 * MARGIN
        height = top + m * side + 2 * MARGIN + LINE * len(legend) + MARGIN
        parts = [
            *page("fgp", RULES, width, height, self._head, dark),
            _text(MARGIN, MARGIN + LINE - 3, self._head, "head"),
        ]
        parts += [
            _text(MARGIN, MARGIN + LINE * (i + 2) - 1, x, "faint") for i, x in enumerate(notes)
        ]
        parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
        parts += self._strips(side) if blocks == 1 else ()
        parts += self._entries(side) if blocks == 1 else self._blocks(side, blocks)
        parts.append(
            _rectangle(0, 0, n * side, m * side, 'class="frame"', f"{m:,} rows, {n:,} columns")
        )
        return "\n".join([*parts, "</g>", *legend, "</svg>\n"])

    def _notes(self, blocks: int) -> Iterator[str]:
        yield "rows: elements of the result; columns: elements of the argument"
        if blocks > 1:
            yield f"drawn in blocks of {blocks} x {blocks}: the darker, the more entries"

    def _legend(self, y: float) -> Iterator[str]:
        """Yield the lines below the matrix: each product, its columns or rows, and its entries."""
        count, _ = self._colouring.counts
        entries = np.bincount(self.products, minlength=sum(self._colouring.counts))
        for k, number in enumerate(entries[:LISTED].tolist()):
            kind, which = ("jvp", self.columns) if k < count else ("vjp", self.rows)
            ones = int((which == (k if k < count else k - count)).sum())
            line = "columns" if k < count else "rows"
            text = f"{kind} {k + 1}: {ones:,} {line if ones != 1 else line[:-1]}, {number:,} read"
            square = _rectangle(MARGIN, y + LINE * k - 9, 12, 10, f'fill="{colour(k)}"')
            yield square + _text(MARGIN + 18, y + LINE * k, text, "faint")
        if len(entries) > LISTED:
            text = f"and {len(entries) - LISTED:,} more"
            yield _text(MARGIN + 18, y + LINE * LISTED, text, "faint")

    def _strips(self, side: float) -> Iterator[str]:
        """Yield the colours of columns, above the matrix, and of rows, beside it."""
        count, _ = self._colouring.counts
        for j, k in enumerate(self.columns.tolist()):
            if k >= 0:
                title = f"column {j}: jvp {k + 1}"
                fill = f'fill="{colour(k)}"'
                yield _rectangle(j * side, -1.5 * STRIP, side, STRIP, fill, title)
        for i, k in enumerate(self.rows.tolist()):
            if k >= 0:
                title = f"row {i}: vjp {count + k + 1}"
                fill = f'fill="{colour(count + k)}"'
                yield _rectangle(-1.5 * STRIP, i * side, STRIP, side, fill, title)

    def _entries(self, side: float) -> Iterator[str]:
        gap = side / 16
        for i, j, k in zip(*self._places(), self.products.tolist(), strict=True):
            kind = "jvp" if k < self._colouring.counts[0] else "vjp"
            title, fill = f"row {i}, column {j}: {kind} {k + 1}", f'fill="{colour(k)}"'
            x, y = j * side + gap, i * side + gap
            yield _rectangle(x, y, side - 2 * gap, side - 2 * gap, fill, title)

    def _blocks(self, side: float, length: int) -> Iterator[str]:
        rows, columns = [np.array(x) // length for x in self._places()]
        across = -(-self.pattern.shape[1] // length)
        which, numbers = np.unique(rows * across + columns, return_counts=True)
        most, size = numbers.max(initial=1), side * length
        for place, number in zip(which.tolist(), numbers.tolist(), strict=True):
            i, j = divmod(place, across)
            shade = f'class="block" fill-opacity="{0.25 + 0.75 * number / most:.2f}"'
            title = f"rows from {i * length:,}, columns from {j * length:,}: {number:,} entries"
            yield _rectangle(j * size, i * size, size, size, shade, title)

    def _places(self) -> Sequence[Any]:
        rows, columns = self.pattern.tocoo().coords
        return rows.tolist(), columns.tolist()


def colour(k: int) -> str:
    """Return the colour of a product, readable on light pages and dark ones."""
    red, green, blue = colorsys.hls_to_rgb((0.58 + GOLDEN * k) % 1, 0.55, 0.6)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" xml:space="preserve">{escape(text)}</text>'
    )


def _rectangle(x: float, y: float, width: float, height: float, look: str, title: str = "") -> str:
    place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    if not title:
        return f"<rect {place} {look}/>"
    return f"<rect {place} {look}><title>{escape(title)}</title></rect>"


def sparsity(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    order: int = 1,
    mode: str = "auto",
) -> Callable[..., Sparsity]:
    """Return the function that draws where the Jacobian of `fun`, or its Hessian, may be non-zero.

    Entries of one colour are read from one product: a jvp for a group of columns, or a vjp for a group of rows. Strips above
    and beside the matrix have the colours of columns and rows.

    Parameters
    ----------
    fun, argnums, order
        As of `fungrad.sparsity`.
    mode
        As of `fungrad.sparse_jacobian`; for Hessians "auto" alone.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns a `Sparsity`, which notebooks show, and which `save` writes as SVG or PNG.

    Raises
    ------
    DenseError
        As of `fungrad.sparse_jacobian`.
    ValueError
        If `order` or `mode` is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> def energy(x):
    ...     return (x[0] * x[1:] ** 2).sum()
    >>> fg.show.sparsity(energy, order=2)(np.ones(6))
    <Hessian of energy: 6 x 6, 15 entries (41.7 %), 2 products>
    """
    plan = plan_of(fun, argnums, order, mode, "show.sparsity")

    @api_boundary
    def drawn(*args: Any, **kwargs: Any) -> Sparsity:
        matrix = "Jacobian" if order == 1 else "Hessian"
        return Sparsity(f"{matrix} of {called(fun)}", plan(args, kwargs))

    return drawn

"""Drawings that notebooks show and files hold."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Picture:
    """A drawing as SVG. Subclasses draw it, and may add formats of files."""

    _ends = ".svg or .png"

    def _drawn(self, dark: bool) -> str:
        """Return the SVG; `dark` adds colours for dark mode."""
        raise NotImplementedError

    def _writers(self) -> dict[str, Callable[[], bytes]]:
        """Return the functions that make the content of a file, by the end of its name."""
        return {".svg": self.svg.encode, ".png": self._png}

    @functools.cached_property
    def svg(self) -> str:
        """The drawing as SVG, with tooltips; colours follow the reader's preference."""
        return self._drawn(dark=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file, in the format that the end of the name says.

        Parameters
        ----------
        path
            Name of the file: it ends with .svg or .png, or for a graph with .dot or .gv, which Graphviz reads.

        Raises
        ------
        ValueError
            If the name ends otherwise.
        ImportError
            If it is to be a PNG and resvg_py is not installed, as by ``pip install 'fungrad[show]'``.
        """
        path, writers = Path(path), self._writers()
        suffix = path.suffix.lower()
        if suffix not in writers:
            raise ValueError(
                f"save: the name ends with {self._ends}, which says what is written; got {suffix!r} in {path}"
            )
        path.write_bytes(writers[suffix]())

    def _png(self) -> bytes:
        try:
            import resvg_py
        except ImportError:
            raise ImportError(
                "save: a PNG is drawn by resvg_py, which is not installed: pip install 'fungrad[show]'; or save as .svg"
            ) from None
        return bytes(resvg_py.svg_to_bytes(svg_string=self._drawn(dark=False), zoom=2))

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": repr(self)}

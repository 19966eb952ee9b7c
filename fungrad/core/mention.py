"""The place where a function names a random generator."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from fungrad.core.generators import shared_generator
from fungrad.core.unseeded import instructions_in, seeds_first


class Mention(NamedTuple):
    """A name in a function of a generator or its container, with the items that lead to the generator."""

    code: CodeType
    scope: dict[str, Any]
    name: str
    items: tuple[Any, ...] = ()

    def seeded_in(self, code: CodeType | None) -> bool:
        """Whether this is in `code`, which gives the generator the same seed in each call."""
        return self.code is code and not self.items and seeds_first(code, self.name)

    def line(self) -> int:
        """Return the line of the draw."""
        lines = [line for line, attribute in self._uses() if attribute not in _NO_DRAW]
        return lines[0] if lines else self.code.co_firstlineno

    def _uses(self) -> Iterator[tuple[int, str]]:
        """Yield the line and attribute of each place that has the name."""
        named = False
        for line, x in instructions_in(self.code):
            if named:
                yield line, x.argval if x.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
                named = False
            if x.opname.startswith("LOAD_") and x.argval == self.name:
                named = True

    def written(self, generator: Any) -> str:
        """Return how to draw from the generator outside of the function."""
        name = self.name + "".join([f"[{item!r}]" for item in self.items])
        if hasattr(generator, "getstate"):
            if self.items:
                return f"{name}.random"
            return "random.random" if name in ("random", "") else name
        if generator is shared_generator():
            return "np.random.normal"
        return f"{name or 'rng'}.normal"


_NO_DRAW = ("default_rng", "seed", "bit_generator", "RandomState", "Generator", "SeedSequence")

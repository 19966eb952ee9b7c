"""A planted mistake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A mistake that somebody could make, and where it should be caught.

    Attributes
    ----------
    name
        What it is called, in words joined by hyphens.
    file
        The file that it is planted in, from the root of the repository.
    before, after
        The text of the file that is replaced, which stands there once, and what replaces it.
    what
        The mistake in one phrase, as the table of docs/mutants.md has it.
    tests
        The files, folders, tests or cases of tests that are run first.
    """

    name: str
    file: str
    before: str
    after: str
    what: str
    tests: tuple[str, ...]

    def planted(self, source: str) -> str:
        """Return the text of the file with the mistake.

        Raises
        ------
        ValueError
            If what is to be replaced does not stand there exactly once.
        """
        count = source.count(self.before)
        if count != 1:
            raise ValueError(f"{self.name}: `before` stands {count} times in {self.file}, not once")
        return source.replace(self.before, self.after)

"""One process per program, so that a cell that hangs or crashes costs that cell alone."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from tests.reading.programs import PROGRAMS, TRANSFORMS
from tests.reading.programs.checks import CHECKS, Disagreement, check_plain

LIMIT = 20.0
"""Seconds that a cell may take."""


class Cell(NamedTuple):
    """What came of one program under one transform, or as it is ("plain").

    Attributes
    ----------
    outcome
        "passes"; "refused", by an error; "wrong"; "warned", where the plain program is silent; "time limit"; "crash"; "senseless".
    place
        The user's line, as fungrad's message names it.
    reason
        The error's class and the rest of its message.
    seconds
        How long all calls of the cell took, differences too.
    """

    name: str
    transform: str
    outcome: str
    place: str = ""
    reason: str = ""
    seconds: float = 0.0


def told(error: BaseException) -> tuple[str, str]:
    """Return the user's line that a message begins with, if any, and the rest of it with the error's class."""
    message, *_ = str(error).partition("\nMore: ")
    first, _, rest = message.partition("\n")
    place, text = (first, rest) if rest and first.startswith("at ") else ("", message)
    return place, f"{type(error).__name__}: {' '.join(text.split())}"


def tried(index: int, transform: str) -> Cell:
    """Run one cell in this process, with warnings as errors, as the tests have it."""
    program = PROGRAMS[index]
    if transform in program.senseless:
        return Cell(program.name, transform, "senseless", "", program.senseless[transform])
    check = check_plain if transform == "plain" else CHECKS[transform]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(program)
    except Disagreement as error:
        return Cell(program.name, transform, "wrong", *told(error))
    except Warning as error:
        return Cell(program.name, transform, "warned", *told(error))
    except Exception as error:
        return Cell(program.name, transform, "refused", *told(error))
    return Cell(program.name, transform, "passes")


def serve(index: int, transforms: tuple[str, ...], answers: Connection) -> None:
    """Send one cell after the other; what a child process does."""
    for transform in transforms:
        start = time.perf_counter()
        cell = tried(index, transform)
        answers.send(cell._replace(seconds=time.perf_counter() - start))


def cells_of(index: int, transforms: tuple[str, ...]) -> Iterator[Cell]:
    """Yield the cells of one program, in new processes after those that ended one."""
    context = multiprocessing.get_context("fork")  # the table is imported once
    while transforms:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=serve, args=(index, transforms, theirs))
        child.start()
        theirs.close()
        try:
            while transforms:
                if not ours.poll(LIMIT):
                    yield Cell(
                        PROGRAMS[index].name, transforms[0], "time limit", "", f"{LIMIT:g} s"
                    )
                    break
                try:
                    yield ours.recv()
                except EOFError:
                    child.join()
                    reason = f"exit status {child.exitcode}"
                    yield Cell(PROGRAMS[index].name, transforms[0], "crash", "", reason)
                    break
                transforms = transforms[1:]
        finally:
            child.kill()
            child.join()
            ours.close()
        transforms = transforms[1:]


def table(names: list[str], transforms: tuple[str, ...] = TRANSFORMS) -> Iterator[Cell]:
    """Yield the cells of programs that have one of the names, or are in a field of one; of all without names."""
    for index, program in enumerate(PROGRAMS):
        if not names or {program.name, program.field} & {*names}:
            yield from cells_of(index, transforms)

"""The planted mistakes, of all areas."""

from __future__ import annotations

from tests.mutants import (
    compiled,
    core,
    derivatives,
    libraries,
    numpys,
    primitives,
    programs,
    randoms,
    transforms,
)
from tests.mutants.row import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *core.MUTANTS,
    *derivatives.MUTANTS,
    *transforms.MUTANTS,
    *compiled.MUTANTS,
    *programs.MUTANTS,
    *primitives.MUTANTS,
    *numpys.MUTANTS,
    *randoms.MUTANTS,
    *libraries.MUTANTS,
)

"""The table of primitives, one row or more for each; a module mirrors a file of primitives/."""

from tests.samples import (
    contraction,
    cumulative,
    decompositions,
    determinants,
    elementwise,
    elimination,
    fft,
    filters,
    indexing,
    linalg,
    matrix_functions,
    reductions,
    riccati,
    shaping,
    sorting,
    special,
    stacks,
)
from tests.samples.row import Sample

MODULES = (
    contraction,
    cumulative,
    decompositions,
    determinants,
    elementwise,
    elimination,
    fft,
    filters,
    indexing,
    linalg,
    matrix_functions,
    reductions,
    riccati,
    shaping,
    sorting,
    special,
    stacks,
)


def rows() -> list[Sample]:
    """Return the rows of all modules."""
    return [row for module in MODULES for row in module.ROWS]

"""Random loops with kernels against the same loops without."""

import pytest

from tests.compile.compiling import needs_compiler
from tests.compile.random_loops import check

pytestmark = needs_compiler


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(made, seed):
    check(seed)
    assert not any(tier.failures for tier in made)


def test_random_loops_are_routines():
    """But for few, of which something lies in memory in another order."""
    assert sum(check(seed) >= 0 for seed in range(60)) >= 54

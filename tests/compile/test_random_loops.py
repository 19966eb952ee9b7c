"""Random loops with kernels against the same loops without."""

import pytest

from tests.compile.compiling import needs_compiler, routines
from tests.compile.random_loops import Loop, check

pytestmark = needs_compiler


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(made, seed):
    check(seed)
    assert not any(tier.failures for tier in made)


def test_random_loops_are_routines():
    """But for few, of which something lies in memory in another order."""
    loops = map(Loop, range(60))
    assert sum(bool(routines(loop, loop.args)) for loop in loops) >= 54

"""Random loops with kernels against the same loops without."""

import pytest

from tests.compile.compiling import needs_compiler
from tests.compile.random_loops import check

pytestmark = needs_compiler


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(made, seed):
    assert check(seed) >= 0, "no routine was made"
    assert made[-1].native is not None
    assert not any(tier.failures for tier in made)

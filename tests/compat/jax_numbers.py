"""Numbers of classes derived from Python's are numbers wherever numbers are, as in JAX; run by tests/compat/test_jax.py."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tests.number_places import NUMBERS, outcome, places

PLACES = places(jax, jnp, lax)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("ignore")
def test_as_the_plain_number(place):
    results = [outcome(jax, PLACES[place], plain) for _, plain in NUMBERS]
    assert any(type(result) is list for result in results)
    assert [outcome(jax, PLACES[place], derived) for derived, _ in NUMBERS] == results

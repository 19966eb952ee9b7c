"""Numbers of classes derived from Python's are numbers wherever numbers are."""

import warnings

import pytest

import fungrad as fg
import fungrad.lax as lax
import fungrad.numpy as fnp
from tests.number_places import NUMBERS, outcome, places

PLACES = places(fg, fnp, lax)


@pytest.mark.parametrize("place", PLACES)
def test_as_the_plain_number(place):
    for derived, plain in NUMBERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of division by zero, and of parts discarded
            expected = outcome(fg, PLACES[place], plain)
            assert outcome(fg, PLACES[place], derived) == expected, derived


def test_most_places_take_most_numbers():
    def succeeded(place):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [type(outcome(fg, PLACES[place], plain)) is list for _, plain in NUMBERS]

    assert [place for place in PLACES if not any(succeeded(place))] == []

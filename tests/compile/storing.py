"""What the tests of object files on disk have in common."""

import os

import numpy as np
import pytest

from fungrad.compile.targets import store

HEAD = store._HEAD.size
KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
CODE = np.random.default_rng(0).bytes(1000)
posix = pytest.mark.skipif(os.name != "posix", reason="files have no owners and modes here")


def path_of(place, key):
    return place / f"{key.hex()}.kernel"


def kept(place, key=KEY):
    """Keep something; return the file."""
    store.put(key, CODE)
    return path_of(place, key)


def files(place):
    return sorted(path.name for path in place.iterdir())

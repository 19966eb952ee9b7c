"""Tables of the process that others change while they are gone through: the garbage collector, imports, other threads."""

import contextlib
import gc
import itertools
import pickle
import sys
from types import ModuleType

import numpy as np
import pytest

from fungrad.compat.jax import transforms
from fungrad.compile import lines
from fungrad.core import foreign
from fungrad.core.float_warnings import module_of
from fungrad.numpy import rules
from fungrad.primitives.elementwise import sin


@contextlib.contextmanager
def growing(table, value):
    """Add to a table whenever the collector runs, which is as often as it can."""
    names, before, thresholds = (
        map("grown{}".format, itertools.count()),
        {*table},
        gc.get_threshold(),
    )

    def grow(phase, info):
        table[next(names)] = value

    gc.callbacks.append(grow)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(grow)
        for name in [name for name in table if name not in before]:
            del table[name]


def test_modules_that_are_imported_meanwhile():
    with growing(sys.modules, ModuleType("grown")):
        for _ in range(20):
            assert module_of.__wrapped__("nowhere.py") == "nowhere"
            assert module_of.__wrapped__(contextlib.__file__) == "contextlib"
    with growing(sys.modules, ModuleType("grown")):
        copied = pickle.loads(pickle.dumps(sin))
    assert copied is sin


def test_parts_of_numpy_that_are_imported_meanwhile():
    expected = lines._in_c.__wrapped__()
    with growing(vars(np), None):
        assert lines._in_c.__wrapped__() == expected


@pytest.mark.parametrize("table", ["providers", "names of one"])
def test_modules_that_provide_rules_meanwhile(table):
    grown = rules._providers if table == "providers" else rules._providers["numpy"]
    with growing(grown, {}):
        for _ in range(20):
            assert "fungrad.numpy.sorting" in rules._homes(np.sort)


def test_stand_ins_that_are_provided_meanwhile():
    with growing(foreign._stand_ins, None):
        for _ in range(20):
            assert foreign.stand_in(object()) is None


def test_functions_that_go_meanwhile():
    kept = [lambda: None for _ in range(20)]
    for f in kept:
        transforms._programs[f] = {}

    class Going:
        def clear(self):
            kept.pop()
            transforms._programs[added] = {}

    def added():
        pass

    for f in kept[:10]:
        transforms._programs[f] = {(): Going()}
    del f
    transforms.clear_caches()
    assert len(kept) == 10

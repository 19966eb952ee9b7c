"""The tables of docs/distributed_results.md have what the cases list, and what is said of them; `make distributed-tables` writes them."""

import re

import numpy as np
import pytest

from tests.distributed import table
from tests.distributed.agreement import EXACT
from tests.distributed.cases import COLLECTIVES, NO_REVERSE, transforms
from tests.distributed.faults import FAULTS, GO_ON


def test_equality_is_of_each_collective_under_each_transform():
    heads, *rows = table.stored("equality")
    assert heads == ["", *(f"`{name}`" for name in table.TRANSFORMS)]
    assert [row[0] for row in rows] == [f"`{name}`" for name in COLLECTIVES]
    for name, (_, *cells) in zip(COLLECTIVES, rows, strict=True):
        computed = [t for t, _ in transforms(name, lambda x: x)]
        for transform, cell in zip(table.TRANSFORMS, cells, strict=True):
            if transform not in computed:
                assert (name in NO_REVERSE, cell) == (True, "")
                continue
            entries = cell.split(", ")
            assert len(entries) in (1, len(table.COUNTS))
            assert all(x == "=" or float(x) < 1e-12 for x in entries)
            if transform in EXACT:
                assert (entries[0], entries[-1]) == ("=", "=")


def test_faults_are_those_that_are_injected():
    _, *rows = table.stored("faults")
    assert [row[0] for row in rows] == [f"`{f.__name__}`" for f in (*FAULTS, *GO_ON)]
    assert [row[1] for row in rows] == [f.__doc__ for f in (*FAULTS, *GO_ON)]
    for (fault, pattern), (_, _, said, seconds) in zip(FAULTS.items(), rows, strict=False):
        text = said.replace("<br>", "\n  ").replace("`", "")
        assert text.startswith("DistributedError: ")
        assert re.search(pattern, text), fault.__name__
        assert float(seconds) < 10
    assert {row[2] for row in rows[len(FAULTS) :]} == {"all went on"}


def test_differences():
    x = np.array([1.0, 0.0, 4.0])
    assert table.difference(x, x.copy()) == table.SAME
    assert table.difference(x, np.array([1.0, -0.0, 4.0])) == 0.0  # the sign of zero is a bit
    assert table.difference(x + np.array([0, 2e-9, 0]), x) == pytest.approx(5e-10)
    with pytest.raises(ValueError, match=r"float32\(3,\) beside float64\(3,\)"):
        table.difference(x.astype("f4"), x)
    assert table.cell([[-1.0], [-1.0, -1.0], [-1.0]]) == "="
    assert table.cell([[-1.0], [-1.0, 2.04e-16], [0.0]]) == "=, 2e-16, 0e+00"
    assert table.cell([[], [], []]) == ""

"""What the others are told when one of several processes fails, and when all go on."""

import re

import pytest

from tests.distributed.faults import FAULTS, GO_ON, said
from tests.distributed.launch import needs_mpi


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_others_are_told(fault, tmp_path):
    needs_mpi()
    status, texts = said(fault.__name__, tmp_path)
    assert status != 0
    assert re.search(FAULTS[fault], texts[0]), texts
    after = re.search(r"process 0 failed after ([\d.]+) s", texts[0])
    assert float(after[1]) < 10


def test_each_is_told_of_the_one_at_fault(tmp_path):
    """Also those who notice later, when others have failed because of it."""
    needs_mpi()
    _, texts = said("killed", tmp_path, count=4)
    for process in (0, 2, 3):
        [error] = re.findall("DistributedError: (.*)", texts[process])
        assert re.fullmatch(
            rf"process {process} waits at .*, and process 1 comes to no more: it has been killed .*",
            error,
        )
        assert error.count("comes to no more") == 1


@pytest.mark.parametrize("program", GO_ON, ids=lambda f: f.__name__)
def test_processes_go_on(program, tmp_path):
    needs_mpi()
    status, texts = said(program.__name__, tmp_path)
    assert (status, *texts) == (0, "went on\n", "went on\n")

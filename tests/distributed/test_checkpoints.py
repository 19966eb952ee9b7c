"""Checkpoints that several processes write, and others, more or fewer, read."""

import os
import re

import pytest

from fungrad import training
from tests.distributed.checkpoints import Pair, same, tree
from tests.distributed.launch import launch, needs_mpi

PROGRAM = ("-m", "tests.distributed.checkpoints")
COUNTS = (1, 2, 4)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Folders that one, two and four processes have written, twice each."""
    needs_mpi()
    pytest.importorskip("ml_dtypes")
    folder = tmp_path_factory.mktemp("written")
    for count in COUNTS:
        ended = launch(count, *PROGRAM, "write", str(folder / str(count)))
        assert ended.returncode == 0, ended.stderr[-3000:]
    return folder


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_reads_what_any_number_wrote(written, count):
    ended = launch(count, *PROGRAM, "read", str(written))
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert sorted("".join(ended.stdout.split())) == sorted([*map(str, COUNTS)] * count)


def test_files_of_the_checkpoint_before_are_gone(written):
    for count in COUNTS:
        names = sorted(os.listdir(written / str(count)))
        assert names.pop() == "index"
        assert [re.fullmatch(r"([0-9a-f]{16})-(\d)\.shard", n)[2] for n in names] == [
            str(i) for i in range(count)
        ]
        assert len({n[:16] for n in names}) == 1
        sizes = [(written / str(count) / n).stat().st_size for n in names]
        assert max(sizes) < 2 * min(sizes)  # each has its share


@pytest.mark.parametrize("name", ["killed_in_its_shard", "killed_before_the_index"])
def test_killed_while_it_is_written(written, name):
    """The checkpoint before is there; what is left behind is gone with the next one."""
    folder = written / "2"
    ended = launch(2, *PROGRAM, name, str(folder), timeout=60)
    assert ended.returncode != 0
    assert len(os.listdir(folder)) > 3
    same(training.load(folder, types=[Pair]), tree(1.0))
    assert launch(2, *PROGRAM, "write", str(folder)).returncode == 0
    assert len(os.listdir(folder)) == 3
    same(training.load(folder, types=[Pair]), tree(1.0))


def test_failures_are_errors_in_all_processes(written):
    ended = launch(2, *PROGRAM, "failures", str(written / "4"))
    assert (ended.returncode, ended.stdout.count("went on")) == (0, 2), ended.stderr[-3000:]


def test_processes_that_do_not_know_of_each_other_write_nothing(tmp_path):
    needs_mpi()
    code = (
        "import sys; from fungrad import training; from fungrad.sharding import make_mesh\n"
        "training.save(sys.argv[1], 1, mesh=make_mesh((2,), ('i',)))"
    )
    ended = launch(2, "-c", code, str(tmp_path / "run"))
    assert ended.stderr.count("call fungrad.distributed.initialize() first") >= 2
    assert not (tmp_path / "run").exists()

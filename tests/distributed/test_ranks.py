"""The same programs in one process and in several."""

import pytest

from tests.distributed.agreement import agree, found_by
from tests.distributed.cases import GROUPS, NESTED_ON, TRAINING
from tests.distributed.launch import launch, needs_mpi, needs_tables

RUNS = [
    *[(2, "off", group) for group in GROUPS],
    *[(4, "off", group) for group in GROUPS],
    *[(2, "background", group) for group in (NESTED_ON, "nested", TRAINING)],
]
"""Numbers of processes, whether there are kernels, and what is computed."""


@pytest.mark.parametrize(("count", "kernels", "group"), RUNS)
def test_ranks_compute_what_one_process_does(count, kernels, group, tmp_path, monkeypatch):
    needs_mpi()
    monkeypatch.setenv("FUNGRAD_COMPILE", kernels)
    found, _ = found_by(count, group, tmp_path / "found")
    agree(found, exact=count == 4 and kernels == "off")


def test_processes_listen_to_this_machine_alone(tmp_path):
    """The launcher's own port aside, which MPICH has open to all."""
    needs_mpi()
    needs_tables()
    program = (
        "from fungrad import distributed\n"
        "from tests.distributed.launch import listening\n"
        "distributed.initialize()\n"
        f"open(f'{tmp_path}/{{distributed.process_index()}}', 'w').write(' '.join(listening()))"
    )
    ended = launch(2, "-c", program)
    assert ended.returncode == 0, ended.stderr[-3000:]
    said = [(tmp_path / str(i)).read_text().split() for i in range(2)]
    assert {*said[0], *said[1]} <= {"127.0.0.1"}


@pytest.mark.parametrize("count", [2, 4])
def test_small_operands(count):
    needs_mpi()
    ended = launch(count, "-m", "tests.distributed.small")
    assert ended.returncode == 0, ended.stderr[-3000:]

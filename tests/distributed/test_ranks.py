"""The same programs in one process and in several."""

import pickle
import re
import time

import numpy as np
import pytest

from tests.distributed.cases import computed, names
from tests.distributed.launch import launch, needs_mpi
from tests.distributed.training import WAYS, alone

EXACT = ("value", "jit", "vmap")
"""Without a derivative, the same operations run in the same order. Rules of derivatives add in another order."""


@pytest.mark.parametrize(("count", "kernels"), [(2, "off"), (4, "off"), (2, "background")])
def test_ranks_compute_what_one_process_does(count, kernels, tmp_path, monkeypatch):
    needs_mpi()
    monkeypatch.setenv("FUNGRAD_COMPILE", kernels)
    path = tmp_path / "found"
    ended = launch(count, "-m", "tests.distributed.cases", str(path))
    assert ended.returncode == 0, ended.stderr[-3000:]
    ranks, found = pickle.loads(path.read_bytes())
    assert ranks == count
    trained = {("training", name): alone() for name in WAYS}
    assert [*found] == [*names(), *trained]
    for key, results in found.items():
        expectations = trained[key] if key in trained else computed(*key)
        for transform, expected in expectations.items():
            got = results[transform]
            assert got.dtype == expected.dtype
            message = f"{key} {transform}"
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12, err_msg=message)


GONE = "process 0 waits at p_sum.*faults.py.*process 1 comes to no more: "
MISMATCH = "different collectives.*\n  process 0 at p_sum.*faults.py:\\d+\n  process 1 at p_max.*faults.py:"
FAULTS = {
    "killed": f"{GONE}it has been killed",
    "raised": f"{GONE}RuntimeError: of the program's own",
    "ended": f"{GONE}its program has ended",
    "other_collective": MISMATCH,
    "other_collective_jitted": MISMATCH,
    "other_shape": r"process 0 at whole.* of float64\[4\].*\n.*process 1 at whole.* of float64\[2\]",
    "one_more_in_a_loop": "different collectives|comes to no more",
    "late": "process 0 waited 4 s for the other processes at p_sum",
    "interrupted": "process 0 comes to no more: KeyboardInterrupt",
    "after_a_failure": "since an earlier collective failed",
}


def said(name, folder):
    """Run one of `faults.py`; return its exit status and what its two processes said."""
    needs_mpi()
    status = launch(2, "-m", "tests.distributed.faults", name, str(folder), timeout=60).returncode
    last = folder / "0.txt"
    deadline = time.monotonic() + 10
    while status and "Error" not in last.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)  # the launcher need not wait for the others
    return status, [(folder / f"{i}.txt").read_text() for i in (0, 1)]


@pytest.mark.parametrize("name", FAULTS)
def test_others_are_told(name, tmp_path):
    status, texts = said(name, tmp_path)
    assert status != 0
    assert re.search(FAULTS[name], "".join(texts)), texts
    after = re.search(r"process 0 failed after ([\d.]+) s", texts[0])
    assert float(after[1]) < 10


@pytest.mark.parametrize("name", ["mistakes", "forked"])
def test_processes_go_on(name, tmp_path):
    status, texts = said(name, tmp_path)
    assert (status, *texts) == (0, "went on\n", "went on\n")

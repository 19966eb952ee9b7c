"""The stages of a run on a card, without one."""

import sys

from benchmarks.gpu_all import TIME, Stage, run_all, stages


def test_stages_take_no_longer_than_the_run():
    assert sum(stage.seconds for stage in stages(sys.executable)) <= TIME


def test_stages_that_fail_do_not_end_the_run(tmp_path):
    python = sys.executable
    chosen = [
        Stage("fails", [python, "-c", "print('half'); raise SystemExit(3)"], 20),
        Stage("hangs", [python, "-c", "import time; print('on', flush=True); time.sleep(60)"], 2),
        Stage("absent", ["no-such-command"], 1),
        Stage("succeeds", [python, "-c", "import os; print(os.environ['X'])"], 20, ["X=done"]),
    ]
    assert run_all(chosen, tmp_path) == 3
    assert (tmp_path / "fails.txt").read_text() == "half\n"
    assert (tmp_path / "hangs.txt").read_text() == "on\n"
    assert (tmp_path / "succeeds.txt").read_text() == "done\n"
    endings = [x.partition(": ")[2] for x in (tmp_path / "stages.txt").read_text().splitlines()]
    assert endings[:3] == [endings[0], "ended after 2 s", "no-such-command is not installed"]
    assert endings[0].startswith("exit status 3 ")

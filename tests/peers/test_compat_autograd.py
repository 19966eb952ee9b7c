"""What tests/compat holds of autograd is what autograd itself gives: names and results."""

import json
import os
import subprocess
import sys

from tests.compat import autograd_names
from tests.compat.processes import ROOT
from tests.compat.test_autograd import EXPECTED, HERE, differences


def test_results_are_autograds(tmp_path):
    command = [sys.executable, "-W", "ignore", HERE / "autograd_programs.py", tmp_path / "results"]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    results = json.loads((tmp_path / "results").read_text("utf-8"))
    assert list(differences(EXPECTED, results)) == []


def test_names_are_autograds():
    assert autograd_names.names() == json.loads(autograd_names.LIST.read_text("utf-8"))

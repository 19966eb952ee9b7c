"""Eight threads, forks and exceptions at once: a few seconds of the campaign `stress`."""

import os
import subprocess
import sys
from pathlib import Path

from tests.compile.compiling import needs_compiler

pytestmark = needs_compiler


def test_threads_forks_and_exceptions_at_once():
    command = [sys.executable, "-m", "tests.fuzz", "stress", "--programs=1", "--workers=1"]
    found = subprocess.run(
        command,
        env=os.environ | {"STRESS_S": "4"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "0 mismatches" in found.stdout

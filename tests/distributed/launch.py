"""Programs run by several processes, started by the launcher of MPI."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
)


def needs_mpi() -> None:
    """Skip the test unless programs can be started."""
    pytest.importorskip("mpi4py")
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec")


@functools.cache
def _stay() -> list[str]:
    """Return the option that keeps MPICH's launcher from ending all processes when one has failed, if it is MPICH's."""
    option = "-disable-auto-cleanup"
    shown = subprocess.run([str(MPIEXEC), "-h"], capture_output=True, text=True, check=False).stdout
    return [option] if option in shown else []


def launch(count: int, *command: str, timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run a Python program in `count` processes; return what became of it.

    A launcher that sees a process die by a signal may end the others before they can say anything. So a shell tells
    it of an exit status instead.
    """
    shell = ["sh", "-c", 'trap "" USR1; "$@"; exit $?', "sh"]
    return subprocess.run(
        [str(MPIEXEC), *_stay(), "-n", str(count), *shell, sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )

"""Programs in processes of their own: each in an interpreter that starts for it, or forked from one that has imported much.

To import NumPy, SciPy, fungrad and pytest takes longer than most programs here. `Server` does so once and forks itself for
each program, which then runs as by `python`. It has imported nothing of `fungrad.compat`, and it runs no other thread.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
FORKS = sys.platform == "linux"
"""Whether programs are forked. The frameworks of macOS are not to be used after a fork, and Windows has none."""
TIMEOUT = 600
IMPORTED = (
    *("hypothesis", "pytest", "numpy", "fungrad", "fungrad.test_util"),
    *("fungrad.scipy.fft", "fungrad.scipy.integrate", "fungrad.scipy.interpolate"),
    *("fungrad.scipy.linalg", "fungrad.scipy.ndimage", "fungrad.scipy.optimize"),
    *("fungrad.scipy.signal", "fungrad.scipy.sparse", "fungrad.scipy.sparse.linalg"),
    *("fungrad.scipy.spatial", "fungrad.scipy.special", "fungrad.scipy.stats"),
)
ONE_THREAD = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
AT_INSTALL = {"FUNGRAD_COMPAT_IMMUTABLE"}
"""Of the variables that fungrad reads, those that it reads after the fork."""


def environment(path: tuple[Path, ...], given: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **given}


def start(
    *arguments: str, cwd: Path = ROOT, path: tuple[Path, ...] = (ROOT,), **given: str
) -> subprocess.CompletedProcess[str]:
    """Run `python` with some arguments, and environment variables besides those of this process."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(path, given),
        timeout=TIMEOUT,
    )


class Server:
    """Runs programs as `start` does, with ``-W error``: forked, where that can be done."""

    def __init__(self) -> None:
        self._process: Any = None
        self._begun: dict[str, str] = {}

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()  # it ends with its input

    def run(
        self, *arguments: str, cwd: Path = ROOT, path: tuple[Path, ...] = (ROOT,), **given: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the program that the arguments name: ``FILE ...``, ``-m MODULE ...`` or ``-c CODE ...``."""
        variables = environment(path, given)
        if not FORKS:
            return start("-W", "error", *arguments, cwd=cwd, path=path, **given)
        if self._process is None:
            self._begun = _of_fungrad(variables)
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**environment((ROOT,), {}), **ONE_THREAD},
            )
        if _of_fungrad(variables) != self._begun:
            raise ValueError("fungrad reads these variables when it is imported: use `start`")
        with tempfile.TemporaryDirectory() as folder:
            request = [arguments, variables, str(cwd), folder]
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps(request), file=self._process.stdin, flush=True)
            status = self._process.stdout.readline()
            if not status:
                raise RuntimeError(f"the server has ended: {self._process.stderr.read()}")
            texts = [Path(folder, name).read_text() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(arguments, int(status), *texts)


def _of_fungrad(variables: dict[str, str]) -> dict[str, str]:
    return {
        name: x
        for name, x in variables.items()
        if name.startswith("FUNGRAD_") and name not in AT_INSTALL
    }


# In the server


def serve() -> list[Any] | None:
    """Fork a process for each request; return the request in that process, and None in the server at the end."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # what collections do not look at is not copied
    for line in requests:
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            raise RuntimeError(f"{threads} threads: a fork has one of them")
        process = os.fork()
        if not process:
            requests.close()
            answers.close()
            return json.loads(line)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    return None


def run(arguments: list[str], variables: dict[str, str], cwd: str, folder: str) -> None:
    """Be the process of a program."""
    signal.alarm(TIMEOUT)
    for number, name in ((1, "stdout"), (2, "stderr")):
        with open(Path(folder, name), "w") as file:
            os.dup2(file.fileno(), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:2] = ["", *variables["PYTHONPATH"].split(os.pathsep)]  # those of this file and ROOT
    importlib.invalidate_caches()
    first, *rest = arguments
    if first == "-m":
        sys.path[0], sys.argv = cwd, rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    else:
        sys.path[0], sys.argv = str(Path(first).resolve().parent), arguments
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    request = serve()
    if request is not None:
        run(*request)

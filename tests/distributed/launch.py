"""Programs run by several processes, started by the launcher of MPI."""

import functools
import ipaddress
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

INTERFACE = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
LOOPBACK = {
    "HYDRA_IFACE": INTERFACE,
    "UCX_NET_DEVICES": INTERFACE,
    "FI_TCP_IFACE": INTERFACE,
    "OMPI_MCA_btl_tcp_if_include": INTERFACE,
    "OMPI_MCA_oob_tcp_if_include": INTERFACE,
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
"""The environment in which MPICH and Open MPI listen to this machine alone, and Ray talks to it alone. Dask does so by itself.

Ray's own servers listen to all of a machine's addresses, whichever of them it is told to use.
"""

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
        env={**os.environ, **LOOPBACK},
    )


def _processes() -> Iterator[str]:
    """Yield this process and those that come of it, by their numbers."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[path.parent.name] = path.read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has ended meanwhile
            continue
    found = [str(os.getpid())]
    while found:
        yield (process := found.pop())
        found += [child for child, parent in parents.items() if parent == process]


def _sockets(process: str) -> set[str]:
    found = set()
    for path in Path("/proc", process, "fd").glob("*"):
        try:
            found.add(os.readlink(path))
        except OSError:
            continue
    return found


def listening() -> set[str]:
    """Return the addresses at which this process and those that come of it listen, but for what it has inherited."""
    own = set().union(*map(_sockets, _processes())) - _sockets(str(os.getppid()))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            _, local, _, state, *_, node = line.split()[:10]
            if state == "0A" and f"socket:[{node}]" in own:
                raw = bytes.fromhex(local.partition(":")[0])
                words = [
                    raw[i : i + 4][:: -1 if sys.byteorder == "little" else 1]
                    for i in range(0, len(raw), 4)
                ]
                address = ipaddress.ip_address(b"".join(words))
                found.add(str(getattr(address, "ipv4_mapped", None) or address))
    return found


def needs_tables() -> None:
    """Skip the test unless the system tells of sockets as Linux does."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("there is no /proc/net/tcp")

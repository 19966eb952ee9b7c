"""NVIDIA's compilers NVRTC and ptxas without a card, from the wheels of their names."""

from __future__ import annotations

import ctypes
import importlib
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import fungrad as fg
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.pipeline import Way, prepared, simplify
from fungrad.compile.targets.device import OPTIONS


class Figures(NamedTuple):
    """A function's registers of a thread, bytes spilled, and bytes of memory that a block shares."""

    registers: int
    spilled: int
    shared: int


def kernels_of(f: Any, *args: Any) -> list[Any]:
    """Return the kernels of a function on a device."""
    expr = prepared(simplify(fg.make_expr(f)(*args)), Way.DEVICE)
    return [e.primitive.kernel for e in expr.equations if isinstance(e.primitive, Fused)]


def _file(package: str, pattern: str) -> str:
    (folder,) = importlib.import_module(package).__path__
    return str(next(iter(Path(folder).glob(pattern))))


def ptx(text: str, architecture: int) -> str:
    """Return CUDA's C as NVRTC compiles it; raise RuntimeError with its log if it does not."""
    nvrtc = ctypes.CDLL(_file("nvidia.cuda_nvrtc", "lib/libnvrtc.so*"))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    try:
        options = [x.encode() for x in (*OPTIONS, f"-arch=compute_{architecture}")]
        given = (ctypes.c_char_p * len(options))(*options)
        failed = nvrtc.nvrtcCompileProgram(program, len(options), given)
        kind = "ProgramLog" if failed else "PTX"
        getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        made = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{kind}")(program, made)
        if failed:
            raise RuntimeError(f"{made.value.decode()}\n{text}")
        return made.value.decode()
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def figures(text: str, architecture: int) -> dict[str, Figures]:
    """Return the figures of functions in CUDA's C, as ptxas assembles them."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_text(ptx(text, architecture))
        command = [_file("nvidia.cuda_nvcc", "bin/ptxas"), "-v", f"-arch=sm_{architecture}"]
        done = subprocess.run(
            [*command, str(source), "-o", str(Path(folder) / "kernels.cubin")],
            capture_output=True,
            text=True,
            check=True,
        )
    found = {}
    for part in done.stderr.split("Compiling entry function '")[1:]:
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers, shared = (
            re.search(r"Used (\d+) registers", part),
            re.search(r"(\d+) bytes smem", part),
        )
        assert spilled is not None
        assert registers is not None
        found[part.partition("'")[0]] = Figures(
            int(registers[1]), int(spilled[1]) + int(spilled[2]), int(shared[1]) if shared else 0
        )
    return found

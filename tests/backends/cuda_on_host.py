"""CUDA's C run by the host: `RawModule` as CuPy has it, for the stand-in; what threads of a block share, they share in turns.

Each thread of a block is a context of its own. It runs up to where all wait for all, and then the next one does. Threads run in their
order at one launch, and in reverse at the next. A kernel that lacks a wait is wrong at one of them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
import threading
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

COMPILER = shutil.which("gcc") or shutil.which("cc")

HEAD = r"""
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
typedef struct { unsigned x; } place;
static place threadIdx, blockIdx, gridDim;
#define DEVICE static inline
#define KERNEL static void
#define __launch_bounds__(threads)
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define HALVES
DEVICE float widened_f2(unsigned short x) { _Float16 y; memcpy(&y, &x, 2); return y; }
DEVICE unsigned short narrowed_f2(float x) { _Float16 y = x; unsigned short z; memcpy(&z, &y, 2); return z; }
enum { MOST = 1024, STACK = 1 << 16 };
static ucontext_t outside, inside[MOST];
static bool done[MOST];
static unsigned current;
static void (*running)(void **);
static void **given;
static void __syncthreads(void) { swapcontext(&inside[current], &outside); }
static void entry(void) { running(given); done[current] = true; swapcontext(&inside[current], &outside); }
"""
TAIL = r"""
static void run(void (*kernel)(void **), bool shares, unsigned blocks, unsigned threads, void **arguments) {
  static char *stacks = 0;
  if (!stacks) stacks = malloc((size_t)MOST * STACK);
  static bool backwards = true;
  backwards = !backwards;
  running = kernel; given = arguments; gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    if (!shares) {
      for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) kernel(arguments);
      continue;
    }
    for (unsigned t = 0; t < threads; t++) {
      done[t] = false;
      getcontext(&inside[t]);
      inside[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
      inside[t].uc_stack.ss_size = STACK;
      inside[t].uc_link = &outside;
      makecontext(&inside[t], entry, 0);
    }
    for (unsigned left = threads; left;)
      for (unsigned n = 0; n < threads; n++) {
        unsigned t = backwards ? threads - 1 - n : n;
        if (!done[t]) {
          current = threadIdx.x = t;
          swapcontext(&outside, &inside[t]);
          left -= done[t];
        }
      }
  }
}
"""
_FOUND = re.compile(
    r"^KERNEL __launch_bounds__\((\d+)\) (\w+)\((.*?)\) \{(.*?)^\}", re.MULTILINE | re.DOTALL
)


def _wrapper(bound: str, name: str, parameters: str, body: str) -> str:
    count = len(parameters.split(","))
    arguments = ", ".join([f"p[{k}]" for k in range(count)])
    shares = "true" if "__syncthreads" in body else "false"
    return f"""
const unsigned most_{name} = {bound};
static void call_{name}(void **p) {{ {name}({arguments}); }}
void run_{name}(unsigned blocks, unsigned threads, void **p) {{ run(call_{name}, {shares}, blocks, threads, p); }}
"""


@functools.lru_cache(maxsize=256)
def _library(code: str) -> ctypes.CDLL:
    wrappers = [_wrapper(*found) for found in _FOUND.findall(code)]
    text = "\n".join([HEAD, code, TAIL, *wrappers])
    folder = Path(tempfile.mkdtemp(prefix="fungrad-cuda-"))
    try:
        source, made = folder / "kernels.c", folder / "kernels.so"
        source.write_text(text)
        flags = ["-O1", "-ffp-contract=off", "-w", "-fPIC", "-shared", "-march=native"]
        subprocess.run(
            [str(COMPILER), *flags, str(source), "-o", str(made), "-lm"],
            check=True,
            capture_output=True,
            text=True,
        )
        return ctypes.CDLL(str(made))
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{error.stderr}\n{text}") from None
    finally:
        shutil.rmtree(folder)


class RawKernel:
    """A function of a module."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        """Run it on arrays of the stand-in, which have to lie in C order where they are written."""
        (blocks,), (threads,) = grid, block
        if not 0 < threads <= 1024 or not 0 < blocks < 2**31:
            raise ValueError(f"a launch of {blocks} blocks of {threads} threads")
        self.launch(blocks, threads, [x.data.ptr for x in args])

    @property
    def kernel(self) -> Any:
        """The function with its address, as CUDA's driver has it."""
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        return types.SimpleNamespace(ptr=address)

    def launch(self, blocks: int, threads: int, addresses: Sequence[int]) -> None:
        """Run it at once, on memory at these addresses."""
        with _ONE_AT_A_TIME:  # where threads are is in static memory
            self._function(blocks, threads, (ctypes.c_void_p * len(addresses))(*addresses))


_ONE_AT_A_TIME = threading.Lock()


class RawModule:
    """What CuPy makes of the text of kernels."""

    def __init__(self, code: str, options: Sequence[str] = ()) -> None:
        self._library = _library(code)
        self.key = hashlib.sha256(code.encode()).hexdigest()

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name."""
        return RawKernel(getattr(self._library, f"run_{name}"))


def run(module: RawModule, name: str, blocks: int, threads: int, *arrays: np.ndarray) -> None:
    """Run a kernel on arrays of NumPy's."""
    addresses = [x.ctypes.data for x in arrays]
    function = getattr(module._library, f"run_{name}")
    function(blocks, threads, (ctypes.c_void_p * len(addresses))(*addresses))

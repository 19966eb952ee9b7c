"""Kernels for processors that are not here: LLVM selects instructions for all that fungrad writes."""

import subprocess
import sys

import pytest

from tests.compile.compiling import needs_compiler

pytestmark = needs_compiler

PROGRAM = """
import os, sys
import llvmlite.binding as binding
import numpy as np
import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import llvm_runtime
from fungrad.compile.targets import host, structures

binding.initialize_all_targets()
binding.initialize_all_asmprinters()
triple, processor, features, number = sys.argv[1:]
texts, machine_code = [], host.machine_code
host.machine_code = lambda text: texts.append(text) or machine_code(text)
x = np.linspace(0.1, 1.0, 1000)
matrix = lambda x: x.reshape(20, 50)
programs = [
    lambda x: fnp.sin(x) * fnp.exp(x) + fnp.log1p(x) / fnp.arctan2(x, 2.0) + x**2.5,
    lambda x: fnp.floor(x) + fnp.rint(x) + fnp.maximum(x, 0.5) + fnp.copysign(x, -x) + fnp.abs(x),
    lambda x: lax.scan(lambda c, y: (c * 0.9 + fnp.tanh(y), c), 0.0, x)[1].sum(),
    lambda x: lax.while_loop(lambda c: c[1] < 9, lambda c: (c[0] * 0.5, c[1] + 1), (x[:7], 0))[0],
    fg.grad(lambda x: fnp.sum(fnp.tanh(matrix(x) @ matrix(x).T) ** 2)),
    fg.grad(lambda x: fnp.sum(np.linalg.solve(matrix(x)[:6, :6] + np.eye(6), x[:6]))),
    lambda x: (x.astype(np.float16) * 2).sum() + (x * 100).astype(np.uint32).sum(),
    lambda x: (x.astype(np.float32) > 0.5).any() & ((x * 9).astype(np.int8) << 1 == 4).all(),
    lambda x: fnp.exp(1j * x) * fnp.sqrt(x + 2j),
    lambda x: x[(x * 999).astype(int)] + fnp.cumsum(x) + fnp.sort(x),
    lambda x: fnp.std(matrix(x), axis=0) + fnp.max(matrix(x), axis=0),
]
for program in programs:
    fg.jit(program)(x)
kernels = [text for text in texts if not text.startswith((host.RUNTIME, host.ALLOCATOR))]
runtime, _ = llvm_runtime.runtime_assembly(structures.fields(), False)
target = binding.Target.from_triple(triple)
for text in (*kernels, host.RUNTIME + runtime):
    machine = target.create_target_machine(cpu=processor, features=features, **host.MACHINE)
    host._machine = lambda level=0: machine
    code = machine_code(text)
    assert code[:4] == b"\\x7fELF" and code[18] == int(number), code[:20]
print(len(kernels))
"""

PROCESSORS = {
    "arm64": ("aarch64-unknown-linux-gnu", "cortex-a72", "", "183"),
    "arm64 of servers": ("aarch64-unknown-linux-gnu", "neoverse-v1", "", "183"),
    "x86-64 with AVX-512": ("x86_64-unknown-linux-gnu", "skylake-avx512", "", "62"),
    "x86-64 with AVX-512 and halves": ("x86_64-unknown-linux-gnu", "sapphirerapids", "", "62"),
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_kernels_are_compiled_for(name, tmp_path):
    command = [sys.executable, "-c", PROGRAM, *PROCESSORS[name]]
    environment = {"FUNGRAD_COMPILE": "eager", "FUNGRAD_CACHE_DIR": "off", "PATH": ""}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert int(run.stdout) >= len("programs")

"""The thirty kernels of PolyBench/C 4.2, written as a user of NumPy writes them.

PolyBench is a suite of loop nests by Louis-Noël Pouchet and Tomofumi Yuki (https://polybench.sourceforge.net). The texts
here follow the published description of each kernel: its loops, element by element, and its initial data. Each kernel is
a pure function, which copies what it updates and returns an array; several results are joined into one. `name_slices` is
the same kernel with slices in the place of inner loops.

The modules know nothing of fungrad.
"""

from tests.reading.polybench import blas, data_mining, medley, products, solvers, stencils
from tests.reading.polybench.table import Kernel

KERNELS: list[Kernel] = sorted(
    (
        kernel
        for module in (blas, data_mining, medley, products, solvers, stencils)
        for kernel in module.KERNELS
    ),
    key=lambda kernel: kernel.name,
)

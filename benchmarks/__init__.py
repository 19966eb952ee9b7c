"""Benchmarks of fungrad beside JAX, autograd and NumPy written by hand.

Run `python -m benchmarks` from the repository root; `README.md` in this folder says how to read
the tables and how to add a workload. In reading order:

- `workload.py`: what a workload declares.
- `peers.py`: the libraries fungrad is compared with, each of them optional.
- `timing.py`: interleaved repeats, and what is kept of them.
- `runner.py`: build the contenders, check their answers, time them.
- `report.py`: the table, the JSON, the description of the machine.
- `chart.py`: the summary as a picture.
- `native/`, `unjitted/`: programs that several libraries run with the same text.
- `workloads/`: the workloads themselves, one topic per file.
"""

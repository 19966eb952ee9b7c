"""Twenty small applications as a user of NumPy writes them: loops over time steps, elements, pairs and states.

`python -m benchmarks.polybench --suite applications` measures them. Each is a row as those of `tests/reading/polybench`; the
number of steps is an argument that is not traced.
"""

from benchmarks.loops import fields, particles, sequences

APPLICATIONS = [*fields.APPLICATIONS, *particles.APPLICATIONS, *sequences.APPLICATIONS]

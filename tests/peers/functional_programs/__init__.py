"""Programs as users of JAX write them: loops, branches, rules of their own. One module for each topic.

The modules are JAX programs and know nothing of fungrad, which runs them with other imports. At the end
of each is what there is to know about its programs:

- `inputs`: arguments for each, of float64, complex128, integers and booleans.
- FORWARD_ONLY, if there: programs with loops of unknown length, which have no reverse mode.
- REVERSE_ONLY, if there: programs with a rule of their own for reverse mode alone.
- NEEDS_JIT, if there: programs that write ``x.at[i].set(v)``, or ``x[i]`` where `i` alone is traced. Arrays of
  NumPy do not know of `at` nor of tracers, while tracers do: these programs are called under `jit`.
- WIDENS, if there: programs whose carry is of float32 only by JAX's promotion. By NumPy's, an array of integers
  times one of float32 is of float64, and so is the cosine of a Python number.
"""

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parent
TOPICS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__")


class Program(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    theirs, ours
        The program with the imports of JAX and with those of fungrad.
    examples
        Two lists of arguments for it.
    needs_jit
        Whether it does what arrays of NumPy do not support.
    reverse, forward
        Whether it has these modes.
    widens
        Whether its carry does not stay of float32.
    """

    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    examples: tuple[tuple[Any, ...], tuple[Any, ...]]
    needs_jit: bool
    reverse: bool
    forward: bool
    widens: bool


def load(topic: str, library: str) -> types.ModuleType:
    """Return the module of a topic with another library in place of JAX."""
    path = FOLDER / f"{topic}.py"
    source = path.read_text()
    if library != "jax":
        source = source.replace("import jax\n", f"import {library} as jax\n")
        source = source.replace("import jax.", f"import {library}.")
        source = source.replace("from jax", f"from {library}")
    module = types.ModuleType(f"{topic}_with_{library}")
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def table() -> dict[str, Program]:
    """Return all programs."""
    programs: dict[str, Program] = {}
    for topic in TOPICS:
        theirs, ours = load(topic, "jax"), load(topic, "fungrad")
        examples = [theirs.inputs(np.random.default_rng(seed)) for seed in range(2)]
        for name in examples[0]:
            if name in programs:
                raise ValueError(f"two programs have the name {name!r}")
            programs[name] = Program(
                getattr(theirs, name),
                getattr(ours, name),
                (examples[0][name], examples[1][name]),
                name in getattr(theirs, "NEEDS_JIT", ()),
                name not in getattr(theirs, "FORWARD_ONLY", ()),
                name not in getattr(theirs, "REVERSE_ONLY", ()),
                name in getattr(theirs, "WIDENS", ()),
            )
    return programs

"""The table of plain NumPy programs, small ones as users of NumPy write them; one module for each topic.

The modules know nothing of fungrad. At the end of each is what there is to know about its programs:

- `inputs`: arguments for each.
- NOT_OVERRIDABLE: programs with a call that NumPy lets no other type of arrays take over (NEP 13, NEP 18),
  and which call: an assignment to what `np.zeros` made, `np.array` of a list, ... Where functions are read they
  work as they are. Else they raise an error that says so, and work once ``import numpy as np`` is
  ``import fungrad.numpy as np``.
- LOOKS_AT_VALUES: programs whose course depends on values, and where. They have derivatives. `jit` and
  `vmap` take them where functions are read; else they raise an error that says where a value is asked for.
"""

import importlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fungrad.core import tree
from fungrad.test_util import assert_allclose

FOLDER = Path(__file__).parent
TOPICS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__")


class Program(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    topic
        The module it is in.
    plain
        The program as it is written.
    changed
        The same after changing the imports to those of fungrad.
    args
        Arguments for it: arrays and NumPy's numbers, of float64 or complex128.
    """

    topic: str
    plain: Callable[..., Any]
    changed: Callable[..., Any]
    args: tuple[Any, ...]


def with_imports(topic: str, numpy: str, scipy: str) -> types.ModuleType:
    """Return the module of a topic with other libraries in place of NumPy and SciPy."""
    path = FOLDER / f"{topic}.py"
    source = path.read_text()
    source = source.replace("import numpy as np\n", f"import {numpy} as np\n")
    source = source.replace("from scipy import special\n", f"from {scipy} import special\n")
    module = types.ModuleType(f"{topic}_with_{numpy}")
    exec(compile(source, str(path), "exec"), vars(module))
    return module


PROGRAMS: dict[str, Program] = {}
NOT_OVERRIDABLE: dict[str, str] = {}
LOOKS_AT_VALUES: dict[str, str] = {}


def _enter(topic: str) -> None:
    plain = importlib.import_module(f"tests.programs.{topic}")
    changed = with_imports(topic, "fungrad.numpy", "fungrad.scipy")
    for name, args in plain.inputs(np.random.default_rng(0)).items():
        if name in PROGRAMS:
            raise ValueError(f"two programs have the name {name!r}")
        PROGRAMS[name] = Program(topic, getattr(plain, name), getattr(changed, name), args)
    NOT_OVERRIDABLE.update(plain.NOT_OVERRIDABLE)
    LOOKS_AT_VALUES.update(plain.LOOKS_AT_VALUES)


for _topic in TOPICS:
    _enter(_topic)


def weighted(f: Callable[..., Any], np_: Any = np) -> Callable[..., Any]:
    """Return a function that makes a real number of all numbers that `f` returns."""

    def total(*args: Any) -> Any:
        result = 0.0
        for k, y in enumerate(tree.leaves(f(*args))):
            weights = np.cos(np.arange(y.size) + k).reshape(y.shape)
            result = result + np_.sum(np_.real(y) * weights + np_.imag(y) * (1 - weights))
            result = result + np_.sum(np_.real(y) ** 2 + np_.imag(y) ** 2) / 3
        return result

    return total


def assert_close(actual: Any, expected: Any, rtol: float, what: str) -> None:
    """Check that all arrays agree, to `rtol` of their largest number; and their shapes and dtypes."""
    assert_allclose(tree.leaves(actual), tree.leaves(expected), rtol, err_msg=what)

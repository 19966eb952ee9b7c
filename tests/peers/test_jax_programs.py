"""The plain NumPy programs of `tests/programs` that JAX can run: the same values and gradients.

JAX runs a program once `np` is `jax.numpy`, if the program assigns to no elements and looks at no values.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402
from tests.test_programs import (  # noqa: E402
    LOOKS_AT_VALUES,
    PROGRAMS,
    TOPICS,
    assert_close,
    gradient_of,
    module_of,
    weighted,
)

IMPORTS = {
    "import numpy as np\n": "import jax.numpy as np\n",
    "from scipy import special\n": "from jax.scipy import special\n",
}
MODULES = {topic: module_of(topic, IMPORTS) for topic in TOPICS}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LOOKS_AT_VALUES])
def test_as_jax(name):
    program = PROGRAMS[name]
    theirs = getattr(MODULES[program.topic], name)
    argnums = tuple(range(len(program.args)))
    value = jax.jit(theirs)(*program.args)
    assert_close(fg.vjp(program.changed, *program.args)[0], jax.tree.map(np.asarray, value), 1e-9, "value")
    gradient = jax.jit(jax.grad(weighted(theirs, jax.numpy), argnums))(*program.args)
    assert_close(gradient_of(program.changed, program.args)(*program.args), jax.tree.map(np.asarray, gradient), 1e-8, "grad")

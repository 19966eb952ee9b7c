"""`jax._src`, from which libraries import: modules are those of the public names.

What is no public name of JAX, and libraries use all the same, is in fungrad/compat/jax/private.py.
"""

import logging
import sys
from types import ModuleType

from fungrad.compat.jax.adapting import namespace

_TABLE = """
ad_checkpoint jax.ad_checkpoint jax.extend.core.primitives
ad_util jax.extend.core.primitives jax.interpreters.ad
api jax
api_util jax.api_util .calling
array jax
basearray jax.typing jax
callback jax.experimental jax
checkify jax.experimental.checkify
compiler
config jax jax.experimental
core jax.core jax.extend.core jax.extend.core.primitives
custom_batching jax.custom_batching
custom_derivatives jax.custom_derivatives
custom_transpose
debugging jax.debug
dispatch jax.extend.core.primitives jax.interpreters.xla
dlpack jax.dlpack
dtypes jax.dtypes
effects jax.extend.core
errors jax.errors
flatten_util jax.flatten_util
image jax.image
image.scale jax.image
interpreters
interpreters.ad jax.interpreters.ad
interpreters.batching jax.interpreters.batching jax.extend.core.primitives
interpreters.mlir jax.interpreters.mlir
interpreters.partial_eval jax.interpreters.partial_eval
interpreters.pxla jax.interpreters.pxla
interpreters.xla jax.interpreters.xla
lax jax.lax
lax.control_flow jax.lax
lax.control_flow.conditionals jax.lax
lax.control_flow.loops jax.lax
lax.control_flow.solves jax.lax
lax.ann jax.lax
lax.convolution jax.lax
lax.fft jax.lax
lax.lax jax.lax
lax.linalg jax.lax.linalg
lax.parallel jax.lax
lax.slicing jax.lax
lax.special jax.lax
lax.utils jax.lax
lax.windowed_reductions jax.lax
linear_util jax.extend.linear_util
literals .literals
layout jax.experimental.layout
mesh jax.sharding
mesh_utils jax.experimental.mesh_utils
monitoring jax.monitoring
named_sharding jax.sharding
nn jax.nn
nn.functions jax.nn
nn.initializers jax.nn.initializers
numpy jax.numpy
numpy.array jax.numpy
numpy.array_methods .places jax.numpy
numpy.array_constructors jax.numpy
numpy.array_creation jax.numpy
numpy.einsum jax.numpy
numpy.fft jax.numpy.fft
numpy.index_tricks .index_tricks jax.numpy
numpy.indexing jax.numpy
numpy.lax_numpy jax.numpy
numpy.linalg jax.numpy.linalg
numpy.polynomial jax.numpy
numpy.reductions jax.numpy
numpy.scalar_types jax.numpy
numpy.setops jax.numpy
numpy.sorting jax.numpy
numpy.tensor_contractions jax.numpy
numpy.ufunc_api jax.numpy
numpy.ufuncs jax.numpy
numpy.util .promoting jax.numpy
numpy.vectorize .gufuncs jax.numpy
numpy.window_functions jax.numpy
ops jax.ops
ops.scatter jax.ops
ops.special jax.scipy.special
partition_spec jax.sharding
pjit jax jax.extend.core.primitives
prng jax.extend.random jax.random
public_test_util jax.test_util
random jax.random
random.core jax.random jax.extend.core.primitives
random.prng jax.extend.random jax.random jax.extend.core.primitives
random.threefry2x32 jax.random jax.extend.core.primitives
ref jax.ref
scipy jax.scipy
scipy.cluster jax.scipy.cluster
scipy.cluster.vq jax.scipy.cluster.vq
scipy.fft jax.scipy.fft
scipy.integrate jax.scipy.integrate
scipy.linalg jax.scipy.linalg
scipy.ndimage jax.scipy.ndimage
scipy.optimize jax.scipy.optimize
scipy.signal jax.scipy.signal
scipy.sparse jax.scipy.sparse
scipy.sparse.linalg jax.scipy.sparse.linalg
scipy.spatial jax.scipy.spatial
scipy.spatial.transform jax.scipy.spatial.transform
scipy.special jax.scipy.special
scipy.stats jax.scipy.stats
sharding jax.sharding
sharding_impls jax.sharding
source_info_util jax.extend.source_info_util
stages jax.stages
state jax.ref
state.discharge jax.extend.core.primitives
state.primitives jax.extend.core.primitives
state.types jax.ref
test_util jax.test_util
traceback_util
tree jax.tree
tree_util jax.tree_util
typing jax.typing jax
util
xla_bridge jax.extend.backend jax
"""


def _place() -> None:
    """Make the modules."""
    for line in _TABLE.split("\n")[1:-1]:
        name, *homes = line.split()
        module = ModuleType(f"{__name__}.{name}", f"`jax._src.{name}`.")
        sources = ["fungrad.compat.jax.private"]
        for home in homes:  # one that begins with a dot is a file of ours
            public = f".modules{home.removeprefix('jax')}"
            sources.append(f"fungrad.compat.jax{home if home[0] == '.' else public}")
        vars(module)["__getattr__"] = namespace(f"jax._src.{name}", vars(module), sources, "", "*")
        vars(module)["__path__"] = []
        sys.modules[module.__name__] = sys.modules[f"jax._src.{name}"] = module
        above, _, last = name.rpartition(".")
        vars(sys.modules[f"{__name__}.{above}"] if above else sys.modules[__name__])[last] = module


_place()
for _name in ("callback", "dispatch"):
    logging.getLogger(f"jax._src.{_name}")
__getattr__ = namespace("jax._src", globals(), [])

"""What stands on the library imports public names; each import that reaches past them is listed, with its reason.

A public name is one in the `__all__` of a public module (`tests/test_public.py` lists these). An import of fungrad.extend that
publishes all of its names is no private one: it is what makes them public. A package's own modules are its own.

python -m tests.test_boundaries    # count them by packages
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.test_layers import ABOVE, LAYERS, ROOT, importing, modules
from tests.test_public import public_modules

STANDING = sorted(
    {name for name, layer in LAYERS.items() if layer == ABOVE} - {"profiling"} | {"typing"}
)
"""The packages that stand on the library."""

MOST = 100
"""The private imports that there may be at the most; less is better."""

_COMPILED = "shows what the compiler makes of a program"
_JAX = "is published under the name, and with the behaviour, that JAX gives it"
_LINES = "finds the user's line and the scope of an equation"
_SEVERAL = "runs one program in several processes, and checks that they agree"
_SHARED = "states once how an array is divided among processes"
_SAVED = "saves programs, and reads them"
_FACE = "is published with documentation of its own"
_ARGUMENTS = "names arguments in labels"
_RUN = "runs a program step by step"

ALLOWED: dict[str, dict[str, str]] = {
    "distributed.carriers": {_SEVERAL: "core.digest"},
    "distributed.exchange": {_SEVERAL: "primitives.collectives primitives.ranks"},
    "distributed.meeting": {_SEVERAL: "core.frames core.primitive primitives.ranks"},
    "distributed.world": {"keeps tiers of compilation in step": "compile.tiers"},
    "example_libraries.stax": {"drops out as `fungrad.nn` does": "nn.layers"},
    "example_libraries.triples": {"computes with halves as `fungrad.optim` does": "optim.halves"},
    "extend": {"is part of a function that is published": "numpy.ufuncs"},
    "extend.core": {
        _JAX: "core.axes core.errors core.primitive core.recorder core.tracer transforms.avals"
    },
    "extend.linear_util": {_JAX: "core.errors"},
    "extend.mlir": {_JAX: "transforms.foreign"},
    "extend.packages": {_FACE: "core.errors"},
    "extend.partial_eval": {
        _JAX: "compile.passes.dead_code core.trace transforms.avals transforms.call"
    },
    "extend.primitives": {_JAX: "transforms.jaxprs"},
    "extend.programs": {_FACE: "core.errors"},
    "nn.losses.classification": {"warns of labels at the user's line": "core.errors core.tracer"},
    "nn.losses.operands": {"takes lists of tracers": "numpy.promotion"},
    "saving.exported": {
        _SAVED: "programs.decoding programs.encoding",
        "writes files as checkpoints are": "training.archive training.replacing training.structure",
    },
    "sharding.dividing": {
        _SEVERAL: "core.trace primitives.ranks primitives.shaping primitives.slices rewrite.batch"
    },
    "sharding.mapping": {
        "is a transform, traced and compiled as those of `transforms` are": "compile.lower core.axes core.nesting "
        "core.snapshot core.trace core.transformed transforms.arguments transforms.call"
    },
    "sharding.mesh": {_SHARED: "distributed.exchange"},
    "show.drawing": {
        _LINES: "core.errors",
        _ARGUMENTS: "transforms.abstract transforms.argnums",
        "draws the gradient of a program": "rewrite.reverse",
    },
    "show.folding": {_LINES: "core.scopes"},
    "show.forms": {
        "tells primitives apart that are no user's": "primitives.elementwise primitives.indexed primitives.scipy_ufunc"
    },
    "show.html": {"shows the value of a tracer that has one": "core.tracer"},
    "show.kernels": {_COMPILED: "compile.kernels.fused compile.pipeline"},
    "show.labels": {
        _LINES: "core.errors core.transformed",
        "tells loops apart": "programs.loops.scan programs.loops.while_loop",
    },
    "show.libraries": {"says what is so of the arrays of a library": "core.backend"},
    "show.living": {_COMPILED: "compile.native compile.peak compile.steps"},
    "show.matrices": {"draws the plan of a sparse matrix": "patterns.jacobian"},
    "show.plain": {"writes what primitives run on a device": "primitives.rounds"},
    "show.running": {_RUN: "compile.flow core.float_warnings core.primitive primitives.cost"},
    "show.scenes": {_LINES: "core.scopes"},
    "show.source": {_ARGUMENTS: "transforms.abstract"},
    "show.staging": {
        _COMPILED: "compile.emit.python compile.native compile.peak compile.readable compile.steps compile.targets.host_kernels "
        "core.collection"
    },
    "show.writer": {
        "writes loops and recomputation in Python": "compile.flow compile.steps programs.rules.recomputation"
    },
    "test_util.diagnosis": {_ARGUMENTS: "transforms.argnums"},
    "test_util.everything": {"compares tangents of integers": "transforms.call"},
    "test_util.tracing": {"is told what is traced": "core.state transforms.explain"},
    "test_util.transforms": {"compiles at once what it checks": "core.config core.state"},
    "training.archive": {"stores keys and dtypes of other packages": "core.types"},
    "training.bars": {"keeps bars on the stack of calls": "core.state"},
    "training.checkpoint": {_SHARED: "sharding.moving"},
    "training.meeting": {_SEVERAL: "distributed.world"},
    "training.pieces": {_SHARED: "sharding.parts"},
    "training.reading_shards": {_SHARED: "sharding.parts"},
    "training.shards": {_SHARED: "sharding.parts"},
    "training.structure": {"asks optree for nodes of fungrad's": "core.paths"},
    "typing": {"is below `fungrad.extend`: scipy and lax import it": "core.tracer numpy.names"},
}
"""For each module that stands on the library: why it reaches past public names, and the modules it reaches."""


@functools.cache
def public_names() -> dict[str, set[str]]:
    """Map each public module to its names."""
    return {name: {*module.__all__} for name, module in public_modules().items()}


def imported_names(module: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (module, names) for each import of fungrad's in a module, in whatever way it happens."""
    path = modules(ROOT)[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in importing(path.read_text("utf-8")):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*up, *filter(None, [node.module])])
            yield base, [alias.name for alias in node.names]


def is_public(base: str, names: list[str]) -> bool:
    """Whether a public module, or all of some names in one, are imported."""
    public = public_names()
    if not names:
        return base in public
    return all(f"{base}.{name}" in public or name in public.get(base, ()) for name in names)


def publishes(module: str, names: list[str]) -> bool:
    """Whether a module of fungrad.extend makes names public by importing them."""
    return module.startswith("fungrad.extend") and {*names} <= public_names().get(module, set())


def private_imports(package: str) -> dict[str, set[str]]:
    """Map the modules of a package to the private modules of others that they import from."""
    home, files = f"fungrad.{package}", modules(ROOT)
    found: dict[str, set[str]] = {}
    for module in files:
        if not f"{module}.".startswith(f"{home}."):
            continue
        for base, names in imported_names(module):
            if not base.startswith("fungrad") or f"{base}.".startswith(f"{home}."):
                continue
            if not is_public(base, names) and not publishes(module, names):
                below = {f"{base}.{name}" for name in names} & files.keys()
                found.setdefault(module, set()).update(below or {base})
    return found


@pytest.mark.parametrize("package", STANDING)
def test_private_imports_are_listed_with_reasons(package):
    listed = {
        f"fungrad.{module}": {f"fungrad.{name}" for names in why.values() for name in names.split()}
        for module, why in ALLOWED.items()
        if module.partition(".")[0] == package
    }
    assert private_imports(package) == listed


def test_private_imports_are_few():
    assert sum(len(names.split()) for why in ALLOWED.values() for names in why.values()) <= MOST


def test_what_is_private():
    assert is_public("fungrad", ["jit", "Tracer"])
    assert is_public("fungrad", ["lax"])
    assert is_public("fungrad.numpy", [])
    assert not is_public("fungrad.core", ["tree"])
    assert not is_public("fungrad.core.tracer", ["Tracer"])
    assert not is_public("fungrad.lax", ["control"])
    assert publishes("fungrad.extend.types", ["type_of", "kind_of"])
    assert not publishes("fungrad.extend.types", ["array_type"])
    assert not publishes("fungrad.nn", ["relu"])


if __name__ == "__main__":
    counts = Counter({p: sum(map(len, private_imports(p).values())) for p in STANDING})
    for package, n in counts.most_common():
        print(f"{n:4} {package}")
    print(f"{counts.total():4}")

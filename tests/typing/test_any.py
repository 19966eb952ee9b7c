"""Which public functions return `Any` to type checkers: those listed here, for the reasons given."""

import ast
import functools
import importlib
import inspect
import re
import types
from pathlib import Path

import pytest

import fungrad as fg

REASONS = {
    "a pytree, of which no type says what it is made of": (
        "fungrad.eval_shape fungrad.pure_callback fungrad.experimental.io_callback "
        "fungrad.example_libraries.optimizers.unpack_optimizer_state "
        "fungrad.tree.broadcast fungrad.tree.map fungrad.tree.map_with_path fungrad.tree.transpose fungrad.tree.unflatten "
        "fungrad.tree_util.tree_broadcast fungrad.tree_util.tree_map fungrad.tree_util.tree_map_with_path "
        "fungrad.tree_util.tree_transpose fungrad.tree_util.tree_unflatten "
        "fungrad.optim.tree.get fungrad.optim.tree.set fungrad.optim.tree.map_params "
        "fungrad.optim.tree.random_like fungrad.optim.tree.split_key_like fungrad.optim.tree.unwrap_random_key_data "
        "fungrad.optim.tree.where "
        "fungrad.custom_derivatives.linear_call fungrad.custom_derivatives.custom_vjp_primal_tree_values "
        "fungrad.custom_derivatives.zero_from_primal"
    ),
    "an array, or a tuple of arrays where there are several axes": "fungrad.numpy.gradient",
    "nothing, or a function that waits for the rest": "fungrad.debug.callback fungrad.debug.print",
    "the field of a dataclass, of whatever type the class says": "fungrad.tree.static",
    "operands and results of primitives: arrays, tracers or types": (
        "fungrad.extend.bind fungrad.extend.elementwise fungrad.extend.expand fungrad.extend.zeros_like"
    ),
    "whatever is given a name": "fungrad.ad_checkpoint.checkpoint_name",
}
PERMITTED = {name for names in REASONS.values() for name in names.split()}

MODULES = [
    "fungrad", "numpy", "numpy.fft", "numpy.linalg", "lax", "lax.linalg", "nn", "nn.losses",
    "nn.initializers", "random", "optim", "optim.tree", "optim.projections", "optim.perturbations", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.sparse.linalg", "scipy.special",
    "scipy.stats", "training", "sharding", "distributed", "test_util", "tree", "tree_util", "flatten_util",
    "ops", "debug", "show", "extend", "custom_batching", "custom_derivatives", "ad_checkpoint", "conventions",
    "image", "experimental", "experimental.checkify", "experimental.jet", "example_libraries.optimizers", "settings", "device",
]  # fmt: skip


@functools.cache
def read(path):
    return ast.parse(path.read_text("utf-8")).body


def definition(module, name):
    """Return what type checkers find as the definition of a name: the overloads and the function, or None."""
    source = Path(module.__file__)
    stub = source.with_suffix(".pyi")
    statements = read(stub if stub.exists() else source)
    found = [x for x in statements if isinstance(x, ast.FunctionDef) and x.name == name]
    if found:
        return found
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    home = importlib.import_module(statement.module)
                    return (
                        definition(home, alias.name)
                        if home.__name__.startswith("fungrad")
                        else None
                    )
                if alias.name == "*" and name in getattr(
                    home := importlib.import_module(statement.module), "__all__", ()
                ):
                    return definition(home, name)
    return None


def returned(module, name):
    """Return what a function returns: in its stub, its source, or what it says of itself where another has made it."""
    found = definition(module, name)
    if found is None:
        annotation = inspect.signature(getattr(module, name)).return_annotation
        return "Any" if annotation is inspect.Signature.empty else str(annotation)
    results = ["Any" if x.returns is None else ast.unparse(x.returns) for x in found]
    return next((x for x in results if not re.fullmatch(r"_?Any", x)), "Any")


@pytest.mark.parametrize("path", MODULES)
def test_public_functions_return_what_type_checkers_know(path):
    module = importlib.import_module("fungrad" if path == "fungrad" else f"fungrad.{path}")
    names = [x for x in module.__all__ if isinstance(getattr(module, x), types.FunctionType)]
    unknown = {
        f"{module.__name__}.{name}"
        for name in names
        if re.fullmatch(r"_?Any", returned(module, name))
        and getattr(module, name).__module__.startswith("fungrad")
    }
    assert unknown == {x for x in PERMITTED if x.rpartition(".")[0] == module.__name__}


def test_a_function_that_tells_nothing_is_found():
    assert returned(fg.lax, "sin") == "_Array"
    assert returned(fg.lax, "scan") == "tuple[C, Y]"
    assert returned(fg.numpy, "gradient") == "Any"
    assert returned(fg.optim, "apply_updates") == "T"

"""What the public modules show: their public names and no others, all of which print themselves."""

import functools
import importlib
import types

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.summary import summary
from tests.folding import each

BESIDE = (
    "compat", "compat.autograd", "compat.jax", "compat.numpy", "extend.ad", "extend.api_util", "extend.backend", "extend.batching",
    "extend.core", "extend.linear_util", "extend.mlir", "extend.operations", "extend.packages", "extend.partial_eval", "extend.precision",
    "extend.primitives", "extend.programs", "extend.trees", "extend.types",
)  # fmt: skip
"""Public modules that no other one lists: they are imported by their names."""


@functools.cache
def public_modules():
    """Return fungrad, the modules that it lists, those that these list, and so on, by name."""
    found, waiting = {}, [fg, *(importlib.import_module(f"fungrad.{name}") for name in BESIDE)]
    while waiting:
        module = waiting.pop()
        if module.__name__ not in found and module.__name__.startswith("fungrad"):
            found[module.__name__] = module
            if module.__name__ != "fungrad.compat":
                values = (getattr(module, name) for name in module.__all__)
                waiting += [value for value in values if isinstance(value, types.ModuleType)]
    return found


def test_there_are_public_modules():
    assert {
        "fungrad",
        "fungrad.numpy.fft",
        "fungrad.scipy.sparse.linalg",
        "fungrad.lax.linalg",
    } <= {*public_modules()}


@each("name", public_modules)
def test_dir_shows_public_names_alone(name):
    module = public_modules()[name]
    shown = dir(module)
    assert {*module.__all__} <= {*shown}
    if name == "fungrad.optim":  # which has the losses too, as optax does
        shown = {*shown} - {*fg.nn.losses.__all__, "losses", "schedules", "transforms"}
    assert {*shown} - {"pytest_addoption"} == {*module.__all__}  # which pytest finds so


@each("name", public_modules)
def test_public_objects_print_themselves(name):
    module = public_modules()[name]
    silent = []
    for public in dir(module):
        value = (
            importlib.import_module(f"{name}.{public}")
            if name == "fungrad.compat"
            else getattr(module, public)
        )
        if isinstance(value, type):
            ours = value.__module__.startswith("fungrad") and not getattr(
                value, "_is_protocol", False
            )
            silent += [public] * (ours and value.__repr__ is object.__repr__)
        elif type(value).__module__.startswith("fungrad"):
            silent += [public] * (" object at 0x" in repr(value))
    assert silent == []


@fg.jit
def double(x):
    return 2 * x


POINTS = np.arange(5.0)
MADE = {
    "jitted": (lambda: double, "<jit(double)>"),
    "gradient": (lambda: fg.grad(double), "<grad of <jit(double)>>"),
    "value and gradient": (lambda: fg.value_and_grad(double), "<value_and_grad of <jit(double)>>"),
    "Jacobian": (lambda: fg.jacrev(double), "<jacrev of <jit(double)>>"),
    "Hessian": (lambda: fg.hessian(double), "<jacfwd of <jacrev of <jit(double)>>>"),
    "mapped": (lambda: fg.vmap(double), "<vmap of <jit(double)>>"),
    "checkpoint": (lambda: fg.checkpoint(double), "<checkpoint of <jit(double)>>"),
    "traced": (lambda: double.trace(1.0), "Lowered jit(double) of (float64[]):\n{ lambda a:float64[]"),
    "lowered": (lambda: double.lower(1.0), "Lowered jit(double) of (float64[]):\n{ lambda a:float64[]"),
    "compiled": (lambda: double.lower(1.0).compile(), "Compiled jit(double) of (float64[]):\ndef program(a):\n"),
    "expression": (lambda: fg.make_expr(double)(1.0), "{ lambda a:float64"),
    "jaxpr": (lambda: fg.make_jaxpr(double)(1.0), "{ lambda a:float64"),
    "equation": (lambda: fg.make_expr(double)(1.0).equations[0], "Equation"),
    "pullback": (lambda: fg.vjp(double, 1.0)[1], "<pullback of vjp(double)>"),
    "linear function": (lambda: fg.linearize(double, 1.0)[1], "<derivative of linearize(double)>"),
    "rule": (lambda: fg.custom_vjp(np.sin), "<custom_vjp function sin>"),
    "type": (lambda: fg.typeof(POINTS), "ShapedArray(float64[5])"),
    "at": (lambda: fg.at(POINTS)[0], "Update(array=array([0., 1., 2., 3., 4.]), key=0)"),
    "structure": (lambda: fg.tree.structure((1, 2)), "PyTreeSpec"),
    "device": (lambda: fg.devices("cpu")[0], "cpu:0"),
    "config": (lambda: fg.config, "Config("),
    "joining": (lambda: fnp.r_, "<fungrad.numpy.r_>"),
    "vectorized": (lambda: fnp.vectorize(np.sin, signature="(n)->(n)"), "vectorize(sin, signature='(n)->(n)')"),
    "spline": (
        lambda: fg.scipy.interpolate.CubicSpline(POINTS, POINTS),
        "CubicSpline(c=float64[4,4], x=float64[5], extrapolate=True, axis=0)",
    ),
    "density": (lambda: fg.scipy.stats.gaussian_kde(POINTS), "gaussian_kde(dataset=float64[1,5], factor="),
    "batches": (lambda: fg.training.minibatches(POINTS, 2), "<Minibatches of 5 rows by 2, 0 of 3 taken>"),
    "optimizer of several steps": (lambda: fg.optim.MultiSteps(fg.optim.sgd(0.1), 4), "MultiSteps(every_k_schedule=4, "),
}  # fmt: skip


@each("what", MADE)
def test_what_functions_return_prints_itself(what):
    make, start = MADE[what]
    assert repr(make()).startswith(start)
    assert " object at 0x" not in repr(make())


def test_a_summary_has_types_in_place_of_arrays():
    assert (
        summary("A", x=np.ones(3), y=(np.ones((2, 2)), None))
        == "A(x=float64[3], y=(float64[2,2], None))"
    )


@each("name", public_modules)
def test_modules_say_which_name_may_be_meant(name):
    module = public_modules()[name]
    apart = ("fungrad.compat", "fungrad.example_libraries.", "fungrad.extend.", "fungrad.optim.")
    if name.startswith(apart) or name in (
        "fungrad.scipy.sparse",
        "fungrad.programs.rules.policies",
    ):
        return  # what libraries ask for, and what says something of its own
    for public in module.__all__:
        if len(public) > 6 and public.isidentifier() and not public.startswith("_"):
            with pytest.raises(AttributeError) as found:
                getattr(module, f"{public}_q")
            assert "; did you mean '" in str(found.value)
            break

"""Annotations that cannot be evaluated: they name what is imported for type checkers alone.

Python 3.14 takes them as they stand; before, they have to be made text. The code is that of a user's module.
"""

import inspect
import sys
import types
import typing

import numpy as np
import pytest

import fungrad as fg
import fungrad.scipy.optimize
from fungrad.core.annotations import annotated, signature

SOURCE = (
    ("" if sys.version_info >= (3, 14) else "from __future__ import annotations\n")
    + """
import dataclasses
import fungrad as fg
import fungrad.numpy as fnp
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from somewhere import Array, Callback, Number

def scaled(x: Array, *, by: Number = 2) -> Array:
    return x * by

def power(n: Number, x: Array) -> Array:
    return x**n

def area(x: Array, y: Array) -> Array:
    return x * y

@fg.custom_vjp
def product(x: Array, y: Array) -> Array:
    return x * y

def forward(x: Array, y: Array) -> Array:
    return x * y, (x, y)

def backward(kept: Array, given: Array) -> Array:
    return given * kept[1] * 10, given * kept[0]

product.defvjp(forward, backward)

@fg.custom_jvp
def ratio(x: Array, y: Array) -> Array:
    return x / y

@ratio.defjvp
def tangent(primals: Array, tangents: Array) -> Array:
    return ratio(*primals), tangents[0] / primals[1] * 10

@dataclasses.dataclass
class Point:
    x: Array
    y: Array

seen = []
def report(intermediate_result: Callback) -> Number:
    seen.append(intermediate_result.x)

@fg.extend.primitive
class Weighted(fg.extend.Primitive):
    weight: Number = 1.0

@fg.extend.primitive
class Called(fg.extend.Primitive):
    name: Number = "called"
"""
)


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("annotated_by_a_user")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(SOURCE, vars(made))
    return vars(made)


def test_arguments_can_be_chosen_by_name(module):
    scaled, power = module["scaled"], module["power"]
    assert fg.jit(scaled)(3.0) == 6
    assert fg.jit(scaled, static_argnames="by")(3.0, by=4) == 12
    assert fg.jit(power, static_argnums=0)(2, 3.0) == 9
    assert fg.jit(fg.grad(power, argnums=1), static_argnames="n")(2, 3.0) == 6


def test_rules_of_ones_own(module):
    product, ratio = module["product"], module["ratio"]
    assert fg.grad(lambda x: product(x, y=2.0))(3.0) == 20
    assert fg.grad(lambda x: ratio(x, y=2.0))(3.0) == 5


def test_a_branch_that_takes_more_arguments_is_named(module):
    with pytest.raises(TypeError, match="area") as caught:
        fg.lax.cond(True, module["area"], module["area"], 1.0)
    assert "cond" in "".join(caught.value.__notes__)


def test_residuals_have_the_names_of_the_arguments(module, capsys):
    fg.print_saved_residuals(module["area"], np.ones(3), np.ones(3))
    assert "argument y" in capsys.readouterr().out


def test_a_callback_that_takes_the_intermediate_result(module):
    start = {"a": np.ones(2)}
    fungrad.scipy.optimize.minimize(lambda p: (p["a"] ** 2).sum(), start, callback=module["report"])
    assert module["seen"][-1]["a"].shape == (2,)


def test_dataclasses(module):
    point = module["Point"]
    fg.tree_util.register_dataclass(point)
    derivative = fg.grad(lambda p: p.x * p.y)(point(2.0, 3.0))
    assert (derivative.x, derivative.y) == (3, 2)


def test_names_of_primitives(module):
    assert module["Weighted"].name == "weighted"
    assert module["Called"]().name == "called"  # a field of that name is the class's own


def test_what_is_read_of_them(module):
    assert list(signature(module["scaled"]).parameters) == ["x", "by"]
    assert list(signature(fg.jit(module["scaled"])).parameters) == ["x", "by"]
    assert list(annotated(module["Point"])) == ["x", "y"]
    assert list(annotated(type("Derived", (module["Point"],), {}))) == []


def test_transformed_functions_keep_annotations_that_can_be_evaluated():
    def f(x: float, y: "np.ndarray") -> float: ...

    for g in (fg.jit(f), fg.grad(f), fg.custom_vjp(f), fg.vmap(f)):
        assert typing.get_type_hints(g, globals()) == typing.get_type_hints(f, globals())
        assert inspect.signature(g) == inspect.signature(f)


def test_annotations_of_transformed_functions():
    def f(x: float) -> "Nowhere": ...  # noqa: F821

    for g in (fg.jit(f), fg.grad(f), fg.custom_vjp(f), fg.custom_jvp(f), fg.vmap(f)):
        assert g.__annotations__ == f.__annotations__ == {"x": float, "return": "Nowhere"}
    assert fg.custom_vjp(lambda x: x).__annotations__ == {}


def test_annotations_that_cannot_be_evaluated_are_kept(module):
    for transform in (fg.jit, fg.custom_vjp):
        found = transform(module["area"]).__annotations__
        assert list(found) == ["x", "y", "return"]
        assert "Array" in str(found["x"])

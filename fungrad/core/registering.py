"""Code that makes an object an argument or result of transformed functions, for messages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from fungrad.core.annotations import signature
from fungrad.core.foreign import has_own_rules, plain_form

EVERYTHING = "Arguments and results of transformed functions are arrays, numbers and pytrees (tuples, lists, dicts, ...) of them."


_NO_ARRAYS = (str, bytes, type, np.dtype)


def _is_function(x: Any) -> bool:
    return callable(x) and not dataclasses.is_dataclass(x) and not isinstance(x, np.generic)


def how_to_register(value: Any) -> str:
    """Return the code that makes an object an argument or a result; "" if it cannot be one."""
    cls = type(value)
    name = cls.__name__
    if hasattr(value, "to_numpy") or has_own_rules(cls):
        return f"{EVERYTHING} Pass the plain array in it, {plain_form(value)}."
    if dataclasses.is_dataclass(cls):
        fields = [f for f in dataclasses.fields(cls) if f.init]
        static = [f.name for f in fields if f.metadata.get("static")]
        held = {f.name: getattr(value, f.name, None) for f in fields}
        other = [n for n, x in held.items() if isinstance(x, _NO_ARRAYS) or _is_function(x)]
        meta = [n for n in held if n in static or n in other]
        data = [n for n in held if n not in meta]
        which = f", data_fields={data}, meta_fields={meta}" if meta != static else ""
        return (
            f"It is a dataclass that is not registered as a pytree: write fungrad.tree_util.register_dataclass({name}{which}) "
            f"once, below the class{'' if which else ', or @fungrad.tree_util.register_dataclass above it'}."
        )
    if hasattr(cls, "model_construct"):  # a model of pydantic
        return (
            f"{EVERYTHING} A model of pydantic is one once it is registered: write fungrad.tree_util.register_pytree_node({name}, "
            f"lambda m: ([*vars(m).values()], tuple(vars(m))), lambda names, values: {name}.model_construct(**dict(zip(names, "
            "values)))) once, below the class."
        )
    if hasattr(value, "__dict__") and cls.__module__ != "builtins" and not _is_function(value):
        return f"{EVERYTHING} An object that holds arrays is one once {_registered(value)}"
    return ""


def _registered(value: Any) -> str:
    """Return the code to write below the class of an object with attributes."""
    cls = type(value)
    name, held = cls.__name__, vars(value)
    meta = [n for n, x in held.items() if isinstance(x, _NO_ARRAYS) or _is_function(x)]
    data = [n for n in held if n not in meta]
    if not held or not all(n.isidentifier() for n in held):
        return f"fungrad.tree_util.register_pytree_node knows {name}."
    try:
        signature(cls).bind(**held)
    except (TypeError, ValueError):  # it is made of other things than it holds
        made = f"m = object.__new__({name}); m.__dict__.update(zip({data}, arrays), **dict(zip({meta}, static)))"
        arrays, static = ("".join([f"m.{n}, " for n in names]) for names in (data, meta))
        return (
            f"its class is registered: write once, below it,\n\n    def unflatten(static, arrays):\n        {made}\n        return m\n\n"
            f"    fungrad.tree_util.register_pytree_node({name}, lambda m: (({arrays}), ({static})), unflatten)\n\n"
        )
    return (
        f"its class is registered: write fungrad.tree_util.register_dataclass({name}, data_fields={data}, meta_fields={meta}) "
        "once, below the class."
    )

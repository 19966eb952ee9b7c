"""Texts that the docstrings of `fungrad.optim` share and leave out."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from fungrad.extend.packages import Glossary, api_boundary

F = TypeVar("F", bound=Callable[..., Any])

PARAMETERS = {
    "accumulator_dtype": "The dtype of what is kept; by default that of the parameters.",
    "b1": "How much of the mean of gradients is kept in each step.",
    "b2": "How much of the mean of squares is kept in each step.",
    "bias_correction": "Whether means are divided by the sum of their weights, as their first value is 0.",
    "count": "The number of steps so far.",
    "debias": "Whether the mean is divided by the sum of its weights, as its first value is 0.",
    "decay": "How much is kept in each step.",
    "dtype": "The dtype of the results.",
    "end_value": "The value at the end.",
    "eps": "Added to the denominator, outside of the root where there is one.",
    "eps_in_sqrt": "Whether `eps` is added within the root.",
    "eps_root": "Added to the denominator within the root, which keeps derivatives by the updates finite.",
    "forward_extra_args": "Whether the condition is also given the additional arguments of `update`.",
    "grads": "A pytree of gradients.",
    "init_value": "The value at the beginning.",
    "initial_scale": "What the means begin with.",
    "inner": "A gradient transformation.",
    "learning_rate": "The length of steps: a number, or a schedule, which is a function of the number of steps so far.",
    "mask": "Where it applies: a pytree of booleans that is a prefix of the parameters, or a function from the\n"
    "    parameters to one; by default everywhere.",
    "mask_compatible_extra_args": "Whether additional arguments of `update` that have the structure of the updates are\n"
    "    masked too.",
    "measure": "A function of the updates.",
    "min_norm": "The least value of a norm.",
    "min_scale": "The least value of the norm.",
    "moments": "The means so far, a pytree like `updates`.",
    "momentum": "How much of the last step is repeated; None for nothing.",
    "mu_dtype": "The dtype of the mean of gradients; by default that of the parameters.",
    "nesterov": "Whether to look ahead along the momentum (Y. Nesterov, 1983; T. Dozat, 2016).",
    "order": "The power that is averaged.",
    "params": "A pytree of parameters.",
    "peak_value": "The largest value.",
    "should_transform_fn": "Takes the number of steps so far; whether to transform.",
    "staircase": "Whether the value changes only after each `transition_steps`.",
    "transition_begin": "The number of steps before the value begins to change.",
    "transition_steps": "The number of steps in which the value changes.",
    "tree": "A pytree of arrays.",
    "tree_x": "A pytree of arrays.",
    "tree_y": "A pytree of arrays, of the same structure.",
    "updates": "A pytree of arrays: gradients, or what was made of them.",
    "warmup_steps": "The number of steps in which the value rises.",
    "weight_decay": "How much of the parameters is subtracted in each step: a number or a schedule.",
    "weight_decay_mask": "Which parameters decay: a pytree of booleans or a function from the parameters to one.",
}

IMPORTS = {
    "np": "import numpy as np",
    "fg": "import fungrad as fg",
    "fnp": "import fungrad.numpy as fnp",
    "lax": "from fungrad import lax",
    "random": "from fungrad import random",
    "optim": "from fungrad import optim",
}
"""How the modules that examples use are imported."""

_MADE = ("Optimizer", "GradientTransformation", "GradientTransformationExtraArgs")


def boundary(function: F) -> F:
    """Decorate a public function; transformations that it makes explain wrong arguments of `update`."""
    if function.__annotations__.get("return") not in _MADE:
        return api_boundary(function)
    name = function.__name__
    kinds = inspect.signature(function).parameters
    first = next(iter(kinds.values()), None)
    rated = first is not None and first.name == "learning_rate" and first.default is first.empty

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        if not kinds.keys() >= kwargs.keys():
            from fungrad.optim.mistakes import unknown_arguments  # only errors need it

            if (error := unknown_arguments(name, [*kinds], kwargs)) is not None:
                raise error
        if rated and (args or "learning_rate" in kwargs):
            rate = args[0] if args else kwargs["learning_rate"]
            if rate is None or isinstance(rate, (str, dict, list, tuple)):
                from fungrad.optim.mistakes import check_rate  # only errors need it

                check_rate(name, rate)
        return _checked(name, function(*args, **kwargs))

    return api_boundary(make)  # type: ignore[return-value]


_unchecked: weakref.WeakKeyDictionary[Any, Callable[..., Any]] = weakref.WeakKeyDictionary()
"""Functions called by those of `_checked`. As attributes, `functools.wraps` would copy them."""


def _checked(name: str, tx: Any) -> Any:
    """Return a transformation whose `update` explains its wrong arguments if it fails."""
    plain = _unchecked.get(tx.update, tx.update)

    @functools.wraps(plain)
    def update(*args: Any, **kwargs: Any) -> Any:
        try:
            result = plain(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            from fungrad.optim.mistakes import update_error  # only errors need it

            new = update_error(name, tx.init, _arguments(args, kwargs), error)
            if new is error:
                raise
            raise new from error
        if args and args[0] is None:
            from fungrad.optim.mistakes import check_not_none

            check_not_none(name, tx.init, _arguments(args, kwargs)[1])
        return result

    checked = api_boundary(update)
    _unchecked[checked] = plain
    return tx._replace(update=checked)


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the updates, the state and the parameters in a call of `update`, as far as given."""
    names = ("updates", "state", "params")[len(args) :]
    return [*args, *[kwargs[name] for name in names if name in kwargs]]


GLOSSARY = Glossary(PARAMETERS, {}, IMPORTS, boundary)
public, public_like = GLOSSARY.public, GLOSSARY.public_like
"""Documentation of `fungrad.optim`, completed from the glossary."""

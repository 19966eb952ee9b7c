"""Messages for wrong arguments of optimizers: the leaf, its expected form, and a fix.

All is found out when something has failed, so that steps that go well pay for none of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad import eval_shape, tree
from fungrad.extend.trees import difference, leaves_with_paths

Update = Callable[..., Any]

_STEP = "updates, state = tx.update(grads, state, params)"
_BEGIN = f"Write state = tx.init(params) once, and then {_STEP} in each step."

SYNONYMS = {
    "learning_rate": "lr rate step_size stepsize alpha eta learningrate init_lr base_lr max_lr",
    "max_learning_rate": "lr learning_rate rate step_size",
    "b1": "beta1 beta_1 b_1 beta momentum",
    "b2": "beta2 beta_2 b_2 rho",
    "b3": "beta3 beta_3 b_3",
    "eps": "epsilon epsilon1 eps1",
    "epsilon": "eps",
    "epsilon1": "eps epsilon",
    "decay": "rho alpha decay_rate b2 beta beta2 smoothing momentum",
    "decay_rate": "decay rho b2 beta2",
    "rho": "decay alpha beta",
    "momentum": "beta b1 beta1 mu",
    "nesterov": "use_nesterov",
    "weight_decay": "wd l2 decay weight_decay_rate lambda_",
    "weight_decay_rate": "weight_decay wd l2",
    "mask": "weight_decay_mask",
    "weight_decay_mask": "mask",
    "max_norm": "norm clip_norm clipnorm max_grad_norm threshold",
    "max_delta": "clip_value clipvalue threshold max_value limit",
    "step_size": "lr learning_rate factor",
    "init_value": "lr learning_rate init_lr initial_learning_rate",
}
"""Names that other libraries have for the arguments here, by ours."""

_ELSEWHERE = {
    "weight_decay": "{name} has no weight decay: fungrad.optim.adamw has, with weight_decay=...; to add the decay to the "
    "gradients, as torch does, write fungrad.optim.chain(fungrad.optim.add_decayed_weights({value}), {name}(...))",
    "amsgrad": "it is an optimizer of its own: fungrad.optim.amsgrad(learning_rate)",
    "maximize": "give it the gradients of -f, or put fungrad.optim.scale(-1.0) before it in fungrad.optim.chain",
    "params": f"parameters are no argument of {{name}}. {_BEGIN}",
    "clipnorm": "write fungrad.optim.chain(fungrad.optim.clip_by_global_norm({value}), {name}(...))",
    "clipvalue": "write fungrad.optim.chain(fungrad.optim.clip({value}), {name}(...))",
    "schedule": "give the schedule as learning_rate: {name}(fungrad.optim.cosine_decay_schedule(1e-3, 1000)) say",
    "foreach": "leave it out: fungrad.jit of the step compiles all leaves together",
}
_ELSEWHERE |= {
    "wd": _ELSEWHERE["weight_decay"],
    "l2": _ELSEWHERE["weight_decay"],
    "parameters": _ELSEWHERE["params"],
    "global_clipnorm": _ELSEWHERE["clipnorm"],
    "max_grad_norm": _ELSEWHERE["clipnorm"],
    "scheduler": _ELSEWHERE["schedule"],
    "fused": _ELSEWHERE["foreach"],
    "capturable": _ELSEWHERE["foreach"],
}
"""What to write in place of arguments that are none here, by the names that other libraries give them."""

_METHODS = {
    "step": f"it changes nothing in place. {_BEGIN} params = fungrad.optim.apply_updates(params, updates) makes the step",
    "zero_grad": "it keeps no gradients: fungrad.grad returns those of its call alone",
    "state_dict": "the state is the pytree that init and update return: keep that",
}
_METHODS |= dict.fromkeys(
    ("minimize", "apply_gradients", "apply", "apply_updates"), _METHODS["step"]
)


def no_method(name: str) -> AttributeError:
    """Return the error for a method that optimizers of other libraries have."""
    advice = _METHODS.get(name)
    said = f"a gradient transformation has no {name!r}: it has init and update"
    return AttributeError(f"{said}; {advice}" if advice else said)


def unknown_arguments(
    name: str, parameters: Sequence[str], given: Mapping[str, Any]
) -> TypeError | None:
    """Return the error for arguments by name that a function does not have; None if it has them."""
    unknown = [key for key in given if key not in parameters]
    if not unknown:
        return None
    key, *_ = unknown
    advice = _for_argument(name, key, given[key], parameters)
    return TypeError(f"{name} has no argument {key!r}: {advice}")


def _for_argument(name: str, key: str, value: Any, parameters: Sequence[str]) -> str:
    if key == "betas" and {"b1", "b2"} <= {*parameters}:
        known = isinstance(value, (tuple, list)) and len(value) == 2
        first, second = value if known else (0.9, 0.999)
        return f"it takes them one by one: {name}(..., b1={first!r}, b2={second!r})"
    low = key.lower()
    ours = [p for p in parameters if low == p or low in SYNONYMS.get(p, "").split()]
    if (
        ours
    ):  # the last means the most special thing: alpha is the decay of rmsprop, and the step of Adam
        return f"the argument is called {ours[-1]}. Write {name}({ours[-1]}={_written(value)})"
    if low in _ELSEWHERE:
        return _ELSEWHERE[low].format(name=f"fungrad.optim.{name}", value=_written(value))
    near = difflib.get_close_matches(low, parameters, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}It takes {', '.join(parameters)}"


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, (bool, int, float, str)) else "..."


def check_rate(name: str, given: Any) -> None:
    """Complain of a learning rate that is neither a number nor a schedule."""
    if isinstance(given, (str, dict, list, tuple)) or given is None:
        parameters = isinstance(given, (dict, list, tuple))
        advice = f" Parameters are no argument of it. {_BEGIN}" if parameters else ""
        raise TypeError(
            f"{name}: learning_rate must be a number or a schedule, a function of the number of steps; got "
            f"{given!r:.60}, of type {type(given).__name__}.{advice}"
        )


def update_error(
    name: str, init: Callable[[Any], Any], given: Sequence[Any], error: Exception
) -> Exception:
    """Return the error to raise in place of one of `update`: an explanation, if there is one."""
    said = _of_update(name, init, given)
    if said is None:
        return error
    return TypeError(said) if isinstance(error, (TypeError, AttributeError)) else ValueError(said)


def check_not_none(name: str, init: Callable[[Any], Any], state: Any) -> None:
    """Complain of None in place of gradients, a tree without leaves, if the state's tree has leaves."""
    if state is not None and unlike("", state, "", eval_shape(init, None)) is not None:
        raise TypeError(f"{name}: update needs gradients, got None for them. {_BEGIN}")


def _of_update(name: str, init: Callable[[Any], Any], given: Sequence[Any]) -> str | None:
    if len(given) < 2:
        return f"{name}: update takes the gradients and the state: {_STEP}. {_BEGIN}"
    updates, state, params = (*given, None)[:3]
    if state is None or _is_transformation(state):
        got = "None" if state is None else "the optimizer itself"
        return f"{name}: update needs the state that init has returned, got {got} for it. {_BEGIN}"
    if _is_transformation(updates) or updates is None:
        return f"{name}: update needs gradients, got {_kind(updates)} for them. {_BEGIN}"
    if params is not None:
        said = unlike("updates", updates, "params", params)
        if said is not None:
            return (
                f"{name}: {said}. Gradients have the tree and the shapes of the parameters that init was "
                f"given, as fungrad.grad returns them{_pair(updates)}"
            )
    return _of_state(name, init, updates, state)


def _of_state(name: str, init: Callable[[Any], Any], updates: Any, state: Any) -> str | None:
    try:
        expected = eval_shape(init, updates)
    except Exception:  # it has its own reasons, and its own message
        expected = None
    if expected is not None and unlike("", state, "", expected) is None:
        return None
    if _fits(init, state, updates):
        return f"{name}: update got the state first and the gradients after it. Write {_STEP}."
    if expected is None:
        return None
    said = _leaf_of_other_shape(updates, state, expected) or unlike(
        "state", state, f"the state of {name} for updates like these", expected
    )
    return (
        f"{name}: the state and the updates do not fit together: {said}; begin with the state that init returns, tx.init(params) of this "
        f"very optimizer, and give gradients that have the tree and the shapes of these parameters{_pair(updates)}"
    )


def _leaf_of_other_shape(updates: Any, state: Any, expected: Any) -> str | None:
    """Return the leaf of the updates whose shape differs from the state's; None if structures differ."""
    if tree.structure(state) != tree.structure(expected):
        return None
    leaves = leaves_with_paths(updates)
    for (path, x), like in zip(leaves_with_paths(state), tree.leaves(expected), strict=True):
        shape = _shape(like)
        of = [p for p, u in leaves if path.endswith(p) and _shape(u) == shape]
        if shape and _shape(x) != shape and of:  # numbers fit all arrays
            return (
                f"updates{max(of, key=len)} has the shape {shape}, and state{path} has {_shape(x)}"
            )
    return None


def _fits(init: Callable[[Any], Any], updates: Any, state: Any) -> bool:
    try:
        return unlike("", state, "", eval_shape(init, updates)) is None
    except Exception:  # whatever init says of what are no updates
        return False


def _pair(updates: Any) -> str:
    """Return the fix for gradients still beside a value, or beside the auxiliary data of `has_aux`."""
    if type(updates) is tuple and len(updates) == 2:
        return ". Of value_and_grad, or with has_aux=True, they are the second of a pair: value, grads = ..."
    return ""


def unlike(what: str, x: Any, like_what: str, like: Any) -> str | None:
    """Return where a tree of arrays differs from another in structure or in shape; None if it does not."""
    mismatch = difference(tree.structure(like), x, exact=True)
    if mismatch is not None:
        path, how = mismatch
        at = "at the root" if path == "the root" else f"at {what}{path}"
        return f"{what} must have the tree of {like_what}; {at}: {how}"
    for (path, a), b in zip(leaves_with_paths(x), tree.leaves(like), strict=True):
        if _shape(a) != _shape(b):
            return f"{what}{path} has the shape {_shape(a)}, and {like_what}{path if ' ' not in like_what else ''} has {_shape(b)}"
    return None


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def _is_transformation(x: Any) -> bool:
    return getattr(type(x), "_fields", None) == ("init", "update")


def _kind(x: Any) -> str:
    return "None" if x is None else "the optimizer itself"


def apply_error(params: Any, updates: Any, error: Exception) -> Exception:
    """Return the error to raise in place of one of `apply_updates`."""
    if type(updates) is tuple and len(updates) == 2 and type(params) is not tuple:
        return TypeError(
            "apply_updates: updates is the pair that update returns, of updates and state: write "
            f"{_STEP}, and then apply_updates(params, updates)"
        )
    said = unlike("updates", updates, "params", params)
    if said is None:
        return error
    return ValueError(
        f"apply_updates: {said}. Write apply_updates(params, updates) with the updates that tx.update returned for the "
        "gradients by these parameters"
    )

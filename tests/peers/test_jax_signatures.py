"""Signatures of what has JAX's name, against JAX's: whatever can be written there can be written here."""

import importlib
import inspect

import pytest

jax = pytest.importorskip("jax")

import fungrad as fg  # noqa: E402

P = inspect.Parameter

MODULES = {
    "": "", "ad_checkpoint": "", "custom_batching": "", "custom_derivatives": "", "debug": "",
    "flatten_util": "", "ops": "", "test_util": "", "tree": "", "tree_util": "", "extend.core": "",
    "extend.linear_util": "", "api_util": "extend.api_util", "core": "extend.core",
    "interpreters.ad": "extend.ad", "interpreters.batching": "extend.batching",
}  # fmt: skip
"""Modules of JAX, and where their names are in fungrad if that is elsewhere."""

DIFFERENT = {
    "default_device": "its parameter is called `device`, as that of device_put is",
    "tree_util.Partial": "it is a class of functools: the function comes by position",
    "extend.core.JaxprEqn": "a dataclass: `effects` in full, as new_jaxpr_eqn has it",
    "extend.core.Var": "what is mutable has no types of its own, and variables have names",
    "extend.core.find_top_trace": "the parameter, which is not read, has a name",
    "extend.core.jaxpr_as_fun": "JAX's is curried: the arguments are those of what it returns",
    "core.ShapedArray": "it has `vma` in place of manual_axis_type",
    "core.Tracer": "tracers are made by traces",
    "interpreters.ad.JVPTracer": "tracers are made by traces",
    "interpreters.ad.jvp": "the public one: JAX's takes a wrapped function",
    "interpreters.ad.linearize": "the public one: JAX's takes a wrapped function",
}
"""What cannot be called as JAX's in every way, and why."""


def parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def lacking(theirs, ours):
    """Yield the parameters of JAX's function that cannot be given to ours in the same ways."""
    variadic = {p.kind for p in ours}
    by_name = {p.name: (i, p) for i, p in enumerate(ours)}
    for i, p in enumerate(theirs):
        if p.kind in (P.VAR_POSITIONAL, P.VAR_KEYWORD):
            if p.kind not in variadic:
                yield f"{p}"
            continue
        at, own = by_name.get(p.name, (None, None))
        if p.kind is P.POSITIONAL_ONLY:
            taken = i < len(ours) and ours[i].kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)
            if not (taken or P.VAR_POSITIONAL in variadic):
                yield f"{p.name} by position"
        elif own is None:
            if P.VAR_KEYWORD not in variadic:
                yield p.name
        elif own.kind is P.POSITIONAL_ONLY or (p.default is not P.empty and own.default is P.empty):
            yield f"{p.name} as {own.kind}"
        elif p.kind is P.POSITIONAL_OR_KEYWORD and (own.kind is P.KEYWORD_ONLY or at != i):
            yield f"{p.name} at position {i}"
    known = {p.name for p in theirs}
    for i, p in enumerate(ours):
        needed = p.default is P.empty and p.kind not in (P.VAR_POSITIONAL, P.VAR_KEYWORD)
        if (
            needed
            and p.name not in known
            and not (i < len(theirs) and theirs[i].kind is P.POSITIONAL_ONLY)
        ):
            yield f"{p.name}, which JAX has not"


def walked():
    """Yield (name, JAX's function, ours) of all names that both have."""
    for module, home in MODULES.items():
        theirs = importlib.import_module(f"jax.{module}".rstrip("."))
        ours = importlib.import_module(f"fungrad.{home or module}".rstrip("."))
        for name in sorted(n for n in dir(theirs) if not n.startswith("_") and hasattr(ours, n)):
            yield f"{module}.{name}".lstrip("."), getattr(theirs, name), getattr(ours, name)
    f = lambda x: x
    methods = {
        "jit": ([lib.jit(f) for lib in (jax, fg)], "lower trace eval_shape clear_cache"),
        "custom_jvp": ([lib.custom_jvp(f) for lib in (jax, fg)], "defjvp defjvps"),
        "custom_vjp": ([lib.custom_vjp(f) for lib in (jax, fg)], "defvjp"),
        "ShapeDtypeStruct": ([jax.ShapeDtypeStruct, fg.ShapeDtypeStruct], "update like"),
    }
    for owner, ((theirs, ours), names) in methods.items():
        for name in names.split():
            yield f"{owner}().{name}", getattr(theirs, name), getattr(ours, name)


def test_signatures():
    found, count = {}, 0
    for name, theirs, ours in walked():
        a, b = parameters(theirs), parameters(ours)
        if callable(theirs) and a is not None and b is not None:
            count += 1
            found[name] = list(lacking(a, b))
    assert count >= 180
    assert {name: what for name, what in found.items() if what and name not in DIFFERENT} == {}
    assert [name for name in DIFFERENT if not found.get(name)] == []  # no longer needed

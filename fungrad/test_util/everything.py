"""A function held against itself, or another one, under all transforms and transforms of transforms."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad import checking, float0, jit, jvp, tree, vjp, vmap
from fungrad.extend.packages import Glossary
from fungrad.extend.programs import name_of
from fungrad.extend.types import type_of
from fungrad.test_util.compare import GLOSSARY, as_array, assert_allclose, is_inexact
from fungrad.test_util.gradients import check_grads, random_like
from fungrad.test_util.transforms import Function, check_jit, check_vmap
from fungrad.transforms.call import with_float0

__all__ = ["check_agreement", "check_all"]

_GLOSSARY = Glossary(
    {
        **GLOSSARY.parameters,
        "eps": "The step of the differences, as of `check_grads`.",
        "jit": "Whether to check what `jit` makes of it all.",
        "vmap": "Whether to check what `vmap` makes of it all.",
    },
    imports=GLOSSARY.imports,
)

_NEEDS: dict[str, set[str]] = {
    "value": set(),
    "jvp": {"fwd"},
    "grad": {"rev"},
    "jvp of grad": {"fwd", "rev"},
    "grad of grad": {"rev"},
}
"""The functions that `check_all` looks at, by the modes of differentiation that they need."""

SCALES = (1.0, 0.99)
"""Factors of arguments for members of a batch: values about as good as these."""


def _named(f: Function, name: str) -> Callable[[Function], Function]:
    """Decorate a function made from another one, whose arguments it has."""

    def decorate(made: Function) -> Function:
        made = functools.wraps(f, ("__doc__",), ())(made)
        made.__name__ = f"{name} of {name_of(f)}"
        return made

    return decorate


def _inexact(xs: Any) -> list[Any]:
    return [x for x in tree.leaves(xs) if getattr(x, "dtype", None) != float0]


def forms(f: Function, args: Sequence[Any]) -> dict[str, Function]:
    """Return a function and its derivatives along random directions, by name."""
    draw = functools.partial(random_like, np.random.RandomState(1))
    directions, weights = tree.map(draw, (tuple(args), f(*args)))
    if not _inexact(directions):
        return {"value": f}

    @_named(f, "jvp")
    def forward(*xs: Any) -> Any:
        out, tangents = jvp(f, xs, directions)
        return out, _inexact(tangents)

    @_named(f, "grad")
    def gradient(*xs: Any) -> Any:
        return _inexact(vjp(f, *xs)[1](weights))

    @_named(f, "jvp of grad")
    def forward_over_reverse(*xs: Any) -> Any:
        return jvp(gradient, xs, directions)[1]

    @_named(f, "grad of grad")
    def reverse_over_reverse(*xs: Any) -> Any:
        return _inexact(vjp(gradient, *xs)[1](_inexact(directions)))

    @_named(f, "jvp of jvp")
    def forward_over_forward(*xs: Any) -> Any:
        return jvp(lambda *ys: forward(*ys)[1], xs, directions)[1]

    return {
        "value": f,
        "jvp": forward,
        "grad": gradient,
        "jvp of grad": forward_over_reverse,
        "grad of grad": reverse_over_reverse,
        "jvp of jvp": forward_over_forward,
    }


def _batches(args: Any) -> Any:
    """Return a batch of arguments for each of them."""

    def stacked(x: Any) -> Any:
        value = as_array(x)
        if not is_inexact(value):
            return np.stack([value] * len(SCALES))
        return np.stack([value * s for s in SCALES]).astype(value.dtype)

    return tree.map(stacked, args)


def _mappings(args: Any) -> list[tuple[int | None, ...]]:
    """Return the axes to map over each argument alone, and over all."""
    every = range(len(args))
    alone = [tuple([0 if i == k else None for i in every]) for k in every]
    return [*(alone if len(args) > 1 else []), (0,) * len(args)]


def _given(args: Any, batches: Any, axes: Sequence[int | None]) -> tuple[Any, ...]:
    return tuple([x if a is None else b for x, b, a in zip(args, batches, axes, strict=True)])


@_GLOSSARY.public
def check_all(
    f: Function,
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    jit: bool = True,
    vmap: bool = True,
) -> None:
    """Check a function under every transform, and under transforms of transforms.

    It runs `check_grads`, and compares second derivatives by forward over reverse mode with those by reverse over reverse mode.
    `check_vmap` and `check_jit` check the function, its derivatives and its second derivatives. Derivatives of `vmap` are compared with
    `vmap` of derivatives, and `jit` of `vmap` of the gradient is checked. All programs made on the way are checked (`fungrad.checking`).

    Parameters
    ----------
    args
        Its arguments, a tuple of arrays, numbers and pytrees of them. Batches are made of them by multiplying them by 1 and 0.99.
    order
        As of `check_grads`; with 0 nothing is compared with differences.
    modes
        As of `check_grads`: ``("rev",)`` for a function that has a rule for reverse mode alone, as those of `custom_vjp` have.

    Raises
    ------
    AssertionError
        If anything differs; the error begins with the check, and names the function it is of: ``check_vmap(grad of f)``.

    Examples
    --------
    >>> check_all(lambda p, x: fnp.tanh(x @ p["w"] + p["b"]), ({"w": np.ones((2, 3)), "b": 0.1}, np.array([0.3, 0.7])))
    """
    args = tuple(args)
    close: Any = {"rtol": rtol, "atol": atol}
    with checking():
        made = forms(f, args)
        if order and len(made) > 1:
            check_grads(f, args, order, modes, eps=eps)
        made = {name: made[name] for name, m in _NEEDS.items() if name in made and m <= {*modes}}
        if "jvp of grad" in made:
            assert_allclose(
                made["jvp of grad"](*args),
                made["grad of grad"](*args),
                err_msg=f"check_all({name_of(f)}): jvp of grad differs from grad of grad",
                **close,
            )
        batches = _batches(args)
        for g in made.values() if vmap else ():
            for axes in _mappings(args):
                check_vmap(g, _given(args, batches, axes), axes, **close)
        if vmap:
            _check_derivatives_of_vmap(f, batches, [*made], close)
        for g in made.values() if jit else ():
            check_jit(g, args, **close)
        if vmap and jit:
            check_jit(_vmapped(made.get("grad", f)), batches, **close)


def _vmapped(f: Function) -> Function:
    return _named(f, "vmap")(vmap(f))


def _filled(like: Any, parts: Sequence[Any]) -> Any:
    """Return a tangent of `like` whose inexact leaves are `parts`; float0 leaves cannot be mapped over."""
    leaves, structure = tree.flatten(like)
    return tree.unflatten(structure, with_float0(parts, [type_of(x) for x in leaves]))


def _check_derivatives_of_vmap(f: Function, batches: Any, names: Sequence[str], close: Any) -> None:
    """Check that derivatives of `vmap` are `vmap` of derivatives, as far as there are such."""

    def pushed(xs: Any, ts: Any) -> Any:
        return _inexact(jvp(f, xs, _filled(xs, ts))[1])

    def pulled(xs: Any, ws: Any) -> Any:
        out, pull = vjp(f, *xs)
        return _inexact(pull(_filled(out, ws)))

    mapped = vmap(f)
    draw = functools.partial(random_like, np.random.RandomState(2))
    tangents, weights = tree.map(draw, (batches, mapped(*batches)))
    what = f"check_all({name_of(f)})"
    if "jvp" in names:
        assert_allclose(
            _inexact(jvp(mapped, batches, tangents)[1]),
            vmap(pushed)(batches, _inexact(tangents)),
            err_msg=f"{what}: jvp of vmap differs from vmap of jvp",
            **close,
        )
    if "grad" in names:
        assert_allclose(
            _inexact(vjp(mapped, *batches)[1](weights)),
            vmap(pulled)(batches, _inexact(weights)),
            err_msg=f"{what}: grad of vmap differs from vmap of grad",
            **close,
        )


@_GLOSSARY.public
def check_agreement(
    f: Function,
    reference: Function,
    args: Sequence[Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    jit: bool = True,
    vmap: bool = True,
) -> None:
    """Check that two functions agree under every transform, to second order.

    For what has a rule of its own, say a solver with implicit derivatives, and the same function written plainly.

    Parameters
    ----------
    reference
        What `f` should be.

    Raises
    ------
    AssertionError
        If they differ; the error names the transform.

    Examples
    --------
    >>> check_agreement(fnp.square, lambda x: x * x, (np.array([1.0, 2.0]),))
    """
    args = tuple(args)
    ours, theirs = forms(f, args), forms(reference, args)
    names = [k for k in ("value", "grad", "jvp of grad") if k in ours]

    def compare(actual: Any, expected: Any, what: str) -> None:
        what = f"check_agreement({name_of(f)}, {name_of(reference)}): {what}"
        assert_allclose(actual, expected, rtol, atol, err_msg=what)

    with checking():
        for name in ours:
            compare(ours[name](*args), theirs[name](*args), name)
    for name in (names[0], names[-1]) if jit else ():
        compare(_jit(ours[name])(*args), theirs[name](*args), f"jit of {name}")
    batches = _batches(args)
    for axes, name in itertools.product(_mappings(args) if vmap else [], names):
        given = _given(args, batches, axes)
        actual, expected = [_vmap(g[name], axes)(*given) for g in (ours, theirs)]
        compare(actual, expected, f"vmap(in_axes={axes}) of {name}")
    if jit and vmap and "grad" in ours:
        expected = _vmap(theirs["grad"])(*batches)
        compare(_jit(_vmap(ours["grad"]))(*batches), expected, "jit of vmap of grad")


_jit, _vmap = jit, vmap  # within, the names are those of parameters

"""Compare a function whose derivatives are implicit with the same function in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp


def check_agreement(
    f: Callable[..., Any],
    reference: Callable[..., Any],
    args: Sequence[Any],
    *,
    rtol: float = 1e-7,
    jit: bool = True,
    vmap: bool = True,
) -> None:
    """Check that two functions of arrays to an array agree, under every transform, to second order.

    `vmap` maps over each argument, and over all.
    """
    every = tuple(range(len(args)))
    weights = np.cos(np.arange(np.size(f(*args)))).reshape(np.shape(f(*args))) + 0.5

    def loss(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: fnp.sum(weights * fnp.real(function(*xs)))

    directions = [np.cos(1.0 + np.arange(np.size(x))).reshape(np.shape(x)) for x in args]
    directions = [d.astype(np.asarray(x).dtype) for d, x in zip(directions, args)]

    def gradient(function):
        return fg.grad(loss(function), every)

    transforms: dict[str, Callable[[Any], Callable[..., Any]]] = {
        "value": lambda g: g,
        "jvp": lambda g: lambda *xs: fg.jvp(g, xs, directions),
        "grad": gradient,
        "forward over reverse": lambda g: lambda *xs: fg.jvp(gradient(g), xs, directions),
        "reverse over reverse": lambda g: fg.grad(
            lambda *xs: sum(fnp.sum(fnp.real(d * x)) for d, x in zip(directions, gradient(g)(*xs))),
            every,
        ),
        "forward over forward": lambda g: (
            lambda *xs: fg.jvp(lambda *ys: fg.jvp(g, ys, directions)[1], xs, directions)[1]
        ),
    }
    with fg.checking():
        for name, transform in transforms.items():
            _close(transform(f)(*args), transform(reference)(*args), rtol, name)
    if jit:
        for name in ("value", "forward over reverse"):
            found = fg.jit(transforms[name](f))(*args)
            _close(found, transforms[name](reference)(*args), rtol, f"jit of {name}")
    if vmap:
        scales = [1.0, 1.1]
        batches = [
            np.stack([np.asarray(x) * s for s in scales]).astype(np.asarray(x).dtype) for x in args
        ]
        choices = {every} | {(i,) for i in every}
        for chosen in sorted(choices):
            axes = tuple(0 if i in chosen else None for i in every)
            given = [b if i in chosen else x for i, (x, b) in enumerate(zip(args, batches))]
            for name in ("value", "grad", "forward over reverse"):
                found = fg.vmap(transforms[name](f), axes)(*given)
                expected = fg.vmap(transforms[name](reference), axes)(*given)
                _close(found, expected, rtol, f"vmap over {chosen} of {name}")
        if jit:
            found = fg.jit(fg.vmap(gradient(f)))(*batches)
            _close(found, fg.vmap(gradient(reference))(*batches), rtol, "jit of vmap of grad")


def _close(found: Any, expected: Any, rtol: float, what: str) -> None:
    ours, theirs = fg.tree.leaves(found), fg.tree.leaves(expected)
    assert len(ours) == len(theirs), what
    for x, y in zip(ours, theirs):
        assert np.shape(x) == np.shape(y), what
        assert np.asarray(x).dtype == np.asarray(y).dtype, what
        scale = max(1.0, np.abs(y).max(initial=0.0))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale, err_msg=what)

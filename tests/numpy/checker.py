"""Compare a function of `fungrad.numpy` with NumPy's: eager, traced, compiled, mapped, differentiated."""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core import tree

BATCH = 3
CHECKS = ("eager", "known", "jit", "vmap", "jvp", "vjp")


@dataclasses.dataclass
class Case:
    """A call to be checked: a row of a table of tests. The fields are those of `check_function`.

    The name of a function of a submodule is dotted, as in "linalg.solve".
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    static: Sequence[int | str] = ()
    diff_argnums: Sequence[int] | None = None
    vmap: bool = True
    jit: bool = True
    rtol: float | None = None

    def __str__(self) -> str:
        def text(x: Any) -> str:
            if isinstance(x, (np.ndarray, np.generic)):
                return f"{x.dtype}{list(x.shape)}".replace(" ", "")
            if isinstance(x, (list, tuple)):
                return "(" + ",".join(map(text, x)) + ")"
            # A function's address would differ between the processes of a parallel run.
            return getattr(x, "__name__", str(x)) if callable(x) else str(x)

        words = [text(x) for x in self.args] + [f"{k}={text(x)}" for k, x in self.kwargs.items()]
        return f"{self.name}({','.join(words)})"

    def functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return our function and NumPy's."""
        find = operator.attrgetter(self.name)
        return find(fnp), find(np)

    def check(self, checks: Collection[str] = CHECKS) -> None:
        """Check that `fnp.<name>` is `np.<name>`."""
        fields = [f.name for f in dataclasses.fields(Case) if f.name != "name"]
        options = {name: getattr(self, name) for name in fields}
        check_function(*self.functions(), **options, checks=checks)


Function = Callable[..., Any]


def cases_of(table: dict[str, tuple[Function, Function, list[tuple[Any, ...]]]]) -> list[Any]:
    """Return the parameters (f, oracle, args) of a test for a table of names: (f, oracle, calls)."""
    return [
        pytest.param(f, oracle, args, id=f"{name}-{i}")
        for name, (f, oracle, calls) in table.items()
        for i, args in enumerate(calls)
    ]


def check_function(
    f: Callable[..., Any],
    np_f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    static: Sequence[int | str] = (),
    diff_argnums: Sequence[int] | None = None,
    vmap: bool = True,
    jit: bool = True,
    rtol: float | None = None,
    checks: Collection[str] = CHECKS,
) -> None:
    """Check that `f` is `np_f`.

    All arrays among the arguments (in lists, too) are traced, except in those whose position or name
    is in `static`. Eager results must be exactly NumPy's. Traced results have NumPy's dtypes,
    shapes and, up to `rtol`, values: with values known (`vjp`), under `jit`, and under `vmap` over
    each traced argument and over all of them. Derivatives by float64 and complex128 arguments (those
    in `diff_argnums` only, if given) are compared with central differences, forward and reverse. `checks`
    says which of all this is done.
    """
    call = Call(f, args, kwargs or {}, static)
    reference = Call(np_f, args, kwargs or {}, static)
    expected = np_f(*args, **(kwargs or {}))
    if "eager" in checks:
        _compare(f(*args, **(kwargs or {})), expected, "eager", rtol=0, same_type=True)
    traced = call.traced
    if "known" in checks:
        value, _ = fg.vjp(call, *traced)
        _compare(value, expected, "values known", rtol)
    if jit and "jit" in checks:
        _compare(fg.jit(call)(*traced), expected, "jit", rtol)
    if vmap and traced and "vmap" in checks:
        batches = [_variants(x) for x in traced]
        every = [tuple([0] * len(traced))]
        if len(traced) > 1:
            every += [
                tuple(0 if i == j else None for i in range(len(traced))) for j in range(len(traced))
            ]
        for axes in every:
            inputs = [b if a == 0 else x for b, x, a in zip(batches, traced, axes, strict=True)]
            result = fg.vmap(call, axes)(*inputs)
            calls = [
                reference(*[x if a is None else x[i] for x, a in zip(inputs, axes, strict=True)])
                for i in range(BATCH)
            ]
            looped = tree.map(lambda *xs: np.stack(xs), *calls)
            _compare(result, looped, f"vmap over {axes}", rtol)
    modes = [mode for mode in ("jvp", "vjp") if mode in checks]
    moving = call.moving(diff_argnums, expected)
    if moving and modes:
        _check_derivatives(call, reference, traced, moving, modes)


def check_error(
    name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None, static: Any = ()
) -> None:
    """Check that a traced call raises NumPy's error: the type, and the message up to details."""
    kwargs = kwargs or {}
    with pytest.raises(Exception) as expected:  # noqa: PT011
        getattr(np, name)(*args, **kwargs)
    call = Call(getattr(fnp, name), args, kwargs, static)
    with pytest.raises(type(expected.value)) as found:
        fg.jit(call)(*call.traced)
    wanted = re.split(r"[,(\[\n]", str(expected.value))[0].strip()
    if "operands could not be broadcast" in wanted:
        wanted = "broadcast together with"
    assert wanted.lower() in str(found.value).lower()


class Call:
    """A function of the arrays among the arguments of a call alone."""

    def __init__(
        self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Any
    ) -> None:
        self.f = f
        self.__name__ = getattr(f, "__name__", "f")
        self.inputs: list[Any] = [*args, *kwargs.values()]
        self.names: list[Any] = [*[None] * len(args), *kwargs]
        self.leaves, self.where, self.structures = [], [], []
        self.traced: list[Any] = []
        for i, (x, name) in enumerate(zip(self.inputs, self.names, strict=True)):
            leaves, structure = tree.flatten(x)
            self.structures.append(structure)
            fixed = i in static or name in static
            for leaf in leaves:
                if isinstance(leaf, (np.ndarray, np.generic)) and not fixed:
                    self.where.append(i)
                    self.leaves.append(len(self.traced))
                    self.traced.append(leaf)
                else:
                    self.where.append(i)
                    self.leaves.append((leaf,))

    def positions(self, arguments: Sequence[int] | None) -> list[int]:
        """Return which of the traced arrays are in these arguments (None: in any)."""
        return [
            leaf
            for leaf, i in zip(self.leaves, self.where, strict=True)
            if isinstance(leaf, int) and (arguments is None or i in arguments)
        ]

    def moving(self, arguments: Sequence[int] | None, expected: Any) -> list[int]:
        """Return which of the traced arrays in these arguments the result has derivatives by."""
        if not any(np.asarray(x).dtype in ("f8", "c16") for x in tree.leaves(expected)):
            return []
        return [i for i in self.positions(arguments) if self.traced[i].dtype in ("f8", "c16")]

    def __call__(self, *arrays: Any) -> Any:
        args, kwargs = [], {}
        for i, (name, structure) in enumerate(zip(self.names, self.structures, strict=True)):
            leaves = [x for x, j in zip(self.leaves, self.where, strict=True) if j == i]
            values = [arrays[x] if isinstance(x, int) else x[0] for x in leaves]
            if name is None:
                args.append(tree.unflatten(structure, values))
            else:
                kwargs[name] = tree.unflatten(structure, values)
        return self.f(*args, **kwargs)


def _compare(
    actual: Any, expected: Any, what: str, rtol: float | None = None, same_type: bool = False
) -> None:
    xs, structure = tree.flatten(actual)
    ys, expected_structure = tree.flatten(expected)
    assert structure == expected_structure, what
    for x, y in zip(xs, ys, strict=True):
        if same_type:
            assert type(x) is type(y), what
        else:
            y = np.asarray(y)[()]
            assert type(x) in (np.ndarray, type(y)), (what, type(x))
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype, (what, x.dtype, y.dtype)
        assert x.shape == y.shape, (what, x.shape, y.shape)
        if y.dtype.kind in "fc" and rtol != 0:
            tolerance = rtol or 64 * float(np.finfo(y.dtype).eps)
            finite = np.abs(y[np.isfinite(y)])
            scale = float(finite.max()) if finite.size else 0.0
            np.testing.assert_allclose(x, y, tolerance, tolerance * scale, err_msg=what)
        else:
            np.testing.assert_array_equal(x, y, err_msg=what)


def _variants(x: Any) -> np.ndarray:
    """Return a batch of arrays with the elements of `x` in several orders."""
    x = np.asarray(x)
    flat = x.ravel()
    return np.stack([x, flat[::-1].reshape(x.shape), np.roll(flat, 1).reshape(x.shape)])


def _check_derivatives(
    call: Any, reference: Any, traced: list[Any], moving: list[int], modes: Sequence[str]
) -> None:
    rng = np.random.default_rng(0)

    def direction(x: Any) -> Any:
        t = rng.normal(size=np.shape(x))
        return (t + 1j * rng.normal(size=np.shape(x)) if np.iscomplexobj(x) else t)[()]

    def of_moving(f: Any) -> Any:
        def g(*xs: Any) -> Any:
            values = list(traced)
            for i, x in zip(moving, xs, strict=True):
                values[i] = x
            leaves = tree.leaves(f(*values))
            return [x for x in leaves if x.dtype.kind in "fc"]

        return g

    primals = [traced[i] for i in moving]
    tangents = [direction(x) for x in primals]
    g, np_g = of_moving(call), of_moving(reference)
    eps = 1e-6
    ahead = np_g(*[x + eps * t for x, t in zip(primals, tangents, strict=True)])
    behind = np_g(*[x - eps * t for x, t in zip(primals, tangents, strict=True)])
    out_tangents = [
        (np.asarray(x) - np.asarray(y)) / (2 * eps) for x, y in zip(ahead, behind, strict=True)
    ]
    rtol = 1e-6  # of differences
    if "jvp" in modes:
        numeric, rtol = out_tangents, 1e-9
        _, out_tangents = fg.jvp(g, primals, tangents)
        for t, expected in zip(out_tangents, numeric, strict=True):
            scale = np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(t, expected, 1e-6, 1e-7 * scale, err_msg="jvp")
    if "vjp" not in modes:
        return
    outs, pullback = fg.vjp(g, *primals)
    cts = [direction(x) for x in outs]
    pulled = pullback(cts)
    for ct, x in zip(pulled, primals, strict=True):
        assert ct.shape == x.shape, "vjp"
        assert ct.dtype == x.dtype, "vjp"
    # A cotangent pairs with a tangent as the real part of the sum of products.
    forward = sum(float(np.sum(ct * t).real) for ct, t in zip(cts, out_tangents, strict=True))
    reverse = sum(float(np.sum(ct * t).real) for ct, t in zip(pulled, tangents, strict=True))
    np.testing.assert_allclose(reverse, forward, rtol, rtol, err_msg="vjp")

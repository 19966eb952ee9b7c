"""The page docs/lax.md: every name of `jax.lax`, as what it does here or why it is left out.

    python -m tests.lax.page

writes it. The names are those of `fungrad.lax` and of its exclusions; tests/peers/test_jax_lax_names.py holds
that together they are all of `jax.lax`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fungrad import lax
from fungrad.lax import exclusions, linalg

PAGE = Path(__file__).parents[2] / "docs" / "lax.md"

GROUPS = {
    "Loops, branches, solutions of equations": "control associative",
    "Named axes: across the calls under `vmap`": "collectives exchanges",
    "Arithmetic and elementary functions, element by element": "arithmetic",
    "Special functions": "special",
    "Conversions and choices": "conversion choices",
    "Making arrays": "creation broadcasting",
    "Shapes": "shaping joining",
    "Slices": "slicing dynamic_slicing",
    "Windows at given places": "gathering scattering places",
    "Reductions and cumulative operations": "reductions folding",
    "Reductions over sliding windows": "windows",
    "Sorting": "sorting",
    "Products": "contraction ragged",
    "Convolutions": "convolution conv_shapes patches spatial",
    "Fourier transforms": "fourier",
    "`lax.linalg`": "linalg",
}
"""The sections, and the modules of `fungrad.lax` of which each tells."""

TYPES = {
    "ConvGeneralDilatedDimensionNumbers": "The type of what names the axes of a convolution, for annotations.",
    "DotDimensionNumbers": "The type of what names the axes of `dot_general`, for annotations.",
    "PrecisionLike": "The type of what names a precision, for annotations.",
}
"""Names that stand for types and have no documentation of their own."""

INTRODUCTION = """\
# `fungrad.lax`

`fungrad.lax` has the functions of `jax.lax`, with their names, signatures and meaning, on plain arrays and under every
transform. Loops and branches have a page of their own, [control_flow.md](control_flow.md). (`make docs-grid` writes the tables.)

## How it differs from `fungrad.numpy`

`fungrad.numpy` is NumPy: it broadcasts, promotes, and takes lists. `fungrad.lax` is strict, as `jax.lax` is. Use it where a
change of shape or dtype should be an error and not a conversion, for programs that come from JAX, and for functions that NumPy
lacks: loops, named axes, convolutions, windows.

**Elementwise functions take one shape and one dtype.** Scalars and axes of length 1 are broadcast, and Python numbers take
the dtype of the array beside them. Nothing else is converted.

```python
>>> import numpy as np
>>> import fungrad as fg
>>> import fungrad.numpy as fnp
>>> from fungrad import lax

>>> lax.add(np.arange(3.0), 1)
array([1., 2., 3.])
>>> lax.add(np.ones(3), np.ones(3, np.float32))
Traceback (most recent call last):
TypeError: lax.add takes arguments of one dtype, got x: float64[3], y: float32[3]. Convert with lax.convert_element_type(x, dtype), or use the function of fungrad.numpy, which promotes.
>>> lax.add(np.ones(3), np.ones((2, 3)))
Traceback (most recent call last):
TypeError: lax.add takes arrays of one shape, got x: float64[3], y: float64[2,3]. Reshape or broadcast them first, or use the function of fungrad.numpy, which broadcasts.
>>> lax.exp(np.arange(3))
Traceback (most recent call last):
TypeError: lax.exp takes floating-point or complex numbers, got x: int64[3]. Convert with lax.convert_element_type(x, dtype), or use the function of fungrad.numpy.

```

**Some functions differ from NumPy's.** Integer division rounds towards zero, remainders have the sign of the dividend, and
`round` rounds halves away from zero by default.

```python
>>> lax.div(np.array([-7]), 2), np.array([-7]) // 2
(array([-3]), array([-4]))
>>> lax.rem(np.array([-7]), 4), np.array([-7]) % 4
(array([-3]), array([1]))
>>> lax.round(np.array([0.5, 1.5])), fnp.round(np.array([0.5, 1.5]))
(array([1., 2.]), array([0., 2.]))

```

**Places outside of an array.** A slice that begins too late is moved back until it fits, as in JAX, while indexing with brackets is
an `IndexError`, as in NumPy (in JAX it is clamped).

```python
>>> lax.dynamic_slice(np.arange(5), (4,), (3,))
array([2, 3, 4])

```

**Arguments are spelled out.** Axes are tuples of numbers from 0 (`lax.reduce_sum(x, (0,))`), `transpose` takes the whole permutation,
`iota` and `argmax` take the dtype of the result.

```python
>>> lax.iota(np.int32, 3), lax.argmax(np.array([1.0, 5.0]), 0, np.int64)
(array([0, 1, 2], dtype=int32), np.int64(1))

```

Dtypes of results are those of the operands; where a default is needed it is NumPy's (64 bits). Arguments that direct
XLA's compiler (`precision`, `accuracy`, `unroll`, sharding) are accepted where they change no result and are errors
where they would.
"""


def page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION]
    for title, modules in GROUPS.items():
        rows = [(f"`{name}`", _does(name, value)) for name, value in _functions(modules)]
        parts.append(f"## {title}\n\n{_table('name', 'what it does', rows)}")
    parts.append(_left_out())
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _functions(modules: str) -> list[tuple[str, Any]]:
    """Return the public names of modules, sorted, and what they stand for."""
    found = {}
    for name in modules.split():
        if name == "linalg":
            found |= {n: getattr(linalg, n) for n in linalg.__all__}
        else:
            found |= {n: getattr(lax, n) for n in lax._NAMES[name].split()}
    return sorted(found.items(), key=lambda item: item[0].lower())


def _left_out() -> str:
    reasons: dict[str, list[str]] = {}
    for prefix, excluded in (("", exclusions.EXCLUDED), ("linalg.", linalg._EXCLUDED)):
        for name, reason in excluded.items():
            reasons.setdefault(reason, []).append(f"`{prefix}{name}`")
    rows = [(", ".join(sorted(names)), _sentence(reason)) for reason, names in reasons.items()]
    rows.append(("`*_p`", _sentence(exclusions.PRIMITIVE)))
    text = "Asking for one of these is an `AttributeError` with this reason."
    return f"## Left out\n\n{text}\n\n{_table('names', 'why, and what to do', rows)}"


def _table(left: str, right: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {left} | {right} |", "|---|---|"]
    lines += [f"| {a} | {b.replace('|', chr(92) + '|')} |" for a, b in rows]
    return "\n".join(lines)


def _does(name: str, value: Any) -> str:
    """Return the first sentence of the documentation of a function, without "Return"."""
    if name in TYPES:
        return TYPES[name]
    text = _first_paragraph(value).removeprefix("Return ").removesuffix(", element by element.")
    return _sentence(text.replace("``", "`"))


def _first_paragraph(x: Any) -> str:
    return " ".join((inspect.getdoc(x) or "").partition("\n\n")[0].split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")
    print(
        f"{PAGE.name}: {len(lax.__all__) + len(linalg.__all__)} names, {len(exclusions.EXCLUDED)} left out"
    )


if __name__ == "__main__":
    main()

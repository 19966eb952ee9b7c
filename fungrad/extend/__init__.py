"""How to declare operations of one's own: compiled code with derivatives, batching and types.

What is a composition of functions that fungrad knows needs none of this, and for a derivative of one's own
`fungrad.custom_jvp` and `fungrad.custom_vjp` are simpler. A primitive is for what fungrad cannot look into,
such as compiled code, and for what has to be told apart in programs. CONTRIBUTING.md works an example through.

`elementwise`
    The public function of a ufunc, of SciPy or of one's own making, from its derivatives.
`Primitive`, `primitive`
    The base class of operations, and the decorator of its subclasses. The docstrings of `Primitive` say
    what each rule gets and returns.
`Linear`
    What a `transpose` rule gets in the place of operands that the operation is linear in.
`ArrayType`
    Shape and dtype: what `abstract_eval` gets and returns.
`bind`
    Apply a primitive to operands, as calling it does.
`expand`, `zeros_like`
    For `batch` rules: an operand with a batch axis in front. For derivative rules: zeros of its type.

Packages of functions and tools on fungrad, as `fungrad.optim` and `fungrad.show` are, import further names:

`fungrad.extend.types`, `precision`, `backend`, `trees`
    Types of operands, dtypes to compute in, libraries of arrays, paths in pytrees.
`fungrad.extend.programs`, `operations`
    Programs and the classes of their primitives, to be read and run.
`fungrad.extend.packages`
    Public functions: what they do where they fail, and their documentation.

Packages written for JAX declare primitives by a name and tables of rules; programs and types have JAX's attributes there:

`fungrad.extend.core`
    The names of `jax.core` and `jax.extend.core`: `Primitive`, `ClosedJaxpr`, `eval_jaxpr`, `ShapedArray`.
`fungrad.extend.ad`, `batching`, `mlir`, `partial_eval`
    Those of `jax.interpreters`.
`fungrad.extend.linear_util`, `api_util`
    Those of `jax.extend.linear_util` and `jax.api_util`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad import ArrayType, MissingRuleError
from fungrad.core.primitive import Linear, Primitive, bind, primitive
from fungrad.extend.backend import target_of
from fungrad.extend.packages import COMMON, Glossary, add_example, examples_of, tell_missing
from fungrad.numpy.ufuncs import ufunc as _public
from fungrad.primitives.shaping import expand, zeros_like
from fungrad.primitives.ufunc import elementwise as _elementwise

__all__ = [
    "ArrayType",
    "Linear",
    "MissingRuleError",
    "Primitive",
    "bind",
    "elementwise",
    "expand",
    "primitive",
    "zeros_like",
]
__dir__ = __all__.copy
tell_missing(globals())

_IMPORTS = Glossary({}, imports={**COMMON.imports, "extend": "from fungrad import extend"})
for _name in examples_of(__name__):  # of what is not documented for users alone
    add_example(globals()[_name], __name__, _name, _IMPORTS)


@dataclasses.dataclass(frozen=True)
class _OfUfunc:
    """A ufunc as the function of an elementwise primitive: NumPy's dtypes and arrays."""

    ufunc: np.ufunc

    def __call__(self, xp: Any, *operands: Any) -> Any:
        if not target_of(xp).on_host:
            raise NotImplementedError(
                f"{self.ufunc.__name__} is a function of NumPy arrays, and got arrays of {xp.__name__}. Move "
                "them to the host (x.get())."
            )
        return self.ufunc(*operands)


@COMMON.public
def elementwise(
    ufunc: np.ufunc, *partials: Callable[..., Any] | None, name: str | None = None
) -> Any:
    """Declare the derivatives of a ufunc; return it as a function of arrays and tracers.

    From then on the ufunc itself takes tracers too.

    Parameters
    ----------
    ufunc
        A ufunc with one result, such as those of `scipy.special`. It says what dtypes there are, and operands
        are broadcast and promoted as it does.
    *partials
        For each operand ``partial(t, out, *operands)``: what the tangent `t` of this operand contributes to that of the
        result `out`. They are arrays or tracers of one shape and dtype, so write formulas with operators,
        functions of `fungrad.numpy`, and ones declared like this. None if there is no derivative. With no partials at
        all the derivative is zero.
    name
        How programs show it; by default the name of the ufunc.

    Returns
    -------
    Callable
        Takes what the ufunc takes; works under every transform.

    Raises
    ------
    TypeError
        If `ufunc` is no ufunc of one result, there are not as many partials as it has operands, or the name is no
        Python identifier.

    Examples
    --------
    Sine and cosine of degrees. Each is the derivative of the other, so those of all orders follow:

    >>> import scipy.special
    >>> from fungrad.extend import elementwise
    >>> sindg = elementwise(scipy.special.sindg, lambda t, out, x: t * np.pi / 180 * cosdg(x))
    >>> cosdg = elementwise(scipy.special.cosdg, lambda t, out, x: t * -np.pi / 180 * sindg(x))
    >>> bool(np.isclose(fg.grad(fg.grad(sindg))(90.0), -(np.pi / 180) ** 2))
    True
    """
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1:
        raise TypeError(f"elementwise takes a ufunc with one result, not {ufunc!r}")
    if partials and len(partials) != ufunc.nin:
        raise TypeError(
            f"elementwise: {ufunc.__name__} has {ufunc.nin} operands, so it takes {ufunc.nin} derivatives (None for "
            f"none); got {len(partials)}"
        )
    name = name or ufunc.__name__
    if not name.isidentifier():
        raise TypeError(
            f"elementwise: the ufunc needs a name that can stand in a program, not {name!r}"
        )
    declared = _elementwise(name, *partials, function=_OfUfunc(ufunc))
    return _public(declared)

"""Pytrees as one vector: the name of `jax.flatten_util`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.errors import here
from fungrad.core.glossary import COMMON
from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of, name_of_dtype, type_of
from fungrad.numpy.names import tell_missing
from fungrad.tree_util import Partial

__all__ = ["ravel_pytree"]
__dir__ = __all__.copy
tell_missing(globals())


@COMMON.public
def ravel_pytree(pytree: Any) -> tuple[Any, Partial]:
    """Return the elements of all leaves as one vector, and the function from such vectors to trees.

    Parameters
    ----------
    pytree
        A pytree of arrays and numbers.

    Returns
    -------
    flat : array
        Of shape (n,), n being the number of all elements, and of the dtype that those of the leaves promote to; without
        leaves, float32 of no elements.
    unravel : Partial
        Takes a vector of n elements and returns the tree. Leaves have the dtypes they had; or, if these were one, that of
        the vector. The vector may be traced, and mapped by ``vmap``. What integers lose by rounding, as those beyond
        2**53 do beside floats, is kept and added again, if their values are known.

    Raises
    ------
    TypeError
        If a leaf is no array; of `unravel`, if the dtype is not that of `flat`, where leaves had several.
    ValueError
        Of `unravel`, if the vector has not n elements.

    Examples
    --------
    >>> import numpy as np
    >>> flat, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": 3.0})
    >>> flat
    array([3., 1., 1., 1., 1.])
    >>> unravel(2 * flat)["w"]
    array([[2., 2.],
           [2., 2.]])
    """
    leaves, structure = tree.flatten(pytree)
    if not leaves:
        return fnp.zeros(0, np.float32), Partial(_Unravel(structure, (), (), None))
    leaves = [fnp.asarray(x) for x in leaves]
    types = [type_of(x) for x in leaves]
    dtype = fnp.result_type(*leaves)
    flat = fnp.concatenate([fnp.ravel(x).astype(dtype) for x in leaves])
    several = any(t.dtype != dtype for t in types)
    unravel = _Unravel(
        structure,
        tuple([t.shape for t in types]),
        tuple([t.dtype for t in types]) if several else (),
        dtype if several else None,
    )
    lost = _lost(leaves, dtype)
    return flat, Partial(unravel, lost) if lost else Partial(unravel)


def _lost(leaves: Sequence[Any], dtype: np.dtype[Any]) -> dict[int, Any]:
    """Return the integer leaves that lose precision as `dtype`, by number."""
    lost = {}
    for i, x in enumerate(leaves):
        if type(x) is not Tracer and x.dtype.kind in "iu" and dtype.kind not in "iu":
            rest = x - _as_before(x.astype(dtype), x.dtype)
            if rest.any():
                lost[i] = rest
    return lost


class _Unravel:
    """Function from a vector to a tree; equal for equal trees, so it can be part of a structure."""

    __slots__ = ("dtype", "dtypes", "shapes", "structure")

    def __init__(self, structure: Any, shapes: Any, dtypes: Any, dtype: Any) -> None:
        self.structure, self.shapes, self.dtypes, self.dtype = structure, shapes, dtypes, dtype

    def _key(self) -> tuple[Any, ...]:
        return self.structure, self.shapes, self.dtypes, self.dtype

    def __eq__(self, other: object) -> bool:
        return type(other) is _Unravel and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return _Unravel, self._key()

    def __call__(self, *given: Any) -> Any:
        *lost, flat = given
        if not self.shapes:
            return tree.unflatten(self.structure, [])
        flat = fnp.asarray(flat)
        ends = [*itertools.accumulate(int(np.prod(s)) for s in self.shapes)]
        if flat.shape != (ends[-1],):
            raise ValueError(
                f"at {here()}\nunravel takes a vector of {ends[-1]} elements, as ravel_pytree has made it; got an "
                f"array of shape {flat.shape}"
            )
        if self.dtype is not None and flat.dtype != self.dtype:
            raise TypeError(
                f"at {here()}\nunravel takes a vector of dtype {name_of_dtype(self.dtype)}, which the leaves were "
                f"promoted to; got {name_of_dtype(flat.dtype)}: convert it with astype"
            )
        parts = fnp.split(flat, ends[:-1])
        leaves = [x.reshape(shape) for x, shape in zip(parts, self.shapes, strict=True)]
        if self.dtypes:
            leaves = [_as_before(x, d) for x, d in zip(leaves, self.dtypes, strict=True)]
            for i, rest in lost[0].items() if lost else ():
                leaves[i] = leaves[i] + rest
        return tree.unflatten(self.structure, leaves)


def _as_before(x: Any, dtype: Any) -> Any:
    """Return an array in the dtype that a leaf had: a promotion undone, so imaginary parts are dropped."""
    if kind_of(x.dtype) == "c" and kind_of(dtype) != "c":
        x = fnp.real(x)
    with np.errstate(invalid="ignore"):  # of what rounding has made larger than the largest integer
        return x.astype(dtype)

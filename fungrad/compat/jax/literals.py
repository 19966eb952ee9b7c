"""`jax._src.literals`: numbers and arrays with their type in a program. fungrad's hold none."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.transforms.avals import ShapedArray


class _Typed:
    """A number with a dtype."""

    __slots__ = ()
    dtype: np.dtype[Any]
    aval: Any

    def __new__(cls, value: Any, dtype: Any) -> Any:
        made: Any = super().__new__(cls, value)  # type: ignore[call-arg]
        made.dtype, made.aval = dtype, ShapedArray((), dtype, weak_type=True)
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()}, dtype={self.dtype.name})"

    def __getnewargs__(self) -> Any:
        return type(self).__mro__[2](self), self.dtype


class TypedInt(_Typed, int):
    """An integer."""

    __module__ = "jax._src.literals"


class TypedFloat(_Typed, float):
    """A floating-point number."""

    __module__ = "jax._src.literals"

    def __str__(self) -> str:
        return str(float(self))


class TypedComplex(_Typed, complex):
    """A complex number."""

    __module__ = "jax._src.literals"


typed_scalar_types: set[type] = {TypedInt, TypedFloat, TypedComplex}


class TypedNdArray(np.ndarray[Any, Any]):
    """An array of NumPy's that may be weak."""

    __module__ = "jax._src.literals"

    _aval: Any

    def __new__(cls, val: Any, aval: Any = None) -> Any:
        made = np.asarray(val).view(cls)
        if aval is not None:
            made._aval = aval
        return made

    def __array_finalize__(self, obj: Any) -> None:
        self._aval = None
        self._weak = obj.weak_type if isinstance(obj, TypedNdArray) else False

    @property
    def aval(self) -> Any:
        """Shape and dtype, and whether it is weak."""
        if self._aval is None:
            self._aval = ShapedArray(self.shape, self.dtype, weak_type=self._weak)
        return self._aval

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to others."""
        return bool(self.aval.weak_type)

    @property
    def val(self) -> Any:
        """The array as NumPy's own."""
        return np.asarray(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = lambda x: np.asarray(x) if isinstance(x, TypedNdArray) else x
        if "out" in kwargs:
            kwargs["out"] = tuple(map(plain, kwargs["out"]))
        return getattr(ufunc, method)(*map(plain, inputs), **kwargs)

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self), separator=", ", prefix="TypedNdArray(")
        if not self.size:
            text = f"[], shape={self.shape}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"TypedNdArray({text}, dtype={self.dtype.name}{weak})"

    def __reduce__(self) -> Any:
        return TypedNdArray, (np.asarray(self), self.aval)

"""A namespace of NumPy's functions, of scalars, that records the operations they are made of.

What an elementwise primitive means is its `impl`: the function of arrays, with NumPy or CuPy as the namespace. Run with a
`Scalars` as the namespace, on `Scalar`s, it records what is done for one element. A primitive whose `impl` asks for more
than that (a function that is not here, a value) has no such meaning, and `NotScalar` says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.compile.kernels.operations import BOOL, DType, Node, NotScalar, computed_in
from fungrad.core.types import kind_of


def _operators(name: str) -> tuple[Callable[..., Scalar], Callable[..., Scalar]]:
    """Return an operator and the reflected one, which record a function of the namespace."""

    def operator(self: Scalar, *others: Any) -> Scalar:
        return getattr(self.scalars, name)(self, *others)  # type: ignore[no-any-return]

    def reflected(self: Scalar, other: Any) -> Scalar:
        return getattr(self.scalars, name)(other, self)  # type: ignore[no-any-return]

    return operator, reflected


class Scalar:
    """One element of an array, in the namespace that records its operations."""

    __slots__ = ("index", "scalars")
    __array_ufunc__ = None  # NumPy's functions refuse it
    shape = ()
    ndim = 0

    def __init__(self, scalars: Scalars, index: int) -> None:
        self.scalars = scalars
        self.index = index

    @property
    def dtype(self) -> DType:
        """The dtype of the element."""
        return self.scalars.nodes[self.index].dtype

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotScalar("NumPy was asked for an array of it")

    def __bool__(self) -> bool:
        raise NotScalar("its value was asked for")

    __float__ = __int__ = __index__ = __complex__ = __bool__

    def astype(self, dtype: Any, copy: bool = True) -> Scalar:
        """Convert as NumPy does."""
        return self.scalars.convert(self, np.dtype(dtype))

    def view(self, dtype: Any) -> Scalar:
        """Return the number of another dtype, as wide, that has the same bits."""
        return self.scalars.bitcast(self, np.dtype(dtype))

    @property
    def real(self) -> Scalar:
        """The real part."""
        return self.scalars.real(self)

    @property
    def imag(self) -> Scalar:
        """The imaginary part."""
        return self.scalars.imag(self)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __and__, __rand__ = _operators("bitwise_and")
    __or__, __ror__ = _operators("bitwise_or")
    __xor__, __rxor__ = _operators("bitwise_xor")
    __lshift__, __rlshift__ = _operators("left_shift")
    __rshift__, __rrshift__ = _operators("right_shift")
    __neg__, _ = _operators("negative")
    __abs__, _ = _operators("absolute")
    __invert__, _ = _operators("invert")
    __pos__, _ = _operators("positive")
    __lt__, _ = _operators("less")
    __le__, _ = _operators("less_equal")
    __gt__, _ = _operators("greater")
    __ge__, _ = _operators("greater_equal")
    __eq__, _ = _operators("equal")  # type: ignore[assignment]
    __ne__, _ = _operators("not_equal")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


_BESIDE = {complex: "c", float: "fc", int: "iufc"}
"""The kinds of dtypes that numbers of Python take on."""


class _NoLibrary:
    """Stands where functions ask for facts of an array library, and has none."""

    def __getattr__(self, name: str) -> Any:
        raise NotScalar(f"{name} is asked of a library of arrays")


class Scalars:
    """Records operations; its attributes are NumPy's functions, of scalars.

    Equal operations on equal operands are one node. `nodes` is the program so far.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Any, int] = {}

    @property
    def target(self) -> _NoLibrary:
        """Facts of its array library: none."""
        return _NoLibrary()

    def node(self, operation: str, dtype: DType, *operands: Scalar, value: Any = None) -> Scalar:
        """Return the result of an operation."""
        if computed_in(dtype) is None:
            raise NotScalar(f"kernels do not compute with {dtype}")
        places = tuple([x.index for x in operands])
        bits = value.tobytes() if isinstance(value, np.generic) else value
        key = (operation, dtype, places, bits)
        if (index := self._known.get(key)) is None:
            index = self._known[key] = len(self.nodes)
            self.nodes.append(Node(operation, dtype, places, value))
        return Scalar(self, index)

    def constant(self, value: Any, dtype: DType) -> Scalar:
        """Return a number."""
        return self.node("constant", dtype, value=np.asarray(value).astype(dtype)[()])

    def operands(self, *values: Any) -> tuple[Scalar, ...]:
        """Return scalars of one dtype: numbers of Python take that of the others."""
        dtypes = {x.dtype for x in values if isinstance(x, (Scalar, np.generic))}
        if len(dtypes) != 1:
            raise NotScalar(f"operands of dtypes {dtypes}")
        (dtype,) = dtypes
        scalars = []
        for x in values:
            if not isinstance(x, Scalar):
                if np.ndim(x) or kind_of(dtype) not in _BESIDE.get(type(x), "biufc"):
                    raise NotScalar(f"{x!r} beside {dtype}")
                x = self.constant(x, dtype)
            scalars.append(x)
        return tuple(scalars)

    def arithmetic(self, operation: str, *values: Any, kinds: str = "iuf") -> Scalar:
        """Return the result of an operation that keeps the dtype, which is of one of `kinds`."""
        operands = self.operands(*values)
        dtype = operands[0].dtype
        if kind_of(dtype) not in kinds:
            raise NotScalar(f"{operation} of {dtype}")
        return self.node(operation, dtype, *operands)

    def comparison(self, operation: str, x: Any, y: Any) -> Scalar:
        """Return a boolean."""
        return self.node(operation, BOOL, *self.operands(x, y))

    def convert(self, x: Scalar, dtype: DType) -> Scalar:
        """Return `x` in another dtype, as NumPy converts it."""
        if dtype == x.dtype:
            return x
        if dtype.kind == "b":
            return self.comparison("ne", x, 0)
        if x.dtype.kind == "f" and dtype.kind in "iu":
            self.in_range(x, dtype)
        return self.node("convert", dtype, x)

    def in_range(self, x: Scalar, dtype: DType) -> None:
        """Require numbers in range where they are converted to integers: NumPy's others vary by processor."""
        limits = np.iinfo(dtype)
        above = (
            self.comparison("ge", x, float(limits.min))
            if limits.min
            else self.comparison("gt", x, -1.0)
        )
        self.require(self.logical_and(above, self.comparison("lt", x, float(limits.max + 1))))

    def within(self, place: Scalar, length: int) -> Scalar:
        """Return an index, counted from the end if it is negative; it has to be within an axis."""
        place = self.where(self.comparison("lt", place, 0), self.add(place, length), place)
        good = self.comparison("ge", place, 0)
        good = self.logical_and(good, self.comparison("lt", place, length))
        self.require(good)
        return self.where(good, place, 0)

    def require(self, truth: Scalar) -> None:
        """Require a truth everywhere for the results to count."""
        raise NotScalar("nobody asks whether it is so")

    def bitcast(self, x: Scalar, dtype: DType) -> Scalar:
        """Return the number of another dtype that has the same bits."""
        return x if dtype == x.dtype else self.node("bitcast", dtype, x)

    def fma(self, x: Any, y: Any, z: Any) -> Scalar:
        """Return x y + z, rounded once."""
        return self.arithmetic("fma", x, y, z, kinds="f")

    def where(self, p: Scalar, x: Any, y: Any) -> Scalar:
        """Return `x` where `p` is true, else `y`."""
        x, y = self.operands(x, y)
        return self.node("select", x.dtype, p, x, y)

    def asarray(self, x: Any) -> Any:
        """Return the scalar that it is."""
        if not isinstance(x, Scalar):
            raise NotScalar(f"asarray of {x!r}")
        return x

    def positive(self, x: Scalar) -> Scalar:
        """Return the scalar itself."""
        return x

    def square(self, x: Scalar) -> Scalar:
        """Return x x."""
        return self.arithmetic("mul", x, x)

    def reciprocal(self, x: Scalar) -> Scalar:
        """Return 1 / x, of a floating-point number."""
        return self.arithmetic("div", 1, x, kinds="f")

    def ones_like(self, x: Scalar) -> Scalar:
        """Return 1 in the dtype of `x`."""
        return self.constant(1, x.dtype)

    def zeros_like(self, x: Scalar) -> Scalar:
        """Return 0 in the dtype of `x`."""
        return self.constant(0, x.dtype)

    def clip(self, x: Any, lo: Any, hi: Any) -> Scalar:
        """Return the lesser one of `hi` and of the greater one of `lo` and `x`."""
        return self.minimum(self.maximum(x, lo), hi)

    def isnan(self, x: Scalar) -> Scalar:
        """Whether it is not a number."""
        return self.comparison("ne", x, x)

    def isfinite(self, x: Scalar) -> Scalar:
        """Whether it is neither infinite nor not a number."""
        if kind_of(x.dtype) != "f":
            raise NotScalar(f"isfinite of {x.dtype}")
        return self.comparison("lt", self.absolute(x), np.inf)

    def isinf(self, x: Scalar) -> Scalar:
        """Whether it is infinite."""
        if kind_of(x.dtype) != "f":
            raise NotScalar(f"isinf of {x.dtype}")
        return self.comparison("eq", self.absolute(x), np.inf)

    def signbit(self, x: Scalar) -> Scalar:
        """Whether the sign bit is set."""
        return self.comparison("lt", self.bits(x), 0)

    def bits(self, x: Scalar) -> Scalar:
        """Return the bits of a floating-point number as a signed integer."""
        return self.bitcast(x, np.dtype(f"i{x.dtype.itemsize}"))

    def sign(self, x: Scalar) -> Scalar:
        """Return -1, 0 or 1; NaN of NaN."""
        one, zero = self.ones_like(x), self.zeros_like(x)
        if (kind := kind_of(x.dtype)) not in "if":
            raise NotScalar(f"sign of {x.dtype}")
        positive = self.where(self.comparison("gt", x, zero), one, x if kind == "f" else zero)
        nonzero = self.where(self.comparison("lt", x, zero), self.negative(one), positive)
        return self.where(self.comparison("eq", x, zero), zero, nonzero)

    def __getattr__(self, name: str) -> Callable[..., Scalar]:
        """Return a function of `_NAMED`."""
        if (rule := _NAMED.get(name)) is None:
            raise NotScalar(f"{name} has no meaning for scalars")
        return functools.partial(rule, self)


def _arithmetic(operation: str, kinds: str = "iuf") -> Callable[..., Scalar]:
    return lambda scalars, *values: scalars.arithmetic(operation, *values, kinds=kinds)


def _rounding(operation: str) -> Callable[..., Scalar]:
    return lambda s, x: x if x.dtype.kind in "iu" else s.arithmetic(operation, x, kinds="f")


def _comparison(operation: str) -> Callable[..., Scalar]:
    return lambda scalars, x, y: scalars.comparison(operation, x, y)


def _logical(operation: str) -> Callable[..., Scalar]:
    """Return a function of whether the operands differ from 0."""

    def rule(scalars: Scalars, *values: Scalar) -> Scalar:
        truths = [scalars.convert(x, BOOL) for x in values]
        return scalars.arithmetic(operation, *truths, kinds="b")

    return rule


def _number_of_bits(rule: str) -> Callable[..., Scalar]:
    """Return a shift as NumPy's: by as many places as there are bits, or more, all of them leave."""

    def shift(scalars: Scalars, x: Any, y: Any) -> Scalar:
        x, y = scalars.operands(x, y)
        bits = 8 * x.dtype.itemsize
        unsigned = scalars.convert(y, np.dtype(f"u{x.dtype.itemsize}"))
        inside = scalars.comparison("lt", unsigned, bits)
        within = scalars.where(inside, y, scalars.constant(bits - 1, y.dtype))
        shifted = scalars.arithmetic(rule, x, within, kinds="iu")
        if rule == "shr" and x.dtype.kind == "i":
            return shifted
        return scalars.where(inside, shifted, scalars.zeros_like(x))

    return shift


def _division(result: str) -> Callable[..., Scalar]:
    """Return NumPy's quotient or remainder of integers: rounded down, with the divisor's sign."""

    def divide(scalars: Scalars, x: Scalar, y: Scalar) -> Scalar:
        zero, one = scalars.zeros_like(x), scalars.ones_like(x)
        bad = scalars.comparison("eq", y, zero)
        if x.dtype.kind == "i":
            least = scalars.comparison("eq", x, scalars.constant(np.iinfo(x.dtype).min, x.dtype))
            bad = scalars.logical_or(
                bad, scalars.logical_and(least, scalars.comparison("eq", y, -1))
            )
        scalars.require(scalars.logical_not(bad))
        y = scalars.where(bad, one, y)
        quotient, rest = (scalars.node(name, x.dtype, x, y) for name in ("quot", "rem"))
        if x.dtype.kind == "u":
            return quotient if result == "quot" else rest
        apart = scalars.comparison("lt", scalars.bitwise_xor(rest, y), zero)
        down = scalars.logical_and(scalars.comparison("ne", rest, zero), apart)
        if result == "quot":
            return scalars.where(down, scalars.subtract(quotient, one), quotient)
        return scalars.where(down, scalars.add(rest, y), rest)

    return divide


OF_INTEGERS = {"floor_divide": _division("quot"), "remainder": _division("rem")}
"""Functions of these names for integers."""

_NAMED: dict[str, Callable[..., Any]] = {
    "add": _arithmetic("add"),
    "subtract": _arithmetic("sub"),
    "multiply": _arithmetic("mul", "iufb"),
    "divide": _arithmetic("div", "f"),
    "negative": _arithmetic("neg", "if"),
    "absolute": _arithmetic("abs", "if"),
    "sqrt": _arithmetic("sqrt", "f"),
    "copysign": _arithmetic("copysign", "f"),
    "maximum": _arithmetic("max"),
    "minimum": _arithmetic("min"),
    "bitwise_and": _arithmetic("and", "iub"),
    "bitwise_or": _arithmetic("or", "iub"),
    "bitwise_xor": _arithmetic("xor", "iub"),
    "invert": _arithmetic("not", "iub"),
    "left_shift": _number_of_bits("shl"),
    "right_shift": _number_of_bits("shr"),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "rint": _rounding("rint"),
    "equal": _comparison("eq"),
    "not_equal": _comparison("ne"),
    "less": _comparison("lt"),
    "less_equal": _comparison("le"),
    "greater": _comparison("gt"),
    "greater_equal": _comparison("ge"),
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("xor"),
    "logical_not": _logical("not"),
}

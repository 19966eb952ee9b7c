"""A stand-in for CuPy on machines without a GPU: NumPy inside, as strict on types as CuPy outside.

It has an array class of its own, whose functions refuse NumPy arrays (CuPy does: data never moves to
the device by accident), gives 0-d arrays where NumPy gives scalars, cannot become a NumPy
array implicitly, and lacks the functions that CuPy lacks. Code that dispatches wrongly or mixes arrays fails on it as it would on a GPU.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import operator
import os
import re
import sys
import types
from typing import Any

import numpy as np
import scipy.linalg

from fungrad import tree
from fungrad.show.libraries import NOT_IN_CUPY, NOT_IN_CUPYX
from tests.backends.cuda_on_host import COMPILER, RawModule


def unwrap(x: Any) -> Any:
    """Return what NumPy computes with; refuse NumPy arrays."""
    if isinstance(x, ndarray):
        return x._array
    if isinstance(x, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(x, (tuple, list)):
        return type(x)(map(unwrap, x))
    if isinstance(x, slice):
        return x
    return x


def bare(x: Any) -> Any:
    """Return what NumPy makes an array of: all that moves to the device where it is asked to."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(bare, x))
    return x._array if isinstance(x, ndarray) else x


def wrap(x: Any) -> Any:
    """Return a result as an array of this module."""
    if isinstance(x, (np.ndarray, np.generic)):
        return ndarray(np.asarray(x))
    if isinstance(x, (tuple, list)):
        return type(x)(map(wrap, x))
    return x


def lifted(function: Any) -> Any:
    """Return a NumPy function as one of this module."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if function in _OF_ARRAYS and not isinstance(args[0], ndarray):
            raise TypeError(f"{function.__name__} of CuPy takes arrays, not {type(args[0])}")
        if function in _PLAIN_REDUCTIONS and (given := {"initial", "where"} & kwargs.keys()):
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {given}")
        if kwargs.get("shape") == ():
            del kwargs["shape"]  # CuPy overlooks it
        return run(function, *args, **kwargs)

    return call


def run(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute on the device: all that this module computes comes here."""
    return wrap(function(*map(unwrap, args), **{k: unwrap(v) for k, v in kwargs.items()}))


def wait(what: str) -> None:
    """Have the host wait for the device, which a capture of a graph refuses (`graph_on_host.py`)."""


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return memory of the device."""
    return np.empty(shape, dtype)


_OF_ARRAYS = frozenset([np.broadcast_to, np.where, np.take_along_axis, np.argsort])
"""Some of the functions that take no numbers of the host."""

_PLAIN_REDUCTIONS = frozenset([np.max, np.min, np.sum, np.prod, np.any, np.all, np.mean])


class ndarray:
    """An array "on the device"."""

    __module__ = "cupy"
    __hash__ = None  # type: ignore[assignment]
    device = "the device"

    def __init__(
        self,
        array: np.ndarray | tuple[int, ...],
        dtype: Any = None,
        memptr: Any = None,
        strides: Any = None,
    ) -> None:
        if memptr is not None:
            assert isinstance(array, tuple)
            self._array = memptr.array(array, np.dtype(dtype), strides)
        else:
            self._array = empty(array, dtype) if isinstance(array, tuple) else array

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Use .get().")

    __array__.__module__ = "cupy"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return lifted(getattr(ufunc, method))(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return lifted(function)(*args, **kwargs)

    def get(self) -> np.ndarray:
        """Copy to the host."""
        wait("get")
        return self._array.copy()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._array, name)
        if callable(value):
            return functools.partial(lifted(getattr(np.ndarray, name)), self)
        return wrap(value)

    @property
    def real(self) -> Any:
        return wrap(self._array.real)

    @real.setter
    def real(self, value: Any) -> None:
        self._array.real = unwrap(value)

    @property
    def imag(self) -> Any:
        return wrap(self._array.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._array.imag = unwrap(value)

    @property
    def base(self) -> Any:
        return self._array.base

    @property
    def data(self) -> Any:
        return MemoryPointer(self._array)

    def __getitem__(self, key: Any) -> Any:
        return run(_element, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        run(np.ndarray.__setitem__, self, key, value)

    def __iadd__(self, other: Any) -> ndarray:
        run(np.ndarray.__iadd__, self, other)  # CuPy adds in place, too
        return self

    def __iand__(self, other: Any) -> ndarray:
        run(np.ndarray.__iand__, self, other)
        return self

    def __len__(self) -> int:
        return len(self._array)

    def __bool__(self) -> bool:
        wait("bool")
        return bool(self._array)

    def __float__(self) -> float:
        wait("float")
        return float(self._array)

    def __int__(self) -> int:
        wait("int")
        return int(self._array)

    def __index__(self) -> int:
        wait("index")
        return operator.index(self._array)

    def __repr__(self) -> str:
        return repr(self._array)


def _element(x: np.ndarray, key: Any) -> Any:
    found = x[key]
    if isinstance(found, np.generic):  # CuPy gives a view of the element
        found = x[(*key, ...) if isinstance(key, tuple) else (key, ...)]
    return found


class MemoryPointer:
    """A place in memory of the device, so many bytes from where an array begins."""

    device_id = 0

    def __init__(self, given: np.ndarray, offset: int = 0) -> None:
        self.given = given
        self.offset = offset

    def array(self, shape: tuple[int, ...], dtype: Any, strides: Any) -> np.ndarray:
        """Return an array that begins here."""
        place = types.SimpleNamespace(given=self.given)
        place.__array_interface__ = {
            "data": (self.ptr, False), "shape": shape, "strides": strides, "typestr": f"V{dtype.itemsize}", "version": 3,
        }  # fmt: skip
        return np.asarray(place).view(dtype)

    @property
    def ptr(self) -> int:
        """The address."""
        return self.given.ctypes.data + self.offset

    def __add__(self, bytes_: int) -> MemoryPointer:
        return MemoryPointer(self.given, self.offset + bytes_)

    def __sub__(self, bytes_: int) -> MemoryPointer:
        return self + -bytes_


def alloc(size: int) -> MemoryPointer:
    """Return new memory, with anything in it, aligned as CuPy's."""
    block = np.full(size + 512, 0xAB, np.uint8)
    return MemoryPointer(block[-block.ctypes.data % 512 :][:size])


def _operator(name: str) -> Any:
    return lambda self, *others: run(getattr(np.ndarray, name), self, *others)


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "radd",
    "rsub",
    "rmul",
    "rtruediv",
    "rfloordiv",
    "rmod",
    "rpow",
    "rmatmul",
    "rand",
    "ror",
    "rxor",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "pos",
    "abs",
    "invert",
]:
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))


def tells_of_lack(error: Exception) -> bool:
    """Whether an error is about a function that CuPy lacks."""
    named = not (NOT_IN_CUPY | NOT_IN_CUPYX).isdisjoint(re.findall(r"\w+", str(error)))
    return named or str(error).startswith("CuPy has no ")


BACKEND = os.environ.get("FUNGRAD_TEST_BACKEND", "numpy")
"""Whose arrays the tests use: what `--backend` says, handed on in the environment since modules ask as they are imported."""


def up_to_signs(primitive: Any, *results: Any) -> Any:
    """Return results that can be compared: the signs of eigenvectors and singular vectors are a library's affair."""
    if primitive.name not in ("eigh", "svd"):
        return results
    return [tree.map(abs, found) for found in results]


def make_module() -> types.ModuleType:
    """Return what tests put into ``sys.modules["cupy"]``: the stand-in, and with `--backend=cupy` CuPy itself."""
    return importlib.import_module("cupy") if BACKEND == "cupy" else make_stand_in()


def make_stand_in() -> types.ModuleType:
    """Return the stand-in; for tests of what no machine has, such as two devices of other kinds."""
    module = types.ModuleType("cupy")
    module.ndarray = ndarray  # type: ignore[attr-defined]

    def asarray(x: Any, dtype: Any = None, **_: Any) -> ndarray:
        if isinstance(x, ndarray):
            return run(lambda y: np.array(y, dtype, copy=None), x)
        return array(x, dtype)

    def __getattr__(name: str) -> Any:
        if name in NOT_IN_CUPY:
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        if name == "argsort":  # CuPy's is stable whatever kind it is asked for
            return lifted(lambda x, axis=-1, kind=None: np.argsort(x, axis, kind="stable"))
        if name == "linalg":
            return LINALG
        if name == "lib":
            return LIB
        value = getattr(np, name)
        if isinstance(value, types.ModuleType) or (
            isinstance(value, type) and issubclass(value, (np.generic, np.dtype))
        ):
            return value
        if isinstance(value, np.ufunc):
            return Ufunc(value)
        return lifted(value) if callable(value) else value

    def array(x: Any, dtype: Any = None, **_: Any) -> ndarray:
        if isinstance(x, ndarray):
            return run(lambda y: np.array(y, dtype), x)
        wait(f"a copy of {type(x)} from the host")
        return wrap(np.array(bare(x), dtype))

    module.asarray = asarray  # type: ignore[attr-defined]
    module.asnumpy = lambda x: unwrap(x) if isinstance(x, ndarray) else x  # type: ignore[attr-defined]
    module.array = array  # type: ignore[attr-defined]
    stream = types.SimpleNamespace(synchronize=lambda: None, ptr=0)
    module.RawModule = RawModule  # type: ignore[attr-defined]
    module.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        alloc=alloc,
        get_current_stream=lambda: stream,
        runtime=types.SimpleNamespace(getDevice=lambda: 0, is_hip=COMPILER is None),
    )
    module.__getattr__ = __getattr__  # type: ignore[method-assign]
    return module


class Linalg:
    """The linear algebra of this module; results are plain tuples."""

    _NAMES = frozenset(
        ["cholesky", "det", "eig", "eigh", "eigvalsh", "inv", "qr", "slogdet", "solve", "svd"]
    )

    def __getattr__(self, name: str) -> Any:
        if name not in self._NAMES:
            raise AttributeError(f"cupy.linalg.{name} is not used on stacks of matrices")

        def call(*args: Any, **kwargs: Any) -> Any:
            return run(_plain_tuples(getattr(np.linalg, name)), *args, **kwargs)

        return call


def _plain_tuples(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return tuple(found) if isinstance(found, tuple) else found

    return call


LINALG = Linalg()
LIB = types.SimpleNamespace(
    stride_tricks=types.SimpleNamespace(as_strided=lifted(np.lib.stride_tricks.as_strided))
)
"""What `cupy.lib` has of use here."""


class Ufunc:
    """A ufunc of this module; CuPy's have fewer methods than NumPy's."""

    _METHODS = frozenset(["at", "outer", "reduce", "accumulate"])

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return lifted(self._ufunc)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        allowed = {"reduce": ("add", "multiply"), "accumulate": ("add",)}
        at = ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
        names = allowed.get(name, at if name == "at" else ())
        if name not in self._METHODS or (name != "outer" and self._ufunc.__name__ not in names):
            raise AttributeError(f"cupy.{self._ufunc.__name__} has no {name}")
        return lifted(getattr(self._ufunc, name))


CUPYX = ("fft", "linalg", "ndimage", "signal", "special")
"""The modules of `cupyx.scipy` there are; where CuPy has fewer functions, primitives must know it."""


def _solve_triangular(a: Any, b: Any, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """Solve as `cupyx.scipy.linalg` does: stacks of one shape, and what is singular without an error."""
    if a.shape[:-2] != b.shape[: a.ndim - 2] or a.shape[-1] != b.shape[a.ndim - 2]:
        raise ValueError("incompatible dimensions")
    solved = np.empty(b.shape, np.result_type(a, b, np.float32))
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (a, b))
    for place in np.ndindex(a.shape[:-2]):
        solved[place] = trsm(1, a[place], b[place], lower=lower, diag=unit_diagonal)
    return solved


_LINALG = {"solve_triangular": _solve_triangular}
"""What fungrad calls of `cupyx.scipy.linalg`."""


def _install_cupyx() -> None:
    """Put stand-ins for modules of `cupyx.scipy` where `import` finds them, if there is no CuPy."""
    if "cupyx" in sys.modules or importlib.util.find_spec("cupyx") is not None:
        return
    parent, scipy = types.ModuleType("cupyx"), types.ModuleType("cupyx.scipy")
    parent.scipy = scipy  # type: ignore[attr-defined]
    sys.modules |= {"cupyx": parent, "cupyx.scipy": scipy}
    for name in CUPYX:
        module = types.ModuleType(f"cupyx.scipy.{name}")

        def __getattr__(attribute: str, name: str = name) -> Any:
            # what tools ask any module for, such as its file, or what CuPy lacks
            if attribute.startswith("__") or (name == "special" and attribute in NOT_IN_CUPYX):
                raise AttributeError(attribute)
            if name == "linalg":
                return lifted(_LINALG[attribute])
            return lifted(getattr(importlib.import_module(f"scipy.{name}"), attribute))

        module.__getattr__ = __getattr__  # type: ignore[method-assign]
        setattr(scipy, name, module)
        sys.modules[module.__name__] = module


_install_cupyx()

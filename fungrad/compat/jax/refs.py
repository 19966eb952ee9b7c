"""`jax.new_ref`: references, whose arrays are read by ``ref[...]`` and replaced by ``ref[...] = x``.

A reference holds an array, and belongs to the function that it was made in: that of the innermost trace. There the array may be
replaced. Loops and branches of `jax.lax` hand the arrays of references on (`fungrad.compat.jax.threading`), and so does `jax.jit`
those of its arguments. Of any other inner function a reference can only be read, where that gives what it holds whenever the
function runs.
"""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakSet

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.constants import at_home
from fungrad.compat.jax.crossing import enter, leave, received
from fungrad.compat.jax.elements import ds as ds
from fungrad.compat.jax.elements import read, uninitialized, written
from fungrad.core.tracer import Tracer, innermost_trace, known_value
from fungrad.core.types import is_array
from fungrad.extend.core import AbstractValue, ShapedArray


class _Made(threading.local):
    """The references that there are of a thread's functions."""

    def __init__(self) -> None:
        self.references: WeakSet[Any] = WeakSet()


made = _Made()
ever: list[bool] = []
"""Not empty once there has been one: programs without any are to wait for nothing."""


_array = at_home(fnp.array)


def home() -> Any:
    """Return the owner of a new reference: the innermost trace, or the thread."""
    trace = innermost_trace()
    return threading.get_ident() if trace is None else trace


def _values_known(outer: Any) -> bool:
    """Return whether all traces within one have values, so that reads see the present."""
    trace = innermost_trace()
    while trace is not None and trace is not outer:
        if trace.values is None:
            return False
        trace = trace.outer
    return True


class ElsewhereError(NotImplementedError):
    """A reference of an enclosing function is used where it cannot be; `jax.jit` takes it in."""

    def __init__(self, ref: Any, message: str) -> None:
        super().__init__(message)
        self.ref = ref


class AbstractRef(AbstractValue):
    """The type of a reference."""

    __slots__ = ("inner_aval", "kind", "memory_space")

    def __init__(self, inner_aval: Any, memory_space: Any = None, kind: Any = None) -> None:
        self.inner_aval, self.memory_space, self.kind = inner_aval, memory_space, kind

    shape = property(lambda self: self.inner_aval.shape)
    dtype = property(lambda self: self.inner_aval.dtype)

    def __repr__(self) -> str:
        lengths = ",".join(map(str, self.shape))
        return f"Ref{{{np.dtype(self.dtype).name}[{lengths}]}}"


class Referring:
    """Base of readers and writers of an array's elements."""

    __slots__ = ()
    shape: tuple[int, ...]
    dtype: Any

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    T = property(lambda self: self[...].T)

    def __len__(self) -> int:
        return len(self[...])

    def __iter__(self) -> Any:
        return iter(self[...])

    def __bool__(self) -> bool:
        return bool(self[...])

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def __jax_array__(self) -> Any:
        return self[...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self[...], dtype)

    @property
    def at(self) -> Any:
        """``ref.at[key]``: a reference to some elements."""
        return Places(self)


class Ref(Referring):
    """A reference to an array, as `jax.new_ref` makes it."""

    __slots__ = ("__weakref__", "aval", "belongs_to", "held")

    def __init__(self, held: Any, memory_space: Any = None, kind: Any = None) -> None:
        self.held, self.belongs_to = held, home()
        self.aval = AbstractRef(ShapedArray(held.shape, held.dtype), memory_space, kind)
        made.references.add(self)
        ever[:] = [True]

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    sharding = property(lambda self: self[...].sharding)

    def devices(self) -> Any:
        """Return the one device."""
        return self[...].devices()

    def _read(self) -> Any:
        if self.held is None:
            raise ValueError("the reference has been freed: make another one, jax.new_ref(x)")
        here = self.belongs_to == home()
        if not here and type(self.held) is not Tracer and not _values_known(self.belongs_to):
            raise ElsewhereError(
                self,
                f"{self.aval} is read in a function that is traced within the one it was made in, and that would go on with what it "
                "holds now. Loops and branches of jax.lax may read it, and functions with jax.jit; for others read it before, "
                "x = ref[...]",
            )
        return self.held

    def _writable(self, value: Any) -> Any:
        """Return the value to assign; raise if nothing may be assigned."""
        if self.belongs_to == home():
            return value
        if _values_known(self.belongs_to):
            if type(value) is not Tracer:
                return value
            known = None if value._owner.has_tangent(value._variable) else known_value(value)
            if known is not None:
                return leave(known)
        raise ElsewhereError(
            self,
            f"{self.aval} is assigned to in a function that is traced within the one it was made in. Loops and branches of jax.lax "
            "may do so, and functions with jax.jit; of others return the array, and assign it outside",
        )

    def __getitem__(self, key: Any) -> Any:
        return read(self._read(), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held = self._writable(written(self._read(), key, value, self.aval))

    def __repr__(self) -> str:
        return f"Ref{repr(self.held)[5:]}" if isinstance(self.held, np.ndarray) else repr(self.aval)


class InputRef(Ref):
    """A reference to a kernel's input: read anywhere in it, never assigned to."""

    __slots__ = ("label",)

    def __init__(self, held: Any, label: str) -> None:
        self.held, self.label = held, label
        self.aval = AbstractRef(ShapedArray(held.shape, held.dtype))

    def _read(self) -> Any:
        return self.held

    def _writable(self, value: Any) -> Any:
        raise NotImplementedError(
            f"{self.label} assigns to an input: fungrad, in the place of jax, has outputs alone written. Give an output that starts "
            "as the input, input_output_aliases={0: 0}, and assign to that"
        )


class Places:
    """The object ``ref.at``, to be indexed."""

    __slots__ = ("ref",)

    def __init__(self, ref: Referring) -> None:
        self.ref = ref

    def __getitem__(self, key: Any) -> Any:
        return TransformedRef(self.ref, key)


class TransformedRef(Referring):
    """A reference to some elements of the array of another."""

    __slots__ = ("key", "ref")

    def __init__(self, ref: Referring, key: Any) -> None:
        self.ref, self.key = ref, key

    shape = property(lambda self: self.ref[self.key].shape)
    dtype = property(lambda self: self.ref.dtype)

    def __getitem__(self, key: Any) -> Any:
        return read(self.ref[self.key], key)

    def __setitem__(self, key: Any, value: Any) -> None:
        block = self.ref[self.key]
        aval = AbstractRef(ShapedArray(block.shape, block.dtype))
        self.ref[self.key] = written(block, key, value, aval)


# Functions


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> Ref:
    """Return a reference to a copy of an array."""
    number = isinstance(init_val, (int, float, complex))
    if isinstance(init_val, Referring) or not (number or is_array(enter(init_val))):
        raise TypeError(
            f"new_ref takes an array, got {init_val!r}: write jax.new_ref(jax.numpy.array(x))"
        )
    copied = init_val if number else _array(enter(init_val))
    return Ref(received(copied), memory_space, kind)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Return a reference to an array of a type, with NaN or the least integer until assigned to."""
    return Ref(uninitialized(ty.shape, ty.dtype), memory_space)


def freeze(ref: Ref) -> Any:
    """Return the array of a reference, which is not assigned to any more."""
    return ref[...]


def free_ref(ref: Ref) -> None:
    """Release the array of a reference."""
    ref._read()
    ref.held = None


def get(ref: Referring, idx: Any = None) -> Any:
    """Return elements that a reference holds."""
    return ref[... if idx is None else idx]


def set(ref: Referring, idx: Any, value: Any) -> None:  # JAX's name
    """Replace elements that a reference holds."""
    ref[... if idx is None else idx] = value


def swap(ref: Referring, idx: Any, value: Any, _function_name: str = "ref_swap") -> Any:
    """Replace elements of a reference's array, and return the old ones."""
    before = get(ref, idx)
    set(ref, idx, value)
    return before


def addupdate(ref: Referring, idx: Any, x: Any) -> None:
    """Add to elements that a reference holds."""
    set(ref, idx, get(ref, idx) + x)

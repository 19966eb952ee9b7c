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

from fungrad.compat.jax.array import Array
from fungrad.compat.jax.crossing import dtype_of, enter
from fungrad.compat.jax.inert import Device
from fungrad.core import tree
from fungrad.core.tracer import Tracer, innermost_trace, known_value
from fungrad.extend.core import AbstractValue, ShapedArray

made: WeakSet[Any] = WeakSet()
"""All references there are."""
ever: list[bool] = []
"""Not empty once there has been one: programs without any are to wait for nothing."""


def home() -> Any:
    """Return what a reference that is made now belongs to: the innermost trace, or the thread."""
    trace = innermost_trace()
    return threading.get_ident() if trace is None else trace


def _values_known(outer: Any) -> bool:
    """Return whether all traces within one have values: what is read in them is what there is."""
    trace = innermost_trace()
    while trace is not None and trace is not outer:
        if trace.values is None:
            return False
        trace = trace.outer
    return True


class ElsewhereError(NotImplementedError):
    """A reference of an enclosing function is used where that cannot be; `jax.jit` takes it in, and tries again."""

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
    """What reads and replaces elements of an array."""

    __slots__ = ()
    __array_ufunc__ = None
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
        made.add(self)
        ever[:] = [True]

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    sharding = property(lambda self: self[...].sharding)

    def devices(self) -> set[Device]:
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
        """Return what may be assigned here; an error if nothing may."""
        if self.belongs_to == home():
            return value
        if _values_known(self.belongs_to):
            if type(value) is not Tracer:
                return value
            known = None if value._has_derivative else known_value(value)
            if known is not None:
                return known
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


class Places:
    """What ``ref.at`` is: to be indexed."""

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


class Slice:
    """A slice of a length that is known, from a place that need not be: `jax.ds`."""

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: Any, stride: int = 1) -> None:
        if isinstance(size, Tracer):
            raise TypeError(f"a slice takes a length that is known, got a traced array, {size}")
        if stride < 1:
            raise ValueError(f"a slice takes a stride of 1 or more, got {stride}")
        self.start, self.size, self.stride = start, int(size), int(stride)

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"

    @property
    def window(self) -> int:
        """From the first element to the last one."""
        return max((self.size - 1) * self.stride + 1, 0)

    def known(self) -> slice:
        """Return what it is to NumPy."""
        start = int(self.start)
        return slice(start, start + self.window, self.stride)


tree.register_node(
    Slice, lambda s: ((s.start,), (s.size, s.stride)), lambda more, parts: Slice(*parts, *more)
)


def ds(start: Any, size: Any = None, stride: int | None = None) -> Any:
    """Return a slice from a place, with a number of elements; of one argument the first elements."""
    if start is None:
        if size is not None or stride is not None:
            raise ValueError(f"ds(None) takes no size and no stride, got {size} and {stride}")
        return slice(None)
    if stride is not None and stride < 1:
        raise ValueError(f"ds takes a stride of 1 or more, got {stride}")
    start, size = (0, start) if size is None else (start, size)
    return Slice(start, size, 1 if stride is None else stride)


def _parts(key: Any, x: Any) -> list[Any]:
    """Return the key as a list with an entry for each axis, where an entry is no mask of several."""
    parts = list(key) if type(key) is tuple else [key]
    if any(part is None for part in parts):
        raise ValueError("a key of a reference takes no None: read ref[...] and index what it gives")
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    rest = [slice(None)] * (x.ndim - len(parts) + len(places))
    if places:
        i = places[0]
        return parts[:i] + rest + parts[i + 1 :]
    return parts + rest


def _is_number(part: Any) -> bool:
    """Return whether a part of a key is one index in an array, which may be traced: out of bounds it means the last place in them."""
    return isinstance(part, (np.ndarray, Tracer)) and part.ndim == 0 and part.dtype.kind in "iu"


def _split(x: Any, key: Any) -> tuple[list[Any], list[int], tuple[Any, ...]]:
    """Return where a window of `x` begins and how long it is, along all axes, and the key of what is meant in it.

    Both lists are empty if the window is the array, as it is for places that are all known.
    """
    parts = _parts(key, x)
    starts: list[Any] = []
    lengths: list[int] = []
    within: list[Any] = []
    moved = False
    for part, length in zip(parts, x.shape, strict=False):
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool) and part >= length:
            raise ValueError(f"Out of bound indexer: idx={part}, dim={length}.")
        start, size, inner = 0, length, part
        if isinstance(part, Slice):
            if _is_number(part.start):
                start, size, inner = part.start, part.window, slice(None, None, part.stride)
            else:
                inner = part.known()
                if inner.stop > length or inner.start < 0:
                    raise ValueError(f"Out of bound slice: {part}, dim={length}.")
        elif _is_number(part):
            start, size, inner = part, 1, 0
        moved = moved or not isinstance(start, int)
        starts.append(start)
        lengths.append(size)
        within.append(inner)
    if not moved:
        return [], [], tuple(within + parts[len(within) :])
    return starts, lengths, tuple(within)


def _whole(key: Any) -> bool:
    return key is Ellipsis or (type(key) is tuple and (not key or (len(key) == 1 and key[0] is ...)))


def read(x: Any, key: Any) -> Any:
    """Return what a key of a reference means in its array."""
    from fungrad.compat.jax.modules import lax as module

    if _whole(key):
        return x
    lax: Any = module
    starts, lengths, within = _split(x, key)
    return (lax.dynamic_slice(x, starts, lengths) if starts else x)[within]


def written(x: Any, key: Any, value: Any, aval: AbstractRef) -> Any:
    """Return the array of a reference of a type after an assignment: of the very shape and dtype that are there."""
    from fungrad.compat.jax.modules import lax as module
    from fungrad.compat.jax.modules import numpy as module_numpy

    jnp: Any = module_numpy
    lax: Any = module
    starts, lengths, within = ([], [], ...) if _whole(key) else _split(x, key)
    window = lax.dynamic_slice(x, starts, lengths) if starts else x
    value = _fitting(value, window[within].shape, aval)
    value = value.astype(aval.dtype)
    changed = value if within is ... else window.at[within].set(value)
    return lax.dynamic_update_slice(x, changed, starts) if starts else changed


def _fitting(value: Any, shape: tuple[int, ...], aval: AbstractRef) -> Any:
    """Return a value that may be assigned; a number gives way to a dtype of its kind, as in JAX."""
    from fungrad.compat.jax.modules import numpy as module_numpy

    if isinstance(value, (list, tuple)):
        raise TypeError(f"{aval} takes an array, got {value!r}: write jax.numpy.array({value!r})")
    jnp: Any = module_numpy
    value = jnp.asarray(value) if isinstance(value, (Array, Tracer)) else jnp.array(value)
    if value.shape != shape:
        raise ValueError(
            f"{aval} takes an array of shape {shape} there, got one of shape {value.shape}: references are not broadcast to, write "
            f"jax.numpy.broadcast_to(x, {shape})"
        )
    kinds = {"f": "f", "V": "f", "c": "c", "i": "iu", "u": "iu", "b": "b"}
    same = np.dtype(aval.dtype).kind in kinds.get(value.dtype.kind, "")
    gives_way = getattr(value, "weak_type", False) and (
        same or (jnp.issubdtype(aval.dtype, jnp.floating) and value.dtype.kind == "f")
    )
    if value.dtype != aval.dtype and not gives_way:
        raise ValueError(
            f"{aval} takes an array of that dtype, got {value.dtype.name}: write x.astype({np.dtype(aval.dtype).name!r})"
        )
    return value


# Functions


def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> Ref:
    """Return a reference to a copy of an array."""
    from fungrad.compat.jax.modules import numpy as module

    if isinstance(init_val, Referring) or not hasattr(enter(init_val), "__array__"):
        if not isinstance(init_val, (int, float, complex)):
            raise TypeError(f"new_ref takes an array, got {init_val!r}: write jax.new_ref(jax.numpy.array(x))")
    jnp: Any = module
    return Ref(jnp.array(init_val), memory_space, kind)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Return a reference to an array of a type, which holds NaN, or the least integer, until it is assigned to."""
    return Ref(uninitialized(ty.shape, ty.dtype), memory_space)


def uninitialized(shape: Any, dtype: Any) -> Any:
    """Return what JAX has where nothing has been written yet."""
    from fungrad.compat.jax.modules import numpy as module

    jnp: Any = module
    dtype = dtype_of(dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.full(shape, jnp.iinfo(dtype).min, dtype)
    return jnp.full(shape, False if dtype == bool else np.nan, dtype)


def freeze(ref: Ref) -> Any:
    """Return what a reference holds; it is not to be assigned to any more."""
    return ref[...]


def free_ref(ref: Ref) -> None:
    """Let go of what a reference holds."""
    ref._read()
    ref.held = None


def get(ref: Referring, idx: Any = None) -> Any:
    """Return elements that a reference holds."""
    return ref[... if idx is None else idx]


def set(ref: Referring, idx: Any, value: Any) -> None:  # JAX's name
    """Replace elements that a reference holds."""
    ref[... if idx is None else idx] = value


def swap(ref: Referring, idx: Any, value: Any, _function_name: str = "ref_swap") -> Any:
    """Replace elements that a reference holds, and return what they were."""
    before = get(ref, idx)
    set(ref, idx, value)
    return before


def addupdate(ref: Referring, idx: Any, x: Any) -> None:
    """Add to elements that a reference holds."""
    set(ref, idx, get(ref, idx) + x)

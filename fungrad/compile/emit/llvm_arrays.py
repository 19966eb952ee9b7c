"""The runtime's checks of NumPy arrays, and creation of results."""

from __future__ import annotations

from fungrad.compile.emit.traced import I1, I32, I64, Code, Ptr, Traced, Value, Variable

CONTIGUOUS = 0x101  # NumPy's flags C_CONTIGUOUS and ALIGNED

USUAL, RECYCLING = "usual allocator", "recycling"
"""Names of NumPy's allocator, and of the one for large results."""


def raised(to: Code, kind: Ptr) -> Ptr:
    """Set an exception and return no address."""
    to.call("PyErr_SetNone", kind)
    return to.value(None, "ptr")


def array(to: Code, x: Ptr, dtype: Ptr, axes: I64, shape: Ptr, any_: I1, strict: I1) -> Ptr:
    """Return an array in C order as a new reference, `x` or a copy; `Unfit` if it is not as described.

    Copies are of `any_` strides, or of falling ones, but for repeated elements that need not be `strict`.
    """

    def require(truth: Value) -> None:
        with to.when(~truth):
            to.give(to.call(raised, to.address("Unfit")))

    require(to.field(x, "class") == to.address("ndarray"))
    found = to.field(x, "dtype")
    # Pickled arrays have dtypes of their own: the class of scalars and the byte order count.
    scalars, orders = [
        to.field(found, name) == to.field(dtype, name) for name in ("scalar", "byte order")
    ]
    require(scalars & orders & (to.field(x, "ndim") == axes.cast("trunc", "i32")))
    lengths = to.field(x, "shape")
    with to.each(axes) as i:
        require(lengths.number(i) == shape.number(i))
    with to.when((to.field(x, "flags") & CONTIGUOUS) == CONTIGUOUS):
        to.call("Py_IncRef", x)
        to.give(x)
    with to.when(~any_):
        strides, last = to.field(x, "strides"), Variable(to.value(-1))
        with to.each(axes) as i:
            step = to.of_llvm("i64", "abs.i64", strides.number(i), to.value(False, "i1"))
            free = (shape.number(i) == 1) | ((step == 0) & ~strict)
            now, before = to.select(free, last.get(), step), last.get()
            require(now <= before)
            last.set(now)
    return to.call("PyArray_NewCopy", x, 0)


def operand(
    to: Code,
    x: Ptr,
    scalar: Ptr,
    python: Ptr,
    dtype: Ptr,
    axes: I64,
    shape: Ptr,
    any_: I1,
    strict: I1,
    owned: Ptr,
) -> Ptr:
    """Return the address of an operand's elements; an array that has to live so long is `owned`."""
    found = to.field(x, "class")
    with to.when(((found == scalar) | (found == python)) & (axes == 0)):
        to.give(x.at(to.around.fields["number"][0], "i8"))
    taken = to.call(array, x, dtype, axes, shape, any_, strict)
    owned[0] = taken
    with to.when(taken.is_null):
        to.give()
    return to.field(taken, "data")


def release(to: Code, owned: Ptr, count: I64) -> None:
    """Drop references."""
    with to.each(count) as k:
        to.call("Py_DecRef", owned[k])


def empty(to: Code, axes: I32, shape: Ptr, dtype: Ptr) -> Ptr:
    """Return a new array."""
    to.call("Py_IncRef", dtype)
    return to.call("PyArray_Empty", axes, shape, dtype, 0)


def recycled(to: Code, axes: I32, shape: Ptr, dtype: Ptr, handler: Ptr) -> Ptr:
    """Return a new array in memory that is used again, if nobody else has chosen an allocator."""
    current = to.call("PyDataMem_GetHandler")
    to.call("Py_DecRef", current)
    with to.when(current == to.address(USUAL)):
        old = to.call("PyDataMem_SetHandler", handler)
        with to.when(old.is_null):
            to.call("PyErr_Clear")
        with to.when(~old.is_null):
            made = to.call(empty, axes, shape, dtype)
            with to.when(made.is_null):
                to.call("PyErr_Clear")
            own = to.call("PyDataMem_SetHandler", old)
            to.call("Py_DecRef", old)
            to.call("Py_DecRef", own)
            with to.when(~made.is_null):
                to.give(made)
    return to.call(empty, axes, shape, dtype)


ARRAYS: tuple[Traced, ...] = (raised, array, operand, release, empty, recycled)

"""Random kernels and arguments for them, and what to hold compiled kernels against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.fallback import Rerun
from fungrad.compile.kernels.access import Access, Box
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.operations import BOOL, COMPARISONS, DTYPES, Node
from fungrad.core.types import ArrayType

F4, F8, I8 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")
ALL = sorted(DTYPES, key=lambda d: d.str[1:])
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 300]
LARGEST = 1e30  # what floating-point numbers of tame kernels stay below

LARGE = 1 << 17  # elements of an operand


class Drawn(NamedTuple):
    """A node, a bound of its magnitude, and whether it is a multiple of 1/4."""

    index: int
    dtype: np.dtype[Any]
    bound: float = math.inf
    grid: bool = False


def space_of(rng: np.random.Generator, places: int = 1 << 15) -> tuple[int, ...]:
    """Return the lengths of 0 to 4 axes."""
    ndim = int(rng.choice(5, p=[0.05, 0.35, 0.3, 0.2, 0.1]))
    space: list[int] = []
    for _ in range(ndim):
        fitting = [n for n in LENGTHS if n * math.prod(space) <= places]
        space.append(int(rng.choice(fitting)))
    rng.shuffle(space)
    return tuple(space)


def data(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return an array: multiples of 1/4 for floating-point numbers, anything for integers."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        return np.asarray(rng.integers(-16, 17, shape) / 4, dtype)
    limits = np.iinfo(dtype)
    wide = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    low = max(limits.min, -3)
    return np.where(rng.random(shape) < 0.5, wide, rng.integers(low, 4, shape, dtype))


# How arrays can lie in memory


def _misaligned(x: Any) -> Any:
    return np.frombuffer(bytearray(b"x" + x.tobytes()), x.dtype, offset=1).reshape(x.shape)


def _strided(x: Any) -> Any:
    wide = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
    place = tuple(slice(1, 2 * n + 1, 2) for n in x.shape)
    wide[place] = x
    return wide[place]


def _reversed(x: Any) -> Any:
    back = (slice(None, None, -1),) * x.ndim
    return x[back].copy()[back]


def _read_only(x: Any) -> Any:
    x = x.copy()
    x.flags.writeable = False
    return x


def _padded(x: Any) -> Any:
    """Return an array in C order behind and before others that are not to be read."""
    around = np.full(x.size + 256, 7, x.dtype)
    inner = around[128 : 128 + x.size].reshape(x.shape)
    inner[...] = x
    return inner


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "misaligned": _misaligned,
    "read-only": _read_only,
    "padded": _padded,
}


def laid_out(rng: np.random.Generator, x: Any) -> Any:
    """Return an equal array that lies anyhow; a scalar, or an array without axes, for shape ()."""
    if not x.shape:
        return x[()] if rng.random() < 0.5 else np.array(x)
    return LAYOUTS[str(rng.choice([*LAYOUTS]))](x)


class Drawer:
    """Draws a kernel node by node.

    No floating-point error comes up for arguments of `data`, and sums of floating-point numbers are exact.
    Signs of zeros, which maxima and sums may choose, are made equal by adding 0.
    """

    def __init__(self, rng: np.random.Generator, space: tuple[int, ...], rows: int) -> None:
        self.rng, self.space, self.rows = rng, space, rows
        self.nodes: list[Node] = []
        self.drawn: list[Drawn] = []
        self.operands: list[Access] = []
        self.hidden: set[int] = set()

    def add(
        self, operation: str, dtype: Any, *operands: Drawn, value: Any = None, **more: Any
    ) -> Drawn:
        dtype = np.dtype(dtype)
        self.nodes.append(Node(operation, dtype, tuple(x.index for x in operands), value))
        self.drawn.append(Drawn(len(self.nodes) - 1, dtype, **more))
        return self.drawn[-1]

    def constant(self, value: Any, dtype: Any) -> Drawn:
        number = np.asarray(value).astype(dtype)[()]
        grid = number.dtype.kind == "f" and float(number) * 4 % 1 == 0
        return self.add("constant", dtype, value=number, bound=abs(float(number)), grid=grid)

    def load(self, dtype: Any) -> Drawn:
        axes = [a for a in range(len(self.space)) if self.rng.random() < 0.75]
        shape = tuple(self.space[a] for a in axes)
        if self.rng.random() < 0.4:
            return self.load_of_part(np.dtype(dtype), axes)
        self.operands.append(Access(ArrayType(shape, np.dtype(dtype)), tuple(axes)))
        return self.add("load", dtype, value=len(self.operands) - 1, bound=4.0, grid=True)

    def box(self) -> Box:
        """Return a part of the index space; rarely all of it."""
        found = []
        for axis, n in enumerate(self.space):
            if self.rng.random() < 0.5:
                low, high = sorted(self.rng.integers(0, n + 1, 2).tolist())
                found.append((axis, low, high) if low < high else (axis, 0, n))
        return tuple(found)

    def load_of_part(self, dtype: Any, axes: list[int]) -> Drawn:
        """Add a load of a slice, transposed and reversed; maybe within a box, and beside it another number."""
        box = self.box() if self.rng.random() < 0.6 else ()
        bounds = {a: (low, high - 1) for a, low, high in box}
        given: list[int | None] = [*self.rng.permutation(axes).tolist()]
        given.insert(int(self.rng.integers(len(given) + 1)), None)
        indices = self.indices(0 if box else int(self.rng.integers(3)))
        for k in range(len(indices)):
            given.insert(int(self.rng.integers(len(given) + 1)), -1 - k)
        shape, starts, steps = [], [], []
        for axis in given:
            step = int(self.rng.choice([1, 1, 1, 2, 3, 7, -1, -2, -5]))
            low, high = (0, 0) if axis is None else bounds.get(axis, (0, 0))
            if axis is not None and axis not in bounds:
                high = 3 if axis < 0 else self.space[axis] - 1
            start = int(self.rng.integers(0, 3)) - min(step * low, step * high)
            shape.append(
                max(start + step * low, start + step * high) + int(self.rng.integers(1, 4))
            )
            starts.append(start)
            steps.append(step)
        if math.prod(shape) > LARGE:
            return self.constant(1, dtype)
        type_ = ArrayType(tuple(shape), dtype)
        access = Access(type_, tuple(given), None, tuple(starts), tuple(steps), box)
        self.operands.append(access)
        place = len(self.operands) - 1
        found = self.add("load", dtype, *indices, value=place, bound=4.0, grid=True)
        if not box:
            return found
        self.drawn.remove(found)  # what it is beside the box is for nobody to see
        self.hidden.add(found.index)
        inside = self.add("inside", BOOL, value=box)
        other = self.constant(3, dtype)
        return self.add("select", dtype, inside, found, other, bound=4.0, grid=True)

    def indices(self, count: int) -> list[Drawn]:
        """Return nodes that are integers from 0 to 3."""
        found = []
        for _ in range(count):
            whole = [x for x in self.drawn if x.dtype.kind in "iu" and x.dtype.itemsize > 1]
            if whole and self.rng.random() < 0.7:
                x = whole[int(self.rng.integers(len(whole)))]
            else:
                x = self.add("load", I8, value=len(self.operands))
                axes = [a for a in range(len(self.space)) if self.rng.random() < 0.6]
                shape = tuple(self.space[a] for a in axes)
                self.operands.append(Access(ArrayType(shape, I8), tuple(axes)))
            x = self.add("and", x.dtype, x, self.constant(3, x.dtype))
            found.append(x if x.dtype == I8 else self.add("convert", I8, x))
        return found

    def leaves(self, dtypes: Sequence[Any]) -> None:
        for _ in range(int(self.rng.integers(1, 6))):
            self.load(self.rng.choice(dtypes))
        for _ in range(int(self.rng.integers(0, 3))):
            self.constant(int(self.rng.integers(0, 5)), self.rng.choice(dtypes))
        if self.space and self.rng.random() < 0.4:
            axis = int(self.rng.integers(len(self.space)))
            n = self.space[axis]
            numbers = [
                d for d in dtypes if d.kind == "f" or (d.kind in "iu" and n <= np.iinfo(d).max)
            ]
            if numbers:
                self.add("iota", self.rng.choice(numbers), value=axis, bound=n, grid=True)

    def pick(self, dtype: Any = None) -> Drawn:
        """Return a node, of a dtype; recent ones more often."""
        found = [x for x in self.drawn if dtype is None or x.dtype == dtype]
        if not found:
            return self.load(dtype)
        return found[-1 - min(int(self.rng.geometric(0.2)) - 1, len(found) - 1)]

    def unsigned_zero(self, x: Drawn) -> Drawn:
        if x.dtype.kind != "f":
            return x
        zero = self.constant(0.0, x.dtype)
        return self.add("add", x.dtype, x, zero, bound=x.bound, grid=x.grid)

    def step(self) -> None:
        x = self.pick()
        roll = self.rng.random()
        if roll < 0.15:
            self.convert(x)
        elif roll < 0.25:
            y = self.pick(x.dtype)
            self.add(str(self.rng.choice(sorted(COMPARISONS))), BOOL, x, y)
        elif roll < 0.35:
            y, p = self.pick(x.dtype), self.pick(BOOL)
            self.add(
                "select", x.dtype, p, x, y, bound=max(x.bound, y.bound), grid=x.grid and y.grid
            )
        elif roll < 0.45 and self.space:
            self.reduce(x)
        elif x.dtype.kind == "f":
            self.of_floats(x)
        elif x.dtype.kind == "b":
            self.of_booleans(x)
        else:
            self.of_integers(x)

    def convert(self, x: Drawn) -> None:
        if x.dtype.kind != "f":
            dtype = np.dtype(self.rng.choice([d for d in ALL if d != x.dtype]))
            if dtype.kind == "b":
                self.add("ne", BOOL, x, self.constant(0, x.dtype))
            else:
                bound = 2.0 ** (8 * x.dtype.itemsize)
                self.add("convert", dtype, x, bound=bound)
        elif self.rng.random() < 0.5:
            self.add("convert", F4 if x.dtype == F8 else F8, x, bound=x.bound, grid=x.grid)
        else:
            kind = str(self.rng.choice(["i", "u"]))
            self.add("bitcast", f"{kind}{x.dtype.itemsize}", x)

    def reduce(self, x: Drawn) -> None:
        if sum(n.operation.startswith("reduce") for n in self.nodes) >= 3:
            return
        n = math.prod(self.space[self.rows :])
        if x.dtype.kind == "b":
            self.add(str(self.rng.choice(["reduce_and", "reduce_or"])), BOOL, x)
            return
        names = ["max", "min"]
        exact = x.dtype.kind != "f" or (x.grid and x.bound * n < 2**20)
        names += ["sum", "sum"] if exact else []
        names += ["prod"]
        name = str(self.rng.choice(names))
        if name == "prod" and x.dtype.kind == "f":  # of 1 and -1
            x = self.add("copysign", x.dtype, self.constant(1.0, x.dtype), x, bound=1.0, grid=True)
        bound = x.bound * (n if name == "sum" else 1)
        self.unsigned_zero(self.add(f"reduce_{name}", x.dtype, x, bound=bound, grid=x.grid))

    def of_floats(self, x: Drawn) -> None:
        y = self.pick(x.dtype)
        names = ["neg", "abs", "floor", "ceil", "trunc", "rint", "copysign", "max", "min", "sqrt"]
        names += ["add", "sub", "mul", "div"] * 3
        name = str(self.rng.choice(names))
        if name == "sqrt":
            size = self.add("abs", x.dtype, x, bound=x.bound)
            self.add("sqrt", x.dtype, size, bound=max(x.bound, 1.0))
        elif name in ("floor", "ceil", "trunc", "rint"):
            self.add(name, x.dtype, x, bound=x.bound + 1, grid=True)
        elif name in ("neg", "abs"):
            self.add(name, x.dtype, x, bound=x.bound, grid=x.grid)
        elif name == "copysign":
            self.add(name, x.dtype, x, y, bound=x.bound, grid=x.grid)
        elif name in ("max", "min"):
            both = x.grid and y.grid
            self.unsigned_zero(
                self.add(name, x.dtype, x, y, bound=max(x.bound, y.bound), grid=both)
            )
        elif name in ("add", "sub") and x.bound + y.bound < LARGEST:
            self.add(name, x.dtype, x, y, bound=x.bound + y.bound, grid=x.grid and y.grid)
        elif name == "mul" and x.bound * y.bound < LARGEST:
            self.add(name, x.dtype, x, y, bound=x.bound * y.bound)
        elif name == "div" and 2 * x.bound < LARGEST:
            size = self.add("abs", x.dtype, y, bound=y.bound)
            half = self.constant(0.5, x.dtype)
            divisor = self.add("add", x.dtype, size, half, bound=y.bound + 0.5)
            self.add("div", x.dtype, x, divisor, bound=2 * x.bound)

    def of_integers(self, x: Drawn) -> None:
        y = self.pick(x.dtype)
        names = ["add", "sub", "mul", "max", "min", "and", "or", "xor", "not", "shl", "shr"]
        names += ["neg", "abs"] if x.dtype.kind == "i" else []
        name = str(self.rng.choice(names))
        if name in ("shl", "shr"):
            most = self.constant(8 * x.dtype.itemsize - 1, x.dtype)
            y = self.add("and", x.dtype, y, most)
        self.add(name, x.dtype, *([x] if name in ("not", "neg", "abs") else [x, y]))

    def of_booleans(self, x: Drawn) -> None:
        name = str(self.rng.choice(["and", "or", "xor", "not", "mul"]))
        self.add(name, BOOL, *([x] if name == "not" else [x, self.pick(BOOL)]))

    def kernel(self, count: int) -> Kernel:
        """Return the kernel that writes so many of the nodes, the last one among them."""
        draft = Kernel(self.space, self.rows, tuple(self.operands), tuple(self.nodes), ())
        some = self.rng.choice(len(self.nodes), min(count, len(self.nodes)), replace=False)
        outputs = []
        for k in dict.fromkeys([len(self.nodes) - 1, *map(int, some)]):
            if k in self.hidden:
                continue
            elements = draft.of_elements[k] or bool(self.rng.random() < 0.3)
            shape = self.space if elements else self.space[: self.rows]
            outputs.append(Output(k, ArrayType(shape, self.nodes[k].dtype), elements))
        return Kernel(*draft_parts(draft), tuple(outputs)).check()


def draft_parts(kernel: Kernel) -> tuple[Any, ...]:
    """Return what a kernel is made of but for its outputs."""
    return kernel.space, kernel.rows, kernel.operands, kernel.nodes


def random_kernel(
    rng: np.random.Generator, length: int = 20, space: tuple[int, ...] | None = None
) -> tuple[Kernel, list[Any]]:
    """Return a tame kernel and arguments for it."""
    space = space_of(rng) if space is None else space
    drawer = Drawer(rng, space, int(rng.integers(len(space) + 1)))
    count = int(rng.integers(1, 5))
    drawer.leaves([np.dtype(d) for d in rng.choice(ALL, count)] + [F8])
    while len(drawer.nodes) < length:
        drawer.step()
    kernel = drawer.kernel(int(rng.integers(1, 7)))
    given = [data(rng, x.type.shape, x.type.dtype) for x in kernel.operands]
    return kernel, [laid_out(rng, x) for x in given]


def of_one_operation(
    operation: str,
    dtype: Any,
    operands: Sequence[Any],
    space: tuple[int, ...],
    spread: bool = False,
) -> Kernel:
    """Return the kernel of an operation of operands of these dtypes; `spread`: without axes."""
    return of_operations([(operation, dtype, len(operands))], operands, space, spread)


def of_operations(
    operations: Sequence[tuple[str, Any, int]],
    operands: Sequence[Any],
    space: tuple[int, ...],
    spread: bool = False,
) -> Kernel:
    """Return the kernel of several operations: name and dtype of each, and of how many operands, from the first on."""
    axes = () if spread else tuple(range(len(space)))
    types = [ArrayType(() if spread else space, np.dtype(d)) for d in operands]
    nodes = [Node("load", t.dtype, (), k) for k, t in enumerate(types)]
    outputs = []
    for operation, dtype, count in operations:
        outputs.append(Output(len(nodes), ArrayType(space, np.dtype(dtype)), True))
        nodes.append(Node(operation, np.dtype(dtype), tuple(range(count))))
    accesses = tuple([Access(t, axes) for t in types])
    return Kernel(space, 0, accesses, tuple(nodes), tuple(outputs)).check()


def outcomes(
    kernel: Kernel, function: Callable[..., Any], arguments: Sequence[Any]
) -> Iterator[Any]:
    """Yield what NumPy gives and what the compiled kernel does: lists of results, None for an error."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
            yield kernel.interpret(*arguments)
    except FloatingPointError:
        yield None
    try:
        found = function(*arguments)
    except Rerun:
        yield None
    else:
        yield [found] if len(kernel.outputs) == 1 else list(found)


def assert_equal_bits(found: Any, expected: Any) -> None:
    """Check dtype, shape and each bit; NaNs are equal."""
    assert type(found) is type(expected), f"{type(found)} for {type(expected)}"
    x, y = np.asarray(found), np.asarray(expected)
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    if x.dtype.kind == "f":
        assert np.array_equal(np.isnan(x), np.isnan(y))
        x, y = (np.where(np.isnan(a), 0, a).view(f"u{a.dtype.itemsize}") for a in (x, y))
    elif x.dtype.kind == "b":
        x, y = x.view("u1"), y.view("u1")
    np.testing.assert_array_equal(x, y)
    if np.ndim(found):
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert found.flags.owndata

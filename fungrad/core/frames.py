"""Search for the user's frame on the stack, and questions about the line that runs in it.

Error messages and warnings name that line. Bytecode tells which operation of it is under way.

Design: docs/design/08-lines-and-warnings.md.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dis

Place = tuple[int, int]
"""A line and a column in it."""

ARRAYS = ("fungrad", "numpy", "scipy")
"""Names of the packages whose frames are never the user's."""


def package_of(frame: FrameType) -> str:
    """Return the name of the package whose code runs in `frame`."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def is_internal(frame: FrameType) -> bool:
    """Whether `frame` runs code of fungrad itself, by the name of its module.

    Paths of files would mislead: users keep their own code in folders called fungrad, too. Nor is a module
    called fungrad_something one of fungrad's.
    """
    name = str(frame.f_globals.get("__name__"))  # code run by `exec` may have None here
    return name[:8] == "fungrad." or name == "fungrad"


own_files: set[str] = set()
users_files: set[str] = set()
"""Files of fungrad's modules, and of others seen recently: faster to compare than names of modules."""


def users_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame outside of fungrad, from `frame` outwards; remember their files."""
    while frame is not None and is_internal(frame):
        file = frame.f_code.co_filename
        if file[:1] != "<":  # generated code has no file of its own
            own_files.add(file)
        frame = frame.f_back
    if frame is not None and (file := frame.f_code.co_filename)[:1] != "<":
        if len(users_files) >= 1 << 10:
            users_files.clear()
        users_files.add(file)
    return frame


@functools.cache
def _standard_library() -> tuple[str, ...]:
    import sysconfig

    paths = sysconfig.get_paths()
    return tuple({os.path.join(paths[name], "") for name in ("stdlib", "platstdlib")})


def is_installed(filename: str) -> bool:
    """Whether a file belongs to an installed package or to Python itself."""
    parts = filename.replace(os.sep, "/").split("/")
    return (
        "site-packages" in parts
        or "dist-packages" in parts
        or filename.startswith(("<frozen ", *_standard_library()))
    )


def outwards() -> Iterator[FrameType]:
    """Yield the frames of the stack, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def caller_of(files: Collection[str]) -> FrameType:
    """Return the innermost frame whose code is in none of these files."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename in files:
        frame = frame.f_back
    return frame  # type: ignore[no-any-return]


def innermost_frame() -> FrameType | None:
    """Return the innermost frame that is not of fungrad, NumPy or SciPy."""
    return next((f for f in outwards() if package_of(f) not in ARRAYS), None)


def user_frame() -> tuple[FrameType | None, FrameType | None]:
    """Return the innermost frame of the user's own code, and the frame of a library called by it, or None.

    Installed packages are libraries, except the package of the function that is being traced. The search
    ends at the next frame of fungrad's further out, which is the transform that called that function.
    """
    frames = []
    for frame in outwards():
        if package_of(frame) not in ARRAYS:
            frames.append(frame)
        elif frames and is_internal(frame):
            break
    if not frames:
        return None, None
    inner = frames[0]
    traced = package_of(frames[-1])
    for frame in frames:
        if package_of(frame) == traced or not is_installed(frame.f_code.co_filename):
            return frame, None if frame is inner else inner
    return inner, None


def called_by_library() -> bool:
    """Whether the user's code runs through an installed package other than NumPy, SciPy and fungrad."""
    return user_frame()[1] is not None


COMPARING = ("numpy.testing.", "_pytest.")
"""Prefixes of the modules of test libraries, which compare arrays and compute nothing from them."""


def is_caught_below(outermost: int) -> bool:
    """Whether a function of the user's that is called from a frame could catch an error raised now.

    `outermost` is the `id` of that frame. If it is not on the stack of this thread, the answer is True: unknown.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if id(frame) == outermost:
            return False
        code = frame.f_code
        if code.co_exceptiontable and not is_internal(frame) and _catches(code):
            return True
        frame = frame.f_back
    return True


def is_caught_within_transform() -> bool:
    """Whether a function of the user's could catch an error raised now before its transform sees it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_internal(frame):
            if str(frame.f_globals.get("__name__")).startswith("fungrad.transforms."):
                return False
        elif code.co_exceptiontable and _catches(code):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1 << 10)
def _catches(code: CodeType) -> bool:
    """Whether a function contains ``try``, or a ``with`` other than ``with np.errstate(...)``.

    Comprehensions and generators have handlers too, which catch nothing.
    """
    import dis

    if dis.opmap["PUSH_EXC_INFO"] not in code.co_code[::2]:
        return False
    found = [*dis.get_instructions(code)]
    handlers, blocks = (
        sum(x.opname == name for x in found) for name in ("PUSH_EXC_INFO", "WITH_EXCEPT_START")
    )
    quiet = sum(x.argval == "errstate" and x.opname.startswith("LOAD") for x in found)
    return not handlers == blocks == quiet


def compares() -> bool:
    """Whether the caller that asks for values is a test library."""
    for frame in outwards():
        if not is_internal(frame):
            name = f"{frame.f_globals.get('__name__')}."
            if name.startswith(COMPARING):
                return True
            if not name.startswith(("numpy.", "contextlib.")):
                return False
    return False


# Questions about the running line, answered from its bytecode: when an error is made, and when a tracer is
# converted to a number.


def at_store(frame: FrameType) -> bool:
    """Whether `frame` runs ``array[i] = x``, ``array.real = x`` or, from Python 3.12, ``array[i:j] = x``."""
    return operation_at(frame) in ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR")


def at_index(frame: FrameType) -> bool:
    """Whether `frame` runs ``array[i]``, read or written."""
    operation = operation_at(frame)
    if operation == "BINARY_OP":  # of Python 3.14
        return _written_operator(frame) == "[]"
    return operation in ("BINARY_SUBSCR", "STORE_SUBSCR")


def operation_at(frame: FrameType) -> str:
    """Return the name of the instruction that runs in `frame`."""
    import dis

    name = dis.opname[frame.f_code.co_code[offset_in(frame)]]
    # Specialized calls of Python 3.11 happen within PRECALL.
    return "CALL" if name == "PRECALL" else name


def operator_in(frame: FrameType) -> str:
    """Return the name of NumPy's function for the arithmetic operator that runs in `frame`, or ""."""
    if operation_at(frame) != "BINARY_OP":
        return ""
    return _OPERATORS.get(_written_operator(frame).removesuffix("="), "")


def _written_operator(frame: FrameType) -> str:
    """Return the operator of the instruction that runs in `frame`, a `BINARY_OP`."""
    import dis

    offset = offset_in(frame)
    return next(x.argrepr for x in dis.get_instructions(frame.f_code) if x.offset == offset)


_OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "power",
    "@": "matmul",
}


def offset_in(frame: FrameType) -> int:
    """Return the offset of the instruction that runs in `frame`.

    During a call of a Python function, `f_lasti` of Python 3.11 points into the inline cache behind the
    instruction: step back over it.
    """
    code, offset = frame.f_code.co_code, frame.f_lasti
    while offset > 0 and code[offset] == 0:  # CACHE
        offset -= 2
    return offset


def find(frame: FrameType, name: str) -> Any:
    """Return the value of a name in `frame`; None if it has none."""
    for scope in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in scope:
            return scope[name]
    return None


def asks_for_number(frame: FrameType) -> bool:
    """Whether `frame` runs a call of `float` or `complex`, or maps one of them."""
    operation = operation_at(frame)

    def is_number_type(name: str) -> bool:
        value = find(frame, name)
        return value is float or value is complex

    if operation not in _ITERATING and not operation.startswith("CALL"):
        return True  # such as formatting, "%f" % x
    chain, names = _names_in_call(frame.f_code, offset_in(frame))
    first = chain[0] if chain else ""
    return is_number_type(first) or ("map" in names and any(map(is_number_type, names)))


_ITERATING = ("FOR_ITER", "LIST_EXTEND", "SET_UPDATE", "UNPACK_SEQUENCE", "UNPACK_EX")


def names_in(frame: FrameType) -> tuple[str, ...]:
    """Return the names in the expression that runs in `frame`."""
    return _names_in_call(frame.f_code, offset_in(frame))[1]


def called_in(frame: FrameType) -> tuple[str, Any]:
    """Return the function whose call runs in `frame`, as written and as an object; or ("", None)."""
    if not operation_at(frame).startswith("CALL"):
        return "", None
    chain, _ = _names_in_call(frame.f_code, offset_in(frame))
    if not chain:
        return "", None
    called = find(frame, chain[0])
    for name in chain[1:]:
        try:
            called = getattr(called, name)
        except Exception:  # raised by a property of the user's
            return "", None
    return ".".join(chain), called


@functools.lru_cache(maxsize=1 << 10)
def _names_in_call(code: CodeType, offset: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dotted name of the function called at an offset, and all names in the call.

    At an iteration or an unpacking, the dotted name is empty, and the names are those of the iterable.
    """
    import dis

    instructions = list(dis.get_instructions(code))
    if dis.opname[code.co_code[offset]].startswith("UNPACK"):  # its position is the targets
        before = [x for x in instructions if x.offset < offset]
        ends = [
            i for i, x in enumerate(before) if x.opname.startswith(("STORE", "POP_TOP", "RETURN"))
        ]
        statement = before[ends[-1] + 1 :] if ends else before
        return (), tuple([x.argval for x in statement if isinstance(x.argval, str)])
    line, end_line, column, end_column = next(
        x.positions for x in instructions if x.offset == offset and x.positions
    )
    if None in (line, end_line, column, end_column):  # Python runs with -X no_debug_ranges
        return (), ("map", *code.co_names)
    chain, names, simple = [], [], True
    for operation, name, start, end in _parts(instructions):
        if not ((line, column) <= start and end <= (end_line, end_column)):
            continue
        leads = start == (line, column)
        if name:
            names.append(name)
            if leads:
                chain.append(name)
        elif leads and end < (end_line, end_column) and operation.startswith(_COMPUTED):
            simple = False  # such as make_rng().normal(x) or rngs[0].normal(x)
    return tuple(chain) if simple else (), tuple(names)


def _parts(instructions: Sequence[dis.Instruction]) -> Iterator[tuple[str, str, Place, Place]]:
    """Yield instructions that have a position: the operation, the name that it loads or "", start and end.

    From Python 3.13 on, one instruction may load two names, as ``LOAD_FAST_LOAD_FAST`` does. It has the
    position of the first; that of the second is taken from the next instruction, which uses it.
    """
    for x, following in zip(instructions, [*instructions[1:], None], strict=True):
        place, operation = _place(x), x.opname
        names = x.argval if isinstance(x.argval, tuple) else (x.argval,)
        if place is not None:
            is_name = operation.startswith("LOAD_") and operation != "LOAD_CONST"
            yield operation, names[0] if is_name and isinstance(names[0], str) else "", *place
        if "_LOAD_" in operation and following is not None and (place := _place(following)):
            start, end = place
            yield operation, names[1], start if following.opname in _OF_CALLEE else end, end


_OF_CALLEE = ("PUSH_NULL", "LOAD_ATTR")


def _place(x: dis.Instruction) -> tuple[Place, Place] | None:
    line, end_line, column, end_column = x.positions or (None,) * 4
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return (line, column), (end_line, end_column)


_COMPUTED = ("CALL", "BINARY")

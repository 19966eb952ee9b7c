"""Machine code on the host: made by LLVM, kept on disk, linked, and called from Python."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import hashlib
import itertools
import os
import platform
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fungrad.compile import lapack
from fungrad.compile.background import BACKGROUND, importing
from fungrad.compile.emit import llvm_arrays, llvm_prelude, llvm_runtime, llvm_threads
from fungrad.compile.fallback import Rerun, Unfit
from fungrad.compile.interrupts import interrupt_soon, keeping_interrupts
from fungrad.compile.kernels.products import Tile, tile
from fungrad.compile.processor import features, is_x86, system, target
from fungrad.compile.processor import threads as threads
from fungrad.compile.targets import recycling, store, structures

T = TypeVar("T")


class Stored(NamedTuple):
    """Machine code on disk: the key of the object file, and the names of the addresses in its table."""

    key: bytes
    places: tuple[str, ...]


class Code:
    """Machine code, with the objects that it needs while it is called.

    It is given back by `give_back`: while LLVM compiles, which may take seconds, whoever lets go of a program does not wait for that.
    """

    def __init__(self, symbols: Any) -> None:
        self.kept: list[Any] = []
        self.stored: Stored | None = None
        """Where it is kept on disk."""
        self._number = next(_numbers)
        _symbols[self._number] = symbols  # not here, where a collector would finalize them

    def __del__(self) -> None:
        """Have it given back."""
        _released.append(self._number)
        if BACKGROUND.busy:
            return
        try:
            with keeping_interrupts():
                give_back()
        except KeyboardInterrupt:  # Python would drop it
            interrupt_soon()


_numbers = itertools.count()
_symbols: dict[int, Any] = {}
_released: collections.deque[int] = collections.deque()
"""The numbers of machine code that nobody calls any more."""


def give_back() -> None:
    """Free the machine code that nobody calls any more."""
    with contextlib.suppress(IndexError):  # other threads may do so too
        while _released:
            _symbols.pop(_released.popleft(), None)


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


FASTCALL = 0x80
CALLED = "call"
"""The symbol of the function that Python calls."""


@functools.cache
def missing() -> str:
    """Return why there are no kernels here; "" if there can be."""
    if sys.maxsize < 1 << 32 or platform.python_implementation() != "CPython":
        return "this is no CPython for 64 bits"
    try:
        with importing:
            import llvmlite.binding as binding
    except ImportError:
        return "llvmlite is not installed: pip install 'fungrad[cpu]'"
    if binding.llvm_version_info < (20,):
        return "llvmlite is older than 0.46: pip install -U llvmlite"
    if is_x86() and not features().get("fma"):
        return "the processor cannot multiply and add at once"
    if found := structures.wrong():
        reason = f"fungrad does not know the structures of this NumPy or Python: {found}"
        versions = f"NumPy {np.__version__}, Python {platform.python_version()}"
        text = f"no kernels are compiled, and programs run as NumPy calls ({versions}); {reason}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return reason
    return ""


def available() -> bool:
    """Whether there are a compiler and a supported processor."""
    return not missing()


MACHINE: dict[str, Any] = {"reloc": "pic", "codemodel": "jitdefault"}
"""Options of LLVM's machines."""
OPTIMISED = 3
"""LLVM's level of optimisation as it selects instructions and registers."""
PASSES = (
    "always_inliner", "sroa", "instruction_combine", "simplify_cfg", "loop_simplify", "lcssa",
    "loop_rotate", "loop_unroll", "sroa", "instruction_combine", "simplify_cfg",
)  # fmt: skip
"""LLVM's passes over kernels. All usual ones take four times as long, without measurable gain."""
RUNTIME = "; O3 sroa simplify_cfg\n"
"""Start of the runtime's assembly: LLVM's level and passes, as it has no vectors and no long loops."""
ALLOCATOR = "; O0\n"
"""Start of the allocator's assembly: a quarter of the compile time. Its calls clear or fill memory."""


def _new_machine(level: int) -> Any:
    """Return LLVM's description of the processor. An engine takes it over, so it has its own."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    asked = target()
    triple = binding.Target.from_triple(asked.pop("triple"))
    return triple.create_target_machine(**asked, **MACHINE, opt=level)


@functools.cache
def _machine(level: int = OPTIMISED) -> Any:
    """Return the machine of all assembly of a level, since each takes LLVM a millisecond.

    llvmlite lets one thread at a time use it.
    """
    return _new_machine(level)


def _address(name: str) -> int:
    """Return the content of a place of the table."""
    if name in (numpys := structures.numpys()):
        return numpys[name]
    if name == llvm_arrays.RECYCLING:
        return recycling.handler(_of_allocator)
    objects = {"ndarray": np.ndarray, "float": float, "complex": complex}
    objects |= {"Rerun": Rerun, "Unfit": Unfit}
    if name in objects:
        return id(objects[name])
    kind, _, dtype = name.partition(" ")
    if kind == "lapack":
        return lapack.address(dtype)
    if kind == "product":
        return _product(dtype, tile())
    if kind == "runtime":
        return int(_runtime()[dtype])
    if dtype:
        return id(np.dtype(dtype) if kind == "dtype" else np.dtype(dtype).type)
    library = ctypes.pythonapi if name.startswith("Py") else system()
    function = getattr(library, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def function_of(text: str, places: Sequence[str]) -> Callable[..., Any]:
    """Return the Python function of LLVM's assembly, compiled unless any process has done so.

    `places` are the names of the addresses in its table.
    """
    stored = Stored(stored_as(text), tuple(places))
    known = _functions.get(stored)
    return known or _kept(stored.key, text, lambda code: _loaded(code, stored))


def recalled(stored: Stored) -> Callable[..., Any] | None:
    """Return the Python function of machine code on disk; None if it is not there, or cannot run here."""
    if (known := _functions.get(stored)) is not None:
        return known
    can_run = all(_address(name) for name in stored.places if name.startswith("lapack "))
    code = store.get(stored.key) if can_run else None
    return None if code is None else _loaded(code, stored)


def _loaded(code: bytes, stored: Stored) -> Callable[..., Any]:
    function = load(code, stored.places)
    function.__self__.stored = stored  # type: ignore[attr-defined]
    _functions[stored] = function
    return function


def stored_of(function: Any) -> Stored | None:
    """Return the place on disk of a function's machine code; None for other functions."""
    code = getattr(function, "__self__", None)
    return code.stored if isinstance(code, Code) else None


_functions: weakref.WeakValueDictionary[Stored, Callable[..., Any]] = weakref.WeakValueDictionary()
"""Compiled functions in use."""


def _kept(key: bytes, text: str, link: Callable[[bytes], T]) -> T:
    """Return the result of `link` on the object file of LLVM's assembly, perhaps from disk."""
    code = store.get(key)
    if code is not None:
        return link(code)
    code = BACKGROUND.standing_back(lambda: machine_code(text))
    linked = link(code)  # first: what cannot be linked is not kept
    store.put(key, code)
    return linked


def stored_as(text: str) -> bytes:
    """Return the key of an object file: a hash of everything it depends on except addresses."""
    return hashlib.sha256(f"{compiler()}\n{text}".encode()).digest()


@functools.cache
def compiler() -> tuple[Any, ...]:
    """Return the facts that an object file depends on besides its assembly."""
    import llvmlite
    import llvmlite.binding as binding

    versions = store.FORMAT, llvmlite.__version__, binding.llvm_version_info
    return *versions, target(), MACHINE, OPTIMISED, PASSES


def machine_code(text: str) -> bytes:
    """Return the object file of LLVM's assembly."""
    import llvmlite.binding as binding

    names, machine = [*PASSES], _machine()
    if text.startswith((RUNTIME, ALLOCATOR)):
        level, *names = text[: text.index("\n")].removeprefix("; O").split()
        machine = _machine(int(level))
    context = binding.create_context()
    module = binding.parse_assembly(text, context)
    try:
        passes = binding.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
        options = binding.create_pipeline_tuning_options()
        passes.run(module, binding.create_pass_builder(machine, options))
        _dispose(passes)
        return machine.emit_object(module)  # type: ignore[no-any-return]
    finally:
        module.close()  # before what it lives in
        context.close()


def _dispose(passes: Any) -> None:
    """Free a pass manager: llvmlite does not, as its class takes over a method that does nothing."""
    from llvmlite.binding import ffi, newpassmanagers

    if type(passes)._dispose is ffi.ObjectRef._dispose:
        newpassmanagers.NewPassManager._dispose(passes)


def load(code: bytes, places: Sequence[str]) -> Callable[..., Any]:
    """Return the function that Python calls of an object file, its table filled."""
    tracker = _linked(code, ("table", CALLED))
    _fill(tracker["table"], places)
    return _function(Code(tracker), tracker[CALLED])


def _fill(place: int, names: Sequence[str]) -> None:
    addresses = [_address(name) for name in names]
    filled = (ctypes.c_void_p * len(addresses))(*addresses)
    ctypes.memmove(place, filled, ctypes.sizeof(filled))


@functools.cache
def _runtime() -> Any:
    """Return the finder of the runtime's functions, which stay when Python ends."""
    text, table = llvm_runtime.runtime_assembly(structures.fields(), is_x86())
    symbols = _lasting(RUNTIME + text, table, (llvm_threads.WAITING, *llvm_runtime.FUNCTIONS))
    if hasattr(os, "register_at_fork"):  # none of the parent's threads begins in the child
        waiting = ctypes.c_int64.from_address(symbols[llvm_threads.WAITING])
        os.register_at_fork(after_in_child=lambda: setattr(waiting, "value", 0))
    return symbols


@functools.cache
def _product(dtype: str, tile: Tile) -> int:
    """Return the address of the function of products of a dtype, by tiles of a size."""
    with importing:  # what few programs come to need
        from fungrad.compile.emit.blocked import PRODUCT, product_assembly

    text = RUNTIME + product_assembly(np.dtype(dtype), tile)
    return int(_lasting(text, llvm_prelude.Table(), (PRODUCT,))[PRODUCT])


def _linked(code: bytes, names: Sequence[str]) -> Any:
    """Return the finder of an object file's symbols, for as long as it lives."""
    import llvmlite.binding as binding

    builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    return builder.link(_linker(), f"kernels{next(_libraries)}")


def _lasting(text: str, table: llvm_prelude.Table, names: Sequence[str]) -> Any:
    """Return the finder of symbols in LLVM's assembly, which stay when Python ends, its table filled."""
    linked = _kept(stored_as(text), text, lambda code: _linked(code, ("table", *names)))
    _fill(linked["table"], [*table.places])
    for kept in (linked, _linker()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return linked


def _of_allocator(text: str, table: llvm_prelude.Table, names: Sequence[str]) -> Any:
    """Return the finder of the allocator's symbols."""
    return _lasting(ALLOCATOR + text, table, names)


_libraries = itertools.count()


@functools.cache
def _linker() -> Any:
    import llvmlite.binding as binding

    return binding.create_lljit_compiler(_new_machine(OPTIMISED))


def _function(code: Code, address: int) -> Callable[..., Any]:
    """Return a function of Python's that is a function of the code."""
    method = _MethodDef(CALLED.encode(), address, FASTCALL, None)
    code.kept.append(method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    return make(ctypes.addressof(method), code, None)  # type: ignore[no-any-return]

"""Names of `jax._src` without public ones that libraries use."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from fungrad.compat.jax.array import Array
from fungrad.compat.jax.inert import CPU, itself, no_effect
from fungrad.compat.jax.x64 import canonical
from fungrad.core import tracer, tree
from fungrad.core.axes import open_axes
from fungrad.core.paths import NAMESPACE
from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import current_trace, innermost_trace
from fungrad.test_util import gradients

ArrayImpl = Array
Shape = Sequence[int]
DType = np.dtype
DimSize = int


def api_boundary(fun: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """Return the function: fungrad shortens tracebacks by itself."""
    return fun


def include_frame(frame: Any) -> bool:
    """Return True: tracebacks are left as they are."""
    return True


_exclude_paths: list[str] = []
register_exclusion = register_path_exclusion = _exclude_paths.append
wait_for_tokens = no_effect


class _Tokens:
    block_until_ready = clear = staticmethod(no_effect)


runtime_tokens = _Tokens()


class ExtendedDType:
    """The base of dtypes that libraries add to JAX's; none are known here."""


def supports_inf(dtype: Any) -> bool:
    """Return whether a dtype has infinities."""
    return not str(dtype).endswith(("fn", "fnuz"))


def to_inexact_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of floating-point or complex numbers in which JAX computes with those of another."""
    dtype = np.dtype(dtype)
    return np.dtype(f"f{max(dtype.itemsize, 4)}") if dtype.kind in "biu" else dtype


def to_complex_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of complex numbers that goes with another."""
    return np.dtype(np.complex128 if to_inexact_dtype(dtype).char in "dD" else np.complex64)


def to_floating_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the parts of `to_inexact_dtype`."""
    dtype = to_inexact_dtype(dtype)
    return np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype


def to_numeric_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype, of booleans that of integers."""
    dtype = np.dtype(dtype)
    return np.dtype(np.int32) if dtype.kind == "b" else dtype


_FLOAT8 = "e3m4 e4m3 e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu"
_TOLERANCES = {
    **{f"float8_{name}": 0.1 for name in _FLOAT8.split()},
    "bfloat16": 1e-2,
    "float16": 1e-3,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float64": 1e-15,
    "complex128": 1e-15,
}


def tolerance(dtype: Any, tol: float | Mapping[Any, float] | None = None) -> float:
    """Return the tolerance of a dtype in JAX's tests: as given, for all dtypes or for some."""
    return gradients.tolerance(tol, [canonical(np.dtype(dtype))], _TOLERANCES)


def check_close(
    xs: Any,
    ys: Any,
    atol: float | Mapping[Any, float] | None = None,
    rtol: float | Mapping[Any, float] | None = None,
    err_msg: str = "",
) -> None:
    """Raise an AssertionError unless two pytrees are nearly equal, by JAX's tolerances."""

    def check(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape:
            raise AssertionError(f"{err_msg} shapes {x.shape} and {y.shape} differ".lstrip())
        bounds = {
            name: size * max(tolerance(x.dtype, tol), tolerance(y.dtype, tol))
            for name, tol, size in (("atol", atol, x.size), ("rtol", rtol, y.size))
        }
        x, y = (z.astype(np.float32) if z.dtype.kind == "V" else z for z in (x, y))
        given = {name: bound for name, bound in bounds.items() if bound}
        np.testing.assert_allclose(x, y, err_msg=err_msg, **given)

    tree.map(check, xs, ys)


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """Return f of the elements of sequences of one length."""
    return [f(*xs) for xs in zip(*args, strict=True)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the elements of sequences of one length, side by side."""
    return [*zip(*args, strict=True)]


unsafe_map, unsafe_zip = map, zip


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the first elements of pairs, and the second."""
    pairs = [*pairs]
    return tuple([x for x, _ in pairs]), tuple([y for _, y in pairs])


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Return a list in parts of the given lengths, and the rest."""
    args, parts = list(args), []
    for n in ns:
        parts.append(args[:n])
        args = args[n:]
    return [*parts, args]


def partition_list(bs: Sequence[bool], xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the elements where a flag is false, and those where it is true."""
    pairs = safe_zip(bs, xs)
    return [x for b, x in pairs if not b], [x for b, x in pairs if b]


def merge_lists(bs: Sequence[bool], l0: Sequence[Any], l1: Sequence[Any]) -> list[Any]:
    """Return the inverse of `partition_list`."""
    parts = iter(l0), iter(l1)
    return [next(parts[bool(b)]) for b in bs]


def subvals(lst: Sequence[Any], replace: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a sequence with elements replaced at places."""
    elements = list(lst)
    for i, x in replace:
        elements[i] = x
    return tuple(elements)


def wraps(wrapped: Any, namestr: str | None = None, docstr: str | None = None, **_: Any) -> Any:
    """Return a decorator that gives a function the name and documentation of another."""
    return functools.wraps(wrapped)


def cache(max_size: int | None = 4096, **_: Any) -> Any:
    """Return a decorator that remembers results."""
    return functools.lru_cache(maxsize=max_size)


weakref_lru_cache = functools.lru_cache


class _Nodes(dict[Any, Any]):
    """Classes of pytree nodes, for libraries that ask; named tuples are not in it."""

    def __contains__(self, cls: object) -> bool:
        if not isinstance(cls, type) or optree.is_namedtuple_class(cls):
            return False
        return optree.register_pytree_node.get(cls, namespace=NAMESPACE) is not None


_registry = _Nodes()
_backends: dict[str, Any] = {}


def get_backend(platform: Any = None) -> Any:
    """Return the runner of programs."""
    from fungrad.compat.jax.modules.extend import backend

    return backend.get_backend(platform)


def local_devices(*_: Any, **__: Any) -> list[Any]:
    """Return the one device."""
    return [CPU]


def auto_axes(fun: Any = None, /, **_: Any) -> Any:
    """Return the function, or a decorator that does: no axis lies along several devices."""
    return itself if fun is None else fun


explicit_axes = auto_axes


def backend_compile_and_load(*_: Any, **__: Any) -> Any:
    """Stand-in for XLA's caller, which is never used."""
    raise NotImplementedError("fungrad, in the place of jax, has no XLA")


backend_compile = backend_compile_and_load


class Handlers(dict[Any, Any]):
    """Registry of libraries' types: by default the identity. Nothing reads it."""

    def __missing__(self, key: Any) -> Any:
        return itself


pytype_aval_mappings, canonicalize_dtype_handlers = Handlers(), Handlers()
shard_arg_handlers, global_result_handlers = Handlers(), Handlers()


def max_dim(d1: Any, d2: Any) -> Any:
    """Return the greater one of two lengths."""
    return max(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """Return the lesser one of two lengths."""
    return min(d1, d2)


def find_top_trace(xs: Any) -> Any:
    """Return the innermost of the traces that values belong to; None of arrays."""
    traces = [x._owner for x in xs if type(x) is tracer.Tracer]
    return max(traces, key=lambda trace: trace.level, default=None)


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Return whether an axis has a name here."""
    return bool(open_axes())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Return the names of axes here."""
    return [*open_axes()]


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Return whether the function at hand is being traced without values."""
    trace = innermost_trace()
    return trace is not None and trace.values is None


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Return whether an axis is mapped here."""
    return bool(open_axes())


checkpoints = state_variable("checkpoints", 0)
"""How many calls of functions with `checkpoint` are going on: JAX traces these."""


def get_opaque_trace_state(convention: Any = None) -> Any:
    """Return a value that is equal while the same functions are being traced."""
    return innermost_trace(), checkpoints.get()


CompilerOptions = dict
Value = Any
Out = Any


class DebugInfo(NamedTuple):
    """Names of a program, its arguments and its results in messages."""

    traced_for: str = ""
    func_src_info: str = ""
    arg_names: Any = ()
    result_paths: Any = ()


@contextlib.contextmanager
def eval_context() -> Iterator[None]:
    """Compute the block at once, unless it depends on traced values."""
    with holding(current_trace, None):
        yield


vmappable: set[type] = set()
"""Classes that are mapped by functions of their own, which `vmap` refuses here."""


def register_vmappable(
    data_type: type,
    spec_type: Any,
    axis_size_type: Any,
    to_elt: Any,
    from_elt: Any,
    make_iota: Any,
) -> None:
    """Remember a class that `vmap` has to refuse."""
    vmappable.add(data_type)


def unregister_vmappable(data_type: type) -> None:
    """Forget a class."""
    vmappable.discard(data_type)


def is_vmappable(x: Any) -> bool:
    """Return whether an object is of a class that is mapped by functions of its own."""
    return type(x) in vmappable


def is_constant_dim(dim: Any) -> bool:
    """Return whether a length is known: all are."""
    return isinstance(dim, (int, np.integer))


def physical_aval(aval: Any) -> Any:
    """Return the type of the stored array."""
    return aval

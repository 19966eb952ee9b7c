"""Settings, switched within a `with` block, or for the whole process with `config.update`.

A block is for the thread or task that enters it. The environment variables FUNGRAD_DISABLE_JIT, FUNGRAD_DEBUG_NANS,
FUNGRAD_DEBUG_INFS, FUNGRAD_LOG_COMPILES, FUNGRAD_EXPLAIN_CACHE_MISSES, FUNGRAD_STRICT_CONVERSIONS,
FUNGRAD_STRICT_DEPENDENCE, FUNGRAD_DEBUG_KEY_REUSE and FUNGRAD_INEXACT_ALGEBRA, set to 1, switch settings of the process on.
FUNGRAD_READING, FUNGRAD_THREEFRY_PARTITIONABLE, FUNGRAD_ENABLE_X64 and FUNGRAD_GPU_GRAPHS, set to 0, switch theirs off. FUNGRAD_DEFAULT_DEVICE is the name of a
device (`fungrad.device`).

FUNGRAD_COMPILE says when kernels are compiled (docs/compiler.md): `background`, once a program has run a few times, which is the default;
`eager`, before it first runs; or `off`. FUNGRAD_NUM_THREADS is the number of threads that large kernels run on. FUNGRAD_CACHE_DIR is the
folder where they are kept for other processes, or `off`.
"""

from __future__ import annotations

import difflib
from contextlib import AbstractContextManager
from typing import Any

from fungrad.conventions import enable_x64, failures, out_of_bounds, promotion
from fungrad.core.config import (
    CONVENTIONS,
    check_convention,
    process_settings,
    setting,
    settings,
)
from fungrad.core.glossary import COMMON
from fungrad.device import find_device
from fungrad.leaks import checking_leaks
from fungrad.limits import memory_limit
from fungrad.numpy.names import tell_missing

__all__ = [
    "Config",
    "checking_leaks",
    "config",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "disable_jit",
    "enable_x64",
    "explain_cache_misses",
    "failures",
    "inexact_algebra",
    "log_compiles",
    "memory_limit",
    "out_of_bounds",
    "promotion",
    "reading",
    "strict_conversions",
    "strict_dependence",
    "threefry_partitionable",
]
__dir__ = __all__.copy
tell_missing(globals())

_FIELDS = {
    "disable_jit": "jit_disabled",
    "debug_nans": "nans_checked",
    "debug_infs": "infs_checked",
    "log_compiles": "compiles_logged",
    "explain_cache_misses": "misses_explained",
    "strict_conversions": "conversions_checked",
    "strict_dependence": "dependence_checked",
    "reading": "reading",
    "debug_key_reuse": "key_reuse_checked",
    "threefry_partitionable": "threefry_partitionable",
    "inexact_algebra": "inexact_algebra",
    "memory_limit": "memory_limit",
    "promotion": "promotion",
    "enable_x64": "enable_x64",
    "out_of_bounds": "out_of_bounds",
    "failures": "failures",
    "gpu_graphs": "gpu_graphs",
    "default_device": "default_device",
}

_ADVICE = {
    "check_tracer_leaks": "use the context manager fungrad.checking_leaks()",
    "numpy_dtype_promotion": "dtypes are promoted as NumPy does, or as JAX does with config.update('promotion', 'jax')",
    "platforms": "programs run where their arrays are: NumPy's on the CPU, CuPy's on the GPU",
    "platform_name": "programs run where their arrays are: NumPy's on the CPU, CuPy's on the GPU",
    "default_matmul_precision": "products have the precision of their dtype",
}


class Config:
    """The settings of the process, by the names that JAX has for them, with or without ``jax_`` in front.

    Examples
    --------
    >>> import fungrad as fg
    >>> config.update("jax_debug_nans", True)  # as JAX names it
    >>> config.debug_nans, config.read("debug_nans")
    (True, True)
    >>> config.update("debug_nans", False)
    """

    def update(self, name: str, value: Any) -> None:
        """Change a setting of the process, for all threads.

        Raises
        ------
        AttributeError
            If there is no setting of that name.
        TypeError
            If `value` is neither True nor False, or no device where one is set.
        ValueError
            If `value` is none of the names that a convention has.
        RuntimeError
            If there is no such device here.
        """
        field = self._field(name)
        if field == "default_device":
            value = None if value is None else find_device(value, "fungrad.config: default_device")
        elif field in CONVENTIONS:
            check_convention(field, value)
        elif field == "memory_limit":
            memory_limit(value)  # checks it
        elif not isinstance(value, bool):
            raise TypeError(f"fungrad.config: {name} is True or False, not {value!r}")
        process_settings.set(field, value)
        if settings.get() is not process_settings:  # in a block, of which the rest stays
            settings.get().set(field, value)

    def read(self, name: str) -> Any:
        """Return a setting.

        Raises
        ------
        AttributeError
            If there is no setting of that name.
        """
        return getattr(self, name)

    def _plain(self, name: str) -> str:
        return name.removeprefix("jax_").removeprefix("fungrad_")

    def _field(self, name: str) -> str:
        plain = self._plain(name)
        if plain in _FIELDS:
            return _FIELDS[plain]
        if plain in _ADVICE:
            raise AttributeError(f"fungrad.config has no {name!r}: {_ADVICE[plain]}")
        close = difflib.get_close_matches(plain, _FIELDS, 1)
        hint = f"did you mean {close[0]!r}? It" if close else "it"
        raise AttributeError(f"fungrad.config has no {name!r}; {hint} has {', '.join(_FIELDS)}")

    def __getattr__(self, name: str) -> Any:
        return getattr(settings.get(), self._field(name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"write fungrad.config.update({name!r}, {value!r})")

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={getattr(self, name)}' for name in _FIELDS)})"


config = Config()


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Return a context in which jitted functions, loops and branches of `lax` run as plain Python.

    So ``print`` and debuggers see values, line by line, except for what `vmap` maps over.

    Examples
    --------
    >>> import fungrad as fg
    >>> @fg.jit
    ... def f(x):
    ...     print("x is", x)
    ...     return 2 * x
    >>> with disable_jit():
    ...     print(f(3.0))
    x is 3.0
    6.0
    """
    return setting(jit_disabled=disable)


@COMMON.documented
def debug_nans(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which a program that computes a NaN raises FloatingPointError.

    The error names the operation, the user's line, and whether it arose in the derivative or in the backward pass.
    NaN that does not reach a result, as in the branch that ``where`` throws away, is no error. Programs run
    operation by operation, which is slower. Of loops and branches that Python runs, and of functions with rules of
    their own, each result is looked at. What NumPy computes outside of these and of transformed functions is not
    seen: numpy.seterr(all="raise") is for that.

    Examples
    --------
    >>> with debug_nans(), np.errstate(invalid="ignore"):
    ...     try:
    ...         fg.jit(fnp.log)(np.array([1.0, -1.0]))
    ...     except FloatingPointError as error:
    ...         print(str(error).split(", at")[0])
    `log` of float64[2] gave nan in its result of type float64[2], first at index (1,)
    """
    return setting(nans_checked=new_val)


@COMMON.documented
def debug_infs(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which a program that computes an infinity raises FloatingPointError.

    As `debug_nans`.

    Examples
    --------
    >>> with debug_infs(), np.errstate(over="ignore"):
    ...     try:
    ...         fg.jit(fnp.exp)(1000.0)
    ...     except FloatingPointError as error:
    ...         print(str(error).split(", at")[0])
    `exp` of float64[] gave inf in its result of type float64[]
    """
    return setting(infs_checked=new_val)


def log_compiles(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which `jit` logs compilations and their times.

    The logger of the standard library's `logging` is "fungrad", the level WARNING.

    Examples
    --------
    >>> import logging
    >>> import fungrad as fg
    >>> logging.getLogger("fungrad").addFilter(lambda r: print(r.getMessage().split(" in ")[0]))
    >>> with log_compiles():
    ...     _ = fg.jit(lambda x: x + 1)(2.0)
    compiled jit(<lambda>) for float64[]
    >>> logging.getLogger("fungrad").filters.clear()
    """
    return setting(compiles_logged=new_val)


@COMMON.documented
def explain_cache_misses(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which `jit` logs why it traces: the difference to the nearest known call.

    The logger of the standard library's `logging` is "fungrad", the level WARNING.

    Examples
    --------
    >>> import logging
    >>> logging.getLogger("fungrad").addFilter(lambda r: print(r.getMessage()))
    >>> f = fg.jit(lambda x: x + 1)
    >>> with explain_cache_misses():
    ...     _ = f(np.ones(10)), f(np.ones(11))
    traced jit(<lambda>): this is its first call
    retraced jit(<lambda>): argument x went from float64[10] to float64[11]
    >>> logging.getLogger("fungrad").filters.clear()
    """
    return setting(misses_explained=new_val)


def strict_conversions(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context that reports lines which may cut a derivative or take a wrong branch unnoticed.

    Each line gets one `StrictConversionWarning`. Under differentiation: ``float(x)``, ``complex(x)``, ``x.item()`` and ``x.tolist()``, if
    `x` depends on the differentiated arguments. Under every transform: ``isinstance(x, C)``, class patterns of ``match``, and
    ``np.isscalar(x)``, if they are false for the tracer and true for the array that it stands for. To make errors of
    them: ``warnings.simplefilter("error", fungrad.StrictConversionWarning)``.

    Tests that do not involve the tracer go unseen: ``type(x) is float``, and classes that the line does not name, such as those in a
    tuple that an expression makes. ``int(x)`` is not reported, for its derivative is zero; nor is isinstance within libraries.

    Examples
    --------
    >>> import fungrad as fg
    >>> with strict_conversions():
    ...     print(fg.grad(lambda x: x * x if isinstance(x, fg.Array) else x)(3.0))  # nothing to report
    6.0
    """
    return setting(conversions_checked=new_val)


def strict_dependence(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which a result independent of the differentiated arguments is an error.

    The `LostDerivativeError` names the leaves of the arguments that have no part in the result. It is raised by `grad`,
    `value_and_grad`, `vjp`, `jvp`, `linearize`, `jet`, and what is made of them; so derivatives of derivatives that are constant are
    errors too: ``grad(grad(f))`` of a linear function.

    Examples
    --------
    >>> import fungrad as fg
    >>> with strict_dependence():
    ...     try:
    ...         fg.grad(lambda p: p["w"] ** 2 + int(p["b"]))({"w": 2.0, "b": 3.0})
    ...     except fg.LostDerivativeError as error:
    ...         print(str(error).split(",")[0])
    grad(<lambda>): the result does not depend on argument 0['b']
    """
    return setting(dependence_checked=new_val)


def reading(enabled: bool = True) -> AbstractContextManager[None]:
    """Return a context in which transforms read the functions that they run, or take them as they are.

    It is on by default. Without it, as in JAX, only NumPy's functions that ask their arguments take traced values.
    ``math.sin`` is an error, loops are unrolled, and a condition that depends on an argument has no value under
    `jit`. Functions that have been compiled stay as they are. For one function there is `fungrad.as_written`;
    `fungrad.explain` says what reading makes of one.

    Examples
    --------
    >>> import math
    >>> import fungrad as fg
    >>> print(fg.grad(lambda x: math.sin(x))(0.0))
    1.0
    >>> with fg.settings.reading(False):
    ...     try:
    ...         fg.grad(lambda x: math.sin(x))(0.0)
    ...     except fg.LostDerivativeError:
    ...         print("write fungrad.numpy.sin")
    write fungrad.numpy.sin
    """
    return setting(reading=enabled)


@COMMON.documented
def debug_key_reuse(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which drawing random numbers twice from one key is an error.

    The `KeyReuseError` names both lines. Checked are typed keys (`fungrad.random.key`), by their value, when programs run: in
    loops too, and for each of the keys that `vmap` maps over. `fungrad.random.split` uses a key as drawing does;
    `fungrad.random.fold_in` does not, and `fungrad.random.clone` allows for one more use. Remembered are the 65,536 keys
    last met with within the block.

    Examples
    --------
    >>> from fungrad import random
    >>> key = random.key(0)
    >>> with debug_key_reuse():
    ...     x = random.normal(key)
    ...     try:
    ...         y = random.uniform(key)
    ...     except fg.KeyReuseError as error:
    ...         print(str(error).split(" at ")[0])
    random.uniform uses a key that random.normal has used,
    """
    return setting(key_reuse_checked=new_val)


@COMMON.documented
def threefry_partitionable(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which `fungrad.random` gives each number a counter of its own, or does not.

    It is on by default, as it is in JAX since 0.5. With False the same keys give the numbers that they gave in JAX before.

    Examples
    --------
    >>> from fungrad import random
    >>> print(random.bits(random.key(0), (2,), np.uint32))
    [4070199207 4202968722]
    >>> with threefry_partitionable(False):
    ...     print(random.bits(random.key(0), (2,), np.uint32))
    [ 928981903 3453687069]
    """
    return setting(threefry_partitionable=new_val)


@COMMON.documented
def inexact_algebra(new_val: bool = True) -> AbstractContextManager[None]:
    """Return a context in which `jit` may rewrite programs by rules that change how results are rounded.

    What is divided by a constant is multiplied by its reciprocal, and common factors are taken out of sums: ``x * y + x * z``
    becomes ``x * (y + z)``, for products of matrices too. Sums may overflow where products did not. It is off by default.

    Examples
    --------
    >>> import fungrad as fg
    >>> A, x, y = np.eye(2), np.ones(2), np.zeros(2)
    >>> with inexact_algebra():
    ...     print(fg.jit(lambda A, x, y: A @ x + A @ y).lower(A, x, y).simplified)
    { lambda a:float64[2,2] b:float64[2] c:float64[2] .
      d:float64[2] = add b c
      e:float64[2] = dot_general[contracting=((1,), (0,))] a d
      return (e,) }
    """
    return setting(inexact_algebra=new_val)

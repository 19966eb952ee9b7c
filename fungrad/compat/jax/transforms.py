"""Transforms of fungrad with JAX's signatures, for arrays as JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import fungrad
from fungrad.compat.jax import refs, threaded
from fungrad.compat.jax.arguments import refuse
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.crossing import (
    Crossed,
    leave,
    leave_tree,
    narrowed,
    received_tree,
    receiving,
)
from fungrad.compat.jax.private import checkpoints, is_vmappable, vmappable
from fungrad.compat.jax.results import Lowered, Traced
from fungrad.compat.jax.x64 import canonical
from fungrad.core import tree
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_array
from fungrad.transforms.entry import Programs
from fungrad.transforms.linear import Pullback

_TRANSFORMS = """
grad value_and_grad jacfwd jacrev jacobian hessian
"""
TRANSFORMS = frozenset(_TRANSFORMS.split())
"""Those that return a function."""

AS_IT_IS = """
make_jaxpr eval_shape disable_jit checking_leaks debug_nans debug_infs log_compiles
explain_cache_misses debug_key_reuse threefry_partitionable closure_convert named_call
ensure_compile_time_eval
"""

_view, _ndarray = np.ndarray.view, np.ndarray


class Jitted(Crossed):
    """A jitted function."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if refs.ever and ("passing" in vars(self) or threaded.references(args, kwargs)):
            return self._passing(args, kwargs)
        given = [
            _view(x, _ndarray) if type(x) is Array else narrowed(x) if type(x) is _ndarray else x
            for x in args
        ]
        try:
            result = self.inner(*given, **kwargs) if kwargs else self.inner(*given)
        except refs.ElsewhereError as error:
            if error.ref.belongs_to != refs.home():
                raise
            return self._passing(args, kwargs)
        if type(result) is not _ndarray:
            return leave_tree(result)
        return _view(result, Array) if result.itemsize < 8 else leave(result)

    def _passing(self, args: Any, kwargs: Any) -> Any:
        """Call with references among the arguments or captures: their arrays go in, and come back."""
        own = vars(self)
        if "passing" not in own:
            own["passing"] = threaded.Passing(self.inner)
        return leave_tree(own["passing"](args, kwargs))

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for the types of the arguments, without running."""
        return Traced(self.inner.trace(*args, **kwargs))

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Likewise, to be compiled."""
        return Lowered(self.inner.lower(*args, **kwargs))

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return shapes and dtypes of the results."""
        return fungrad.eval_shape(self.inner, *args, **kwargs)

    def __reduce__(self) -> Any:
        return Jitted, (self.inner,)


def jit(
    fun: Any = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: Any = None,
    inline: bool = False,
    compiler_options: Any = None,
) -> Any:
    """Return `fun` compiled by types of arguments; shardings, devices and compiler options are ignored."""
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "inline": inline,
    }
    if fun is None:
        return functools.partial(jit, **options)
    if isinstance(fun, Crossed) and not callable(fun):
        raise TypeError(f"jit takes a function, not {fun!r}")
    made: Any = fungrad.jit(fun, **options)
    if type(fun) is FunctionType:
        made.programs = _programs_of(fun, made)
    return Jitted(made)


def _programs_of(fun: FunctionType, jitted: Any) -> Programs:
    """Return the programs of all ``jit(f)`` of a function with equal static arguments."""
    if len(_programs) >= _FUNCTIONS:
        _programs.clear()  # what a function is compiled to may hold it
    _, (_, *options) = jitted.recipe()
    static = tuple(options[:2])
    return _programs.setdefault(fun, {}).setdefault(static, jitted.programs)


_FUNCTIONS = 2048
_programs: WeakKeyDictionary[FunctionType, dict[Any, Programs]] = WeakKeyDictionary()


def clear_caches() -> None:
    """Forget all compiled programs."""
    functions = [
        reference() for reference in _programs.keyrefs()
    ]  # in one step, which no iterator is
    for by_options in [_programs.get(fun, {}) for fun in functions if fun is not None]:
        for programs in [*by_options.values()]:
            programs.clear()


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Any:
    """Return `fun` mapped over axes; an unmapped argument may be anything, such as a function."""
    if sum_match:
        refuse("vmap", "sum_match")
    if vmappable:
        fun = _unmapped(fun)
    mapped = Crossed(fungrad.vmap(fun, in_axes, out_axes, axis_name, axis_size))
    if not isinstance(in_axes, tuple | list) or not any(a is None for a in in_axes):
        return mapped

    @functools.wraps(fun, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        pairs = [*zip(in_axes, args, strict=False)]
        unmapped = {i: x for i, (a, x) in enumerate(pairs) if a is None}
        fixed = {i: x for i, x in unmapped.items() if not all(map(is_array, tree.leaves(x)))}
        if not fixed:
            return mapped(*args, **kwargs)

        def of_others(*others: Any, **kwargs: Any) -> Any:
            rest = iter(others)
            given = [fixed[i] if i in fixed else next(rest) for i in range(len(args))]
            return fun(*given, **kwargs)

        axes, others = zip(*[pair for i, pair in enumerate(pairs) if i not in fixed], strict=True)
        return Crossed(fungrad.vmap(of_others, axes, out_axes, axis_name, axis_size))(
            *others, **kwargs
        )

    return call


def _unmapped(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fun` that refuses arguments of classes that are mapped by functions of their own."""

    @functools.wraps(fun, updated=())
    def checked(*args: Any, **kwargs: Any) -> Any:
        for x in tree.leaves((args, kwargs), is_leaf=is_vmappable):
            if is_vmappable(x):
                raise NotImplementedError(
                    f"vmap: fungrad, in the place of jax, does not map by the functions that {type(x).__name__} was given by "
                    "register_vmappable. Call the function in a loop"
                )
        return fun(*args, **kwargs)

    return checked


class Linearized(Crossed):
    """A linear function that a transform has returned: a pytree, so that it may be a result or a carry."""

    def __call__(self, /, *args: Any) -> Any:
        if isinstance(self.inner, Pullback) and len(args) == 1:
            args = (self.inner.without_integers(args[0]),)
        return leave_tree(self.inner(*args))

    def __reduce__(self) -> Any:
        return Linearized, (self.inner,)


tree.register_node(Linearized, lambda f: ((f.inner,), None), lambda _, parts: Linearized(*parts))


class _Checkpointed(Crossed):
    """A function whose derivative takes less memory: called with arrays, except static arguments."""

    def __init__(self, inner: Any, positions: Any, names: Any) -> None:
        super().__init__(inner)
        self.positions = (positions,) if isinstance(positions, int) else tuple(positions)
        self.names = (names,) if isinstance(names, str) else tuple(names)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args) for i in self.positions if -len(args) <= i < len(args)}
        given = [x if i in fixed else received_tree(x) for i, x in enumerate(args)]
        named = {k: x if k in self.names else received_tree(x) for k, x in kwargs.items()}
        with holding(checkpoints, checkpoints.get() + 1):
            return leave_tree(self.inner(*given, **named))

    def __reduce__(self) -> Any:
        return _Checkpointed, (self.inner, self.positions, self.names)


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Any = None,
    static_argnums: Any = (),
    static_argnames: Any = (),
    concrete: Any = ...,
) -> Any:
    """Return `fun` with a derivative that recomputes intermediate values."""
    options = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    inner = fungrad.checkpoint(fun, policy=policy, concrete=concrete not in (..., False), **options)
    return _Checkpointed(inner, static_argnums, static_argnames)


def remat(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Any = None,
    static_argnums: Any = (),
    concrete: Any = ...,
) -> Any:
    """Return `checkpoint` of a function."""
    return checkpoint(fun, policy=policy, static_argnums=static_argnums, concrete=concrete)


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()
) -> Any:
    """Return the results and the function that pulls cotangents back."""
    value, pullback, *aux = fungrad.vjp(fun, *primals, has_aux=has_aux)
    return (leave_tree(value), Linearized(pullback), *map(leave_tree, aux))


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the results and the linear function of tangents."""
    value, pushed, *aux = fungrad.linearize(fun, *primals, has_aux=has_aux)
    return (leave_tree(value), Linearized(pushed), *map(leave_tree, aux))


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Any:
    """Return the transpose of a linear function."""
    return Linearized(fungrad.linear_transpose(fun, *primals))


class _Ruled(Crossed):
    """A function with rules of one's own, which are called with arrays as JAX's."""

    transform: Any

    def __init__(self, fun: Any, nondiff_argnums: Any = (), nondiff_argnames: Any = ()) -> None:
        options = {"nondiff_argnames": nondiff_argnames} if nondiff_argnames else {}
        super().__init__(self.transform(receiving(fun, False), nondiff_argnums, **options))
        functools.update_wrapper(self, fun, updated=())

    def __reduce__(self) -> Any:
        return _ruled, (type(self), self.inner)


def _ruled(cls: type[_Ruled], inner: Any) -> Any:
    made = object.__new__(cls)
    made.inner = inner
    return made


class custom_jvp(_Ruled):
    """A function with a rule for tangents."""

    transform = staticmethod(fungrad.custom_jvp)

    def defjvp(self, jvp: Any, symbolic_zeros: bool = False) -> Any:
        """Set the rule for tangents."""
        options = {"symbolic_zeros": True} if symbolic_zeros else {}
        self.inner.defjvp(receiving(jvp, False), **options)
        return jvp

    def defjvps(self, *jvps: Any) -> None:
        """Set the rules for tangents of the arguments one by one."""
        self.inner.defjvps(*[f if f is None else receiving(f, False) for f in jvps])


class custom_vjp(_Ruled):
    """A function with a rule for cotangents."""

    transform = staticmethod(fungrad.custom_vjp)

    def defvjp(
        self, fwd: Any, bwd: Any, symbolic_zeros: bool = False, optimize_remat: bool = False
    ) -> None:
        """Set the rules for cotangents."""
        options = {"symbolic_zeros": True} if symbolic_zeros else {}
        self.inner.defvjp(receiving(fwd, False), receiving(bwd, False), **options)


def custom_gradient(fun: Any) -> Any:
    """Return the function whose results and pullback `fun` gives."""
    return Crossed(fungrad.custom_gradient(receiving(fun, False)))


def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: Any = False,
    may_alias: Any = None,
) -> Any:
    """Return a pytree with arrays of its leaves; there is one device, which they are on."""
    return received_tree(x)


def typeof(x: Any) -> Any:
    """Return shape and dtype, of 32 bits where there are no numbers of 64."""
    if isinstance(x, refs.Referring):
        return refs.AbstractRef(fungrad.typeof(x[...]))
    found = fungrad.typeof(x)
    return found if type(x) is Tracer else found.update(dtype=canonical(found.dtype))


def device_get(x: Any) -> Any:
    """Return a pytree with its arrays as NumPy's own, which iterate over numbers; tracers as they are."""

    def plain(leaf: Any) -> Any:
        if type(leaf) is Tracer:
            return leaf
        leaf = fungrad.device_get(leaf)
        return np.asarray(leaf) if isinstance(leaf, (_ndarray, np.generic)) else leaf

    return tree.map(plain, x)


def make_array_from_callback(
    shape: Any, sharding: Any, data_callback: Any, dtype: Any = None
) -> Any:
    """Return the array that a function gives for the only part of it."""
    return leave(np.asarray(data_callback((slice(None),) * len(shape)), dtype))


def print_environment_info(return_string: bool = False) -> Any:
    """Print facts about fungrad and NumPy here."""
    return (
        f"fungrad {fungrad.__version__}, NumPy {np.__version__}"
        if return_string
        else fungrad.show_config()
    )

"""Arguments and results as lists of leaves: names of `jax.api_util` that packages use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fungrad import tree, typeof
from fungrad.extend.linear_util import Store, WrappedFun, transformation2, transformation_with_aux2
from fungrad.tree_util import PyTreeDef

__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "safe_zip",
    "shaped_abstractify",
]
__dir__ = __all__.copy

shaped_abstractify = typeof


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """Return the list of results of `f` for the elements of sequences, which must be of one length.

    Examples
    --------
    >>> safe_map(lambda x, y: x + y, [1, 2], [10, 20])
    [11, 22]
    """
    return [f(*xs) for xs in zip(*args, strict=True)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the list of tuples of the elements of sequences, which must be of one length.

    Examples
    --------
    >>> safe_zip([1, 2], "ab")
    [(1, 'a'), (2, 'b')]
    """
    return list(zip(*args, strict=True))


@transformation_with_aux2
def flatten_fun(f: Callable[..., Any], store: Store, in_tree: PyTreeDef, *args_flat: Any) -> Any:
    """Make of a function of arguments and keywords one of their leaves, which returns those of its result.

    ``flatten_fun(fun, in_tree)`` returns that, and a thunk of the structure of the result.
    """
    args, kwargs = tree.unflatten(in_tree, args_flat)
    leaves, structure = tree.flatten(f(*args, **kwargs))
    store.store(structure)
    return leaves


@transformation_with_aux2
def flatten_fun_nokwargs(
    f: Callable[..., Any], store: Store, in_tree: PyTreeDef, *args_flat: Any
) -> Any:
    """Like `flatten_fun`, of a function without keywords."""
    leaves, structure = tree.flatten(f(*tree.unflatten(in_tree, args_flat)))
    store.store(structure)
    return leaves


@transformation2
def _with_fixed(
    f: Callable[..., Any], dyn_argnums: Any, fixed: Any, *dyn_args: Any, **kwargs: Any
) -> Any:
    args = [None if x is None else x.val for x in fixed]
    for i, x in zip(dyn_argnums, dyn_args, strict=True):
        args[i] = x
    return f(*args, **kwargs)


class _Fixed:
    """An argument that is given."""

    def __init__(self, val: Any) -> None:
        self.val = val


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Return a function of some of its arguments, the others being given, and these.

    Examples
    --------
    >>> from fungrad.extend.linear_util import wrap_init
    >>> f, given = argnums_partial(wrap_init(lambda x, y: x - y), 1, (10, 3))
    >>> f.call_wrapped(*given), f.call_wrapped(4)
    (7, 6)
    """
    chosen = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    chosen = tuple([i % len(args) for i in chosen])
    fixed = tuple([None if i in chosen else _Fixed(x) for i, x in enumerate(args)])
    return _with_fixed(f, chosen, fixed), tuple([args[i] for i in chosen])


def debug_info(
    traced_for: str, fun: Callable[..., Any], args: Any, kwargs: Any, **options: Any
) -> str:
    """Return the name of a function in notes.

    Examples
    --------
    >>> debug_info("jit", max, (1, 2), {})
    'max for jit'
    """
    return f"{getattr(fun, '__name__', '<unknown>')} for {traced_for}"


def flatten_axes(
    name: str,
    treedef: PyTreeDef,
    axis_tree: Any,
    *,
    kws: bool = False,
    tupled_args: bool = False,
) -> list[Any]:
    """Return the entry of a prefix, such as an axis or None, for each leaf of a tree.

    Examples
    --------
    >>> import fungrad as fg
    >>> flatten_axes("vmap in_axes", fg.tree.structure((1, (2, 3))), (None, 0))
    [None, 0, 0]
    """
    from fungrad.tree import broadcast

    filled = tree.unflatten(treedef, [object()] * treedef.num_leaves)
    chosen = broadcast(axis_tree, filled, is_leaf=lambda x: x is None)
    return tree.leaves(chosen, lambda x: x is None)


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: PyTreeDef,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Return which leaves of the arguments are donated.

    Examples
    --------
    >>> import fungrad as fg
    >>> donation_vector((0,), (), fg.tree.structure((((1, 2), 3), {})))
    (True, True, False)
    """
    args, kwargs = in_tree.children() if kws else (in_tree, None)
    flags = [(i in donate_argnums, child.num_leaves) for i, child in enumerate(args.children())]
    if kwargs is not None:
        pairs = zip(kwargs.entries(), kwargs.children(), strict=True)
        flags += [(name in donate_argnames, child.num_leaves) for name, child in pairs]
    return tuple([flag for flag, count in flags for _ in range(count)])


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Return positions among the arguments that are not static.

    Examples
    --------
    >>> rebase_donate_argnums((2, 3), static_argnums=(0,))
    (1, 2)
    """
    fixed = {*static_argnums}
    return tuple(sorted([i - sum(j < i for j in fixed) for i in donate_argnums if i not in fixed]))

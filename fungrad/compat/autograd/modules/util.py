"""``autograd.util``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import attributes

__getattr__ = attributes("autograd.util", ABSENT)
deprecation_msg = "quick_grad_check has become autograd.test_util.check_grads"


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a sequence as a tuple with others in some places."""
    new = list(x)
    for i, v in ivs:
        new[i] = v
    return tuple(new)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a sequence as a tuple with another in one place."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """Return a function as it is."""
    return f


def toposort(
    end_node: Any, parents: Callable[[Any], Iterable[Any]] = operator.attrgetter("parents")
) -> Iterator[Any]:
    """Yield a node and its ancestors, each after all of its descendants."""
    children: dict[Any, int] = {}
    pending = [end_node]
    while pending:
        node = pending.pop()
        children[node] = children.get(node, 0) + 1
        if children[node] == 1:
            pending.extend(parents(node))
    free = [end_node]
    while free:
        node = free.pop()
        yield node
        for parent in parents(node):
            children[parent] -= 1
            if not children[parent]:
                free.append(parent)


def quick_grad_check(
    fun: Any, arg0: Any, extra_args: Any = (), kwargs: Any = None, **ignored: Any
) -> None:
    """Check the derivative of a function by its first argument against differences."""
    from fungrad.compat.autograd.modules.test_util import check_grads

    check_grads(lambda x: fun(x, *extra_args, **kwargs or {}), modes=["rev"], order=1)(arg0)

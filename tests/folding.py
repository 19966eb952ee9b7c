"""One test in the place of many small ones: `each` goes over cases where `pytest.mark.parametrize` makes a test of each.

A test costs about a millisecond before it runs, in every process of a parallel run, and as much again while it runs. For
cases that take no longer, such as what holds for each public name, that is most of the time. Each case that fails is still
named, with its traceback, and the others go on.
"""

import functools
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

SHARED = ("xp", "pytestconfig")
"""Fixtures of tests/conftest.py and of pytest that are the same for the whole run."""
WIDE = ("session", "package", "module")
"""Scopes of fixtures that cases share."""
NARROW = (
    *("rng", "request", "subtests", "monkeypatch", "tmp_path", "recwarn"),
    *("capsys", "capfd", "capsysbinary", "capfdbinary", "caplog"),
)
"""Fixtures that are made for each test, and are refused before it runs; others are when it does."""

_FIXTURE, _PARAMETERS = type(pytest.fixture(lambda: None)), type(pytest.param())
_REPORTED = (Exception, pytest.skip.Exception, pytest.fail.Exception)  # all but what ends the run

Cases = Iterable[Any] | Callable[[], Iterable[Any]]
Ids = Callable[[Any], str] | Sequence[str] | None


class _Axis(NamedTuple):
    """What one decorator says."""

    names: Sequence[str]
    cases: Cases
    ids: Ids


def each(names: str | Sequence[str], cases: Cases, ids: Ids = None) -> Callable:
    """Return a decorator: a test goes over `cases`. The arguments are those of `pytest.mark.parametrize`.

    `cases` may be a function that returns them. It is called when the test runs, so that collecting tests is spared what it
    costs. Decorators in a stack make the product of their cases; ``pytest.mark.parametrize`` makes a test of each of its own.

    A test of many cases has each fixture once. So it takes those of the session alone, and those that its own file makes
    once for a module or more. Others, such as `rng`, `tmp_path` and `monkeypatch`, are refused.
    """
    axis = _Axis(_split(names), cases, ids)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        inner, axes = getattr(function, "folded", (function, ()))
        axes = (*axes, axis)  # the lowest decorator comes first, as in the names of pytest
        taken = [name for one in axes for name in one.names]
        _refuse(inner, taken, function, whole=False)

        @functools.wraps(function)
        def test(subtests: pytest.Subtests, **fixtures: Any) -> None:
            __tracebackhide__ = True
            _refuse(inner, taken, test, whole=True)
            cases = _product(axes)
            run_each(subtests, ((x, functools.partial(inner, **a, **fixtures)) for x, a in cases))

        asked = [name for name in inspect.signature(inner).parameters if name not in taken]
        test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(x, inspect.Parameter.KEYWORD_ONLY) for x in ("subtests", *asked)]
        )
        test.folded = (inner, axes)  # type: ignore[attr-defined]
        return test

    return decorate


def run_each(subtests: pytest.Subtests, cases: Iterable[tuple[str, Callable[[], None]]]) -> None:
    """Run all cases, each a name and what it runs; then fail if one of them did, with the names of those that did."""
    __tracebackhide__ = True
    count, failed = 0, []
    for label, run in cases:
        count += 1
        try:
            run()
        except _REPORTED as error:
            if not isinstance(error, pytest.skip.Exception | pytest.xfail.Exception):
                failed.append(label)
            with subtests.test(label):  # for these alone: it takes as long as a small case
                raise
    if not count:
        pytest.skip("there are no cases")
    if failed:
        names = ", ".join(failed)
        pytest.fail(f"{len(failed)} of {count} cases failed: {names}", pytrace=False)


def _split(names: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]


def _refuse(function: Callable, taken: Sequence[str], decorated: Callable, whole: bool) -> None:
    """Raise for names that are no parameters, and for fixtures that each case needs anew.

    A parameter that nothing is known of may be that of a decorator above, until `decorated` has the `whole` stack.
    """
    parameters = inspect.signature(function).parameters
    if len({*taken}) < len(taken) or not {*taken} <= {*parameters}:
        raise TypeError(f"{function.__name__}{inspect.signature(function)} is given {taken}")
    asked = [name for name in parameters if name not in taken]
    allowed, narrow = {*SHARED}, {*NARROW}
    for mark in getattr(decorated, "pytestmark", ()):
        if mark.name == "parametrize":
            allowed |= {*_split(mark.args[0])}
        elif mark.name == "usefixtures":
            asked += mark.args
    for name, value in function.__globals__.items():
        if isinstance(value, _FIXTURE):
            marker = value._fixture_function_marker  # pytest has no public way to ask
            (allowed if marker.scope in WIDE else narrow).add(name)
            if marker.autouse:
                asked.append(name)
    refused = [x for x in asked if x in narrow or (whole and x not in allowed)]
    if refused:
        raise TypeError(
            f"`each` runs all cases of {function.__name__} in one test, where they would share a fixture ({', '.join(refused)}): "
            "write pytest.mark.parametrize in place of `each`"
        )


def _product(axes: Sequence[_Axis]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each case, as pytest writes it, and its arguments."""
    for cases in itertools.product(*map(_labelled, axes)):
        arguments = {name: value for _, values in cases for name, value in values.items()}
        yield "-".join(label for label, _ in cases), arguments


def _labelled(axis: _Axis) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the arguments of each case of one decorator."""
    found = []
    for i, case in enumerate(axis.cases() if callable(axis.cases) else axis.cases):
        label, values = None, case if len(axis.names) > 1 else (case,)
        if isinstance(case, _PARAMETERS):
            if case.marks:
                raise TypeError(f"marks go with a test, not with a case: {case}")
            label, values = case.id, case.values
        if label is None and isinstance(axis.ids, Sequence):
            label = axis.ids[i]
        if label is None:
            name = axis.ids or functools.partial(_name, i)
            label = "-".join(map(name, values))
        found.append((label, dict(zip(axis.names, values, strict=True))))
    counts = Counter(label for label, _ in found)
    for i, (label, arguments) in enumerate(found):
        yield label if counts[label] == 1 else f"{label}:{i}", arguments


def _name(i: int, value: Any) -> str:
    if isinstance(value, str | int | float | complex | None):
        return str(value)
    return getattr(value, "__name__", f"case {i}")

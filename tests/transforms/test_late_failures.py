"""What can fail and cannot be caught on the way is computed with the rest; its error is raised all the same."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])
BAD = np.array([[1.0, 2.0], [2.0, 1.0]])


def checked_alone(a):
    fnp.linalg.cholesky(a)
    return fnp.sum(a * a)


def not_differentiated(a):
    return fnp.sum(a * a) + fg.stop_gradient(fnp.sum(fnp.linalg.cholesky(a)))


def in_comprehension(a):
    return sum([fnp.sum(fnp.linalg.cholesky(k * a)) for k in (1, 2)])


def asked_for_where_caught(a):
    root = fnp.linalg.cholesky(a)

    def first(root):
        try:
            return root[0, 0] if root[0, 0] > 0 else root[1, 1]
        except np.linalg.LinAlgError:
            return 0.0

    return fnp.sum(a) + first(root)


def followed_by_another(a):
    root = fnp.linalg.cholesky(a)
    if a[0, 1] > 1:
        raise KeyError("later")
    return fnp.sum(root)


UNCAUGHT = [
    checked_alone,
    not_differentiated,
    in_comprehension,
    asked_for_where_caught,
    followed_by_another,
]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("f", UNCAUGHT)
def test_the_error_is_that_of_the_first_that_fails(f, nested):
    gradient = fg.grad(lambda a: fnp.sum(fg.grad(f)(a))) if nested else fg.value_and_grad(f)
    for matrix in (GOOD, BAD, GOOD, BAD, BAD):
        if matrix is GOOD:
            gradient(matrix)
            continue
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite") as caught:
            gradient(matrix)
        assert f"(in {f.__name__}" in caught.value.__notes__[0] or f is in_comprehension


def caught_here(a):
    try:
        return fnp.sum(fnp.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        return 3 * fnp.sum(a)


def caught_further_out(a):
    class Forgiving:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, traceback):
            return kind is np.linalg.LinAlgError

    with Forgiving():
        return checked_alone(a)
    return 3 * fnp.sum(a)


@pytest.mark.parametrize("f", [caught_here, caught_further_out])
def test_what_the_function_catches_is_raised_within(f):
    for _ in range(3):
        np.testing.assert_array_equal(fg.grad(f)(BAD), np.full((2, 2), 3.0))


def test_an_outer_function_catches_what_an_inner_gradient_raises():
    def f(a):
        try:
            return fnp.sum(fg.grad(in_comprehension)(a))
        except np.linalg.LinAlgError:
            return 3 * fnp.sum(a)

    for _ in range(3):
        np.testing.assert_array_equal(fg.grad(f)(BAD), np.full((2, 2), 3.0))


def test_nothing_is_computed_twice_or_while_recording(monkeypatch):
    calls = []
    cholesky = np.linalg.cholesky

    def counted(a, **options):
        calls.append("cholesky")
        return cholesky(a, **options)

    monkeypatch.setattr(np.linalg, "cholesky", counted)

    def f(a):
        root = fnp.linalg.cholesky(a)
        assert not calls
        return fnp.sum(root)

    for _ in range(3):
        fg.grad(f)(GOOD)
        assert calls == ["cholesky"]
        calls.clear()

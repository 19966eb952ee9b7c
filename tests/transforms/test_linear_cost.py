"""The work a transform does is proportional to the number of leaves, results and captured arrays.

Counted in lines of Python that are run, and those of loops within a line each time, which do not depend on the machine.
"""

import dis
import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.emit import pieces
from fungrad.core import pending
from fungrad.core.backend import on_host
from fungrad.transforms import gradient, starts
from fungrad.transforms.call import programs
from tests.stepping import step_through, traced


def squares(xs):
    return [x * x for x in xs]


def total(xs):
    s = 0.0
    for x in xs:
        s = s + x * x
    return s


def numbers(n):
    return [0.5 + i for i in range(n)]


def arrays(n):
    return [np.arange(3.0) + i for i in range(n)]


def captured(n):
    weights = arrays(n)
    return lambda x: total([(x * w)[0] for w in weights])


TRANSFORMS = {
    "grad": lambda n: lambda: fg.grad(total)(numbers(n)),
    "value_and_grad": lambda n: lambda: fg.value_and_grad(total)(numbers(n)),
    "grad of arguments": lambda n: lambda: fg.grad(lambda *xs: total(xs), range(n))(*numbers(n)),
    "vjp": lambda n: lambda: fg.vjp(squares, numbers(n))[1](numbers(n)),
    "jvp": lambda n: lambda: fg.jvp(squares, (numbers(n),), (numbers(n),)),
    "linearize": lambda n: lambda: fg.linearize(squares, numbers(n))[1](numbers(n)),
    "linear_transpose": lambda n: (
        lambda: fg.linear_transpose(lambda xs: [2.0 * x for x in xs], numbers(n))(numbers(n))
    ),
    "vmap": lambda n: lambda: fg.vmap(squares)(arrays(n)),
    "jit": lambda n: (f := fg.jit(squares)) and (lambda: f(arrays(n))),
    "jit of grad": lambda n: (f := fg.jit(fg.grad(total))) and (lambda: f(numbers(n))),
    "jit, donated": lambda n: (f := fg.jit(squares, donate_argnums=0)) and (lambda: f(arrays(n))),
    "grad of jit": lambda n: (f := fg.jit(total)) and (lambda: fg.grad(f)(numbers(n))),
    "grad, captured": lambda n: (f := captured(n)) and (lambda: fg.grad(f)(np.ones(3))),
    "jit, captured": lambda n: (f := fg.jit(captured(n))) and (lambda: f(np.ones(3))),
    "make_expr": lambda n: lambda: fg.make_expr(total)(numbers(n)),
}


def is_continued(code, offset):
    """Whether the instruction at an offset has begun with a prefix, as those with large arguments do.

    Some Pythons report both, others the prefix alone.
    """
    return offset > 0 and code.co_code[offset - 2] == dis.EXTENDED_ARG


def instructions(function):
    """Return how many instructions of Python run in a call."""
    count = 0

    def step(frame, event, _):
        nonlocal count
        count += event == "opcode" and not is_continued(frame.f_code, frame.f_lasti)
        return step

    traced(lambda frame, *_: step_through(frame, step), function)
    return count


def lines(function):
    """Return how many lines of Python run in a call: about a fifth of the instructions, and seen as much faster."""
    count = 0

    def step(frame, event, _):
        nonlocal count
        count += event == "line"
        return step

    traced(lambda *_: step, function)
    return count


@pytest.fixture(autouse=True)
def compiled_at_the_second_call(monkeypatch):
    """Long programs of gradients otherwise are at a later one."""
    monkeypatch.setattr(gradient, "PATIENCE", 1)


def check_linear(transform, sizes=(20, 40, 80)):
    """Check that the second doubling of a size adds twice the work that the first one adds."""
    counts = []
    for call in [transform(50)] * 3:  # imports, and remembers, what is so once
        call()
    for n in sizes:
        for cache in (programs, starts._met, gradient._pulls):  # looked through when they are full
            cache.clear()
        call = transform(n)
        counts.append([lines(call) for _ in range(3)])  # evaluated, compiled, run again
    for a, b, c in zip(*counts, strict=True):
        assert c - b <= 2.1 * (b - a)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_twice_the_leaves_are_twice_the_work(transform, as_written):
    check_linear(transform)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_the_same_in_functions_that_are_read(transform):
    """Loops are one equation. Python runs those of little work, and programs that are longer are cut."""
    check_linear(transform, (400, 800, 1600))


def test_a_leaf_of_a_gradient_takes_few_instructions():
    fg.grad(total)(numbers(5))
    counts = []
    for n in (40, 80):
        programs.clear()
        call = functools.partial(fg.grad(total), numbers(n))
        counts.append(instructions(call))
    # From 6057 of Python 3.13 to 6594 of Python 3.11.
    assert (counts[1] - counts[0]) / 40 <= 6800  # about eleven equations are recorded, and five run


def chain(x, n):
    for _ in range(n):
        x = fnp.sin(x) * 1.5
    return x


def fill(x, n):
    u = fnp.zeros(n + 1)
    for i in range(n):
        u = fg.at(u)[i].set(x * u[i - 1] + 1.0)
    return u.sum()


@pytest.mark.parametrize("f", [chain, fill])
@pytest.mark.parametrize("jitted", [False, True])
def test_twice_the_equations_are_twice_the_work_in_pieces(monkeypatch, f, jitted, as_written):
    monkeypatch.setattr(pieces, "PIECE", 5)
    around = fg.jit if jitted else lambda g: g
    check_linear(lambda n: (g := around(fg.grad(lambda x: f(x, n)))) and (lambda: g(2.0)))


def test_a_value_that_is_asked_for_costs_no_look_at_all_the_others(monkeypatch):
    """Such looks are NumPy's and Python's own loops, which are no instructions."""
    looked_at = []
    monkeypatch.setattr(
        pending, "on_host", lambda arrays: looked_at.append(len(arrays)) or on_host(arrays)
    )

    def positive(xs):
        return total([x for x in xs if x > 0])

    def cost(n):
        looked_at.clear()
        fg.grad(positive)(numbers(n))
        return sum(looked_at)

    assert 0 < cost(200) <= 2.1 * cost(100)

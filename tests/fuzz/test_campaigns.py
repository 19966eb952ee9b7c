"""Some of the first programs of each campaign, the same in every run: what `make fuzz` does for longer."""

import functools
import gc
import heapq
import importlib
import itertools
import re
import warnings

import numpy as np
import pytest

from fungrad.compile.targets import host
from fungrad.core import state
from tests.fuzz import driver, in_place, interrupts, language, native, oracle, programs, transforms
from tests.fuzz.campaign import Mismatch, ready_test, shrink
from tests.fuzz.cut import Place, functions
from tests.fuzz.scenarios import SCENARIOS

PROGRAMS = {"programs": 1000, "in_place": 800, "transforms": 1200}
"""How many programs each campaign goes through, to run those that add most."""
ADDING = {"programs": 300, "in_place": 120, "transforms": 260}
"""How many these are."""
EACH = {"special": range(0, 109, 3)} | ({"native": range(50)} if host.available() else {})
"""The seeds that others run."""
PARTS = [
    *[("programs", part, 3) for part in range(3)],
    *[(name, part, 2) for name in ("in_place", "transforms") for part in range(2)],
    *[(name, part, 2) for name in EACH for part in range(2)],
]


def makeup(program):
    """Return the statements of a program, without names and numbers, and its ways."""
    base, ways = program if isinstance(program, transforms.Stack) else (program, program.ways)
    lines = [re.sub(r"\b[a-zA-Z]\d*\b", "x", line) for line in base.lines]
    return frozenset({*ways, *[re.sub(r"\d+(\.\d+)?", "0", line) for line in lines]})


@functools.cache
def seeds(name):
    """Return seeds of programs, each of which has the most statements and ways that none before has."""
    if name in EACH:
        return EACH[name]
    campaign = importlib.import_module(f"tests.fuzz.{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [makeup(campaign.generate(seed)) for seed in range(PROGRAMS[name])]
    waiting = [(-len(found), seed) for seed, found in enumerate(parts)]
    heapq.heapify(waiting)
    chosen, seen = [], frozenset()
    while len(chosen) < ADDING[name]:
        before, seed = waiting[0]
        if new := len(parts[seed] - seen):
            if new < -before:  # they were counted when fewer had been seen
                heapq.heapreplace(waiting, (-new, seed))
                continue
            chosen.append(seed)
            seen |= parts[seed]
        heapq.heappop(waiting)
    assert len(seen) > 0.8 * len(frozenset().union(*parts))
    return chosen


@pytest.mark.parametrize(("name", "part", "parts"), PARTS)
def test_programs(name, part, parts):
    campaign = importlib.import_module(f"tests.fuzz.{name}")
    for seed in seeds(name)[part::parts]:
        failure = driver.attempt(campaign, seed)
        assert failure is None, f"seed {seed}: {failure.mismatch}\n{failure.test}"


@pytest.fixture
def _thresholds():
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


TINY_CALLS = [
    "grad", "vmap", "cond", "captured_large_array", "captured_view_of_a_large_array", "grad_of_switch", "large_argument",
    "jvp_of_callback", "checking",
]  # fmt: skip


TOGETHER = 8
"""How many interrupts there are before a call has to work again; the state is looked at after each."""


def check_cut_off(name, places):
    """Cut a call off at each of the places."""
    for i in range(0, len(places), TOGETHER):
        found = interrupts.check(interrupts.Interrupts(name, tuple(places[i : i + TOGETHER])))
        assert found is None, found


def everywhere(name):
    """Return all places of a call."""
    called = functions(interrupts.warm(name).call, instructions=True)
    return [Place(one.number, i) for one in called for i in range(len(one.offsets))]


@pytest.mark.usefixtures("_thresholds")
@pytest.mark.parametrize("name", TINY_CALLS)
def test_an_interrupt_at_every_instruction(name):
    check_cut_off(name, everywhere(name))


@pytest.mark.usefixtures("_thresholds")
@pytest.mark.parametrize("name", sorted(set(SCENARIOS) - set(TINY_CALLS)))
def test_interrupts_at_some_instructions(name):
    places = everywhere(name)
    some = 200 if len(places) < 20_000 else 100  # long calls take long
    check_cut_off(name, places[:: len(places) // some + 1])


@pytest.mark.usefixtures("_thresholds")
def test_interrupts_of_random_programs():
    interrupts.tally.clear()
    for seed in range(1, 51, 4):
        program = interrupts.generate(seed)
        found = interrupts.check(program._replace(places=program.places[::4]))
        assert found is None, found
    assert interrupts.tally["interrupts"] > 180


def test_seeds_give_programs_that_print_and_run_again():
    for name, seed in itertools.product(["programs", "in_place"], range(20)):
        campaign = importlib.import_module(f"tests.fuzz.{name}")
        program = campaign.generate(seed)
        assert campaign.generate(seed) == program
        assert eval(repr(program), vars(language)) == program


def test_a_mismatch_is_found_shrunk_and_written_as_a_test():
    program = language.Program(
        arguments=("x0 = draw(0, (3,), 'f8')", "x1 = draw(1, (2, 2), 'f8')"),
        captured=("c0 = draw(2, (3,), 'f8')",),
        lines=("v1 = np.cos(x1)", "v2 = np.sin(x0) + c0", "v3 = v2 * 2", "v4 = v1 + v1"),
        results=("v2", "v4", "v3"),
        ways=("jit",),
    )
    assert programs.check(program) is None

    class Campaign:
        """Calls each program wrong of which the first result is a sine."""

        __name__ = "tests.fuzz.programs"
        smaller = staticmethod(language.smaller)
        readable = staticmethod(language.readable)

        @staticmethod
        def check(program):
            try:
                oracle.case_of(program)
            except oracle.NotAProgram:
                return None
            return (
                Mismatch("a sine", "")
                if any(f"{program.results[0]} = np.sin" in x for x in program.lines)
                else None
            )

    found = Campaign.check(program)
    smallest = shrink(Campaign, program, found)
    assert smallest.lines == ("v2 = np.sin(x0) + c0",)
    assert smallest.results == ("v2",)
    assert smallest.arguments == ("x0 = draw(0, (3,), 'f8')",)
    text = ready_test(programs, 7, smallest, found)
    compile(text, "test", "exec")
    scope = dict(vars(language))
    exec(f"made = {text[text.index('Program(') : text.rindex('assert')]}", scope)
    assert scope["made"] == smallest


@pytest.mark.parametrize("campaign", [programs, in_place, transforms, native])
def test_what_is_written_as_a_test_runs(campaign):
    name = campaign.__name__.rpartition(".")[2]
    scope = {}
    exec(ready_test(campaign, 3, campaign.generate(3), Mismatch("a sine", "")), scope)
    scope[f"test_{name}_3"]()


def test_what_numpy_cannot_run_is_no_program():
    program = language.Program(("x0 = draw(0, (3,), 'f8')",), (), ("v1 = x0 @ np.eye(2)",), ("v1",))
    assert programs.check(program) is None


X = "x0 = draw(269, (2, 3), 'f8')"
FOUND = {
    "where nothing is taken no index is out of bounds": (
        programs,
        ("x0 = draw(606, (0, 3), 'f8')",),
        ("v1 = np.take(np.inner(x0, x0), [0, -1], axis=1)",),
        "vmap_of_vjp",
    ),
    "a sum of no products has no sign": (
        programs,
        (X, "x1 = draw(270, (2, 1), 'f2')", "x2 = draw(277, (0,), 'f8')"),
        ("v1 = np.signbit(np.einsum('...i,...i->...', x2, x1))[:, None] * x0",),
        "vmap",
    ),
    "interp rounds as NumPy does": (
        programs,
        ("x0 = draw(241, (2, 1), 'f8')",),
        (
            "v1 = x0 / (1.5 + x0 * x0)",
            "v2 = np.interp(0.1, np.sort(v1.ravel()), v1.ravel())",
            "v3 = lax.cond(v2 > 0.1, lambda x: x * 2, lambda x: -x, x0)",
        ),
        "vjp_of_vmap",
    ),
    "integers are added to in the dtype of both": (
        programs,
        ("x0 = draw(225, (3,), 'f8')", "x1 = draw(224, (1, 3), 'u1')"),
        ("v1 = add_at(x1, -1, x0) * x0",),
        "jit",
    ),
    "one product of complex numbers in place": (
        programs,
        ("x0 = draw(754, (1,), 'f8')", "x1 = draw(755, (1,), 'c8')"),
        ("v1 = np.divide(x0, x1 * np.conj(x1) + 1)",),
        "jit",
    ),
    "what is made of an integer argument is no tracer": (
        in_place,
        (X, "t = draw(929, (), 'i8') % 2"),
        ("v1 = x0 * 1", "v2 = np.atleast_2d(t)", "v2[...] = x0.sum()"),
        "jit",
    ),
    "the carry of a loop lies in C order": (
        in_place,
        (X,),
        (
            "def g(c, r):\n    return c, c[0]\nv1, v2 = lax.scan(g, x0.T, x0)",
            "v1.reshape(-1)[0] = 2",
        ),
        "linearize",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_campaigns_have_found_before(name):
    campaign, arguments, lines, way = FOUND[name]
    last = [*language.assigned(lines)][-1] if campaign is programs else "v1"
    program = language.Program(arguments, (), lines, (last,), ways=(way,))
    oracle.case_of(program)  # NumPy can run it
    found = campaign.check(program)
    assert found is None, found


def test_the_sign_of_a_zero_is_left_to_the_kernel_that_adds_it_up():
    zeros = ("c0 = np.array([3, 0, -1, 0])",)
    dot = "v1 = np.dot(x0, c0)  # rounding"
    x = ("x0 = -draw(0, (), 'f8') ** 2",)
    for function, arrays, hangs in (
        ("np.arctan2(v1, v1)", zeros, True),
        ("np.sin(v1)", zeros, False),
        ("np.arctan2(v1, v1)", ("c0 = np.array([3, 1])",), False),
    ):
        program = language.Program(x, arrays, (dot, f"v2 = {function}"), ("v2",), ways=("jit",))
        assert oracle.hangs_on_signs(program) == hangs
        assert programs.check(program) is None
    nothing = language.Program(
        ("x0 = draw(0, (2,), 'f8')", "x1 = draw(1, (0,), 'f8')"),
        (),
        ("v1 = np.einsum('i,j->i', x0, x1)  # rounding", "v2 = np.signbit(v1) * x0"),
        ("v2",),
    )
    assert not oracle.hangs_on_signs(nothing)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("v1 = wrong_value(x0)", "vjp: value"),
        ("v1 = wrong_slope(x0)", "differences"),
        ("v1 = wrong_under_jit(x0)", "jit"),
    ],
)
def test_faults_are_found(monkeypatch, line, kind):
    import fungrad as fg
    from fungrad.core.tracer import Tracer
    from tests.fuzz import pure_python

    def tracer(x):
        return type(x) is Tracer

    faulty = {
        "wrong_value": lambda x: x * 2 + 1e-6 if tracer(x) else x * 2,
        "wrong_slope": lambda x: x + fg.stop_gradient(x) if tracer(x) else x * 2,
        "wrong_under_jit": lambda x: x * 3 if tracer(x) and x._owner.values is None else x * 2,
    }
    right = dict.fromkeys(faulty, lambda x: x * 2)
    monkeypatch.setattr(pure_python, "fungrad_names", pure_python.fungrad_names | faulty)
    monkeypatch.setattr("tests.fuzz.oracle.fungrad_names", pure_python.fungrad_names)
    monkeypatch.setattr("tests.fuzz.oracle.python_names", pure_python.python_names | right)
    program = language.Program(
        ("x0 = draw(0, (3,), 'f8')",), (), (line,), ("v1",), ways=("jit", "vmap")
    )
    found = programs.check(program)
    assert found is not None
    assert found.kind == kind


def test_a_state_left_dirty_is_found(monkeypatch):
    x = np.ones(3)
    seen = []

    def call():
        x.flags.writeable = False
        seen.append(None)
        x.flags.writeable = True
        return x.sum()

    monkeypatch.setitem(SCENARIOS, "dirty", lambda: (call, [x]))
    found = set()
    dirty = []
    places = everywhere("dirty")
    for place in places:
        mismatch = interrupts.check(interrupts.Interrupts("dirty", (place,)))
        x.flags.writeable = True
        found.add(mismatch and mismatch.kind)
        if mismatch:
            dirty.append(place)
    assert found == {None, "an array is left read-only"}

    together = interrupts.Interrupts("dirty", tuple(places))
    mismatch = interrupts.check(together)
    assert mismatch.kind == "an array is left read-only"
    x.flags.writeable = True
    assert shrink(interrupts, together, mismatch, tries=len(places)).places == (dirty[0],)


@pytest.mark.usefixtures("_thresholds")
def test_a_call_that_does_not_work_any_more_is_found(monkeypatch):
    left = []

    def call():
        left.append(None)
        left.pop()
        return len(left)

    monkeypatch.setitem(SCENARIOS, "counting", lambda: (call, []))
    program = interrupts.Interrupts("counting", tuple(everywhere("counting")[:-3]))
    assert interrupts.check(program).kind == "the next call is wrong"


@pytest.mark.usefixtures("_thresholds")
def test_state_that_is_not_put_back_is_found(monkeypatch):
    monkeypatch.setattr(state, "_variables", [])
    found = set()
    for seed in range(1, 31, 2):
        if mismatch := interrupts.check(interrupts.generate(seed)):
            found.add(mismatch.kind)
        if "the innermost trace is a dead one" in found:
            return
    pytest.fail(f"found: {found}")

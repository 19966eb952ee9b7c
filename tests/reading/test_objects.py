"""Loops and branches that change objects, lists and dicts, exchange arrays, and append to lists that objects hold."""

import collections
import dataclasses
import math

import numpy as np
import pytest

import fungrad as fg


class Oscillator:
    count = 0

    def __init__(self, u, k):
        self.u, self.v, self.t = u, 0.0, 0.0
        self.k = k
        self.trace = []

    def step(self, dt):
        self.v -= dt * self.k * self.u
        self.u = self.u + dt * self.v
        self.t += dt
        self.count = self.count + 1
        self.trace.append(self.u)


def attributes(x):
    sim = Oscillator(x, 2.0)
    for _ in range(40):
        sim.step(0.05)
    return sim.u + sim.t * x + sum(sim.trace) / len(sim.trace) + sim.count


class Heat:
    def __init__(self, n, a):
        self.u, self.a = np.zeros(n), a
        self.u[n // 2] = 1.0

    def step(self):
        self.u[1:-1] += self.a * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])


def array_of_an_object(x):
    heat = Heat(12, x)
    u = heat.u
    for _ in range(30):
        heat.step()
    return (heat.u**2).sum() + u[3]


class Wave:
    def __init__(self, x):
        self.u, self.new = np.zeros(9), np.zeros(9)
        self.u[3] = x

    def step(self):
        self.new[1:-1] = self.u[1:-1] + 0.2 * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])
        self.u, self.new = self.new, self.u


def arrays_exchanged_by_an_object(x):
    wave = Wave(x)
    first = wave.u
    for _ in range(17):
        wave.step()
    return wave.u @ np.arange(9.0) + first.sum() * 2


def arrays_exchanged(x):
    a, b, c = np.zeros(9), np.zeros(9), np.zeros(9)
    b[4] = x
    first, second, third = a, b, c
    for _ in range(20):
        c[1:-1] = 2 * b[1:-1] - a[1:-1] + 0.2 * (b[2:] - 2 * b[1:-1] + b[:-2])
        a, b, c = b, c, a
    return (a + 2 * b + 3 * c).sum() + (first * 4 + second * 5 + third * 6)[3:7] @ np.arange(4.0)


def one_array_exchanged_with_itself(x):
    p = np.zeros(9)
    p[3] = x
    q = p
    for _ in range(10):
        p[1:] = 0.5 * p[1:] + 0.1 * q[:-1]
        p, q = q, p
    return p @ np.arange(9.0)


def smoothed(g, out):
    out[1:-1] = g[1:-1] * 0.5 + 0.25 * (g[2:] + g[:-2])
    return out, g


def arrays_exchanged_by_a_call(x):
    b, g = np.zeros(20), np.zeros(20)
    g[5] = x
    for _ in range(31):
        g, b = smoothed(g, b)
    return (g * g).sum() + b[4]


def array_made_anew_and_filled(x):
    u = np.zeros(12)
    u[5] = x
    first = u
    for _ in range(15):
        u = u + 0.1 * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
        u[0], u[-1] = 0.0, x
    return (u**2).sum() + first.sum()


def dict_of_state(x):
    state = {"prey": 10.0, "pred": 5.0, "name": "lynx"}
    for _ in range(30):
        change = x * state["prey"] - 0.1 * state["prey"] * state["pred"]
        state["pred"] += 0.02 * (0.02 * state["prey"] * state["pred"] - state["pred"])
        state["prey"] += 0.02 * change
    return math.log(state["prey"]) + state["pred"] + len(state["name"])


def list_of_state(x):
    y = [x, 0.0]
    other = y
    for i in range(20):
        y[0], y[1] = y[0] + 0.1 * y[1], y[1] - 0.1 * y[0] + 0.01 * i
    return y[0] * other[1]


def shift_register(x):
    line = collections.deque([0.0] * 5, maxlen=5)
    window = [x, 2.0, 3.0]
    y = 1.0
    for _ in range(20):
        y = y + 0.1 * (x * line[0] - 0.5 * y)
        line.append(y)
        window.append(y * y)
        window.pop(0)
    return y + sum(line) + window[1]


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, a):
        return Vector(self.x * a, self.y * a)

    def norm(self):
        return math.hypot(self.x, self.y)


def objects_made_anew(x):
    r, v = Vector(1.0, 0.0), Vector(0.0, x)
    for _ in range(30):
        v = v + r * (-0.05 / r.norm() ** 3)
        r = r + v * 0.05
    return r.norm() + v.x


@dataclasses.dataclass(frozen=True)
class State:
    x: float
    v: float
    name: str = "ball"

    def moved(self, dt):
        return dataclasses.replace(self, x=self.x + dt * self.v, v=self.v - dt * self.x)


def records_made_anew(x):
    state = State(x, 1.0)
    for _ in range(20):
        state = state.moved(0.1)
    return state.x * state.v + len(state.name)


@dataclasses.dataclass
class Tank:
    level: float
    history: list = dataclasses.field(default_factory=list)

    def step(self, inflow):
        out = 0.3 * math.sqrt(max(self.level, 0.0))
        self.level += 0.1 * (inflow - out)
        self.history.append(self.level)
        self.history.extend([out, inflow])


def objects_in_a_list(x):
    tanks = [Tank(0.5), Tank(0.8), Tank(0.2)]
    for k in range(30):
        flow = x * (1 + 0.2 * math.sin(0.1 * k))
        for tank in tanks:
            tank.step(flow)
            flow = 0.3 * math.sqrt(tank.level)
    return tanks[-1].level + sum(tanks[0].history) + tanks[1].history[-2] * len(tanks[1].history)


class Ball:
    def __init__(self, h):
        self.h, self.v = h, 0.0

    def step(self):
        self.v -= 0.1
        self.h += 0.1 * self.v
        if self.h < 0:
            self.h, self.v = -self.h, -0.8 * self.v
        self.rests = self.h < 0.01


def branches_that_assign(x):
    ball = Ball(x + 0.01)
    ball.rests = False
    for _ in range(30):
        ball.step()
    return ball.h + ball.v


def loops_in_loops(x):
    sim = Oscillator(x, 1.0)
    for i in range(10):
        for _ in range(10):
            sim.step(0.01)
        sim.k = sim.k * 1.01 + 0.001 * i
    return sim.u * sim.k + sim.trace[37] + len(sim.trace)


def several_appended(x):
    xs, both = [x], []
    for i in range(20):
        xs.append(x * i)
        both.append((x, i * x))
        xs.append(x * x)
        both.extend([(x + 1, 2.0), (x, x)])
    return sum(xs) * len(xs) + both[3][1] * both[-1][0] + len(both)


def small_lists_in_a_round(x):
    total = 0.0
    for i in range(12):
        row = []
        for j in range(3):
            row.append(x * (i + j))  # noqa: PERF401
        made = {"a": row[0], "b": 0.0}
        made["b"] += row[1] * row[2]
        total += made["a"] + made["b"] + len(row)
    return total


class Base:
    def __init__(self, x):
        self.x = x

    def step(self):
        self.x = self.x * 1.05
        return self.x


class Derived(Base):
    def step(self):
        return super().step() * 0.9


class Controller:
    def __init__(self, gain):
        self.gain, self.total, self.previous = gain, 0.0, None

    def __call__(self, error):
        self.total += 0.05 * error
        slope = 0.0 if self.previous is None else (error - self.previous) / 0.05
        self.previous = error
        return self.gain * error + 0.3 * self.total + 0.1 * slope


def none_at_first(x):
    controller = Controller(x)
    y = v = 0.0
    for _ in range(50):
        u = controller(1.0 - y)
        v += 0.05 * (u - 0.8 * v - y)
        y += 0.05 * v
    return y + u


def shape_of_the_first_round(x):
    total, found = 0, {}
    for k in range(30):
        w = np.array([x * k, x])
        total = total + w
        found["sum"] = found.get("sum", 0.0) + w[0]
    return total.sum() + w[0] * k + found["sum"]


def best_so_far(x):
    best = None
    for v in np.linspace(0.1, 1.9, 25) * x:
        f = (v - 1.017) ** 2
        if best is None or f < best:
            best = f
    return best + f


def method_of_the_base(x):
    derived, total = Derived(x), 0.0
    for _ in range(12):
        total += derived.step()
    return total * derived.x


def series(x):
    total = 0.0
    for n in range(18):
        total += (-1) ** n * x ** (2 * n + 1) / math.factorial(n) + math.comb(17, n) * 0.01 * x
    return total


def quiet_roots(x):
    with np.errstate(divide="ignore"):
        for _ in range(40):
            x = math.sqrt(x + 1.0) + 0.1 * x
    return x


LOOPS = [
    none_at_first,
    shape_of_the_first_round,
    best_so_far,
    method_of_the_base,
    series,
    quiet_roots,
    attributes,
    array_of_an_object,
    arrays_exchanged_by_an_object,
    arrays_exchanged,
    one_array_exchanged_with_itself,
    arrays_exchanged_by_a_call,
    array_made_anew_and_filled,
    dict_of_state,
    list_of_state,
    shift_register,
    objects_made_anew,
    records_made_anew,
    objects_in_a_list,
    branches_that_assign,
    loops_in_loops,
    several_appended,
    small_lists_in_a_round,
]


def appended_and_read(x):
    out = [x]
    for _ in range(12):
        out.append(out[-1] * 1.1)
    return sum(out) + len(out)


def appended_under_a_condition(x):
    out = []
    for i in range(12):
        if i * 0.1 < x:
            out.append(x * i)  # noqa: PERF401
    return sum(out)


def appended_and_counted(x):
    kept = {"log": []}
    log = kept["log"]
    total = 0.0
    for _ in range(12):
        kept["log"].append(x)
        total += len(log) * x
    return total


def known_to_a_function(x):
    log = []

    def count():
        return len(log)

    total = 0.0
    for _ in range(12):
        log.append(x)
        total += count() * x
    return total


def held_by_the_list(x):
    heat = Heat(6, x)
    states = []
    for _ in range(10):
        heat.step()
        states.append(heat.u)
    return sum(u[3] for u in states)


def written_before_it_is_made_anew(x):
    u = np.zeros(12)
    first = u
    for _ in range(15):
        u[0] = x * x
        u = u + 0.1 * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
    return (u**2).sum() + first.sum()


def exchanged_until_a_break(x):
    p, q = np.zeros(20), np.zeros(20)
    p[10] = x
    for _ in range(30):
        q[1:-1] = p[1:-1] + 0.1 * (p[2:] - 2 * p[1:-1] + p[:-2])
        p, q = q, p
        if p[10] < 0.5:
            break
    return (p**2).sum() + q[9]


class Lift:
    def __init__(self, g):
        self.g, self.mode, self.h, self.v = g, "up", 0.0, 0.0

    def tick(self):
        if self.mode == "up":
            self.v += 0.05 * self.g
            if self.v > 1.0:
                self.mode = "coast"
        else:
            self.v *= 0.99
        self.h += self.v


def texts_that_change(x):
    lift = Lift(x)
    for _ in range(40):
        lift.tick()
    return lift.h


class Watched:
    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        object.__setattr__(self, "changes", getattr(self, "changes", 0) + 1)


def attributes_with_effects(x):
    watched = Watched(x)
    for _ in range(12):
        watched.x = watched.x * 1.1
    return watched.x * watched.changes


class Counted:
    def __init__(self, x):
        self.x, self.reads = x, 0

    @property
    def value(self):
        self.reads += 1
        return self.x * self.reads


def property_that_counts(x):
    counted, total = Counted(x), 0.0
    for _ in range(12):
        total += counted.value
    return total * counted.reads


def assigned_under_and(x):
    sim = Oscillator(x, 1.0)

    def moved():
        sim.u = sim.u + 1.0
        return sim.u > 3

    hits = 0.0
    for i in range(12):
        if i * 0.2 > x and moved():
            hits = hits + x
    return hits + sim.u


PYTHONS = [
    appended_and_read,
    appended_under_a_condition,
    appended_and_counted,
    known_to_a_function,
    held_by_the_list,
    written_before_it_is_made_anew,
    exchanged_until_a_break,
    texts_that_change,
    attributes_with_effects,
    property_that_counts,
    assigned_under_and,
]


def check(function, x=1.3):
    """Hold transforms of a function of a number against Python's results and differences."""
    h, xs = 1e-6, np.array([x, 0.7 * x, 1.1 * x])
    slopes = [(function(y + h) - function(y - h)) / (2 * h) for y in xs.tolist()]
    values = [function(y) for y in xs.tolist()]
    jitted, compiled = fg.jit(function), fg.jit(fg.grad(function))
    for y, value, slope in zip(xs.tolist(), values, slopes, strict=True):
        np.testing.assert_allclose(jitted(y), value, rtol=1e-12)
        np.testing.assert_allclose(fg.grad(function)(y), slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(compiled(y), slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fg.vmap(function)(xs), values, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(fg.grad(function))(xs), slopes, rtol=1e-6, atol=1e-7)
    tangent = fg.jit(lambda x: fg.jvp(function, (x,), (1.0,))[1])(x)
    np.testing.assert_allclose(tangent, slopes[0], rtol=1e-6, atol=1e-7)


def unrolled(function):
    """Return why loops of a function are unrolled."""
    rows = [row for each in fg.explain(function)(1.3).functions for row in each.rows]
    return [
        row.said
        for row in rows
        if "unrolled" in row.said and "few" not in row.said and "little" not in row.said
    ]


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_that_change_objects_are_loops_of_the_program(function):
    assert unrolled(function) == []
    check(function)


@pytest.mark.parametrize("function", PYTHONS, ids=lambda f: f.__name__)
def test_what_a_program_cannot_hand_on_is_pythons(function):
    check(function)


def test_objects_are_as_they_were_when_a_loop_cannot_be_recorded():
    sim = Oscillator(2.0, 1.0)
    seen = []

    def f(x):
        for _ in range(10):
            sim.step(0.1)
            seen.append((type(sim.u) is float, len(sim.trace)))
            print(end="")
        return sim.u * x

    fg.jit(f)(1.0)
    assert seen == [(True, i + 1) for i in range(10)]


def test_second_derivatives_of_objects():
    for function in (attributes, array_of_an_object, arrays_exchanged, objects_in_a_list):
        h = 1e-5
        slope = fg.grad(function)
        second = (slope(1.3 + h) - slope(1.3 - h)) / (2 * h)
        np.testing.assert_allclose(fg.hessian(function)(1.3), second, rtol=1e-6, atol=1e-8)

"""Random Python functions of an array `x` of floats, a float `t` and an integer `n`, in plain NumPy.

Templates are filled from left to right. A hole is a letter in braces: ``{e}`` is an expression of type float, ``{c}`` a
condition, ``{i}`` an integer, ``{a}`` the name of an array, ``{B}`` a block of statements (`Writer` has them all).
``{new_s1}`` is a name that is bound in its line, and ``{s1}`` the same name further on.

Values stay moderate, and constants are such that comparisons do not meet ties.
"""

from __future__ import annotations

import ast
import random
import re
from typing import NamedTuple

import numpy as np

HEADER = '''\
import math
import numpy as np

log = []


class Own(ValueError):
    """An exception of the program's own."""


class Box:
    """An object with an attribute."""

    def __init__(self, value):
        self.value = value


class Step:
    """A context manager that logs its two ends."""

    def __enter__(self):
        log.append("enter")
        return 0.25

    def __exit__(self, *error):
        log.append("exit")


'''
POINTS = 3


class Function(NamedTuple):
    """A function as text, with the points at which it is called."""

    source: str
    """The statement ``def f(x, t, n)``; `HEADER` stands before it in the file."""
    points: tuple[tuple[tuple[float, ...], float, int], ...]
    number: int | None = None
    """The number that its modes in `functions` depend on; None for all modes."""


def arguments(program: Function, point: int) -> tuple[np.ndarray, float, int]:
    """Return the arguments of a point, made anew."""
    x, t, n = program.points[point]
    return np.array(x), t, n


LEAVES = [
    "{s}", "{s}", "{s}", "{f}", "{a}[{k}]", "{a}[-1]", "{s} * {f}", "{a}.sum() * 0.3", "{a}.mean()",
]  # fmt: skip
EXPRESSIONS = [
    "np.sin({e})", "np.tanh({e})", "math.sin({e})", "math.cos({e})", "math.tanh({e})",
    "math.exp(-({e}) ** 2)", "np.exp(-abs({e}))", "math.sqrt(1.25 + ({e}) ** 2)", "np.sqrt({e} ** 2 + 1)",
    "({e} + {e})", "({e} - {e})", "({e} * {f})", "({e} * np.cos({e}))", "({e} / (1.5 + ({e}) ** 2))", "-{e}",
    "abs({e})", "min({e}, {e})", "max({e}, {e}, {f})", "({e} if {c} else {e})", "np.where({c}, {e}, {e})",
    "np.sum({A}) * 0.2", "np.dot({a}, {A}) * 0.2", "({a} @ {a}) * 0.2", "np.max({a})", "({A}).min()",
    "sum([{e}, {e}])", "np.arctan({e})", "({e} + {i})", "math.fsum([{e}, {f}])", "np.float64({e})",
    "({s} > {f} and {s} or {f})", "sum(({e}) * {f} for {new_p} in {a})", "max([{e} for {new_p} in {a}])", "sum([{e} for {new_j} in {R}])", "math.atan2({e}, 2.5)", "math.hypot({e}, 1.5)",
]  # fmt: skip
RARE_EXPRESSIONS = [
    "float({e})",
    "round({e}, 1)",
    "int({e})",
    "float(np.sin({e}))",
    "({e} // 0.7)",
    "({e} % 1.3)",
]
ARRAYS = [
    "np.sin({a})", "{a} * {f}", "({a} + {a})", "({a} - {A})", "{a} * np.cos({a})", "{a} + {s}", "{a} * {s}",
    "np.tanh({A})", "np.copy({a})", "{a}.copy()", "{a}[::-1]", "np.zeros(len({a})) + {e}", "np.ones_like({a}) * {s}",
    "np.full(len({a}), {e})", "np.where({a} > {f}, {a}, {A})", "np.maximum({a}, {f})", "np.roll({a}, 1)",
    "np.cumsum({a}) * 0.3", "np.concatenate([{a}[1:], {a}[:1]])", "np.clip({a}, -0.83, 0.91)",
    "np.array([np.sin({p}) for {new_p} in {a}])", "np.array([{e} if {p} > {f} else {e} for {new_p} in {a}])", "np.stack([{e} for {new_p}, {new_q} in zip({a}, {a})])", "np.arange(len({a})) * {s}", "np.abs({a})", "np.sort({a})",
    "np.array([{s}] * len({a}))", "np.stack([{a}, {a}]).sum(axis=0) * 0.5", "{a} / (1.5 + {a} ** 2)",
]  # fmt: skip
CONDITIONS = [
    "{e} > {f}", "{s} < {f}", "{f} < {s} < {f} + 0.9", "{j} % 2 == 0", "n > {m}", "{j} == {m}", "not {c}",
    "{c} and {c}", "{c} or {c}", "{j} in (1, 3)", "{a}[{k}] > {f}", "np.any({a} > {f})", "({a} < {f}).all()",
    "{i} > {i}", "{j} != n", "bool({s} > {f})", "({c}) == ({c})",
]  # fmt: skip
INTEGERS = [
    "n",
    "{j}",
    "{m}",
    "{j} + 1",
    "n - {m}",
    "{j} * 2 % 3",
    "abs({j} - 2)",
    "len({a})",
    "max({j}, 1)",
    "min(n, 2)",
]
RANGES = [
    "range(n)", "range(n)", "range({m})", "range(1, n + 1)", "range(n, 0, -1)", "range(0, 5, 2)", "range({j} + 1)",
    "range({j}, n)", "reversed(range(n))", "(0, 2, 1)", "range(len({a}))",
]  # fmt: skip
LOGGED = ["'{word}'", "{j}", "('{word}', {i})", "n", "f'{word} {{j}}'"]
WORDS = ["one", "two", "three", "four", "five"]

SIMPLE = [
    "{new_s} = {e}", "{new_s} = {e}", "{t} = {e}", "{t} += {e}", "{t} += {e}", "{t} -= {e}", "{t} *= {f}", "{t} *= 0.5",
    "{new_a} = {A}", "{new_a} = {A}", "{o} = {A}", "{o} += {A}", "{o} *= 0.75", "{w}[{k}] = {e}", "{w}[{k}] += {e}",
    "{w}[1:] = {a}[:-1] * 0.5", "{w}[1:] *= 0.7", "{w}[:] = {A}", "{w}[{j} % 3] = {e}", "{w}[{j} % 3] -= {s}",
    "{new_q1} = {w}[1:]\n{q1}[0] = {e}\n{q1} += 0.3", "{new_q1} = {w}[::2]\n{q1} *= {s}",
    "{l}.append({e})", "{l}.append({s})", "{t} += sum({l})", "{t} += np.array({l}).sum() * 0.5", "{new_l} = [{e}, {s}]",
    "{new_l} = [{e} for {new_p} in {a}]", "{new_l} = [{e} for {new_p} in {a} if {p} > {f}]", "{new_j} = {i}",
    "log.append({v})", "log.append({v})", "{new_s1}, {new_s2} = {e}, {e}", "{new_s1}, *{new_l} = [{e}, {e}, {e}]",
    "{new_q1} = {'u': {e}, 'v': {e}}\n{new_s} = {q1}['u'] - sum({q1}.values())", "{t} += sum(({e}) * {f} for {new_p} in {a})",
    "{new_q1} = {r1: {s} * r1 for r1 in range({m})}\n{t} += sum({q1}.values())", "{t}, {new_s} = {e}, {t}",
    "{new_q1} = Box({e})\n{q1}.value += {e}\n{new_s} = {q1}.value", "{new_q1} = Box({e})\nfor {new_j} in {R}:\n    {B}\n    {q1}.value = {q1}.value * 0.5 + {e}\n{new_s} = {q1}.value",
    "{new_q1} = Box({a})\nfor {new_j} in {R}:\n    {q1}.value[{k}] += {e}\n    {B}\n{new_a} = {q1}.value * 0.5", "{new_q1} = Box({A})\nfor {new_j} in {R}:\n    {q1}.value[1:] *= 0.7\n    {q1}.value = {q1}.value + {e}\n{t} += {q1}.value.sum()",
    "{new_q1} = Box({e})\nfor {new_s1} in {a}:\n    if {c}:\n        {q1}.value = {s1}\n    {B}\n{new_s} = {q1}.value", "{new_q1} = Box({e})\nfor {new_j} in {R}:\n    {q1} = Box({q1}.value * 0.5 + {e})\n    {B}\n{new_s} = {q1}.value",
    "{new_q1} = {'u': {e}, 'v': 0.0}\nfor {new_j} in {R}:\n    {q1}['u'] += {e}\n    {q1}['v'] = {q1}['u'] * 0.5\n    {B}\n{t} += {q1}['v']", "{new_l1} = [{e}, {s}]\nfor {new_j} in {R}:\n    {l1}[0], {l1}[1] = {l1}[1], {l1}[0] * 0.5 + {e}\n    {B}\n{t} += {l1}[0]",
    "{new_q1}, {new_q2} = np.zeros(4), np.ones(4)\n{new_q3} = {q1}\nfor {new_j} in {R}:\n    {q1}[1:] = {q2}[:-1] * 0.5 + {e}\n    {q1}, {q2} = {q2}, {q1}\n    {B}\n{t} += {q1}[1] - {q3}[2] * 0.5",
    "{new_a1} = {A}\nfor {new_j} in {R}:\n    {a1} = {a1} * 0.5 + {e}\n    {a1}[{k}] = {e}\n    {B}", "{new_l1} = []\nfor {new_j} in {R}:\n    {l1}.append({e})\n    {B}\n    {l1}.extend([{e}, {s}])\n{t} += sum({l1}) * 0.5",
    "{new_q1} = Box([{e}])\nfor {new_j} in {R}:\n    {q1}.value.append({e})\n    {B}\n{t} += sum({q1}.value) + len({q1}.value)", "{new_l1} = [{e}]\nfor {new_j} in {R}:\n    {l1}.append({l1}[-1] * 0.5 + {e})\n    if {c}:\n        {l1}.pop(0)\n{t} += sum({l1})",
    "{new_q1} = Box(None)\nfor {new_s1} in {a}:\n    {t} += 0.0 if {q1}.value is None else {q1}.value - {s1}\n    {q1}.value = {s1}\n    {B}", "for {new_s1} in {a}:\n    {new_s2} = {e}\n    {B}\n{t} += {s2}", "{new_q1} = {e}\n{t} += {q1}\ndel {q1}", "assert {s} < 900.0, 'large'",
    "{new_q1} = np.zeros((2, len({a})))\n{q1}[0] = {a}\n{q1}[1, {k}] = {e}\n{new_a} = {q1}.sum(axis=0)",
    "{new_s} = ({new_q1} := {e}) * {f} + {q1}", "{new_q1} = lambda {new_p}: {e}\n{new_s} = {q1}({e})",
    "{new_s1} = {e}\n{new_q1} = lambda {new_p}: {s1} * {e}\n{new_s} = {q1}({f})\n{s1} = {e}\n{t} += {q1}({e})",
    "{new_l1} = []\n{l1}.append({A})\n{new_a} = np.array({l1})[0]",
    "{new_a1} = np.empty_like({a})\nfor {new_j1} in range(len({a1})):\n    {a1}[{j1}] = {e}",
    "{new_l1} = []\nfor {new_j} in {R}:\n    {l1}.append({e})\n{t} += sum({l1})",
    "{new_l1}, {new_l2} = [], []\nfor {new_s1} in {a}:\n    {l1}.append({e})\n    {B}\n    {l2}.append(({s1}, {A}))\n{new_a} = np.array({l1}) + {l2}[-1][1]",
    "{new_l1} = []\nfor {new_s1} in {a}:\n    {new_a1} = {A}\n    {l1}.append({a1})\n    {B}\n{new_a} = np.stack({l1}).sum(axis=0) * 0.3",
    "{new_l1} = []\nfor {new_s1} in {a}:\n    if {c}:\n        {l1}.append({e})\n    {B}\n{t} += sum({l1}) * 0.5 + len({l1})",
    "{new_l1} = [{e}]\nfor {new_s1} in {a}:\n    if {c}:\n        {l1}.append({s1})\n        continue\n    {B}\n    {l1}.extend([{e}, {s}])\n    if {c}:\n        break\n{t} += {l1}[-1] - sum({l1}) * 0.5",
    "{new_l1} = []\nfor {new_j1} in {R}:\n    for {new_s1} in {a}:\n        if {c}:\n            {l1}.append(({e}, {A}))\n        elif {c}:\n            {l1}.append(({s}, {A}))\n{t} += sum([{new_q1} * {new_q2}.sum() for {q1}, {q2} in {l1}]) * 0.1",
    "{new_l1} = [{p} * {e} for {new_p} in {a} if {p} > {f} if {c}]\n{t} += sum({l1}) + len({l1})",
    "{new_s} = (lambda {new_p}: {e})({e}) if {c} else {e}",
    "{new_a} = np.zeros_like({a})", "{new_a} = np.zeros({a}.shape)",
]  # fmt: skip
LOOPS = [
    "for {new_j} in {R}:\n    {B}", "for {new_j} in {R}:\n    {B}\n    {B}", "for {new_s} in {a}:\n    {B}",
    "for {new_j}, {new_s} in enumerate({a}):\n    {B}", "for {new_s}, {new_s} in zip({a}, {a}):\n    {B}",
    "for {new_j1} in {R}:\n    for {new_j2} in range({j1}, len(x)):\n        {w}[{j2}] += {e}", "for {new_j1} in range(len(x)):\n    for {new_j2} in reversed(range({j1})):\n        {w}[{j1}] -= {w}[{j2}] * {f}\n        {B}",
    "for {new_j1} in range(len(x)):\n    for {new_j2} in range(max(0, {j1} - 2), min(len(x), {j1} + 2)):\n        {t} += {a}[{j2}] * {e}",
    "for {new_s} in {a}:\n    with np.errstate(all='ignore'):\n        {B}",
    "for {new_s} in reversed([{e}, {e}, {s}]):\n    {B}", "for {new_j1} in {R}:\n    for {new_j} in range({j1} + 1):\n        {B}",
    "for {new_j} in {R}:\n    {B}\n    if {c}:\n        break\nelse:\n    {B}",
    "for {new_j} in {R}:\n    if {c}:\n        continue\n    {B}",
    "{new_j1} = 0\nwhile {j1} < {m} + 1 and {c}:\n    {j1} += 1\n    {B}",
    "{new_j1} = n\nwhile {j1} > 0:\n    {j1} -= 1\n    {B}\n    if {c}:\n        break\nelse:\n    {B}",
    "{new_j1} = 0\nwhile True:\n    {j1} += 1\n    if {j1} > {m} or {c}:\n        break\n    {B}",
    "while n > {m}:\n    n -= 1\n    {B}",
]  # fmt: skip
BRANCHES = [
    "if {c}:\n    {B}", "if {c}:\n    {B}", "if {c}:\n    {B}\nelse:\n    {B}", "if {c}:\n    {B}\nelif {c}:\n    {B}\nelse:\n    {B}",
    "if {c}:\n    {new_s1} = {e}\nelse:\n    {s1} = {e}", "if {c}:\n    return {r}", "if {c}:\n    return {r}\nelse:\n    {B}", "if n == {m} and {c}:\n    raise Own(f'{word} {{j}}')",
    "if (({new_q1} := {e}) > {f}) and {c}:\n    {t} += {q1}", "match {j}:\n    case 0:\n        {B}\n    case 1 | 2:\n        {B}\n    case _:\n        {B}",
    "match (n, {j}):\n    case (0, _):\n        {B}\n    case (_, {new_q1}) if {q1} > 1:\n        {B}",
    "with Step() as {new_s}:\n    {B}", "with np.errstate(all='ignore'):\n    {B}",
    "try:\n    {B}\n    {t} += 1.0 / ({i})\nexcept ZeroDivisionError:\n    {B}",
    "try:\n    {B}\n    {t} += {a}[{i} + {m}]\nexcept IndexError:\n    {B}\nelse:\n    {B}",
    "try:\n    {B}\n    if {c}:\n        raise Own('{word}')\nexcept ValueError as {new_q1}:\n    log.append(str({q1}))\n    {B}\nfinally:\n    {B}",
    "try:\n    {B}\nfinally:\n    log.append({v})", "try:\n    if {c}:\n        return {r}\n    {B}\nfinally:\n    log.append({v})",
]  # fmt: skip
FUNCTIONS = [
    "def {new_q1}({new_p1}, {new_p2}={f}):\n    {B}\n    return {e}\n{new_s} = {q1}({e})\n{t} += {q1}({s}, {f})",
    "def {new_q1}({new_p1}):\n    if {c}:\n        return {e}\n    {B}\n    return {e}\n{new_s} = {q1}({e}) + {q1}({s})",
    "{new_s1} = {e}\ndef {new_q1}({new_p1}):\n    nonlocal {s1}\n    {s1} = {s1} * 0.5 + {e}\n    return {s1}\n{new_s} = {q1}({e}) + {q1}({f})",
    "def {new_q1}(*{new_q2}):\n    return sum({q2}) * 0.5\n{new_s} = {q1}({e}, {s}, *{a})",
    "def {new_q1}({new_p1}, {new_j1}):\n    if {j1} <= 0:\n        return {p1}\n    return {q1}({e}, {j1} - 1) * 0.5\n{new_s} = {q1}({s}, {i} % 4)",
    "def {new_q1}({new_j1}):\n    for {new_j2} in range({j1}):\n        {B}\n        yield {e}\nfor {new_s} in {q1}({i}):\n    {B}",
    "def {new_q1}({new_p1}):\n    yield {p1}\n    if {c}:\n        return\n    yield {e}\n{t} += sum({q1}({e}))",
    "def {new_q1}({new_p1}):\n    return lambda {new_p}: {e} * {p1}\n{new_s} = {q1}({e})({s})",
]  # fmt: skip
JUMPS = ["if {c}:\n    break", "if {c}:\n    continue", "if {c}:\n    {B}\n    break"]
RETURNS = ["{e}", "({e}, {A})", "{A}", "{'k': {e}, 'a': {a}}"]


class Scope(NamedTuple):
    """The names that may be used, by kind."""

    s: list[str]
    """Floats."""
    t: list[str]
    """Floats that the innermost function may assign to."""
    a: list[str]
    """Arrays as long as `x`."""
    w: list[str]
    """Those that are not the caller's, and may be changed in place."""
    o: list[str]
    """Those that the innermost function may assign to."""
    j: list[str]
    l: list[str]

    def copy(self) -> Scope:
        return Scope(*[list(names) for names in self])


class Writer:
    """Writes one function."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.scope = Scope(["t"], ["t"], ["x"], [], [], ["n"], [])
        self.count = 0
        self.left = self.rng.randrange(4, 16)
        """How many statements may still be written."""
        self.nest = 0
        self.depth = 0
        self.loops = 0
        self.result = self.rng.choice([RETURNS[0], RETURNS[0], RETURNS[0], *RETURNS])

    def function(self) -> str:
        start = self.rng.choice(["x * 0.5", "np.zeros(len(x))", "np.sin(x) + t"])
        lines = ["def f(x, t, n):", *self.filled(f"    s0 = 0.5\n    a0 = {start}")]
        self.bind("s", "s0")
        self.bind("a", "a0")
        while self.left > 0:
            lines += [f"    {line}" for line in self.statement()]
        lines += self.filled(f"    return {self.result}")
        return ast.unparse(ast.parse("\n".join(lines))) + "\n"

    def statement(self) -> list[str]:
        """Return the lines of a statement."""
        self.left -= 1
        tables: list[tuple[list[str], float]] = [(SIMPLE, 6.0)]
        if self.depth < 3:
            tables += [(LOOPS, 2.5), (BRANCHES, 2.5)]
        if self.depth < 2:
            tables += [(FUNCTIONS, 0.8)]
        if self.loops:
            tables += [(JUMPS, 1.2)]
        table = self.rng.choices([x for x, _ in tables], [weight for _, weight in tables])[0]
        while True:
            before, saved = self.scope.copy(), self.left
            try:
                return self.filled(self.rng.choice(table))
            except LookupError:  # no name fits
                self.scope, self.left = before, saved

    def filled(self, template: str) -> list[str]:
        """Return the lines of a template with its holes filled."""
        known: dict[str, str] = {}
        out: list[str] = []
        frames: list[tuple[int, Scope, str, int]] = []
        for line in template.splitlines():
            indent = len(line) - len(line.lstrip())
            while frames and indent <= frames[-1][0]:
                _, self.scope, self.result, self.loops = frames.pop()
            if line.strip() == "{B}":
                out += [" " * indent + inner for inner in self.block(out)]
                continue
            saved = self.scope.copy()
            if line.lstrip().startswith("def "):
                frames.append((indent, saved, self.result, self.loops))
                self.scope = saved.copy()._replace(t=[], o=[])
                self.result, self.loops = RETURNS[0], 0
            out.append(self.line(line, known, bool(frames and frames[-1][0] == indent)))
        if frames:
            _, self.scope, self.result, self.loops = frames[0]
        return out

    def line(self, line: str, known: dict[str, str], opens: bool) -> str:
        """Return a line with its holes filled; names that it binds may be used after it."""
        bound: list[tuple[str, str]] = []
        parameters: list[str] = []

        def name(found: re.Match[str]) -> str:
            made = f"{found[1]}{self.fresh()}"
            known[found[1] + found[2]] = made
            (parameters.append(made) if found[1] == "p" else bound.append((found[1], made)))
            return made

        line = re.sub(r"\{new_([a-z])(\d*)\}", name, line)
        self.scope.s.extend(parameters)
        line = self.holes(line, known)
        if opens:
            self.scope.t.extend(parameters)
        else:
            for parameter in parameters:
                self.scope.s.remove(parameter)
        for kind, made in bound:
            self.bind(kind, made)
        return line

    def bind(self, kind: str, name: str) -> None:
        names = {"s": "st", "a": "awo", "j": "j", "l": "l"}.get(kind, "")
        for group in names:
            getattr(self.scope, group).append(name)

    def holes(self, text: str, known: dict[str, str]) -> str:
        def hole(found: re.Match[str]) -> str:
            key = found[1] + found[2]
            if found[2] or found[1] == "p":
                if key not in known:
                    known[key] = self.hole(found[1])
                return known[key]
            return self.hole(found[1])

        return re.sub(r"\{([A-Za-z]+)(\d*)\}", hole, text)

    def hole(self, kind: str) -> str:
        """Return what may stand in a hole."""
        rng = self.rng
        if kind in Scope._fields:
            names = getattr(self.scope, kind)
            if not names:
                raise LookupError
            return str(names[max(rng.randrange(len(names)), rng.randrange(len(names)))])
        if kind == "f":
            return f"{rng.choice([-1, 1, 1]) * (rng.randrange(3, 14) * 0.1 + 0.0137):.4f}"
        if kind in ("m", "k"):
            return str(rng.randrange(4 if kind == "m" else 3))
        if kind == "word":
            return rng.choice(WORDS)
        if kind == "r":
            return self.holes(self.result, {})
        tables = {"c": CONDITIONS, "i": INTEGERS, "A": ARRAYS, "R": RANGES, "v": LOGGED}
        table = EXPRESSIONS if kind == "e" else tables[kind]
        if kind == "e" and rng.random() < 0.03:
            table = RARE_EXPRESSIONS
        self.nest += 1
        try:
            if kind == "e" and rng.random() < 0.35 * self.nest:
                table = LEAVES
            if kind in "cA" and self.nest > 2:
                table = tables[kind][:2]
            return self.line(rng.choice(table), {}, False)
        finally:
            self.nest -= 1

    def block(self, before: list[str]) -> list[str]:
        """Return the lines of a block; names that it binds are mostly not used after it."""
        loop = bool(before) and before[-1].lstrip().startswith(("for ", "while "))
        saved = self.scope.copy()
        self.depth += 1
        self.loops += loop
        lines = []
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            lines += self.statement()
        self.loops -= loop
        self.depth -= 1
        if self.rng.random() > 0.05:
            self.scope = saved
        return lines

    def fresh(self) -> int:
        self.count += 1
        return self.count


def draw(seed: int) -> Function:
    """Return a function, which may fail in any way; its number is that of its thousand."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 6))
    points = []
    for _ in range(POINTS):
        x = np.round(rng.uniform(-1.3, 1.3, size), 3) + 0.0003
        t = round(float(rng.uniform(-1.2, 1.2)), 3) + 0.0007
        points.append((tuple(x.tolist()), t, int(rng.integers(0, 5))))
    return Function(Writer(seed).function(), tuple(points), seed // 1000)
